//! The command's own streams and its exit code.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use super::{command, track};
use crate::machine::run;

#[test]
fn what_goes_in_comes_out_byte_for_byte() {
    let mut bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    bytes.extend(b"no newline at the end");
    let mut child = command(&["--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.stdout == bytes, "{} bytes came out", output.stdout.len());
    assert!(output.stderr.starts_with(b"cat ended with 0 after "));
}

#[test]
fn every_format_leaves_stdout_alone() {
    for format in ["text", "json", "csv", "markdown"] {
        let run = track(&["--format", format, "--", "sh", "-c", "echo out; echo err >&2"]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "out\n"), "{format}");
        assert!(run.stderr.starts_with("err\n"), "{format}: {}", run.stderr);
        assert!(run.stderr.len() > 40, "{format}: {}", run.stderr);
    }
}

/// Regression: it made a file of that name.
#[test]
fn a_dash_is_stdout_after_the_commands_own_output() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(&["--json", "-o", "-", "--", "echo", "out"]);
    command.current_dir(folder.path());
    let run = run(command);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let summary = run.stdout.strip_prefix("out\n").unwrap();
    let told: serde_json::Value = serde_json::from_str(summary).unwrap();
    assert_eq!(told["schema"], "gua.track/1");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn exit_codes_are_the_commands_own() {
    for code in [0, 1, 2, 42, 126, 127, 255] {
        let run = track(&["--", "sh", "-c", &format!("exit {code}")]);
        assert_eq!(run.code, Some(code));
        assert!(run.stderr.contains(&format!("ended with {code} after ")), "{}", run.stderr);
    }
}

#[test]
fn a_signals_end_is_told_as_a_shell_tells_it() {
    for (signal, name, code) in
        [("KILL", "SIGKILL", 137), ("TERM", "SIGTERM", 143), ("ABRT", "SIGABRT", 134)]
    {
        let run = track(&["--", "sh", "-c", &format!("kill -{signal} $$; sleep 60")]);
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.stderr.contains(&format!("was ended by {name} after ")), "{}", run.stderr);
    }
}

#[test]
fn what_cannot_be_run_ends_as_in_a_shell() {
    let run = track(&["--", "no-such-command-here"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(127), ""));
    insta::assert_snapshot!(run.stderr, @r"
    gua: the command `no-such-command-here` was not found
         Is it spelled right and in the PATH? One in this folder is `./no-such-command-here`.
    ");
    let run = track(&["--", "./no-such-folder/x"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(127), ""));
    insta::assert_snapshot!(run.stderr, @r"
    gua: the command `./no-such-folder/x` was not found
         Is it spelled right?
    ");
    let run = track(&["--", "/etc/passwd"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(126), ""));
    insta::assert_snapshot!(run.stderr, @r"
    gua: the command `/etc/passwd` may not be executed
         Is it a program? `chmod +x` makes a file one; a script can be given to its interpreter.
    ");
}

#[test]
fn a_script_without_its_interpreter_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("run.py");
    fs::write(&script, "#!/nowhere/python3 -u\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let by_path = command(&["--", script.to_str().unwrap()]);
    let mut by_name = command(&["--", "run.py"]);
    by_name.env("PATH", folder.path());
    for command in [by_path, by_name] {
        let run = run(command);
        assert_eq!((run.code, run.stdout.as_str()), (Some(127), ""));
        assert!(run.stderr.contains("run.py` was not found: `/nowhere/python3`\n"), "{run:?}");
    }
}

/// Options of the command are not ours, with and without the two dashes.
#[test]
fn the_commands_options_are_its_own() {
    for dashes in [&["--"][..], &[]] {
        let run = track(&[dashes, &["echo", "--json", "-o", "--", "x"]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "--json -o -- x\n"));
    }
}

/// Trap: a reader of the summary that goes away is not the command's failure.
#[test]
fn a_closed_stderr_changes_nothing() {
    let mut child = command(&["--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.status.signal()), (Some(0), None));
}
