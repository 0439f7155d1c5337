//! Signals: those of other processes are let through to the command, those of a terminal
//! reach it by themselves. The report is printed either way.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use nvidia_ml::skip::skipped;
use rustix::process::{Pid, Signal, kill_process};

use super::without_driver;

/// A tracked command, its output read line by line.
struct Tracked {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Tracked {
    /// Starts it, and waits until the command says that it is ready.
    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut tracked = Self { child, stdout };
        tracked.until("ready");
        tracked
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn until(&mut self, wanted: &str) {
        loop {
            let line = self.line();
            assert!(!line.is_empty(), "it ended without saying {wanted}");
            if line == wanted {
                return;
            }
        }
    }

    fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn type_in(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// How it ended, and what it said last.
    fn end(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }
}

fn sh(script: &str) -> Command {
    without_driver(&["-e", &format!("sh -c '{script}'"), "--st=0.01", "--disable-logs"])
}

#[test]
fn a_signal_reaches_the_command_and_the_report_is_printed() {
    for (signal, number) in [
        (Signal::TERM, 15),
        (Signal::INT, 2),
        (Signal::HUP, 1),
        (Signal::QUIT, 3),
        (Signal::USR1, 10),
        (Signal::USR2, 12),
    ] {
        let tracked = Tracked::start(sh("ulimit -c 0; echo ready; exec cat"));
        tracked.send(signal);
        let (status, said) = tracked.end();
        assert_eq!(status.code(), Some(128 + number), "{status:?}");
        let line = format!("Process completed with status code: -{number}\nMax RAM:\n");
        assert!(said.contains(&line), "{said}");
        assert!(said.ends_with("\n") && said.contains("\nCompute time:\n"), "{said}");
    }
}

#[test]
fn a_command_may_do_what_it_likes_with_a_signal() {
    let script =
        "trap \"echo asked\" TERM; echo ready; while read line; do echo $line; done; exit 6";
    let mut tracked = Tracked::start(sh(script));
    tracked.send(Signal::TERM);
    tracked.type_in("go on\n");
    let mut lines = vec![tracked.line(), tracked.line()];
    lines.sort();
    assert_eq!(lines, ["asked", "go on"]);
    drop(tracked.child.stdin.take());
    let (status, _) = tracked.end();
    assert_eq!(status.code(), Some(6));
}

/// One that ignores it goes on, and so do we.
#[test]
fn a_command_that_ignores_a_signal_is_followed_on() {
    let mut tracked = Tracked::start(sh("trap \"\" TERM; echo ready; read line; echo $line"));
    tracked.send(Signal::TERM);
    tracked.type_in("still here\n");
    tracked.until("still here");
    assert_eq!(tracked.end().0.code(), Some(0));
}

/// What a shell leaves behind when it is ended is ended too.
#[test]
fn nothing_is_left_running() {
    let mut command = sh("sleep 1000 & echo $!; echo ready; wait");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut tracked = Tracked { stdout: BufReader::new(child.stdout.take().unwrap()), child };
    let left = tracked.line();
    tracked.until("ready");
    tracked.send(Signal::TERM);
    // Its output ends when the last of those who write to it has.
    let (status, _) = tracked.end();
    assert_eq!(status.code(), Some(143));
    // It may wait to be noticed by whoever is the parent of orphans here.
    let stat = std::fs::read_to_string(format!("/proc/{left}/stat")).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "it goes on: {stat}");
}

/// Under `nohup` a hangup is nobody's business.
#[test]
fn what_was_ignored_stays_ignored() {
    let inner = sh("echo ready; read line; echo $line; exit 4");
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(inner.get_program());
    command.args(inner.get_args()).env("GUA_NVML", "/nowhere/libnvidia-ml.so.1");
    let mut tracked = Tracked::start(command);
    tracked.send(Signal::HUP);
    tracked.type_in("undisturbed\n");
    tracked.until("undisturbed");
    assert_eq!(tracked.end().0.code(), Some(4));
}

/// A command begins with the signals as they are without us.
#[test]
fn the_command_inherits_nothing() {
    let script = "grep -E \"^Sig(Blk|Ign|Cgt)\" /proc/self/status; echo ready";
    let through_us = without_driver(&["-e", &format!("sh -c '{script}'"), "--disable-logs"]);
    let alone = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).output().unwrap();
    let ran = crate::machine::run(through_us);
    assert_eq!(ordinary(&ran.stdout), ordinary(str::from_utf8(&alone.stdout).unwrap()));
}

/// The masks of signals 1 to 31. The two above are the C library's own, which leaves them one
/// way or the other, depending on how it starts a process.
fn ordinary(status: &str) -> Vec<(String, u64)> {
    let lines = status.lines().take_while(|line| *line != "ready");
    let masks = lines.map(|line| {
        let (name, mask) = line.split_once(":\t").unwrap();
        (name.to_owned(), u64::from_str_radix(mask, 16).unwrap() & 0x7fff_ffff)
    });
    masks.collect()
}

/// Ctrl-C on a terminal goes to the whole foreground: the command gets it once, not twice.
#[test]
fn a_key_of_the_terminal_reaches_the_command_once() {
    if !has_terminals("Ctrl-C on a terminal") {
        return;
    }
    let script = "n=0; count() { n=$((n+1)); echo interrupted; }; trap count INT; echo ready; \
                  while ! read line; do :; done; echo count $n; exit 5";
    let mut tracked = Tracked::start(on_a_terminal(script));
    tracked.type_in("\x03");
    loop {
        // The terminal echoes the key in front of it.
        if tracked.line().ends_with("interrupted") {
            break;
        }
    }
    tracked.type_in("on\n");
    let (status, said) = tracked.end();
    assert!(said.contains("count 1\r\n"), "{said}");
    assert!(said.contains("status code: 5\r\nMax RAM:"), "{said}");
    assert_eq!(status.code(), Some(5));
    assert_eq!(status.signal(), None);
}

/// Regression: a command that is not in our process group did not notice the key.
#[test]
fn a_key_of_the_terminal_reaches_a_command_in_a_session_of_its_own() {
    if !has_terminals("Ctrl-C on a terminal, in another session") {
        return;
    }
    let script = "trap \"exit 5\" INT; echo ready; while :; do sleep 0.05; done";
    let mut tracked = Tracked::start(on_a_terminal(&format!(
        "exec setsid sh -c \"{}\"",
        script.replace('"', "\\\"")
    )));
    tracked.type_in("\x03");
    let (status, said) = tracked.end();
    assert!(said.contains("status code: 5\r\nMax RAM:"), "{said}");
    assert_eq!(status.code(), Some(5));
}

/// Whether there is a program that makes terminals; a test that has none is counted as skipped.
fn has_terminals(test: &str) -> bool {
    let has = Command::new("script").arg("--version").output().is_ok();
    if !has {
        skipped(test, "script(1) is not installed");
    }
    has
}

/// A script tracked on a terminal.
fn on_a_terminal(script: &str) -> Command {
    let inner = sh(script);
    let typed: Vec<String> = std::iter::once(inner.get_program())
        .chain(inner.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap().replace('\'', "'\\''")))
        .collect();
    let mut command = Command::new("script");
    let typed = format!("exec {}", typed.join(" "));
    command.args(["-q", "-e", "-c", &typed, "/dev/null"]);
    command.env("GUA_NVML", "/nowhere/libnvidia-ml.so.1").env("SHELL", "/bin/sh");
    command
}
