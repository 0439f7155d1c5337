//! What is refused before anything starts: exit 2, and the command did not run.

use std::fs;
use std::os::unix::fs::symlink;

use crate::machine::{Machine, program, run};

/// Refused with these words, and the command made no file.
fn refused(args: &[&str], words: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made");
    let args = [&["track"], args, &["--", "touch", made.to_str().unwrap()]].concat();
    let run = run(program(&args));
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?}: {run:?}");
    for words in words {
        assert!(run.stderr.contains(words), "{args:?}: {}", run.stderr);
    }
    assert!(!made.exists(), "{args:?}: the command ran");
}

#[test]
fn values_that_make_no_sense() {
    refused(&["--every", "0s"], &["0s", "at least 1ms"]);
    refused(&["--every", "0.5ms"], &["at least 1ms"]);
    refused(&["--every", "2h"], &["expected 1ms to 1h"]);
    refused(&["--every", "often"], &["often", "such as 90s"]);
    refused(&["--every", "-1s"], &["-1s"]);
    refused(&["--format", "xml"], &["xml", "markdown"]);
    refused(&["--unit", "mb"], &["mb", "MB"]);
    refused(&["--cores", "0"], &["0"]);
    refused(&["--cores", "-4"], &["-4"]);
    refused(&["--cores", "many"], &["many"]);
    refused(&["--gpus", ""], &["names no card", "such as 0,1"]);
    refused(&["--gpus", "0,,1"], &["names no card, or one without a name"]);
    refused(&["--json", "--format", "csv"], &["cannot be used with"]);
    refused(&["--overwrite"], &["--timeline"]);
    refused(&["--pid", "1"], &["cannot be used with"]);
}

#[test]
fn no_command() {
    for args in [&["track"][..], &["track", "--"], &["track", "--", ""], &["track", "--pid", "0"]] {
        let run = run(program(args));
        assert_eq!(run.code, Some(2), "{args:?}: {run:?}");
    }
    let run = run(program(&["track", "--", ""]));
    insta::assert_snapshot!(run.stderr, @r"
    gua: the command is empty
         Write it after `--`, such as `gua track -- python train.py`.
    ");
}

#[test]
fn a_process_that_is_not_there() {
    let run = run(program(&["track", "--pid", "4194303999"]));
    assert_eq!(run.code, Some(2), "{run:?}");
    insta::assert_snapshot!(run.stderr, @r"
    gua: there is no process 4194303999
         `ps -e` lists those that there are.
    ");
}

#[test]
fn files_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("file"), "kept").unwrap();
    fs::create_dir(path("folder.svg")).unwrap();
    refused(&["-o", &path("no/summary")], &["no/summary", "cannot be written", "-o FILE"]);
    refused(&["-o", &path("file/below")], &["cannot be written"]);
    refused(&["-o", folder.path().to_str().unwrap()], &["cannot be written"]);
    refused(&["--timeline", &path("no/t.svg")], &["cannot be written", "--timeline FILE"]);
    refused(&["--overwrite", "--timeline", &path("folder.svg")], &["cannot be written"]);
    for name in ["t.png", "t", "svg", "t.CSV"] {
        refused(
            &["--timeline", &path(name)],
            &["says no kind", ".csv or .sqlite", ".svg or .html"],
        );
    }
    let both = path("t.html");
    refused(&["-o", &both, "--timeline", &both], &["-o and --timeline both name"]);
    let same = path("folder.svg/../t.html");
    refused(&["-o", &same, "--timeline", &both], &["-o and --timeline both name"]);
    assert_eq!(fs::read_to_string(path("file")).unwrap(), "kept");
}

#[test]
fn a_time_line_that_is_there_already() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["t.csv", "t.sqlite", "t.svg", "t.html"] {
        let path = folder.path().join(name);
        fs::write(&path, "kept").unwrap();
        refused(&["--timeline", path.to_str().unwrap()], &["is there already", "--overwrite"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept");
    }
    let dangling = folder.path().join("link.svg");
    symlink("nowhere", &dangling).unwrap();
    refused(&["--timeline", dangling.to_str().unwrap()], &["is there already"]);
}

#[test]
fn cards_that_are_not_there() {
    let machine = Machine::new(
        "[[card]]\nuuid = \"GPU-aaaaaaaa-0000-0000-0000-000000000000\"\n\
         [[card]]\nuuid = \"GPU-bbbbbbbb-0000-0000-0000-000000000000\"\n",
    );
    let run = machine.gua(&["track", "--gpus", "0,7", "--", "true"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    insta::assert_snapshot!(run.stderr, @r"
    gua: there is no card `7` here
         Choose from 0 (GPU-aaaaaaaa-0000-0000-0000-000000000000), 1 (GPU-bbbbbbbb-0000-0000-0000-000000000000).
    ");
    let run = machine.gua(&["track", "--gpus", "GPU-cccccccc", "--", "true"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(
        run.stderr.starts_with("gua: there is no card `GPU-cccccccc` here\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_card_without_a_driver() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libnvidia-ml.so.1");
    refused(
        &["--nvml", library.to_str().unwrap(), "--gpus", "0"],
        &["there is no card `0` here", "was not found", "Leave --gpus out"],
    );
}
