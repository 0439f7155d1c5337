//! Signals, and processes that were running already.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use nvidia_ml::skip::skipped;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Waiting, command};

fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
}

/// A script that says when it is ready.
fn started(options: &[&str], script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let args = [options, &["--json", "--", "sh", "-c", script]].concat();
    let mut child = command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, out)
}

fn told(child: &mut Child) -> Value {
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_signal_to_us_reaches_the_command_and_the_summary_is_told() {
    for (signal, number) in [(Signal::TERM, 15), (Signal::INT, 2), (Signal::HUP, 1)] {
        let (mut child, _out) = started(&[], "echo ready; exec sleep 60");
        send(child.id(), signal);
        let told = told(&mut child);
        assert_eq!(child.wait().unwrap().code(), Some(128 + number));
        assert_eq!(
            (&told["ending"]["how"], &told["ending"]["signal"]),
            (&"killed".into(), &number.into())
        );
        assert_eq!(told["suggestion"]["seconds"], Value::Null, "it was cut short");
    }
}

#[test]
fn a_command_that_ends_in_order_when_told_to_keeps_its_code() {
    let script = "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    let (mut child, mut out) = started(&[], script);
    send(child.id(), Signal::TERM);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "bye\n");
    assert_eq!(told(&mut child)["ending"]["code"], 5);
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

/// The rules of the remarks.
fn rules(told: &Value) -> Vec<&str> {
    let remarks = told["remarks"].as_array().unwrap();
    remarks.iter().map(|remark| remark["rule"].as_str().unwrap()).collect()
}

/// Regression: those that were ended with the command were said to go on.
#[test]
fn what_was_ended_does_not_go_on() {
    let (mut child, mut out) = started(&[], "sleep 1000 & sleep 1000 & echo ready; wait");
    send(child.id(), Signal::TERM);
    let told = told(&mut child);
    assert_eq!(
        (&told["processes"]["left_running"], &told["processes"]["killed"]),
        (&0.into(), &0.into())
    );
    assert_eq!(rules(&told).iter().filter(|rule| rule.starts_with("processes")).count(), 0);
    // The output ends with the last of those who could write to it.
    out.read_to_string(&mut String::new()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

/// Regression: what was started while the others were given time to end stayed behind.
#[test]
fn what_starts_after_the_end_is_ended_too() {
    let script = "(trap '' TERM; echo ready; sleep 0.5; sleep 1000; true) & wait";
    let (mut child, mut out) = started(&[], script);
    send(child.id(), Signal::TERM);
    out.read_to_string(&mut String::new()).unwrap();
    let told = told(&mut child);
    assert_eq!(told["processes"]["left_running"], 0);
    assert!(told["processes"]["killed"].as_u64().unwrap() >= 2, "{told}");
    assert!(rules(&told).contains(&"processes_killed"), "{told}");
}

#[test]
fn a_process_is_followed_until_it_ends() {
    let mut other = Waiting::new();
    let pid = other.0.id().to_string();
    let folder = tempfile::tempdir().unwrap();
    let line = folder.path().join("t.csv");
    let args = ["--json", "--every", "5ms", "--timeline", line.to_str().unwrap(), "--pid", &pid];
    let mut child = command(&args).stderr(Stdio::piped()).spawn().unwrap();
    // The table is there with the first sample.
    while !line.exists() {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::yield_now();
    }
    drop(other.0.stdin.take());
    other.0.wait().unwrap();
    let told = told(&mut child);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!((&told["name"], &told["is_attached"]), (&"cat".into(), &true.into()));
    assert_eq!(told["ending"]["how"], "gone");
}

#[test]
fn enough_is_enough_and_leaves_the_process_alone() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut other = Waiting::new();
        let folder = tempfile::tempdir().unwrap();
        let line = folder.path().join("t.csv");
        let pid = other.0.id().to_string();
        let args =
            ["--json", "--every", "5ms", "--timeline", line.to_str().unwrap(), "--pid", &pid];
        let mut child = command(&args).stderr(Stdio::piped()).spawn().unwrap();
        while !line.exists() {
            assert!(child.try_wait().unwrap().is_none());
            std::thread::yield_now();
        }
        send(child.id(), signal);
        let told = told(&mut child);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_eq!(told["ending"]["how"], "goes_on");
        assert!(other.0.try_wait().unwrap().is_none(), "it goes on");
    }
}

/// What a terminal shows of a command that prints a line when it has been sampled for a second.
fn on_a_terminal(options: &str, term: &str) -> Option<String> {
    let gua = command(&[]);
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("t.csv");
    let table = table.to_str().unwrap();
    let script = format!(
        "until [ \"$(cat {table} 2>/dev/null | wc -l)\" -gt 70 ]; do sleep 0.05; done; echo hello"
    );
    let shell = format!(
        "stty rows 20 cols 60; exec {} track --gpus none {options} --every 20ms --timeline {table} \
         -- sh -c '{script}'",
        gua.get_program().to_str().unwrap()
    );
    let mut terminal = Command::new("script");
    terminal.args(["-qfc", &shell, "/dev/null"]).env("TERM", term).env_remove("NO_COLOR");
    let output = terminal.stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_live_line_is_drawn_in_place_and_taken_away() {
    let Some(shown) = on_a_terminal("--live", "xterm") else {
        return skipped("a_live_line_is_drawn_in_place_and_taken_away", "there is no `script`");
    };
    let lines: Vec<_> = shown.split("\r\x1b[K").filter(|line| line.starts_with("sh  ")).collect();
    let (before, after) = shown.split_once("sh ended with 0 after ").unwrap();
    let seconds: f64 = after.split(" s").next().unwrap().parse().unwrap();
    assert!(lines.len() >= 2, "{shown:?}");
    assert!(lines.len() as f64 <= seconds / 0.225 + 1.0, "about four a second: {shown:?}");
    assert!(lines[0].contains("  RAM ") && lines[0].contains("  CPU "), "{shown:?}");
    assert!(shown.contains("hello\r\n"));
    assert!(before.ends_with("\r\x1b[K") || before.ends_with("\r\x1b[K\x1b[1m"), "{shown:?}");
}

#[test]
fn no_live_line_where_it_was_not_asked_for_or_cannot_be_drawn() {
    for (options, term) in [("", "xterm"), ("--live", "dumb")] {
        let Some(shown) = on_a_terminal(options, term) else {
            return skipped("no_live_line_where_it_was_not_asked_for", "there is no `script`");
        };
        assert!(!shown.contains("\x1b[K") && !shown.contains("sh  "), "{shown:?}");
    }
    let run = super::track(&["--live", "--", "true"]);
    assert!(run.stderr.starts_with("true ended with 0"), "{}", run.stderr);
}
