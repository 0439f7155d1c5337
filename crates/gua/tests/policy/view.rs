//! Who stands where, and who is left alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Lab, Person, scenario};
use crate::machine::{Machine, assert_fits, run};
use crate::recorder::until;

fn holder(lab: &Lab, pid: u32) -> serde_json::Value {
    let check = lab.json(&["policy", "check", "--json"]);
    let holders = check["holders"].as_array().unwrap().clone();
    holders.into_iter().find(|holder| holder["pid"] == pid).unwrap()
}

#[test]
fn a_snooze_leaves_one_process_alone() {
    let Some(mut idle) = Person::start() else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(&lab.usual("").replace("\"6s\"", "\"60s\""));
    let recorder = lab.record();
    let pid = idle.pid().to_string();
    lab.has_done(Some(idle.pid()), "notice_sent");
    assert_eq!(holder(&lab, idle.pid())["state"], "warned");
    let told = lab.gua(&["policy", "snooze", &pid, "--for", "1h"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""));
    assert!(told.stdout.starts_with(&format!("no rule touches process {pid} until ")), "{told:?}");
    lab.has_done(Some(idle.pid()), "relieved");
    assert_eq!(holder(&lab, idle.pid())["state"], "snoozed");
    assert!(idle.lives());
    recorder.end();
}

#[test]
fn a_file_that_is_touched_does_the_same() {
    let Some(idle) = Person::start() else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(&lab.usual("").replace("\"6s\"", "\"60s\""));
    let recorder = lab.record();
    lab.has_done(Some(idle.pid()), "notice_sent");
    // The recorder has made the folder: whoever makes it could take away what is in it.
    fs::write(lab.snoozes().join(idle.pid().to_string()), "").unwrap();
    lab.has_done(Some(idle.pid()), "relieved");
    recorder.end();
}

