//! Identities of processes on trees of files as hosts have them.

/// Ancestors.
mod ancestors;
/// Invalid and forged files.
mod hostile;
/// Each sign, in each way in which it is written.
mod signs;
/// Which of them is believed.
mod trust;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::identity::{Source, Who};
use crate::proc::Host;
use crate::process::Presence;

/// The process that is identified.
const PID: u32 = 70;
const CONTAINER: &str = "4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e0042";
const POD: &str = "0b6b5c1e-3a43-4f0c-9a55-6d1f5a2f7c11";
const SESSION: &str = "0::/user.slice/user-1001.slice/session-3.scope\n";
const SERVICE: &str = "0::/system.slice/trainer.service\n";

/// A host's files. The accounts are root, ann (1001), bob (1002) and a service (123).
struct Tree {
    dir: tempfile::TempDir,
}

impl Tree {
    /// With one process of ann's, in no session and without a parent.
    fn new() -> Self {
        let tree = Self { dir: tempfile::tempdir().unwrap() };
        tree.file("proc/stat", "btime 1000\n");
        tree.file(
            "etc/passwd",
            "root:x:0:0::/root:/bin/sh\nann:x:1001:1001::/home/ann:/bin/sh\n\
             bob:x:1002:1002::/home/bob:/bin/sh\nserve:x:123:123::/:/bin/false\n",
        );
        tree.process(PID, 1, "python").of(PID, "cgroup", SERVICE).uid(PID, 1001)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn of(self, pid: u32, file: &str, text: impl AsRef<[u8]>) -> Self {
        self.file(&format!("proc/{pid}/{file}"), text);
        self
    }

    /// Begun at the tick that is its pid.
    fn process(self, pid: u32, parent: u32, program: &str) -> Self {
        let stat = format!(
            "{pid} ({program}) S {parent} 1 1 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 {pid} 0 0 \
             18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        );
        self.of(pid, "stat", stat).of(pid, "cmdline", format!("{program}\0"))
    }

    fn uid(self, pid: u32, uid: u32) -> Self {
        self.of(pid, "status", format!("Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n"))
    }

    fn command(self, pid: u32, words: &[&str]) -> Self {
        self.of(pid, "cmdline", words.iter().map(|word| format!("{word}\0")).collect::<String>())
    }

    fn environ(self, pid: u32, variables: &[&str]) -> Self {
        let text = variables.iter().map(|variable| format!("{variable}\0")).collect::<String>();
        self.of(pid, "environ", format!("LANG=C\0{text}"))
    }

    fn folder(self, pid: u32, path: &str) -> Self {
        let link = self.dir.path().join(format!("proc/{pid}/cwd"));
        std::os::unix::fs::symlink(path, link).unwrap();
        self
    }

    fn root(&self) -> &Path {
        self.dir.path()
    }

    fn host(&self) -> Host {
        Host::new(Some(self.root().to_owned())).with_identities(true)
    }

    fn who(&self) -> Arc<Who> {
        who(&mut self.host())
    }
}

fn who(host: &mut Host) -> Arc<Who> {
    let Presence::Here(facts) = host.process(PID) else { panic!("not here") };
    facts.who.clone().known().unwrap()
}

/// The uid of a user, and where it is known from.
fn user(who: &Who) -> Option<(u32, Source)> {
    who.user.as_ref().map(|user| (user.value.uid, user.source))
}
