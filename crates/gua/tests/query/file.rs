//! What `gua query` writes to a file, whatever ends it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::{STEADY, printed};
use crate::machine::{Machine, Run};

const FIELDS: [&str; 3] = ["query", "--fields", "index,memory.used"];
const HEAD: &str = "index, memory.used [MiB]";

fn gua(machine: &Machine, file: &Path, args: &[&str]) -> Run {
    machine.gua(&[&FIELDS[..], &["-o", file.to_str().unwrap()], args].concat())
}

fn place(machine: &Machine) -> PathBuf {
    machine.dir().join("log.csv")
}

/// Waits for a condition, for a long time.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_is_shown_is_written_as_well() {
    let machine = Machine::new(STEADY);
    for (format, repeated) in [("csv", "1"), ("json", "3"), ("table", "3")] {
        let file = machine.dir().join(format);
        let run = gua(&machine, &file, &["--format", format, "-n", repeated, "--every", "10ms"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), printed(&run), "{format}");
    }
}

#[test]
fn a_dash_is_stdout_alone() {
    let machine = Machine::new(STEADY);
    let mut command = machine.command(&[&FIELDS[..], &["-o", "-"]].concat());
    command.current_dir(machine.dir());
    let run = crate::machine::run(command);
    assert_eq!(printed(&run), printed(&machine.gua(&FIELDS)));
    assert!(!machine.dir().join("-").exists());
    for option in [&["--append"][..], &["--force"], &["--rotate", "10MB"]] {
        let refused = machine.gua(&[&FIELDS[..], &["-o", "-"], option].concat());
        assert_eq!(refused.code, Some(2));
        assert!(refused.stderr.contains("need a file, and `-o -` is stdout"), "{refused:?}");
    }
}

#[test]
fn nvidia_smis_word_for_the_file_is_understood() {
    let machine = Machine::new(STEADY);
    let file = place(&machine);
    let args =
        ["query", "--query-gpu=index", "--format=csv,noheader,nounits", "-l", "1", "-n", "1"];
    let run = machine.gua(&[&args[..], &["-f", file.to_str().unwrap()]].concat());
    assert_eq!(
        (printed(&run), fs::read_to_string(file).unwrap().as_str()),
        ("0\n1\n2\n", "0\n1\n2\n")
    );
}

#[test]
fn file_that_is_there_is_replaced_with_force() {
    let machine = Machine::new(STEADY);
    let file = place(&machine);
    fs::write(&file, "kept\n").unwrap();
    let refused = gua(&machine, &file, &[]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("replace it with --force"), "{refused:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept\n");
    let run = gua(&machine, &file, &["--force"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), printed(&run));
    assert!(printed(&run).starts_with(HEAD));
}

#[test]
fn an_appended_file_has_one_head() {
    let machine = Machine::new(STEADY);
    let file = place(&machine);
    for _ in 0..3 {
        printed(&gua(&machine, &file, &["--append"]));
    }
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().filter(|line| *line == HEAD).count(), 1, "{text}");
    assert_eq!(text.lines().count(), 1 + 3 * 3, "{text}");
}

/// JSON that is appended to stays one object a line.
#[test]
fn appended_json_is_lines() {
    let machine = Machine::new(STEADY);
    let file = place(&machine);
    for _ in 0..2 {
        printed(&gua(&machine, &file, &["--append", "--json"]));
    }
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().filter(|line| line.starts_with("{\"schema\"")).count(), 2, "{text}");
}

#[test]
fn a_full_file_makes_room_for_the_next() {
    let machine = Machine::new(STEADY);
    let file = place(&machine);
    let run = gua(&machine, &file, &["-n", "100", "--every", "10ms", "--rotate", "1kB"]);
    let numbered = |n: u32| PathBuf::from(format!("{}.{n}", file.display()));
    let files: Vec<_> = (1..=5).rev().map(numbered).chain([file.clone()]).collect();
    let texts: Vec<_> = files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
    assert!(texts.len() >= 4, "{}", texts.len());
    for text in &texts {
        assert!(text.len() <= 1000, "{}", text.len());
        assert_eq!(text.lines().next(), Some(HEAD));
    }
    let kept: Vec<_> = texts.iter().flat_map(|text| text.lines().skip(1)).collect();
    assert_eq!(kept, printed(&run).lines().skip(1).collect::<Vec<_>>());
    assert!(!numbered(6).exists());
}

#[test]
fn only_so_many_full_files_are_kept() {
    let machine = Machine::new(STEADY);
    let file = place(&machine);
    let args = ["-n", "150", "--every", "10ms", "--rotate", "1kB", "--keep", "2"];
    printed(&gua(&machine, &file, &args));
    let there = |n: u32| Path::new(&format!("{}.{n}", file.display())).exists();
    assert_eq!([1, 2, 3].map(there), [true, true, false]);
}

/// Killed at any moment, it leaves whole lines and all that it has shown.
#[test]
fn a_kill_loses_nothing() {
    let machine = Machine::new(STEADY);
    for wanted in [1, 10, 40] {
        let file = machine.dir().join(format!("log{wanted}"));
        let args = [&FIELDS, &["-lms", "10", "-o", file.to_str().unwrap()][..]].concat();
        let shown = machine.dir().join(format!("shown{wanted}"));
        let out = Stdio::from(fs::File::create(&shown).unwrap());
        let mut child = machine.command(&args).stdout(out).spawn().unwrap();
        until("lines", || {
            fs::read_to_string(&file).is_ok_and(|text| text.lines().count() > wanted)
        });
        child.kill().unwrap();
        child.wait().unwrap();
        let [text, shown] = [file, shown].map(|path| fs::read_to_string(path).unwrap());
        assert!(text.ends_with('\n'), "{text:?}");
        assert!(text.starts_with(&shown), "what was shown is kept");
        for (place, line) in text.lines().enumerate() {
            let expected = ["0, 71024 MiB", "1, 0 MiB", "2, 0 MiB"];
            let expected = place.checked_sub(1).map_or(HEAD, |place| expected[place % 3]);
            assert_eq!(line, expected, "{text}");
        }
    }
}

#[test]
fn a_full_disk_is_told() {
    let machine = Machine::new(STEADY);
    let run = gua(&machine, Path::new("/dev/full"), &["--append"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.starts_with("gua: `/dev/full` cannot be written: "), "{run:?}");
}

/// What keeps nothing cannot be spoiled.
#[test]
fn a_device_is_written_to_without_more_ado() {
    let machine = Machine::new(STEADY);
    printed(&gua(&machine, Path::new("/dev/null"), &[]));
    let run = gua(&machine, Path::new("/dev/full"), &[]);
    assert_eq!(run.code, Some(1), "{run:?}");
}
