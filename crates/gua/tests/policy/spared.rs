//! Who is left alone although a rule had come far with them: something has changed since.

use std::io::Write;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::{Lab, Person, scenario};
use crate::recorder::until;

/// A rule that takes its time with the last step.
fn slow(lab: &Lab, more: &str) -> String {
    lab.usual(more).replace("\"6s\"", "\"600s\"")
}

/// Trap: "ended in 9 min" became an end at the next tick when somebody edited the rule.
#[test]
fn a_rule_that_is_edited_tells_anew_before_it_ends() {
    let Some(idle) = Person::start() else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(&slow(&lab, ""));
    let recorder = lab.record();
    until("a second notice", || lab.told().lines().any(|line| line.contains("|2|")));
    lab.has_done(Some(idle.pid()), "notice_sent");
    lab.config(&lab.usual("").replace("[\"2s\", \"4s\"]", "[\"2s\"]"));
    lab.has_done(Some(idle.pid()), "ended");
    let deeds = lab.deeds(Some(idle.pid()));
    let since = deeds.iter().position(|kind| kind == "relieved").unwrap();
    assert_eq!(deeds[since..], ["relieved", "notice_sent", "end_begun", "ended"], "{deeds:?}");
    let details = lab.details();
    let changed = "no further steps after 2 notices: that rule was changed";
    assert!(details.iter().any(|detail| detail == changed), "{details:?}");
    recorder.end();
}

/// Trap: launchers become what they launch, and servers name themselves once they are up.
#[test]
fn who_becomes_a_program_that_is_exempt_is_left_alone() {
    let become_another = "read line; exec sleep 600";
    let Some(mut idle) = Person::start_as(|command| {
        *command = Command::new("sh");
        command.args(["-c", become_another]).stdin(Stdio::piped());
    }) else {
        return;
    };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(&slow(&lab, "exempt = { programs = [\"sleep\"] }"));
    let recorder = lab.record();
    lab.has_done(Some(idle.pid()), "notice_sent");
    idle.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    lab.has_done(Some(idle.pid()), "relieved");
    assert_eq!(lab.details().pop().unwrap(), "no further steps after 1 notice: it is exempt");
    assert!(idle.lives());
    recorder.end();
}

/// Trap: a person may only think that they were in time.
#[test]
fn who_is_snoozed_during_the_grace_is_not_killed() {
    let Some(mut idle) = Person::start() else { return };
    let pid = rustix::process::Pid::from_child(&idle.0);
    rustix::process::kill_process(pid, Signal::STOP).unwrap();
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(&lab.usual("grace = \"8s\"\nkill = true"));
    let recorder = lab.record();
    lab.has_done(Some(idle.pid()), "end_begun");
    let told = lab.gua(&["policy", "snooze", &idle.pid().to_string()]);
    assert_eq!(told.code, Some(0), "{told:?}");
    lab.has_done(Some(idle.pid()), "not_ended");
    let details = lab.details();
    assert!(details.iter().any(|detail| detail == "not ended: it is snoozed"), "{details:?}");
    assert!(idle.lives());
    recorder.end();
}

/// Trap: what was seen to work in the last minute was forgotten.
#[test]
fn work_and_idle_time_outlast_a_restart() {
    let Some(idle) = Person::start() else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(
        &lab.usual("").replace("[\"2s\", \"4s\"]", "[\"200s\"]").replace("\"6s\"", "\"600s\""),
    );
    let mut recorder = lab.record();
    recorder.goes_on();
    recorder.end();
    let mut recorder = lab.record();
    let idle_ms = "SELECT max(idle_ms) FROM policy_state";
    assert!(recorder.number(idle_ms) > 0, "it was stopped, and said where everybody stands");
    recorder.goes_on();
    lab.machine.becomes(&scenario(&[(idle.pid(), 50)]));
    until("work is written down", || recorder.number(idle_ms) == 0);
    recorder.kill();
}

/// Rules use the thresholds of the recorder, which it has read at its start.
#[test]
fn thresholds_are_those_of_the_recorder() {
    let Some(mut works) = Person::start() else { return };
    let lab = Lab::new(&[(works.pid(), 20)]);
    let rules = slow(&lab, "");
    lab.config(&format!("{rules}[thresholds]\nactive_percent = 60\nworked_percent = 50\n"));
    let recorder = lab.record();
    lab.has_done(Some(works.pid()), "notice_sent");
    lab.config(&format!("{rules}[thresholds]\nactive_percent = 60\nworked_percent = 1\n"));
    lab.has_done(None, "config_taken");
    assert!(!lab.deeds(Some(works.pid())).iter().any(|kind| kind == "relieved"));
    recorder.end();
    let recorder = lab.record();
    lab.has_done(Some(works.pid()), "relieved");
    let last = lab.details().pop().unwrap();
    assert!(last.ends_with(": it works again (SM)"), "{last}");
    assert!(works.lives());
    recorder.end();
}

/// Trap: a second way to take a config kept the old way to tell people.
#[test]
fn rules_that_are_switched_on_again_tell_by_what_the_config_says_then() {
    let Some(idle) = Person::start() else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(&slow(&lab, ""));
    let mut recorder = lab.record();
    lab.has_done(Some(idle.pid()), "notice_sent");
    lab.config(&slow(&lab, "").replace("enabled = true", "enabled = false"));
    lab.has_done(None, "switched_off");
    recorder.goes_on();
    let other = lab.machine.dir().join("other");
    let command = format!("command = [\"/usr/bin/touch\", \"{}\"]", other.display());
    let config = slow(&lab, "");
    let (rules, _) = config.split_once("command = [\"/").unwrap();
    let before = lab.told();
    lab.config(&format!("{rules}{command}\n"));
    until("it is told by the other command", || other.exists());
    assert_eq!(lab.told(), before);
    recorder.end();
}
