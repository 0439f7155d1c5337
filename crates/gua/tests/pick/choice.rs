//! Which cards are chosen, and why the others are not.

use std::fs;
use std::time::SystemTime;

use probe::units::UnixMillis;

use super::{chosen, free_cards, json, pick};
use crate::history::{Recording, card};
use crate::machine::{Machine, run};

#[test]
fn the_lab_has_one_free_card() {
    let machine = Machine::bundled("lab.toml");
    let answer = json(&machine, &[]);
    assert_eq!(chosen(&answer), [2]);
    let uuid = answer["cards"][2]["uuid"].as_str().unwrap();
    assert_eq!(answer["cuda_visible_devices"], uuid);
    let run = machine.gua(&["pick", "--no-reserve"]);
    assert_eq!((run.code, run.stdout), (Some(0), format!("CUDA_VISIBLE_DEVICES={uuid}\n")));
    let told = run.stderr.replace(machine.dir().to_str().unwrap(), "[DIR]");
    insta::assert_snapshot!(told, @"gua: judged by the last seconds only: there is no history at [DIR]/home/.gua/gua.db (`gua daemon` starts recording)");
}

#[test]
fn why_there_are_not_enough_is_told_card_by_card() {
    let machine = Machine::bundled("lab.toml");
    let (code, said) = pick(&machine, &["-n", "2"]).unwrap_err();
    assert_eq!(code, Some(1));
    let said = said.replace(machine.dir().to_str().unwrap(), "[DIR]");
    insta::with_settings!({filters => vec![(r"busy: \d+ %", "busy: NN %")]}, {
        insta::assert_snapshot!(said, @"
        gua: judged by the last seconds only: there is no history at [DIR]/home/.gua/gua.db (`gua daemon` starts recording)
        gua: 2 cards wanted: 1 suitable among 6
             [0]  A100-SXM4-80GB  busy: NN % now
             [1]  A100-SXM4-80GB  held by bob, unattributed (pid 9999), 71.4 GiB left
             [2]  A100-SXM4-80GB  would do
             [3]  A100-SXM4-80GB  busy: NN % now
             [4]  A100-SXM4-80GB  held by dora, 67.4 GiB left
             [5]  ?               unknown: lost from the bus
             `gua who` tells whom to ask, --min-free SIZE shares a card, --wait waits.
        ");
    });
    let answer = json(&machine, &["-n", "2"]);
    assert_eq!((&answer["enough"], &answer["wanted"]), (&false.into(), &2.into()));
    let reasons: Vec<_> =
        answer["cards"].as_array().unwrap().iter().map(|c| &c["reason"]).collect();
    assert_eq!(reasons, ["busy", "held", "not_needed", "busy", "held", "unknown"]);
}

#[test]
fn cards_are_shared_when_it_is_said_how() {
    let machine = Machine::bundled("lab.toml");
    let of = |args: &[&str]| chosen(&json(&machine, args));
    assert_eq!(of(&["-n", "3", "--min-free", "20GB"]), [1, 2, 4]);
    assert_eq!(of(&["-n", "3", "--min-free", "70GiB"]), [0; 0]);
    assert_eq!(of(&["-n", "2", "--min-free", "70GiB"]), [1, 2]);
    assert_eq!(of(&["-n", "5", "--max-util", "100"]), [0, 1, 2, 3, 4]);
    assert_eq!(of(&["--id", "1", "--max-util", "5"]), [1]);
    assert_eq!(of(&["--gpus", "1"]), [0; 0]);
}

#[test]
fn each_format_names_the_same_cards() {
    let machine = Machine::new(&free_cards(3));
    let of = |format| pick(&machine, &["-n", "2", "--no-reserve", "--format", format]).unwrap();
    assert_eq!(of("indices"), "0,1\n");
    assert_eq!(of("uuids"), "GPU-00000000,GPU-00000001\n");
    assert_eq!(of("env"), "CUDA_VISIBLE_DEVICES=GPU-00000000,GPU-00000001\n");
}

#[test]
fn instances_are_named_by_their_own_uuid() {
    let machine = Machine::new(
        "[[card]]\nutilization = 0\n[[card.mig]]\nslot = 0\nprofile = \"3g.40gb\"\nmemory = \"40GiB\"\n\
         [[card.mig]]\nslot = 2\nprofile = \"3g.40gb\"\nmemory = \"40GiB\"\n",
    );
    let run = machine.gua(&["pick", "-n", "2", "--no-reserve", "--format", "uuids"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let uuids: Vec<_> = run.stdout.trim().split(',').collect();
    assert!(uuids.len() == 2 && uuids.iter().all(|uuid| uuid.starts_with("MIG-")), "{uuids:?}");
    assert!(run.stderr.contains("one MIG instance only"), "{run:?}");
    let indices = pick(&machine, &["-n", "2", "--no-reserve", "--format", "indices"]);
    assert_eq!(indices.unwrap(), "0:0,0:2\n");
}

/// A card that pauses for a moment is not free; one that worked an hour ago is.
#[test]
fn it_is_judged_over_time() {
    let machine = Machine::new(&free_cards(3));
    let path = machine.home().join(".gua/gua.db");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let now = UnixMillis::from(SystemTime::now()).0;
    let minute = 60_000;
    let mut recording = Recording::begin(&path, now - 60 * minute, 30_000);
    recording.until(now - minute / 2, 1, |at| {
        let is_old = now - at > 10 * minute;
        vec![
            card("A100", 80.0).held_by("ann", 1000, 1000),
            card("A100", if is_old { 90.0 } else { 0.0 }),
            card("A100", 2.0),
        ]
    });
    let answer = json(&machine, &["-n", "2"]);
    assert_eq!(chosen(&answer), [1, 2], "{answer}");
    assert_eq!(answer["cards"][0]["detail"], "busy: 80 % over the last 4m");
    assert_eq!(answer["history_reason"], serde_json::Value::Null);
    let recorded = answer["cards"][2]["recorded_seconds"].as_f64().unwrap();
    assert!((240.0..=300.0).contains(&recorded), "{recorded}");
    assert_eq!(chosen(&json(&machine, &["-n", "2", "--over", "1h"])), [0; 0]);
    assert_eq!(chosen(&json(&machine, &["-n", "3", "--max-util", "85"])), [0, 1, 2]);
    let run = machine.gua(&["pick", "--no-reserve"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let run = machine.gua(&["pick", "--no-reserve", "--over", "1d"]);
    assert!(run.stderr.starts_with("gua: judged by "), "{run:?}");
    assert!(run.stderr.ends_with(" of 24h: no more is recorded\n"), "{run:?}");
}

/// Trap: what is recorded of another card says nothing of the chosen one.
#[test]
fn a_card_that_is_not_recorded_is_judged_by_the_look_alone() {
    let machine = Machine::new(&free_cards(2));
    let path = machine.home().join(".gua/gua.db");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let now = UnixMillis::from(SystemTime::now()).0;
    let mut recording = Recording::begin(&path, now - 600_000, 30_000);
    recording.until(now - 10_000, 1, |_| vec![card("A100", 2.0)]);
    let judged = |id| machine.gua(&["pick", "--no-reserve", "--id", id]).stderr;
    assert_eq!(judged("0"), "");
    assert_eq!(
        judged("1"),
        "gua: judged by the last seconds only: nothing is recorded of card 1\n"
    );
    let answer = json(&machine, &["--id", "1"]);
    assert_eq!(answer["history_reason"], "nothing is recorded of card 1");
    let card = &answer["cards"][0];
    assert_eq!(card["unknown"]["recorded_utilization_percent"], "not_recorded", "{card}");
}

#[test]
fn a_card_that_cuda_cannot_use_is_not_chosen() {
    let machine = Machine::new("[[card]]\nutilization = 0\nmig_slots = 7\n");
    let answer = json(&machine, &[]);
    assert_eq!(chosen(&answer), [0; 0], "{answer}");
    let card = &answer["cards"][0];
    assert_eq!(card["reason"], "no_mig_instance");
    assert_eq!(card["detail"], "MIG is on and it has no instance, so CUDA cannot use it");
}

/// A scheduler gives a job its share of the host with this variable.
#[test]
fn only_cards_that_were_given_are_chosen_from() {
    let machine = Machine::new(&free_cards(4));
    let of = |devices: &str, args: &[&str]| {
        let args = [&["pick", "--no-reserve", "--format", "indices", "-n", "2"], args].concat();
        let mut command = machine.command(&args);
        command.env("CUDA_VISIBLE_DEVICES", devices);
        run(command)
    };
    let note = |devices: &str| {
        format!("gua: only cards in CUDA_VISIBLE_DEVICES={devices}; --all-cards looks beyond\n")
    };
    for devices in ["2,3", "GPU-00000003,GPU-00000002"] {
        let run = of(devices, &[]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), "2,3\n"), "{run:?}");
        assert!(run.stderr.starts_with(&note(devices)), "{run:?}");
    }
    assert_eq!(of("2,3", &["--all-cards"]).stdout, "0,1\n");
    for devices in ["", "2", "-1"] {
        let run = of(devices, &["--wait"]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{devices}: {run:?}");
        assert!(run.stderr.contains("[0]  A100-SXM4-80GB  not in CUDA_VISIBLE_DEVICES\n"));
        assert!(run.stderr.contains("--all-cards.\n"), "{run:?}");
    }
    let mut command = machine.command(&["pick", "--json", "--no-reserve"]);
    let answer: serde_json::Value = serde_json::from_str(&run_with(&mut command, "1")).unwrap();
    assert_eq!((chosen(&answer), &answer["visible_devices"]), (vec![1], &"1".into()));
    assert_eq!(answer["cards"][0]["reason"], "not_visible");
}

fn run_with(command: &mut std::process::Command, devices: &str) -> String {
    let output = command.env("CUDA_VISIBLE_DEVICES", devices).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
