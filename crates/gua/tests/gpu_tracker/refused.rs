//! What is refused before anything starts: one sentence, exit code 2, no command, no file.

use std::fs;
use std::path::Path;

use super::{track, without_driver};
use crate::machine::{Machine, Run, gpu_tracker, run};

/// Runs a command that would leave a trace, with one option more that makes no sense.
fn refused(options: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let command = format!("touch {}", trace.display());
    let ran = track(&[&["-e", &command], options].concat());
    assert!(!trace.exists(), "the command was started");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    ran
}

#[test]
fn each_bad_option_has_its_sentence() {
    let cases: [(&[&str], &str); 16] = [
        (
            &["--ru=mb"],
            "\"mb\" is not a valid RAM unit. Valid values are bytes, gigabytes, kilobytes, \
             megabytes, terabytes",
        ),
        (
            &["--gru", "GB"],
            "\"GB\" is not a valid GPU RAM unit. Valid values are bytes, gigabytes, kilobytes, \
             megabytes, terabytes",
        ),
        (
            &["--tu=milliseconds"],
            "\"milliseconds\" is not a valid time unit. Valid values are days, hours, minutes, \
             seconds",
        ),
        (&["--st=0.0005"], "Sleep time of 0.0005 is invalid. Must be at least 0.001 seconds."),
        (&["--st=-1"], "Sleep time of -1 is invalid. Must be at least 0.001 seconds."),
        (&["--st", "fast"], "Sleep time of fast is invalid. Must be at least 0.001 seconds."),
        (&["--st=1e19"], "Sleep time of 1e19 is invalid. Must be at most 3600 seconds."),
        (&["-f", "xml"], "\"xml\" is not a valid format. Valid values are json, text"),
        (
            &["--format=pickle"],
            "the format pickle can be read by Python alone. Use json, which sub-track compare \
             reads too",
        ),
        (
            &["--nec=0"],
            "\"0\" is not a valid number of expected cores. It must be a whole number from 1 up",
        ),
        (
            &["--nec=1.5"],
            "\"1.5\" is not a valid number of expected cores. It must be a whole number from 1 up",
        ),
        (
            &["--gb=amd"],
            "AMD's GPUs are not measured here, only NVIDIA's. Leave --gb out, or say nvidia",
        ),
        (&["--gb=intel"], "\"intel\" is not a valid GPU brand. Valid values are nvidia"),
        (
            &["--tf=samples.txt"],
            "`samples.txt` is neither CSV nor SQLite by its name. End it in .csv or .sqlite",
        ),
        (
            &["--tf=/nowhere/a.csv"],
            "`/nowhere/a.csv` cannot be written: No such file or directory (os error 2)",
        ),
        (
            &["-o", "/nowhere/report"],
            "`/nowhere/report` cannot be written: No such file or directory (os error 2)",
        ),
    ];
    for (options, sentence) in cases {
        assert_eq!(refused(options).stderr, format!("gpu-tracker: {sentence}\n"));
    }
}

#[test]
fn an_option_that_there_is_not() {
    assert!(refused(&["--sleep=1"]).stderr.contains("unexpected argument '--sleep'"));
    assert!(refused(&["--keys=children"]).stderr.contains("[possible values: descendents"));
    let ran = track(&[]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--execute <COMMAND>"), "{}", ran.stderr);
}

#[test]
fn no_command() {
    for command in ["", "   ", "''"] {
        let ran = track(&["-e", command]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
        assert_eq!(ran.stderr, "gpu-tracker: Empty command provided.\n");
    }
    let ran = track(&["-e", "echo 'a"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(ran.stderr, "gpu-tracker: the command has a quote that does not end: echo 'a\n");
}

#[test]
fn a_folder_is_no_place_for_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let ran = refused(&["-o", folder.path().to_str().unwrap()]);
    assert!(ran.stderr.ends_with("` cannot be written: is a directory\n"), "{}", ran.stderr);
}

#[test]
fn one_file_cannot_be_two() {
    for report in ["both.csv", "./both.csv"] {
        let ran = refused(&["-o", report, "--tf=both.csv"]);
        let sentence = "the report and the tracking file are both to be both.csv. Name two files";
        assert_eq!(ran.stderr, format!("gpu-tracker: {sentence}\n"));
    }
}

#[test]
fn a_tracking_file_that_exists() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.csv", "a.sqlite"] {
        let path = folder.path().join(name);
        fs::write(&path, "dear").unwrap();
        let ran = refused(&["--tf", path.to_str().unwrap()]);
        let sentence = "already exists. Set overwrite to True to overwrite the existing file.";
        assert_eq!(ran.stderr, format!("gpu-tracker: File {} {sentence}\n", path.display()));
        assert_eq!(fs::read_to_string(&path).unwrap(), "dear");
    }
}

/// Neither the files nor those that they would replace are touched for nothing.
#[test]
fn a_command_that_does_not_start_leaves_files_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("old.csv"), "dear").unwrap();
    fs::write(path("old.txt"), "dear").unwrap();
    let options = ["--overwrite", "--tf", &path("old.csv"), "-o", &path("old.txt")];
    assert_eq!(track(&[&["-e", "no-such-program"], &options[..]].concat()).code, Some(127));
    assert_eq!(fs::read_to_string(path("old.csv")).unwrap(), "dear");
    assert_eq!(fs::read_to_string(path("old.txt")).unwrap(), "dear");
    let options = ["--tf", &path("new.csv"), "-o", &path("new.txt")];
    assert_eq!(track(&[&["-e", "no-such-program"], &options[..]].concat()).code, Some(127));
    assert!(!Path::new(&path("new.csv")).exists() && !Path::new(&path("new.txt")).exists());
}

#[test]
fn a_card_that_there_is_not() {
    let machine = Machine::new("[[card]]\nuuid = \"GPU-b\"\n[[card]]\nuuid = \"GPU-a\"\n");
    let ran = run(machine.gpu_tracker(&["-e", "true", "--guuids=GPU-a,GPU-x"]));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    let sentence = "GPU UUID of GPU-x is not valid. Available UUIDs are: GPU-a, GPU-b";
    assert_eq!(ran.stderr, format!("gpu-tracker: {sentence}\n"));
}

#[test]
fn a_card_without_a_driver() {
    let ran = run(without_driver(&["-e", "true", "--guuids=GPU-a"]));
    assert_eq!(ran.code, Some(2));
    let sentence = "GPU UUID of GPU-a is not valid. Available UUIDs are: none, as the driver \
                    cannot be read: /nowhere/libnvidia-ml.so.1 was not found";
    assert_eq!(ran.stderr, format!("gpu-tracker: {sentence}\n"));
}

#[test]
fn help_and_version() {
    let ran = run(gpu_tracker(&["-v"]));
    assert_eq!(ran.stdout, format!("gpu-tracker {}\n", env!("CARGO_PKG_VERSION")));
    let help = run(gpu_tracker(&["--help"]));
    assert_eq!(help.code, Some(0));
    insta::assert_snapshot!(help.stdout);
}
