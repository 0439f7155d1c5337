//! How the program fails: one clear sentence with the next step, never a panic.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use nvidia_ml::skip::skipped;
use serde_json::Value;

use crate::machine::{Machine, Run, assert_fits, on_a_terminal, program, run};

/// One sentence on stderr that names the trouble, a next step below it, nothing on stdout.
fn assert_clean_failure(run: &Run, code: i32, sentence: &str) {
    assert_eq!(run.code, Some(code), "{run:?}");
    assert_eq!(run.stdout, "", "{run:?}");
    assert!(run.stderr.starts_with(&format!("gua: {sentence}")), "{}", run.stderr);
    assert!(run.stderr.lines().count() >= 2, "no next step: {}", run.stderr);
    for word in ["panicked", "RUST_BACKTRACE", "unwrap"] {
        assert!(!run.stderr.contains(word), "{}", run.stderr);
    }
}

fn stat_with_library(path: &std::path::Path) -> Run {
    run(program(&["--nvml", path.to_str().unwrap(), "stat"]))
}

#[test]
fn no_library() {
    let missing = std::path::Path::new("/nowhere/libnvidia-ml.so.1");
    let sentence = "cannot read the driver: /nowhere/libnvidia-ml.so.1 was not found\n";
    assert_clean_failure(&stat_with_library(missing), 1, sentence);
}

#[test]
fn a_file_that_is_no_library() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("libnvidia-ml.so.1");
    fs::write(&text, "not a library\n").unwrap();
    let sentence = format!("cannot read the driver: {} could not be loaded: ", text.display());
    assert_clean_failure(&stat_with_library(&text), 1, &sentence);
}

#[test]
fn a_library_of_something_else() {
    let sentence = "cannot read the driver: libm.so.6 is not NVIDIA's management library";
    assert_clean_failure(&stat_with_library(std::path::Path::new("libm.so.6")), 1, sentence);
}

#[test]
fn a_library_that_lacks_its_beginning() {
    let machine = Machine::new("[driver]\nlacks = [\"nvmlInit*\"]\n[[card]]\n");
    let run = machine.gua(&["stat"]);
    let sentence = "cannot read the driver: libnvidia-ml.so.1 is not NVIDIA's management library";
    assert_clean_failure(&run, 1, sentence);
}

#[test]
fn a_driver_that_does_not_start() {
    let cases = [
        ("DRIVER_NOT_LOADED", "the NVIDIA kernel driver is not loaded"),
        (
            "LIB_RM_VERSION_MISMATCH",
            "the NVIDIA library and the kernel driver are of different versions",
        ),
        ("NO_PERMISSION", "this user may not talk to the NVIDIA driver"),
        ("UNKNOWN", "the NVIDIA driver refused to start: "),
    ];
    for (code, words) in cases {
        let machine = Machine::new(&format!(
            "[[card]]\n[[fault]]\ncall = \"nvmlInit*\"\ncode = \"{code}\"\n"
        ));
        let sentence = format!("cannot read the driver: {words}");
        assert_clean_failure(&machine.gua(&["stat"]), 1, &sentence);
    }
}

#[test]
fn the_environment_chooses_the_library_too() {
    let machine = Machine::new("[[card]]\nutilization = 0\n");
    let mut command = machine.command(&["stat", "--no-header"]);
    command.env_remove("LD_LIBRARY_PATH").env("GUA_NVML", machine.library());
    assert_eq!(run(command).code, Some(0));
    let mut command = machine.command(&["stat", "--no-header"]);
    command.env("GUA_NVML", "");
    assert_eq!(run(command).code, Some(0), "set to nothing is not set");
    let mut command = machine.command(&["stat"]);
    command.env("GUA_NVML", "/nowhere.so");
    assert_clean_failure(&run(command), 1, "cannot read the driver: /nowhere.so was not found");
}

#[test]
fn a_driver_that_does_not_shut_down_holds_nobody_up() {
    let machine = Machine::new("[[card]]\n[[fault]]\ncall = \"nvmlShutdown\"\nhang = true\n");
    assert_eq!(machine.gua(&["stat"]).code, Some(0));
}

#[test]
fn wrong_usage_is_refused_with_two() {
    let machine = Machine::new("[[card]]\n[[card]]\n");
    let wrong = [
        &["stat", "--frob"][..],
        &["stat", "-i", "0"],
        &["stat", "-i", "soon"],
        &["stat", "-P=watts"],
        &["stat", "-ip"],
        &["stat", "--color", "blue"],
        &["frobnicate"],
        &[],
    ];
    for args in wrong {
        let run = machine.gua(args);
        assert_eq!(run.code, Some(2), "{args:?} {run:?}");
        assert_eq!(run.stdout, "", "{args:?}");
        assert!(!run.stderr.is_empty(), "{args:?}");
    }
    for id in ["2", "GPU-nope", "-1", ""] {
        let run = machine.gua(&["stat", &format!("--id={id}")]);
        assert_clean_failure(&run, 2, &format!("there is no card `{id}` here\n"));
        assert!(run.stderr.contains("Choose from 0 to 1"), "{}", run.stderr);
    }
}