/// Trap: where others may take away what somebody leaves, a missing snooze is nobody's word.
#[test]
fn a_folder_that_is_not_to_be_trusted_is_told_and_nobody_is_touched() {
    let Some(idle) = Person::start() else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(&lab.usual(""));
    fs::create_dir(lab.snoozes()).unwrap();
    fs::set_permissions(lab.snoozes(), fs::Permissions::from_mode(0o777)).unwrap();
    let mut recorder = lab.record();
    lab.has_done(None, "snoozes_unread");
    let check = lab.gua(&["policy", "check"]);
    assert!(check.stderr.contains("snoozes cannot be read, so no process is touched"), "{check:?}");
    assert!(check.stderr.contains("(it needs the sticky bit)"), "{check:?}");
    let refused = lab.gua(&["policy", "snooze", &idle.pid().to_string()]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    until("much more time is seen than the rule needs", || {
        recorder.number("SELECT (until_ms - started_ms) / 1000 FROM run") > 8
    });
    recorder.goes_on();
    assert_eq!(lab.deeds(Some(idle.pid())), [""; 0]);
    recorder.end();
}

/// Trap: the one who needs the switch must not be told that it has stopped what still runs.
#[test]
fn a_switch_that_stops_nobody_says_so() {
    let lab = Lab::new(&[]);
    let off = lab.gua(&["policy", "off"]);
    assert_eq!(off.code, Some(1), "{off:?}");
    assert!(off.stderr.contains("so no rules to switch"), "{off:?}");
    assert!(!lab.machine.home().join(".gua/policy.off").exists());
    lab.record().end();
    let off = lab.gua(&["policy", "off"]);
    assert_eq!(off.code, Some(1), "{off:?}");
    assert!(off.stderr.contains("no recorder was stopped: none records into "), "{off:?}");
    assert_eq!(lab.gua(&["policy", "on"]).code, Some(0));
}

#[test]
fn one_switch_stops_all_rules() {
    let Some(mut idle) = Person::start() else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(&lab.usual("").replace("\"6s\"", "\"60s\""));
    let mut recorder = lab.record();
    lab.has_done(Some(idle.pid()), "notice_sent");
    let off = lab.gua(&["policy", "off"]);
    assert_eq!(
        off.stdout,
        "no rule does anything any more; `gua policy on` switches them on again\n"
    );
    lab.has_done(None, "switched_off");
    recorder.goes_on();
    let check = lab.json(&["policy", "check", "--json"]);
    assert_eq!(
        (&check["switched_off"], &check["holders"][0]["notices"]),
        (&true.into(), &0.into())
    );
    let on = lab.json(&["policy", "on", "--json"]);
    assert_eq!(on["changed"], true);
    lab.has_done(None, "switched_on");
    let before = lab.told().lines().count();
    until("it is told anew", || lab.told().lines().count() > before);
    assert!(idle.lives());
    recorder.end();
}

#[test]
fn what_is_not_there_or_too_long_is_refused() {
    let lab = Lab::new(&[]);
    let gone = lab.gua(&["policy", "snooze", "4194304"]);
    assert_eq!(gone.code, Some(2));
    assert!(gone.stderr.contains("there is no process 4194304 that can be seen"), "{gone:?}");
    let long = lab.gua(&["policy", "snooze", "1", "--for", "30d"]);
    assert_eq!(long.code, Some(2));
    assert!(long.stderr.contains("is longer than a snooze can be here"), "{long:?}");
}

/// On a pretend host, where everything stays the same.
#[test]
fn everybody_stands_somewhere() {
    let machine = Machine::bundled("lab.toml");
    let folder = machine.home().join(".gua");
    fs::create_dir_all(&folder).unwrap();
    let rules = "
        [policy]
        enabled = true
        exempt = { users = [\"alice\"] }
        [[policy.rule]]
        name = \"abandoned notebooks\"
        match = { kind = \"notebook\", memory_over = \"1GB\" }
        idle_for = \"2h\"
        notices = [\"1h\", \"1h45m\"]
        action = \"end\"
        notify = [\"tty\", \"mail\"]
        [[policy.rule]]
        name = \"everybody else\"
        match = { memory_over = \"1GB\" }
        idle_for = \"8h\"
    ";
    super::write(&folder.join("config.toml"), rules);
    let told = machine.gua(&["policy", "check"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(0), ""), "{told:?}");
    insta::assert_snapshot!(told.stdout);
    let json = machine.gua(&["policy", "check", "--json"]);
    insta::with_settings!({ filters => vec![(r#""at_unix_ms": \d+"#, r#""at_unix_ms": 0"#)] }, {
        insta::assert_snapshot!("everybody_stands_somewhere_json", json.stdout);
    });
}

#[test]
fn without_rules_and_without_a_driver_it_says_so() {
    let machine = Machine::new(&scenario(&[]));
    let told = machine.gua(&["policy", "check"]);
    insta::assert_snapshot!(told.stdout);
    let away = machine.gua(&["policy", "check", "--nvml", "/nowhere.so"]);
    assert_eq!(away.code, Some(1));
    let none = machine.gua(&["policy", "log"]);
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.contains("there is no such file"), "{none:?}");
}

/// Regression: its sentences were wider than the screen, and what comes next was beyond the edge.
#[test]
fn the_check_fits_a_narrow_screen() {
    let machine = Machine::bundled("lab.toml");
    let rules = machine.dir().join("rules.toml");
    super::write(
        &rules,
        "[[policy.rule]]\nname = \"everybody who sleeps\"\nidle_for = \"12h\"\nnotices = [\"6h\"]\n",
    );
    let shown = |columns: usize| {
        let mut command =
            machine.command(&["policy", "check", "--config", rules.to_str().unwrap()]);
        command.env("COLUMNS", columns.to_string());
        let told = run(command);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert_fits(&told.stdout, columns);
        told.stdout
    };
    for columns in [30, 40, 60, 80, 120] {
        shown(columns);
    }
    insta::assert_snapshot!(shown(50));
}
