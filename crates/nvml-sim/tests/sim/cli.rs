//! The program `nvml-sim`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::stage::text;

fn sim() -> Command {
    Command::new(env!("CARGO_BIN_EXE_nvml-sim"))
}

/// A directory with `lab.toml` in it, and a command that runs there.
fn in_lab(scenario: &str) -> (tempfile::TempDir, Command) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("lab.toml"), scenario).unwrap();
    let mut command = sim();
    command.current_dir(&dir).env("TMPDIR", dir.path());
    (dir, command)
}

#[test]
fn a_program_runs_on_the_machine_and_its_status_is_passed_on() {
    let (dir, mut command) = in_lab("[[card]]\nuuid = \"GPU-x\"\n");
    let script = "nvidia-smi -L && test -d \"$GUA_HOST_ROOT/proc/1\" && exit 7";
    let output = command.args(["run", "lab.toml", "--", "sh", "-c", script]).output().unwrap();
    assert_eq!(text(&output.stdout), "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-x)\n");
    assert_eq!(output.status.code(), Some(7));
    // Nothing is left but the scenario.
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_program_that_a_signal_ended_or_that_is_not_there() {
    let status = |program: &[&str]| {
        let (_dir, mut command) = in_lab("");
        command.args(["run", "lab.toml", "--"]).args(program).output().unwrap().status.code()
    };
    assert_eq!(status(&["sh", "-c", "kill -9 $$"]), Some(137));
    assert_eq!(status(&["/no/such/program"]), Some(127));
}

#[test]
fn a_signal_reaches_the_program_and_the_directory_is_removed() {
    let (dir, mut command) = in_lab("");
    let script = "trap 'exit 42' TERM; echo ready; while :; do sleep 0.01; done";
    command.args(["run", "lab.toml", "--", "sh", "-c", script]).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    // SAFETY: `kill` takes plain numbers; the child has not been waited for.
    unsafe { libc::kill(i32::try_from(child.id()).unwrap(), libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(42));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_bad_scenario_is_refused_before_anything_happens() {
    for arguments in [
        &["run", "lab.toml", "--", "true"][..],
        &["check", "lab.toml"],
        &["install", "there", "lab.toml"],
    ] {
        let (dir, mut command) = in_lab("seed = 1\n[[card]]\nutilization = 120\n");
        let output = command.args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(
            text(&output.stderr),
            "nvml-sim: lab.toml:3: 120 is not a percentage; expected 0 to 100\n"
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_function_that_does_not_exist_is_refused() {
    for (scenario, says) in [
        (
            "[[card]]\n[[fault]]\ncall = \"nvmlDeviceGetUtil\"\nhang = true\n",
            "nvml-sim: lab.toml:3: `nvmlDeviceGetUtil` matches no NVML function\n",
        ),
        (
            "[driver]\nlacks = [\"*_v3\", \"*_v33\"]\n",
            "nvml-sim: lab.toml:2: `*_v33` matches no NVML function\n",
        ),
    ] {
        for arguments in [
            &["run", "lab.toml", "--", "true"][..],
            &["check", "lab.toml"],
            &["install", "there", "lab.toml"],
        ] {
            let (_dir, mut command) = in_lab(scenario);
            let output = command.args(arguments).output().unwrap();
            assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(2), says));
        }
    }
}

#[test]
fn a_good_scenario_is_summed_up() {
    let (_dir, mut command) =
        in_lab("[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\n");
    let output = command.args(["check", "lab.toml"]).output().unwrap();
    assert_eq!(
        text(&output.stdout),
        "lab.toml: 1 card, 0 MIG instances, 1 process, 0 faults, driver 560.35.05\n"
    );
}

#[test]
fn an_installation_is_told_as_lines_for_a_shell() {
    let (dir, mut command) = in_lab("[[card]]\nuuid = \"GPU-x\"\n");
    let output = command.args(["install", "it's there", "lab.toml"]).output().unwrap();
    assert!(output.status.success());
    let script = format!("{}\nnvidia-smi -L", text(&output.stdout));
    let output = Command::new("sh").args(["-c", &script]).current_dir("/").output().unwrap();
    assert_eq!(text(&output.stdout), "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-x)\n");
    assert!(dir.path().join("it's there/lib/libnvidia-ml.so.1").is_file());
    assert!(dir.path().join("it's there/lib/libnvidia-ml.so").exists());
}
