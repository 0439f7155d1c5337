//! The recorder with the rights of the packaged service: an account of its own that may signal
//! others' processes and cannot read their environment.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use serde_json::Value;

use super::{Lab, PERSON, Person, skipped};

/// A uid that no host assigns, for the recorder.
const SERVICE: u32 = 41_001;

/// Runs a command as the packaged service would: without root, with CAP_KILL.
pub fn as_service(command: &Command) -> Command {
    let mut wrapped = Command::new("setpriv");
    wrapped.args(["--reuid", &SERVICE.to_string(), "--regid", &SERVICE.to_string()]);
    wrapped.args(["--clear-groups", "--inh-caps", "-all,+kill", "--ambient-caps", "-all,+kill"]);
    wrapped.args(["--bounding-set", "-all,+kill"]);
    wrapped.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    wrapped
}

/// Returns false, and counts a skipped test, where processes of other users cannot be started.
fn can_become_others() -> bool {
    let has_setpriv = Command::new("setpriv").arg("--version").output().is_ok();
    let can = geteuid().is_root() && has_setpriv;
    if !can {
        skipped("rules with the service's rights: needs root and setpriv");
    }
    can
}

/// A lab whose recorder and commands run as the service, with this in its rule.
fn lab(holders: &[(u32, u32)], more: &str) -> Lab {
    let mut lab = Lab::new(holders);
    lab.is_service = true;
    lab.config(&lab.usual(more));
    let dir = lab.machine.dir();
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    for path in [dir, &lab.machine.home(), &lab.machine.home().join(".gua")] {
        chown(path, Some(SERVICE), Some(SERVICE)).unwrap();
    }
    lab
}

/// A process with children; all end with the test.
struct Launched {
    launcher: Child,
    children: Vec<u32>,
    _folder: tempfile::TempDir,
}

impl Launched {
    /// A script of this name starts these programs with the environment that `torchrun` gives its
    /// ranks. Each program is a copy of `sleep` by another name.
    fn start(name: &str, programs: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let executable = |path: &Path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        executable(folder.path());
        let mut text = "#!/bin/sh\nexport TORCHELASTIC_RUN_ID=none\n".to_owned();
        for program in programs {
            let path = folder.path().join(program);
            fs::copy("/bin/sleep", &path).unwrap();
            executable(&path);
            text.push_str(&format!("'{}' 600 & echo $!\n", path.display()));
        }
        text.push_str("wait\n");
        let script = folder.path().join(name);
        super::write(&script, &text);
        executable(&script);
        let mut command = Command::new(script);
        command.uid(PERSON).process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut launcher = command.spawn().unwrap();
        let mut lines = BufReader::new(launcher.stdout.take().unwrap()).lines();
        let children = programs.iter().map(|_| pid(&mut lines)).collect();
        Self { launcher, children, _folder: folder }
    }
}

fn pid(lines: &mut std::io::Lines<BufReader<ChildStdout>>) -> u32 {
    lines.next().unwrap().unwrap().parse().unwrap()
}

impl Drop for Launched {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.launcher), Signal::KILL);
        let _ = self.launcher.wait();
    }
}

fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

fn holder(lab: &Lab, pid: u32) -> Value {
    let check = lab.json(&["policy", "check", "--json"]);
    let holders = check["holders"].as_array().unwrap();
    holders.iter().find(|holder| holder["pid"] == pid).unwrap().clone()
}

/// An idle process that looks like a Jupyter kernel.
fn notebook() -> Option<Person> {
    Person::start_as(|command| {
        *command = Command::new("tail");
        command.args(["-f", "/dev/null", "-f", "/nowhere/kernel-abc.json"]);
        command.stdin(Stdio::null()).stderr(Stdio::null());
    })
}

/// Regression: the group of a rank is in its environment, which the service cannot read, and an
/// idle rank of a working job was ended.
#[test]
fn idle_rank_of_a_working_job_is_spared() {
    if !can_become_others() {
        return;
    }
    let Some(alone) = Person::start() else { return };
    let launched = Launched::start("torchrun", &["rank0", "rank1"]);
    let (waits, works) = (launched.children[0], launched.children[1]);
    let lab = lab(&[(waits, 0), (works, 60), (alone.pid(), 0)], "");
    let recorder = lab.record();
    // By then the rank has been idle as long as the one that is ended.
    lab.has_done(Some(alone.pid()), "ended");
    assert!(lives(waits), "{:?}", lab.details());
    assert_eq!(lab.deeds(Some(waits)), [""; 0]);
    let rank = holder(&lab, waits);
    assert_eq!(rank["grouped_by"], "launcher", "{rank}");
    assert_eq!(rank["grouped_with"], serde_json::json!([works]), "{rank}");
    assert_eq!(rank["works_by"], "others of its job", "{rank}");
    let text = lab.gua(&["policy", "check"]).stdout;
    assert!(text.contains("launcher torchrun"), "{text}");
    assert!(text.contains("cannot be read"), "{text}");
    recorder.end();
}

/// A process that cannot be a rank is not spared because its environment cannot be read.
#[test]
fn lone_idle_notebook_is_told_and_ended() {
    if !can_become_others() {
        return;
    }
    let (Some(idle), Some(busy)) = (notebook(), Person::start()) else { return };
    let lab = lab(&[(idle.pid(), 0), (busy.pid(), 60)], "");
    let recorder = lab.record();
    lab.has_done(Some(idle.pid()), "notice_sent");
    let alone = holder(&lab, idle.pid());
    assert_eq!(alone["grouped_by"], "alone", "{alone}");
    lab.has_done(Some(idle.pid()), "ended");
    let notices = lab.deeds(Some(idle.pid())).iter().filter(|kind| *kind == "notice_sent").count();
    assert!(notices >= 2, "{:?}", lab.details());
    assert_eq!(lab.deeds(Some(busy.pid())), [""; 0]);
    recorder.end();
}

/// Regression: the README's `vllm*` did not exempt vLLM, whose GPU processes are titled in capitals
/// or are plain children of `vllm serve`.
#[test]
fn vllm_is_exempt_by_its_title_and_by_its_parent() {
    if !can_become_others() {
        return;
    }
    let Some(idle) = Person::start() else { return };
    // The kernel cuts these names to `VLLM::EngineCor` and `VLLM::Worker_TP`.
    let vllm = Launched::start("vllm", &["VLLM::EngineCore", "VLLM::Worker_TP0", "python3"]);
    let mut holders = vec![(idle.pid(), 0)];
    holders.extend(vllm.children.iter().map(|pid| (*pid, 0)));
    let lab = lab(&holders, "exempt = { programs = [\"vllm*\"] }");
    let recorder = lab.record();
    lab.has_done(Some(idle.pid()), "ended");
    for child in &vllm.children {
        assert!(lives(*child), "{:?}", lab.details());
        assert_eq!(lab.deeds(Some(*child)), [""; 0]);
        assert_eq!(holder(&lab, *child)["state"], "exempt");
    }
    recorder.end();
    // The record has what that rests on.
    let simulated = lab.json(&["policy", "simulate", "--since", "1h", "--json"]);
    let holders = simulated["holders"].as_array().unwrap();
    let pids: Vec<_> = holders.iter().map(|holder| &holder["pid"]).collect();
    assert_eq!(pids, [idle.pid()], "{simulated}");
    assert_eq!(simulated["unjudged"], serde_json::json!([]), "{simulated}");
}
