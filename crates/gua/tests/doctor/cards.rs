//! What `gua doctor` says of the driver, its cards and who is on them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use nvidia_ml::skip::skipped;
use serde_json::Value;

use super::{TWO_CARDS, as_nobody, card, doctor, json, machine, machine_with_smi, of};
use crate::machine::{Machine, run};

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
