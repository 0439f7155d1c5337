//! `gua doctor` on pretend machines: ready, not ready, and every doubt between.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nvidia_ml::skip::skipped;
use rusqlite::Connection;
use serde_json::Value;

use crate::machine::{Machine, Run, program, run};

const TWO_CARDS: &str = r#"
[[card]]
utilization = 80

[[card]]
name = "NVIDIA GeForce RTX 4090"
memory = "24GiB"
utilization = 0
fan = 30

[[process]]
pid = 100
card = 0
user = "alice"
program = "python"
memory = "70000MiB"
sm = 75

[[process]]
pid = 200
card = 1
user = "bob"
program = "jupyter-lab"
memory = "8000MiB"
"#;

/// The uid and gid of a user who owns nothing.
const NOBODY: u32 = 65_534;

/// A machine whose `nvidia-smi` is this shell script; none at all when `None`.
fn machine_with_smi(scenario: &str, script: Option<&str>) -> Machine {
    let machine = Machine::new(scenario);
    let path = machine.bin().join("nvidia-smi");
    // Never written through: it may be a link to the one that was built.
    let _ = fs::remove_file(&path);
    if let Some(script) = script {
        write_program(&path, script);
    }
    machine
}

fn write_program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A machine on which nothing but the scenario can be wrong.
fn machine(scenario: &str) -> Machine {
    let script = "echo 'GPU 0: A (UUID: GPU-a)'; echo 'GPU 1: B (UUID: GPU-b)'";
    machine_with_smi(scenario, Some(script))
}

/// The program that finds only the machine's own `nvidia-smi`.
fn doctor(machine: &Machine, args: &[&str]) -> Command {
    let mut command = machine.command(&["doctor"]);
    command.args(args).env("PATH", machine.bin());
    command
}

fn json(command: Command) -> (Option<i32>, Value) {
    let mut command = command;
    command.arg("--json");
    let run = run(command);
    assert_eq!(run.stderr, "", "{run:?}");
    (run.code, serde_json::from_str(&run.stdout).unwrap())
}

fn of<'a>(checkup: &'a Value, check: &str) -> &'a Value {
    let findings = checkup["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["check"] == check).unwrap()
}

