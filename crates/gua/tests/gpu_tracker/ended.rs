//! Exit codes: the command's own, or those that a shell would give.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{track, without_driver};
use crate::machine::run;

fn status_line(code: i32) -> String {
    format!("Resource tracking complete. Process completed with status code: {code}\n")
}

#[test]
fn the_commands_exit_code_is_passed_on() {
    for code in [0, 1, 3, 255] {
        let ran = track(&["-e", &format!("sh -c 'exit {code}'")]);
        assert_eq!(ran.code, Some(code));
        assert!(ran.stdout.starts_with(&status_line(code)), "{}", ran.stdout);
    }
}

/// In the line a signal stands as Python has it, below zero.
#[test]
fn a_command_that_a_signal_ended_is_128_and_the_signal() {
    let ran = track(&["-e", "sh -c 'kill -KILL $$'"]);
    assert_eq!(ran.code, Some(137));
    assert!(ran.stdout.starts_with(&status_line(-9)), "{}", ran.stdout);
}

#[test]
fn a_command_that_is_not_there() {
    let ran = track(&["-e", "no-such-program --x"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(127), ""));
    assert_eq!(ran.stderr, "gpu-tracker: Command not found: \"no-such-program\"\n");
}

#[test]
fn a_command_that_may_not_be_executed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    fs::write(&path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let ran = track(&["-e", path.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(126), ""));
    let said = format!("gpu-tracker: Command not executable: \"{}\"\n", path.display());
    assert_eq!(ran.stderr, said);
}

#[test]
fn quotes_are_honoured() {
    let ran = track(&["-e", r#"printf '%s|' "a b" 'c  d' e\ f"#]);
    assert!(ran.stdout.starts_with("a b|c  d|e f|Resource tracking"), "{}", ran.stdout);
}

/// The command has stdin, as if it had been started without us.
#[test]
fn stdin_is_the_commands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in");
    fs::write(&path, "through\n").unwrap();
    let mut command = without_driver(&["-e", "cat"]);
    command.stdin(fs::File::open(&path).unwrap());
    assert!(run(command).stdout.starts_with("through\n"));
}

/// A report that cannot be written where it was meant to is not lost.
#[test]
fn a_report_that_cannot_be_written_is_printed_instead() {
    for (script, code) in [("true", 1), ("exit 7", 7)] {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone");
        fs::create_dir(&gone).unwrap();
        let output = gone.join("report.txt");
        let command = format!("sh -c 'rmdir {}; {script}'", gone.display());
        let ran = track(&["-e", &command, "-o", output.to_str().unwrap()]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.stderr.contains("report.txt` cannot be written: "), "{}", ran.stderr);
        assert!(ran.stdout.contains("\nMax RAM:\n"), "{}", ran.stdout);
    }
}

/// The report gets where it was meant to, also when nobody hears or reads anything else.
#[test]
fn a_report_does_not_depend_on_the_talk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    for (format, code) in [("text", 1), ("json", 0)] {
        let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = without_driver(&["-e", "true", "-f", format, "-o"]);
        command.arg(&path).stdout(full()).stderr(full());
        assert_eq!(command.status().unwrap().code(), Some(code), "{format}");
        assert!(fs::read_to_string(&path).unwrap().contains("gigabytes"));
        fs::remove_file(&path).unwrap();
    }
}

/// Who reads only the first line gets it, and nobody complains.
#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut command = std::process::Command::new("sh");
    let program = without_driver(&[]);
    command.args(["-c", "\"$0\" -e 'sh -c \"exec >&-; exit 4\"' | true; echo ended"]);
    command.arg(program.get_program()).env("GUA_NVML", "/nowhere/libnvidia-ml.so.1");
    let ran = run(command);
    assert_eq!(ran.stdout, "ended\n");
    assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("cannot"), "{}", ran.stderr);
}
