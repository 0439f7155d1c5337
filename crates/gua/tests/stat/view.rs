//! What `gua stat` shows, and the options that choose it.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::{TWO_CARDS, body, json};
use crate::machine::Machine;

#[test]
fn the_lab_reads_at_a_glance() {
    let machine = Machine::bundled("lab.toml");
    let run = machine.gua(&["stat"]);
    insta::with_settings!({filters => vec![
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "DATE HH:MM:SS UTC"),
        // The loads of the two working cards are noisy on purpose.
        (r"active     +\d+ %  \d+ °C  \d+/400 W", "active     NN %  NN °C  NNN/400 W"),
        (r"idle-held   [012] %  3\d °C   \d\d/400 W", "idle-held   N %  NN °C   NN/400 W"),
    ]}, {
        insta::assert_snapshot!(run.stdout, @"
        lab-a100  driver 560.35.05  6 cards:  2 active  2 idle-held  1 free  1 unknown  +1 idle beside others  DATE HH:MM:SS UTC
        [0]  A100-SXM4-80GB  active     NN %  NN °C  NNN/400 W  68.4/80.0 GiB  alice         python           train.py                           68.4 GiB  SM 91 %   5h12m
        [1]  A100-SXM4-80GB  idle-held   N %  NN °C   NN/400 W   8.0/80.0 GiB  bob           jupyter-lab      probe.ipynb                         7.8 GiB   SM 0 %   3d02h  idle
                                                                               unattributed  pid 9999 (gone)                                      0.2 GiB   SM 0 %          idle
        [2]  A100-SXM4-80GB  free        0 %  34 °C   58/400 W   0.0/80.0 GiB
        [3]  A100-SXM4-80GB  active     NN %  NN °C  NNN/400 W  51.0/80.0 GiB  bob           python           container quiet_fox                 9.0 GiB   SM 0 %  20h00m  idle
                                                                               carol         python3.11       job 4711.0, torch.distributed.run  42.0 GiB  SM 60 %     47m
        [4]  A100-SXM4-80GB  idle-held   N %  NN °C   NN/400 W  12.0/80.0 GiB  dora          python                                                 ? GiB   SM 0 %   2h30m  idle
        [5]  ?               unknown       –                                   not judged: lost from the bus
        ");
    });
    assert_eq!(run.stderr, "");
}

