//! How `gua who` reads, and the options that choose.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::{json, text, users};
use crate::machine::Machine;

#[test]
fn the_lab_without_a_history() {
    let machine = Machine::bundled("lab.toml");
    let run = machine.gua(&["who"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    insta::assert_snapshot!(run.stdout, @"
    held on lab-a100, longest idle first
         idle  who           card    memory  program       what                                    pid  running  idle since
          now  bob           1      7.8 GiB  jupyter-lab   probe.ipynb                            5678    3d02h  not recorded
          now  unattributed  1      0.2 GiB  (gone)        (bare CUDA context)                    9999        ?  not recorded
          now  bob           3      9.0 GiB  python        container quiet_fox (on a busy card)  41077   20h00m  not recorded
          now  dora          4        ? GiB  python                                               2211    2h30m  not recorded
      unknown  ?             5        ? GiB  (not listed)                                            ?        ?  lost from the bus
       active  alice         0     68.4 GiB  python        train.py                              31337    5h12m
       active  carol         3     42.0 GiB  python3.11    job 4711.0, torch.distributed.run     41200      47m
    2 cards are idle-held; 1 holder is idle on a busy card. Ask first.
    ");
    let told = run.stderr.replace(machine.dir().to_str().unwrap(), "[DIR]");
    insta::assert_snapshot!(told, @"gua: holding times are unknown: there is no history at [DIR]/home/.gua/gua.db (`gua daemon` starts recording)");
}

#[test]
fn nobody_is_a_sentence() {
    let machine = Machine::new("[host]\nname = \"empty\"\n[[card]]\nutilization = 0\n");
    let said = |args: &[&str]| text(&machine, args, "100");
    assert_eq!(said(&[]), "no card on empty is held by anybody\n");
    assert_eq!(said(&["--user", "bob"]), "no card on empty is held by bob\n");
    let idle = "no card on empty is known to be held idle for 30m or longer\n";
    assert_eq!(said(&["--idle", "30m"]), idle);
    let who = json(&machine, &[]);
    assert_eq!((&who["schema"], users(&who).len()), (&"gua.who/2".into(), 0));
}

#[test]
fn people_and_cards_can_be_chosen() {
    let machine = Machine::bundled("lab.toml");
    assert_eq!(users(&json(&machine, &["--user", "bob"])), ["bob", "bob"]);
    assert_eq!(users(&json(&machine, &["-u", "alice", "-u", "dora"])), ["dora", "alice"]);
    assert_eq!(users(&json(&machine, &["--user", "alice,dora"])), ["dora", "alice"]);
    assert_eq!(users(&json(&machine, &["--user", "nobody"])), [""; 0]);
    assert_eq!(users(&json(&machine, &["--gpus", "0,3"])), ["bob", "alice", "carol"]);
    let uid = json(&machine, &["-u", "bob"])["holders"][0]["uid"].to_string();
    assert_eq!(users(&json(&machine, &["--user", &uid])), ["bob", "bob"]);
}

#[test]
fn it_fits_the_screen() {
    let mut scenario = String::from("[host]\nname = \"研究室のとても長い名前のサーバー\"\n");
    for index in 0..16 {
        scenario += &format!(
            "[[card]]\nutilization = 0\n[[process]]\npid = {}\ncard = {index}\nmemory = \"70GiB\"\n\
             user = \"とても長い利用者名\"\nprogram = \"とても長いプログラム名\"\nbegin = \"-300d\"\n",
            4_194_000 + index,
        );
    }
    let machine = Machine::new(&scenario);
    for columns in ["40", "80", "120"] {
        let shown = text(&machine, &[], columns);
        assert_eq!(shown.lines().filter(|line| line.contains("とても長い利用者名")).count(), 16);
        let widest = shown.lines().map(UnicodeWidthStr::width).max();
        assert!(widest <= columns.parse().ok(), "{columns}: {shown}");
    }
}

/// Trap: in a pipe, a name could make all lines as long as itself.
#[test]
fn it_is_no_wider_than_can_be_read_where_there_is_no_screen() {
    let machine = Machine::new(&format!(
        "[[card]]\nutilization = 0\n[[process]]\npid = 5\ncard = 0\nmemory = \"1GiB\"\n\
         user = \"ann\"\nprogram = \"python\"\nbegin = \"-1h\"\n\
         command = [\"python\", \"{}.py\"]\n",
        "long".repeat(90),
    ));
    let shown = machine.gua(&["who"]).stdout;
    assert!(shown.lines().all(|line| line.width() <= 160), "{shown}");
    assert!(shown.contains("not recorded") && shown.contains(" 5 "), "{shown}");
}

#[test]
fn names_cannot_break_a_line() {
    let machine = Machine::new(
        "[[card]]\nutilization = 0\n[[process]]\npid = 5\ncard = 0\nmemory = \"1GiB\"\n\
         user = \"ann\"\nprogram = \"x\\u001b[2Jy\"\n",
    );
    let shown = text(&machine, &[], "100");
    assert!(!shown.contains('\x1b') && shown.contains("x?[2Jy"), "{shown}");
}

#[test]
fn watching_prints_an_object_a_line_and_ends_with_its_reader() {
    let machine = Machine::bundled("lab.toml");
    let mut command = machine.command(&["who", "--watch", "0.1", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().take(3);
    for line in lines {
        let who: Value = serde_json::from_str(&line.unwrap()).unwrap();
        assert_eq!(who["schema"], "gua.who/2");
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

/// Trap: the next option was taken for the time.
#[test]
fn watching_without_a_time_leaves_the_next_option_alone() {
    let machine = Machine::bundled("lab.toml");
    let mut command = machine.command(&["who", "--watch", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("{\"schema\":\"gua.who/2\""));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Trap: who is not seen came last, however long idle.
#[test]
fn who_is_not_seen_stands_in_the_same_order() {
    let machine = Machine::new(
        "[[card]]\nutilization = 80\n[[card]]\nutilization = 0\nunattributed = \"40GiB\"\n\
         [[process]]\npid = 5\ncard = 0\nmemory = \"1GiB\"\nuser = \"ann\"\n",
    );
    let shown = text(&machine, &[], "100");
    let first: Vec<_> =
        shown.lines().skip(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(first, ["now", "active", "1"], "{shown}");
}

#[test]
fn what_is_reserved_is_told() {
    let machine = Machine::new("[host]\nname = \"one\"\n[[card]]\nutilization = 0\n");
    assert_eq!(machine.gua(&["pick", "--reserve", "10m"]).code, Some(0));
    let shown = text(&machine, &[], "100");
    let line = shown.lines().nth(1).unwrap();
    assert!(line.starts_with("card 0 is reserved by root for another "), "{shown}");
    let who = json(&machine, &[]);
    assert_eq!(who["reservations"][0]["user"], "root", "{who}");
    assert_eq!(json(&machine, &["-u", "bob"])["reservations"].as_array().unwrap().len(), 0);
    let stat = machine.gua(&["stat"]).stdout;
    assert!(stat.contains("reserved by root for another "), "{stat}");
    let stat: Value = serde_json::from_str(&machine.gua(&["stat", "--json"]).stdout).unwrap();
    assert_eq!(stat["cards"][0]["reservations"][0]["uid"], 0, "{stat}");
}

#[test]
fn reservations_that_cannot_be_read_are_not_none() {
    let machine = Machine::bundled("lab.toml");
    std::fs::write(machine.reservations(), "a file").unwrap();
    for command in ["who", "stat"] {
        let run = machine.gua(&[command, "--json"]);
        assert!(run.stderr.starts_with("gua: what is reserved is not known: "), "{run:?}");
        let told: Value = serde_json::from_str(&run.stdout).unwrap();
        let is_null = command == "who" && told["reservations"].is_null();
        let card = &told["cards"][0]["unknown"]["reservations"];
        assert!(is_null || card == "no_reservations", "{told}");
    }
}
