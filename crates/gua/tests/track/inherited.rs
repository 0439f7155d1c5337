//! What the shell has set up before `gua track` starts.

use std::process::Command;

use super::command;
use crate::machine::{Run, run};

/// A shell puts this signal right for what it starts; this does not.
const IGNORING_CHILDREN: &str = r#"exec env --ignore-signal=CHLD "$0" "$@""#;

/// `gua track` on a command, started by a shell that does something first.
fn after(first: &str, args: &[&str]) -> Run {
    let tracked = command(args);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{first}; exec \"$0\" \"$@\"")]);
    shell.arg(tracked.get_program()).args(tracked.get_args());
    for (name, value) in tracked.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    run(shell)
}

#[test]
fn a_shell_that_ignores_its_children_does_not_lose_the_command() {
    let ran = after(IGNORING_CHILDREN, &["--", "sh", "-c", "exit 6"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let told = after(IGNORING_CHILDREN, &["--", "grep", "SigIgn", "/proc/self/status"]);
    let mask = told.stdout.trim().rsplit('\t').next().unwrap();
    let is_ignored = u64::from_str_radix(mask, 16).unwrap() & (1 << 16) != 0;
    assert!(is_ignored, "the command inherits what it would have: {told:?}");
}

#[test]
fn the_command_keeps_its_limit_of_files() {
    let ran = after("ulimit -S -n 123", &["--", "sh", "-c", "ulimit -S -n"]);
    assert_eq!(ran.stdout, "123\n", "{ran:?}");
}

#[test]
fn processes_that_there_is_no_room_for_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let samples = folder.path().join("samples.csv");
    // They stay until two samples have seen them, which stand below three lines of head.
    let many = format!(
        "for i in 1 2 3 4 5 6 7 8 9; do sleep 600 & all=\"$all $!\"; done
         until [ \"$(cat '{0}' 2>/dev/null | wc -l)\" -ge 5 ]; do :; done
         kill $all; wait",
        samples.display()
    );
    let timeline = samples.to_str().unwrap();
    let options = ["--every", "20ms", "--json", "--timeline", timeline];
    let ran = after("ulimit -n 68", &[&options[..], &["--", "sh", "-c", &many]].concat());
    let told: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    let processes = &told["processes"];
    assert!(processes["missed"].as_u64().is_some_and(|missed| missed > 0), "{processes}");
    assert!(ran.stderr.contains("processes_missed"), "{}", ran.stderr);
}