/// Trap: an empty view with exit 0 would read as a host without cards.
#[test]
fn a_driver_that_dies_before_the_look_is_a_failure() {
    let machine = Machine::new(DYING);
    let run = machine.gua(&["stat"]);
    let error = "the NVIDIA kernel driver is not loaded";
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stdout.contains(&format!("\ndriver: {error}\n")), "{}", run.stdout);
    assert!(!run.stdout.contains("no cards"), "{}", run.stdout);
    assert!(run.stderr.starts_with(&format!("gua: cannot read the driver: {error}\n")), "{run:?}");
    let run = Machine::new(DYING).gua(&["stat", "--json", "--id", "GPU-x"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let look: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(look["driver_error"], error);
    assert_eq!(look["unknown"]["driver_version"], "driver_gone");
}

/// It starts, tells its version slowly, and is gone when the cards are asked.
const DYING: &str = r#"
[[card]]
[[fault]]
call = "nvmlSystemGetNVMLVersion"
latency = "1500ms"
[[fault]]
call = "nvmlDeviceGetH*"
code = "DRIVER_NOT_LOADED"
from = "1s"
[[fault]]
call = "nvmlInit*"
code = "DRIVER_NOT_LOADED"
from = "1s"
"#;

#[test]
fn a_host_root_that_is_none_is_refused() {
    let machine = Machine::new("[[card]]\n");
    let sentence = "the host root `/nowhere` is no host's /: it has no proc/stat\n";
    for args in [&["stat", "--host-root", "/nowhere"][..], &["--host-root", "/nowhere", "doctor"]] {
        assert_clean_failure(&machine.gua(args), 2, sentence);
    }
    let mut command = machine.command(&["stat"]);
    command.env("GUA_HOST_ROOT", "/nowhere");
    assert_clean_failure(&run(command), 2, sentence);
    let mut command = program(&["version"]);
    command.env("GUA_HOST_ROOT", "/nowhere");
    assert_eq!(run(command).code, Some(0));
}

/// The id may be that of the card that does not say who it is.
#[test]
fn an_unknown_id_beside_an_unreadable_card_is_not_called_wrong() {
    let machine = Machine::new(
        "[[card]]\nuuid = \"GPU-a\"\n[[card]]\nuuid = \"GPU-b\"\n\
         [[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\ncode = \"GPU_IS_LOST\"\n",
    );
    let sentence = "there is no card `GPU-b` among those that can be read; card 1 cannot be read\n";
    assert_clean_failure(&machine.gua(&["stat", "--id", "GPU-b"]), 1, sentence);
    assert_clean_failure(&machine.gua(&["stat", "--id", "2"]), 2, "there is no card `2` here\n");
    assert_eq!(machine.gua(&["stat", "--id", "1"]).code, Some(0));
}

/// What is quoted back may have been written to be quoted.
#[test]
fn escape_codes_in_what_was_typed_are_not_quoted() {
    let machine = Machine::new("[[card]]\n");
    let cases = [
        (&["stat", "--id", "\x1b[31mX"][..], 2, "there is no card `?[31mX` here\n"),
        (&["--nvml", "/tmp/\x1b[2Jx\ny", "stat"], 1, "cannot read the driver: /tmp/?[2Jx?y was"),
        (&["--host-root", "/\x1b[2J", "stat"], 2, "the host root `/?[2J` is no host's /"),
    ];
    for (args, code, sentence) in cases {
        let run = machine.gua(args);
        assert_clean_failure(&run, code, sentence);
        assert!(!run.stderr.contains('\x1b'), "{run:?}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let machine = Machine::new("[[card]]\n");
    let mut command = machine.command(&["stat", "-i", "0.1"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(stderr, "");
}

#[test]
fn a_full_disk_is_an_error() {
    let machine = Machine::new("[[card]]\n");
    for args in [&["stat"][..], &["query"], &["config", "show"], &["version"], &["--help"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = machine.command(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with("gua: cannot write the output: "), "{args:?}: {stderr}");
    }
}

#[test]
fn every_command_explains_itself() {
    for args in [
        &["--help"][..],
        &["stat", "--help"],
        &["doctor", "--help"],
        &["query", "--help"],
        &["report", "--help"],
        &["version", "--help"],
        &["who", "--help"],
        &["pick", "--help"],
    ] {
        let run = run(program(args));
        assert_eq!(run.code, Some(0), "{args:?}");
        assert!(run.stdout.contains("Usage: gua"), "{args:?}");
    }
    assert_eq!(run(program(&["version"])).stdout, format!("gua {}\n", env!("CARGO_PKG_VERSION")));
}

/// Regression: hints were as long as they are on the narrowest terminal. In a pipe they stay so.
#[test]
fn a_hint_fits_the_terminal() {
    let command = program(&["report", "--db", "/nowhere/a/long/way/to/gua.db"]);
    let plain = run(program(&["report", "--db", "/nowhere/a/long/way/to/gua.db"])).stderr;
    for columns in [24, 40, 50, 59] {
        let Some(shown) = on_a_terminal(&command, columns) else {
            return skipped("a_hint_fits_the_terminal", "there is no `script`");
        };
        assert_fits(&shown, columns);
        let words = |text: &str| text.replace([' ', '\n'], "");
        assert_eq!(words(&shown), words(&plain), "{shown}");
        assert!(shown.lines().skip(1).all(|line| line.starts_with("     ")), "{shown}");
    }
    assert_eq!(plain.lines().count(), 1, "{plain}");
}