fn card(checkup: &Value, index: u32) -> &Value {
    let findings = checkup["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["card"]["index"] == index).unwrap()
}

/// What a finding says, and whether the host is ready with it.
fn database(machine: &Machine, args: &[&str]) -> (Value, Value, Option<i32>) {
    let (code, checkup) = json(doctor(machine, args));
    let finding = of(&checkup, "database").clone();
    (finding, checkup["facts"]["database"].clone(), code)
}

/// The output with what differs from host to host replaced.
fn stable(run: &Run, machine: &Machine) -> String {
    let text = run.stdout.replace(machine.dir().to_str().unwrap(), "DIR");
    text.replace(", in a container", "")
}

macro_rules! assert_output {
    ($run:expr, $machine:expr, @$expected:literal) => {
        insta::with_settings!({filters => vec![
            (r"Linux \S+, (x86_64|aarch64)", "Linux KERNEL, ARCH"),
            (r"[<\d.]+ GiB free", "N GiB free"),
        ]}, {
            insta::assert_snapshot!(stable(&$run, &$machine), @$expected);
        });
    };
}

#[test]
fn a_host_that_is_ready() {
    let machine = machine(TWO_CARDS);
    let run = run(doctor(&machine, &[]));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_output!(run, machine, @r"
    ready: 2 cards can be audited
    ok       system      Pretend Linux 1, Linux KERNEL, ARCH
    ok       devices     2 cards, nvidiactl, nvidia-uvm in /dev, open to this user
    ok       nvidia-smi  lists 2 GPUs
    ok       nvml        libnvidia-ml.so.1: driver 560.35.05, NVML 12.560.35.05, CUDA 12.6, 2 GPUs
    ok       card 0      A100-SXM4-80GB: everything can be read; no fan
    ok       card 1      RTX 4090: everything can be read
    ok       processes   both processes on the cards can be named
    ok       database    DIR/home/.gua/gua.db: none yet, can be made; N GiB free
    ok       daemon      no recorder is running
    ");
}

#[test]
fn a_host_without_a_driver() {
    let machine = machine_with_smi(TWO_CARDS, None);
    fs::remove_dir_all(machine.root().join("dev")).unwrap();
    let run = run(doctor(&machine, &["--nvml", "/nowhere/libnvidia-ml.so.1"]));
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    assert_output!(run, machine, @r"
    not ready: 2 errors, 1 warning
    ok       system      Pretend Linux 1, Linux KERNEL, ARCH
    error    devices     there is no /dev/nvidia*
                         → Load the driver with `modprobe nvidia`; in a container, pass the cards in (`docker run --gpus all`).
    warning  nvidia-smi  not found in PATH; gua does not need it
                         → Nothing to do for gua; it comes with the driver's own tools.
    error    nvml        /nowhere/libnvidia-ml.so.1 was not found
                         → Is the NVIDIA driver installed on this host? If it is elsewhere, name it with --nvml PATH.
    skipped  cards       the library did not start
    skipped  processes   the library did not start
    ok       database    DIR/home/.gua/gua.db: none yet, can be made; N GiB free
    ok       daemon      no recorder is running
    ");
}

#[test]
fn a_driver_that_does_not_start_is_told_in_words() {
    let cases = [
        ("DRIVER_NOT_LOADED", "the NVIDIA kernel driver is not loaded"),
        ("LIB_RM_VERSION_MISMATCH", "different versions"),
        ("NO_PERMISSION", "this user may not talk to the NVIDIA driver"),
    ];
    for (code, words) in cases {
        let fault = format!("[[card]]\n[[fault]]\ncall = \"nvmlInit*\"\ncode = \"{code}\"\n");
        let (exit, checkup) = json(doctor(&machine(&fault), &[]));
        let nvml = of(&checkup, "nvml");
        assert_eq!((exit, &nvml["verdict"]), (Some(1), &"error".into()));
        assert!(nvml["detail"].as_str().unwrap().contains(words), "{nvml}");
        assert!(nvml["next_step"].is_string());
        assert_eq!(checkup["facts"]["driver_version"], Value::Null);
    }
}

#[test]
fn a_driver_without_a_card_is_not_ready() {
    let (code, checkup) = json(doctor(&machine(""), &[]));
    assert_eq!((code, &checkup["ready"]), (Some(1), &Value::Bool(false)));
    assert_eq!(of(&checkup, "nvml")["verdict"], "error");
    assert_eq!(of(&checkup, "card")["verdict"], "skipped");
    assert_eq!(of(&checkup, "processes")["verdict"], "skipped");
    assert_eq!(checkup["facts"]["gpu_count"], 0);
}

/// Trap: a process list may need privilege; denied is unknown, not empty.
#[test]
fn a_denied_process_list_is_a_warning() {
    let denied = format!(
        "{TWO_CARDS}[[fault]]\ncall = \"nvmlDeviceGet*RunningProcesses*\"\ncard = 0\n\
         code = \"NO_PERMISSION\"\n"
    );
    let (code, checkup) = json(doctor(&machine(&denied), &[]));
    assert_eq!(code, Some(0));
    let finding = card(&checkup, 0);
    assert_eq!(finding["verdict"], "warning");
    assert!(finding["detail"].as_str().unwrap().contains("holders (no permission)"), "{finding}");
    assert!(finding["next_step"].as_str().unwrap().contains("sudo gua doctor"), "{finding}");
    assert_eq!(checkup["facts"]["cards"][0]["unreadable"]["holders"], "no_permission");
    assert_eq!(card(&checkup, 1)["verdict"], "ok");
}

/// Trap: lists that could not be read were told as "no process is on a card now".
#[test]
fn lists_that_cannot_be_read_are_not_called_empty() {
    let denied = format!(
        "{TWO_CARDS}[[fault]]\ncall = \"nvmlDeviceGet*RunningProcesses*\"\n\
         code = \"NO_PERMISSION\"\n"
    );
    let (code, checkup) = json(doctor(&machine(&denied), &[]));
    let finding = of(&checkup, "processes");
    assert_eq!((code, &finding["verdict"]), (Some(0), &"warning".into()));
    assert_eq!(finding["detail"], "no card's list could be read");
    assert!(finding["next_step"].is_string());
}

/// Trap: one card lost; the others go on.
#[test]
fn a_lost_card_is_a_warning_and_all_lost_is_an_error() {
    let lost = |card: &str| {
        format!("{TWO_CARDS}[[fault]]\ncall = \"nvmlDeviceGet*\"\n{card}code = \"GPU_IS_LOST\"\n")
    };
    let (code, one) = json(doctor(&machine(&lost("card = 1\n")), &[]));
    assert_eq!((code, &card(&one, 1)["verdict"]), (Some(0), &"warning".into()));
    assert_eq!(card(&one, 1)["detail"], "nothing can be read: lost from the bus");
    assert_eq!(card(&one, 0)["verdict"], "ok");
    let (code, all) = json(doctor(
        &machine(&lost("card = 0\n").replace(
            "[[fault]]",
            "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\ncode = \"GPU_IS_LOST\"\n[[fault]]",
        )),
        &[],
    ));
    assert_eq!((code, &card(&all, 1)["verdict"]), (Some(1), &"error".into()));
}

fn mig(gpm: bool) -> Machine {
    machine(&format!(
        "[[card]]\nname = \"NVIDIA H100 80GB HBM3\"\ngpm = {gpm}\n[[card.mig]]\nslot = 4\n\
         profile = \"3g.40gb\"\nmemory = \"40GiB\"\nutilization = 50\n"
    ))
}

/// Trap: utilization is not supported on MIG, except through counters.
#[test]
fn mig_instances_without_counters_are_a_warning() {
    let (code, checkup) = json(doctor(&mig(false), &[]));
    let finding = card(&checkup, 0);
    assert_eq!((code, &finding["verdict"]), (Some(0), &"warning".into()));
    assert_eq!(finding["card"]["mig_slot"], 4);
    assert!(finding["next_step"].as_str().unwrap().contains("Hopper"), "{finding}");
    assert_eq!(checkup["facts"]["cards"][0]["unreadable"]["utilization"], "not_supported");
    let (_, counted) = json(doctor(&mig(true), &[]));
    let readable = &counted["facts"]["cards"][0]["readable"];
    assert!(readable.as_array().unwrap().contains(&"utilization".into()), "{readable}");
    assert_eq!(card(&counted, 0)["verdict"], "ok");
}

#[test]
fn a_card_without_a_sample_buffer_is_ok_and_said() {
    let scenario = "[[card]]\nutilization = 30\n[[fault]]\ncall = \"nvmlDeviceGetSamples\"\n\
                    code = \"NOT_SUPPORTED\"\n";
    let (_, checkup) = json(doctor(&machine(scenario), &[]));
    let finding = card(&checkup, 0);
    assert_eq!(finding["verdict"], "ok");
    assert!(finding["detail"].as_str().unwrap().contains("only of the last moment"), "{finding}");
    assert_eq!(checkup["facts"]["cards"][0]["utilization_is_instant"], true);
}

/// Trap: a call can hang for minutes when a card is failing.
#[test]
fn a_hanging_card_does_not_hang_the_doctor() {
    let hang = format!(
        "{TWO_CARDS}[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncard = 1\nhang = true\n\
         [[fault]]\ncall = \"nvmlShutdown\"\nhang = true\n"
    );
    let begun = Instant::now();
    let (code, checkup) = json(doctor(&machine(&hang), &[]));
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!((code, &card(&checkup, 0)["verdict"]), (Some(0), &"ok".into()));
    assert_eq!(card(&checkup, 1)["detail"], "RTX 4090: nothing can be read: no answer in time");
}

#[test]
fn a_shutdown_that_hangs_is_not_waited_for() {
    let hang = format!("{TWO_CARDS}[[fault]]\ncall = \"nvmlShutdown\"\nhang = true\n");
    let begun = Instant::now();
    assert_eq!(json(doctor(&machine(&hang), &[])).0, Some(0));
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
}

#[test]
fn a_driver_that_never_starts_is_given_up() {
    let hang = "[[card]]\n[[fault]]\ncall = \"nvmlInit*\"\nhang = true\n";
    let begun = Instant::now();
    let (code, checkup) = json(doctor(&machine(hang), &[]));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(code, Some(1));
    let detail = "the NVIDIA driver did not answer within 10 s";
    assert_eq!(of(&checkup, "nvml")["detail"], detail);
}

#[test]
fn an_nvidia_smi_that_hangs_is_stopped_with_all_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let pids = dir.path().join("pids");
    let script = format!("/bin/sleep 60 &\necho $$ $! > {}\nwait", pids.display());
    let machine = machine_with_smi(TWO_CARDS, Some(&script));
    let begun = Instant::now();
    let (code, checkup) = json(doctor(&machine, &[]));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let finding = of(&checkup, "nvidia-smi");
    assert_eq!((code, &finding["verdict"]), (Some(0), &"warning".into()));
    assert_eq!(finding["detail"], "did not answer within 3 s and was stopped");
    for pid in fs::read_to_string(pids).unwrap().split_whitespace() {
        assert!(is_over(pid), "{pid} still runs");
    }
}

/// What outlived its parent is reaped by init, when that likes to.
fn is_over(pid: &str) -> bool {
    (0..100).any(|_| {
        thread::sleep(Duration::from_millis(20));
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    })
}

#[test]
fn an_nvidia_smi_that_fails_is_quoted_and_tamed() {
    let script = "printf '\\033[2JNo \\342\\200\\256devices\\nmore\\n' >&2; exit 6";
    let machine = machine_with_smi(TWO_CARDS, Some(script));
    let run = run(doctor(&machine, &[]));
    assert_eq!(run.code, Some(0));
    let line = run.stdout.lines().find(|line| line.contains("nvidia-smi")).unwrap();
    assert_eq!(line, "warning  nvidia-smi  failed (exit status: 6): ?[2JNo ?devices");
    assert!(!run.stdout.contains('\x1b'));
}

#[test]
fn closed_devices_are_named() {
    let machine = machine(TWO_CARDS);
    for (name, mode) in [("nvidia0", 0o666), ("nvidia1", 0o600), ("nvidiactl", 0o666)] {
        let device = machine.root().join("dev").join(name);
        fs::set_permissions(device, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::remove_file(machine.root().join("dev/nvidia-uvm")).unwrap();
    let Some(command) = as_nobody(&machine, &[]) else {
        return skipped("closed_devices_are_named", "no other user can be played");
    };
    let (_, checkup) = json(command);
    let finding = of(&checkup, "devices");
    assert_eq!(finding["verdict"], "warning");
    assert_eq!(finding["detail"], "this user may not read and write /dev/nvidia1");
    assert_eq!(checkup["facts"]["devices"][1]["usable"], false);
}

/// The program as a user who owns nothing; `None` where that cannot be played.
fn as_nobody(machine: &Machine, args: &[&str]) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    fs::set_permissions(machine.dir(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = doctor(machine, args);
    command.uid(NOBODY).gid(NOBODY);
    // The program itself may lie in a folder that is closed to others.
    let mut trial = program(&["version"]);
    trial.uid(NOBODY).gid(NOBODY).stdout(Stdio::null());
    trial.status().is_ok_and(|status| status.success()).then_some(command)
}

#[test]
fn a_hidden_proc_is_a_warning_for_who_is_not_root() {
    let machine = machine(TWO_CARDS);
    let mounts = "proc /proc proc rw,nosuid,relatime,hidepid=invisible 0 0\n";
    fs::write(machine.root().join("proc/mounts"), mounts).unwrap();
    let Some(command) = as_nobody(&machine, &[]) else {
        return skipped("a_hidden_proc_is_a_warning", "no other user can be played");
    };
    let (code, checkup) = json(command);
    let finding = of(&checkup, "processes");
    assert_eq!((code, &finding["verdict"]), (Some(1), &"warning".into()));
    assert!(finding["detail"].as_str().unwrap().contains("hidepid=invisible"), "{finding}");
    assert_eq!(of(&json(doctor(&machine, &[])).1, "processes")["verdict"], "ok");
}

#[test]
fn a_missing_or_empty_database_can_be_made() {
    let machine = machine(TWO_CARDS);
    let (finding, facts, code) = database(&machine, &[]);
    assert_eq!((code, &finding["verdict"]), (Some(0), &"ok".into()));
    assert_eq!(facts["path"], machine.home().join(".gua/gua.db").to_str().unwrap());
    assert_eq!((&facts["kind"], &facts["writable"]), (&"missing".into(), &true.into()));
    assert!(!machine.home().join(".gua").exists());
    let empty = machine.dir().join("empty.db");
    fs::write(&empty, "").unwrap();
    let (finding, facts, code) = database(&machine, &["--db", empty.to_str().unwrap()]);
    assert_eq!((code, &finding["verdict"]), (Some(0), &"ok".into()));
    assert_eq!((&facts["kind"], &facts["size_bytes"]), (&"empty".into(), &0.into()));
}

/// Trap: a link that leads nowhere looks like a file that is still to be made.
#[test]
fn a_link_into_a_folder_that_is_not_there_is_an_error() {
    let machine = machine(TWO_CARDS);
    let link = machine.dir().join("link.db");
    std::os::unix::fs::symlink(machine.dir().join("new/gua.db"), &link).unwrap();
    let (finding, facts, code) = database(&machine, &["--db", link.to_str().unwrap()]);
    assert_eq!((code, &finding["verdict"]), (Some(1), &"error".into()));
    assert!(finding["detail"].as_str().unwrap().contains("a link to "), "{finding}");
    assert_eq!((&facts["kind"], &facts["writable"]), (&"missing".into(), &false.into()));
    fs::create_dir(machine.dir().join("new")).unwrap();
    let (finding, _, code) = database(&machine, &["--db", link.to_str().unwrap()]);
    assert_eq!((code, &finding["verdict"]), (Some(0), &"ok".into()), "{finding}");
}

fn sqlite(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn our_own_database_is_known_and_a_newer_one_refused() {
    let machine = machine(TWO_CARDS);
    fs::create_dir(machine.home().join(".gua")).unwrap();
    let path = machine.home().join(".gua/gua.db");
    sqlite(&path, "PRAGMA application_id = 0x47554131; PRAGMA user_version = 1;");
    let (finding, facts, code) = database(&machine, &[]);
    assert_eq!((code, &finding["verdict"]), (Some(0), &"ok".into()));
    assert_eq!((&facts["kind"], &facts["schema_version"]), (&"gua".into(), &1.into()));
    assert!(facts["size_bytes"].as_u64().unwrap() > 0);
    sqlite(&path, "PRAGMA user_version = 99;");
    let (finding, facts, code) = database(&machine, &[]);
    assert_eq!((code, &finding["verdict"]), (Some(1), &"error".into()));
    assert!(finding["detail"].as_str().unwrap().contains("a newer gua (layout 99"), "{finding}");
    assert_eq!(facts["schema_version"], 99);
}

/// The first layout of the Python gua; later ones only add to it.
const PYTHON_GUA: &str = "
    CREATE TABLE host (hostname TEXT, env_kind TEXT, driver_version TEXT, first_seen TEXT,
                       last_seen TEXT);
    CREATE TABLE gpu_sample (ts TEXT, gpu_uuid TEXT, util_pct INTEGER);
    CREATE TABLE proc_sample (ts TEXT, gpu_uuid TEXT, pid INTEGER, mem_used_mb INTEGER,
                              loginuid_user TEXT);
    INSERT INTO gpu_sample VALUES ('2026-11-15T20:00:00+00:00', 'GPU-1', 80);
";

#[test]
fn a_database_of_the_python_gua_is_welcome() {
    let machine = machine(TWO_CARDS);
    fs::create_dir(machine.home().join(".gua")).unwrap();
    sqlite(&machine.home().join(".gua/gua.db"), PYTHON_GUA);
    let (finding, facts, code) = database(&machine, &[]);
    assert_eq!((code, &finding["verdict"]), (Some(0), &"ok".into()));
    assert!(finding["detail"].as_str().unwrap().contains("Python gua"), "{finding}");
    assert_eq!((&facts["kind"], &facts["schema_version"]), (&"python_gua".into(), &Value::Null));
}

#[test]
fn what_is_not_ours_is_refused() {
    let machine = machine(TWO_CARDS);
    let at = |name: &str| machine.dir().join(name);
    sqlite(&at("other.db"), "CREATE TABLE gpu_sample (x); CREATE TABLE host (x);");
    fs::write(at("notes.txt"), "SQLite is a library\n").unwrap();
    fs::create_dir(at("folder")).unwrap();
    let mut broken = b"SQLite format 3\0".to_vec();
    broken.resize(4096, 0x5a);
    fs::write(at("broken.db"), broken).unwrap();
    let cases = [
        (at("other.db"), "other_sqlite"),
        (at("notes.txt"), "not_sqlite"),
        (at("folder"), "directory"),
        (at("broken.db"), "damaged"),
        (PathBuf::from("/dev/null"), "not_a_file"),
        (at("notes.txt/gua.db"), "unreadable"),
    ];
    for (path, kind) in cases {
        let (finding, facts, code) = database(&machine, &["--db", path.to_str().unwrap()]);
        assert_eq!((code, &finding["verdict"]), (Some(1), &"error".into()), "{finding}");
        assert_eq!(facts["kind"], kind);
        assert!(finding["next_step"].as_str().unwrap().contains("--db PATH"), "{finding}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_and_a_history_in_it_a_warning() {
    let machine = machine(TWO_CARDS);
    let Some(command) = as_nobody(&machine, &[]) else {
        return skipped("a_folder_that_cannot_be_written", "no other user can be played");
    };
    let (code, checkup) = json(command);
    assert_eq!((code, &of(&checkup, "database")["verdict"]), (Some(1), &"error".into()));
    assert_eq!(checkup["facts"]["database"]["writable"], false);
    let path = machine.dir().join("shared.db");
    sqlite(&path, "PRAGMA application_id = 0x47554131; PRAGMA user_version = 1;");
    let command = as_nobody(&machine, &["--db", path.to_str().unwrap()]).unwrap();
    let (code, checkup) = json(command);
    assert_eq!((code, &of(&checkup, "database")["verdict"]), (Some(0), &"warning".into()));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let command = as_nobody(&machine, &["--db", path.to_str().unwrap()]).unwrap();
    let (code, checkup) = json(command);
    assert_eq!((code, &of(&checkup, "database")["verdict"]), (Some(1), &"error".into()));
    assert_eq!(checkup["facts"]["database"]["kind"], "unreadable");
}

#[test]
fn an_empty_name_for_the_database_is_wrong_usage() {
    let run = run(doctor(&machine(TWO_CARDS), &["--db", ""]));
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
    assert!(run.stderr.contains("--db <PATH>"), "{}", run.stderr);
}

#[test]
fn without_a_home_the_database_must_be_named() {
    let machine = machine(TWO_CARDS);
    let homeless = |args: &[&str]| {
        let mut command = doctor(&machine, args);
        command.env_remove("HOME");
        json(command)
    };
    let (code, checkup) = homeless(&[]);
    assert_eq!((code, &of(&checkup, "database")["verdict"]), (Some(1), &"error".into()));
    assert_eq!(of(&checkup, "daemon")["verdict"], "skipped");
    assert_eq!(checkup["facts"]["daemon"]["running"], Value::Null);
    let path = machine.dir().join("x.db");
    assert_eq!(homeless(&["--db", path.to_str().unwrap()]).0, Some(0));
}

fn with_pid_file(machine: &Machine, text: &str) -> (Value, Value) {
    let folder = machine.home().join(".gua");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("gua.pid"), text).unwrap();
    let (code, checkup) = json(doctor(machine, &[]));
    assert_eq!(code, Some(0));
    (of(&checkup, "daemon").clone(), checkup["facts"]["daemon"].clone())
}

#[test]
fn a_stale_pid_file_is_a_warning() {
    let machine = machine(TWO_CARDS);
    let own = format!("{}\n", std::process::id());
    for text in ["2147483647\n", &own, "", "not a number\n"] {
        let (finding, facts) = with_pid_file(&machine, text);
        assert_eq!(finding["verdict"], "warning", "{finding}");
        assert!(finding["detail"].as_str().unwrap().starts_with("stale pid file"), "{finding}");
        assert!(finding["next_step"].as_str().unwrap().contains("rm "), "{finding}");
        assert_eq!((&facts["running"], &facts["pid"]), (&false.into(), &Value::Null));
    }
}

/// What is to be typed can be typed as it stands.
#[test]
fn a_path_with_blanks_is_quoted_in_advice() {
    let machine = machine(TWO_CARDS);
    let home = machine.dir().join("it's my home");
    fs::create_dir(&home).unwrap();
    let file = home.join("gua.pid");
    fs::write(&file, "2147483647\n").unwrap();
    let mut command = doctor(&machine, &[]);
    command.env("GUA_HOME", &home);
    let (_, checkup) = json(command);
    let step = of(&checkup, "daemon")["next_step"].as_str().unwrap().to_owned();
    let advice = step.split('`').nth(1).unwrap();
    assert!(Command::new("/bin/sh").args(["-c", advice]).status().unwrap().success(), "{step}");
    assert!(!file.exists(), "{step}");
}

#[test]
fn a_running_recorder_is_found_by_its_pid_file() {
    let machine = machine(TWO_CARDS);
    let gua = machine.dir().join("gua");
    write_program(&gua, "read line");
    let mut recorder = Command::new(gua).arg("daemon").stdin(Stdio::piped()).spawn().unwrap();
    // Until the shell has taken over, the process is still this test.
    let of_recorder = format!("/proc/{}/cmdline", recorder.id());
    while !fs::read_to_string(&of_recorder).unwrap().contains("daemon") {
        thread::sleep(Duration::from_millis(5));
    }
    let (finding, facts) = with_pid_file(&machine, &format!("{}\nmore\n", recorder.id()));
    drop(recorder.stdin.take());
    recorder.wait().unwrap();
    assert_eq!(finding["verdict"], "ok", "{finding}");
    assert_eq!((&facts["running"], &facts["pid"]), (&true.into(), &recorder.id().into()));
}

#[test]
fn json_has_numbers_as_numbers_and_says_the_same() {
    let machine = machine(TWO_CARDS);
    let (code, checkup) = json(doctor(&machine, &[]));
    assert_eq!(code, Some(0));
    assert_eq!((&checkup["schema"], &checkup["ready"]), (&"gua.doctor/1".into(), &true.into()));
    let checks: Vec<_> =
        checkup["findings"].as_array().unwrap().iter().map(|finding| &finding["check"]).collect();
    let order = [
        "system",
        "devices",
        "nvidia-smi",
        "nvml",
        "card",
        "card",
        "processes",
        "database",
        "daemon",
    ];
    assert_eq!(checks, order);
    let facts = &checkup["facts"];
    assert_eq!(facts["os"], "Pretend Linux 1");
    assert!(facts["kernel"].is_string());
    assert_eq!(facts["driver_version"], "560.35.05");
    assert_eq!(facts["nvml_version"], "12.560.35.05");
    assert_eq!(facts["cuda_version"], "12.6");
    assert_eq!((&facts["gpu_count"], &facts["nvidia_smi"]["gpu_count"]), (&2.into(), &2.into()));
    assert_eq!(facts["cards"][0]["index"], 0);
    assert_eq!(facts["cards"][1]["name"], "NVIDIA GeForce RTX 4090");
    assert_eq!(facts["cards"][0]["unreadable"], serde_json::json!({"fan": "not_supported"}));
    assert_eq!(facts["cards"][1]["readable"].as_array().unwrap().len(), 13);
    assert_eq!(facts["processes"]["listed_count"], 2);
    assert_eq!(facts["processes"]["named_count"], 2);
    assert!(facts["database"]["free_bytes"].as_u64().is_some());
    assert_eq!(facts["daemon"]["running"], false);
}

/// Every file below a folder with its bytes and the time of its last change; of a folder
/// the time only.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (Option<Vec<u8>>, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let changed = fs::metadata(&folder).unwrap().modified().unwrap();
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let changed = fs::metadata(&path).unwrap().modified().unwrap();
                found.insert(path.clone(), (fs::read(&path).ok(), changed));
            }
        }
        found.insert(folder, (None, changed));
    }
    found
}

#[test]
fn nothing_is_changed_by_looking() {
    let machine = machine(TWO_CARDS);
    let folder = machine.home().join(".gua");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("gua.pid"), "2147483647\n").unwrap();
    let path = folder.join("gua.db");
    let unchanged = |what: &str| {
        let before = tree(machine.dir());
        for args in [&[][..], &["--json"]] {
            assert_eq!(run(doctor(&machine, args)).code, Some(0), "{what}");
        }
        assert!(tree(machine.dir()) == before, "{what}");
    };
    unchanged("no database");
    sqlite(&path, PYTHON_GUA);
    unchanged("a database at rest");
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (x);").unwrap();
    assert!(folder.join("gua.db-wal").exists());
    unchanged("a database in use");
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("gua.db{suffix}");
        fs::copy(folder.join(&name), folder.join(format!("copy-{name}"))).unwrap();
    }
    drop(writer);
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("gua.db{suffix}");
        fs::rename(folder.join(format!("copy-{name}")), folder.join(&name)).unwrap();
    }
    unchanged("a database whose writer died");
    fs::remove_file(folder.join("gua.db-shm")).unwrap();
    unchanged("a database with a log but no index");
}