#[test]
fn options_that_people_know_add_what_they_say() {
    let machine = Machine::new(TWO_CARDS);
    insta::assert_snapshot!(body(&machine.gua(&["stat"])), @"
    [0]  A100-SXM4-80GB  active     80 %  60 °C  332/400 W  68.4/80.0 GiB  alice  python       train.py  68.4 GiB  SM 75 %  5h12m
    [1]  RTX 4090        idle-held   1 %  34 °C   61/400 W   7.8/24.0 GiB  bob    jupyter-lab             7.8 GiB   SM 0 %  3d02h
    ");
    insta::assert_snapshot!(body(&machine.gua(&["stat", "-cup"])), @"
    [0]  A100-SXM4-80GB  active     80 %  60 °C  332/400 W  68.4/80.0 GiB  alice  100  python       train.py  68.4 GiB  SM 75 %  5h12m
    [1]  RTX 4090        idle-held   1 %  34 °C   61/400 W   7.8/24.0 GiB  bob    200  jupyter-lab             7.8 GiB   SM 0 %  3d02h
    ");
    insta::assert_snapshot!(body(&machine.gua(&["stat", "-F", "-P=draw"])), @"
    [0]  A100-SXM4-80GB  active     80 %  60 °C    no fan  332 W  68.4/80.0 GiB  alice  python       train.py  68.4 GiB  SM 75 %  5h12m
    [1]  RTX 4090        idle-held   1 %  34 °C  fan 30 %   61 W   7.8/24.0 GiB  bob    jupyter-lab             7.8 GiB   SM 0 %  3d02h
    ");
    insta::assert_snapshot!(body(&machine.gua(&["stat", "-f"])), @"
    [0]  A100-SXM4-80GB  active     80 %  60 °C  332/400 W  68.4/80.0 GiB  alice  68.4 GiB  SM 75 %  5h12m  python train.py --token hunter2
    [1]  RTX 4090        idle-held   1 %  34 °C   61/400 W   7.8/24.0 GiB  bob     7.8 GiB   SM 0 %  3d02h  jupyter-lab
    ");
    insta::assert_snapshot!(body(&machine.gua(&["stat", "-a", "--no-processes"])), @"
    [0]  A100-SXM4-80GB  active     80 %  60 °C    no fan  enc/dec 0/0 %  1170/1593 MHz  332/400 W  68.4/80.0 GiB
    [1]  RTX 4090        idle-held   1 %  34 °C  fan 30 %  enc/dec 7/0 %   222/1593 MHz   61/400 W   7.8/24.0 GiB
    ");
    insta::assert_snapshot!(machine.gua(&["stat", "--no-header", "--id", "1"]).stdout, @"[1]  RTX 4090  idle-held  1 %  34 °C  61/400 W  7.8/24.0 GiB  bob  jupyter-lab  7.8 GiB  SM 0 %  3d02h");
}

/// Options are bundled out of habit, in any order.
#[test]
fn options_can_be_bundled() {
    let machine = Machine::new(TWO_CARDS);
    let shown = |args: &[&str]| {
        let run = machine.gua(&[&["stat", "--no-header"], args].concat());
        assert_eq!(run.code, Some(0), "{args:?}: {run:?}");
        run.stdout
    };
    let all = shown(&["-c", "-u", "-p", "-P", "-F", "-f", "-a"]);
    assert_eq!(shown(&["-cupPFfa"]), all);
    assert_eq!(shown(&["-PcupFfa"]), all);
    assert!(shown(&["-FP=limit"]).contains("limit 400 W"));
    assert_eq!(shown(&["-FP=limit"]), shown(&["-F", "--show-power=limit"]));
}

#[test]
fn the_interval_may_have_a_value_or_end_a_bundle() {
    let machine = Machine::new(TWO_CARDS);
    for args in [&["-i"][..], &["-i", "0.1"], &["-cpi"], &["-cpi", "0.1"], &["--watch"], &["-i0.1"]]
    {
        let mut command = machine.command(&[&["stat", "--json"], args].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let looks = lines.take(2).filter(Result::is_ok).count();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(looks, 2, "{args:?}");
    }
}

#[test]
fn cards_are_chosen_by_index_or_uuid() {
    let machine = Machine::new(TWO_CARDS);
    let uuid = json(&machine)["cards"][1]["uuid"].as_str().unwrap().to_owned();
    let chosen =
        |id: &str| machine.gua(&["stat", "--no-header", "--id", id]).stdout.lines().count();
    assert_eq!([chosen("0"), chosen("0,1"), chosen(&uuid)], [1, 2, 1]);
}

#[test]
fn json_has_numbers_as_numbers_and_the_same_truth() {
    let cards = json(&Machine::new(TWO_CARDS));
    assert_eq!(cards["schema"], "gua.stat/2");
    assert_eq!(cards["host"], "two");
    assert_eq!(cards["driver_version"], "560.35.05");
    let (first, second) = (&cards["cards"][0], &cards["cards"][1]);
    assert_eq!(first["state"], "active");
    assert_eq!(first["utilization_percent"], 80.0);
    assert_eq!(first["utilization_basis"], "samples");
    assert_eq!(first["memory_total_bytes"], 80_u64 << 30);
    assert_eq!(first["memory_used_bytes"], 70_000_u64 << 20);
    assert_eq!(second["state"], "idle-held");
    assert_eq!(second["fan_percent"], 30.0);
    assert_eq!(second["encoder_percent"], 7.0);
    let holder = &first["holders"][0];
    assert_eq!(holder["pid"], 100);
    assert_eq!(holder["user"], "alice");
    assert_eq!(holder["uid"], 1000);
    assert_eq!(holder["sm_percent"], 75.0);
    assert_eq!(holder["memory_bytes"], 70_000_u64 << 20);
    let running = holder["running_seconds"].as_f64().unwrap();
    assert!((18_720.0..18_780.0).contains(&running), "{running}");
}

/// Arguments carry secrets: they are shown only to who asks for them.
#[test]
fn arguments_are_not_told_unless_asked_for() {
    let machine = Machine::new(TWO_CARDS);
    for args in [&["stat"][..], &["stat", "-a"], &["stat", "--json"]] {
        assert!(!machine.gua(args).stdout.contains("hunter2"), "{args:?}");
    }
    for args in [&["stat", "-f"][..], &["stat", "-f", "--json"]] {
        assert!(machine.gua(args).stdout.contains("hunter2"), "{args:?}");
    }
}

#[test]
fn repeating_prints_one_object_a_line() {
    let machine = Machine::new(TWO_CARDS);
    let mut command = machine.command(&["stat", "--json", "-i", "0.1"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let looks: Vec<Value> =
        lines.take(3).map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(looks.len(), 3);
    assert!(looks.iter().all(|look| look["cards"].as_array().unwrap().len() == 2));
    assert!(looks[0]["time"].as_str() < looks[2]["time"].as_str());
}

#[test]
fn a_machine_without_cards_says_so() {
    let run = Machine::new("[host]\nname = \"empty\"\n").gua(&["stat"]);
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.starts_with("empty  driver 560.35.05  no cards"), "{}", run.stdout);
}

#[test]
fn mig_instances_are_cards_of_their_own() {
    let machine = Machine::new(
        r#"
        [[card]]
        name = "NVIDIA H100 80GB HBM3"
        gpm = true
        [[card.mig]]
        slot = 0
        profile = "3g.40gb"
        memory = "40GiB"
        utilization = 50
        [[card.mig]]
        slot = 4
        profile = "1g.10gb"
        memory = "10GiB"
        utilization = 0
        [[process]]
        pid = 9
        card = 0
        slot = 4
        memory = "5GiB"
        user = "mia"
        begin = "-2h"
        "#,
    );
    insta::assert_snapshot!(body(&machine.gua(&["stat"])), @"
    [0:0]  H100 80GB HBM3 MIG 3g.40gb  active     50 %  0.0/40.0 GiB
    [0:4]  H100 80GB HBM3 MIG 1g.10gb  idle-held   0 %  5.0/10.0 GiB  mia  python  5.0 GiB  2h00m  idle
    ");
    assert_eq!(machine.gua(&["stat", "--no-header", "--id", "0:4"]).stdout.lines().count(), 1);
}
