//! Rules for cards that are held idle: real processes on a pretend card, real notices, real
//! signals.

/// What the config may say of rules.
mod config;
/// From the first notice to the end, and what comes between.
mod ended;
/// The recorder with the rights of the packaged service.
mod service;
/// What the rules would have done.
mod simulate;
/// Who is left alone although a rule had come far with them.
mod spared;
/// What goes wrong, and what does not come of it.
mod trouble;
/// Who stands where, and who is left alone.
mod view;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::geteuid;
use serde_json::Value;

use crate::machine::{Machine, Run};
use crate::recorder::{Recorder, until};

/// Somebody's number that no host has given out.
const PERSON: u32 = 41_000;

/// A process of a person, which lives until the test ends it.
pub struct Person(pub Child);

impl Person {
    /// `None` where we may not start one; that is counted.
    pub fn start() -> Option<Self> {
        Self::start_with(&[])
    }

    /// One that says of itself that it is part of a job.
    pub fn start_in_job(job: &str) -> Option<Self> {
        Self::start_with(&[("SLURM_JOB_ID", job)])
    }

    fn start_with(environment: &[(&str, &str)]) -> Option<Self> {
        Self::start_as(|command| {
            command.arg("600").stdin(Stdio::null()).envs(environment.iter().copied());
        })
    }

    /// Another program than `sleep`, or with other arguments.
    pub fn start_as(prepare: impl FnOnce(&mut Command)) -> Option<Self> {
        if !geteuid().is_root() && geteuid().as_raw() < 1000 {
            skipped("ending processes: neither root nor a person");
            return None;
        }
        let mut command = Command::new("sleep");
        prepare(&mut command);
        if geteuid().is_root() {
            command.uid(PERSON);
        }
        Some(Self(command.spawn().unwrap()))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        // It may have ended as it should.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn skipped(why: &str) {
    let Some(path) = std::env::var_os("GUA_TEST_SKIPS") else { return };
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    writeln!(file, "SKIPPED: {why}").unwrap();
}

/// One card that these processes hold, each with its share of the work.
pub fn scenario(holders: &[(u32, u32)]) -> String {
    let mut text = "[[card]]\nuuid = \"GPU-a\"\nname = \"NVIDIA A100-SXM4-80GB\"\n".to_owned();
    for (pid, sm) in holders {
        text.push_str(&format!(
            "[[process]]\npid = {pid}\ncard = 0\nprogram = \"python\"\nmemory = \"8GiB\"\n\
             sm = {sm}\nbegin = \"-1h\"\n"
        ));
    }
    text
}

/// A machine of this scenario with the processes of this host, and a command that tells people.
pub struct Lab {
    pub machine: Machine,
    /// Runs everything with the rights of the packaged service.
    pub is_service: bool,
}

impl Lab {
    pub fn new(holders: &[(u32, u32)]) -> Self {
        Self { machine: Machine::new(&scenario(holders)), is_service: false }
    }

    /// Writes the config: these rules, and what else stands in it.
    pub fn config(&self, text: &str) {
        let folder = self.machine.home().join(".gua");
        fs::create_dir_all(&folder).unwrap();
        let next = folder.join("config.next");
        fs::write(&next, text).unwrap();
        fs::rename(next, folder.join("config.toml")).unwrap();
    }

    /// A rule that ends whoever is idle for six seconds, after two notices by this command.
    pub fn usual(&self, more: &str) -> String {
        let tell = self.tell();
        format!(
            "[policy]\nenabled = true\n[[policy.rule]]\nname = \"abandoned\"\nidle_for = \"6s\"\n\
             notices = [\"2s\", \"4s\"]\naction = \"end\"\nnotify = [\"command\"]\n{more}\n\
             [notify]\ncommand = [\"{}\", \"{{user}}\", \"{{notice}}\", \"{{message}}\"]\n",
            tell.display()
        )
    }

    /// A program that keeps what it was told, a line each.
    fn tell(&self) -> PathBuf {
        let path = self.machine.dir().join("tell");
        let kept = self.machine.dir().join("told");
        fs::write(
            &path,
            format!("#!/bin/sh\nprintf '%s|%s|%s\\n' \"$@\" >> '{}'\n", kept.display()),
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// What it was told.
    pub fn told(&self) -> String {
        fs::read_to_string(self.machine.dir().join("told")).unwrap_or_default()
    }

    /// A recorder that looks twice a second, at the processes of this host.
    pub fn record(&self) -> Recorder {
        self.record_with("500ms", |_| ())
    }

    /// A recorder with another interval, and with what else its command is given.
    pub fn record_with(&self, interval: &str, prepare: impl FnOnce(&mut Command)) -> Recorder {
        Recorder::with(&self.machine, &["--interval", interval], |command| {
            self.on_this_host(command);
            prepare(command);
        })
    }

    fn on_this_host(&self, command: &mut Command) {
        command.env("GUA_HOST_ROOT", "/").env("GUA_SNOOZES", self.snoozes());
        if self.is_service {
            *command = service::as_service(command);
        }
    }

    pub fn snoozes(&self) -> PathBuf {
        self.machine.dir().join("snoozes")
    }

    pub fn gua(&self, args: &[&str]) -> Run {
        let mut command = self.machine.command(args);
        self.on_this_host(&mut command);
        crate::machine::run(command)
    }

    /// What a command prints as JSON.
    pub fn json(&self, args: &[&str]) -> Value {
        let told = self.gua(args);
        assert_eq!(told.code, Some(0), "{told:?}");
        serde_json::from_str(&told.stdout).unwrap()
    }

    /// The kinds of what the rules have done to a process, or to all, in order.
    pub fn deeds(&self, pid: Option<u32>) -> Vec<String> {
        let log = self.json(&["policy", "log", "--json"]);
        let deeds = log["deeds"].as_array().unwrap().iter();
        let is_meant = |deed: &&Value| pid.is_none() || deed["pid"].as_u64() == pid.map(u64::from);
        deeds.filter(is_meant).map(|deed| deed["kind"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until the rules have done this.
    pub fn has_done(&self, pid: Option<u32>, kind: &str) {
        until(&format!("the rules do: {kind}"), || self.deeds(pid).iter().any(|it| it == kind));
    }

    /// The sentences of all that the rules have done.
    pub fn details(&self) -> Vec<String> {
        let log = self.json(&["policy", "log", "--json"]);
        let deeds = log["deeds"].as_array().unwrap().iter();
        deeds.map(|deed| deed["detail"].as_str().unwrap().to_owned()).collect()
    }
}

/// A file that anybody may read, made by root too.
pub fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
}