#[test]
fn no_line_is_wider_than_the_screen() {
    let machine = Machine::bundled("lab.toml");
    let name = "非常に長い名前-".repeat(20);
    let path = machine.dir().join(name.chars().take(80).collect::<String>());
    for columns in [20, 40, 60, 80, 120, 300] {
        let mut command = machine.command(&["doctor", "--db", path.to_str().unwrap()]);
        command.env("COLUMNS", columns.to_string());
        let run = run(command);
        assert_eq!(run.code, Some(0));
        for line in run.stdout.lines() {
            let width = unicode_width::UnicodeWidthStr::width(line);
            assert!(width <= columns, "{width} > {columns}: {line}");
        }
    }
}

#[test]
fn colour_repeats_the_words_where_it_is_wanted() {
    let machine = machine(TWO_CARDS);
    let plain = run(doctor(&machine, &[])).stdout;
    let mut colored = run(doctor(&machine, &["--color", "always"])).stdout;
    assert!(!plain.contains('\x1b') && colored.contains("\x1b[32mok\x1b[0m"), "{colored}");
    for code in ["\x1b[32m", "\x1b[1;33m", "\x1b[31m", "\x1b[2m", "\x1b[0m"] {
        colored = colored.replace(code, "");
    }
    assert_eq!(colored, plain);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let machine = machine(TWO_CARDS);
    let mut command = doctor(&machine, &[]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}
