//! From the first notice to the end, and what comes between.

use std::os::unix::process::ExitStatusExt;

use rustix::process::Signal;

use super::{Lab, Person, scenario, skipped};
use crate::machine::Machine;
use crate::recorder::clock::Clock;
use crate::recorder::{number, until};

/// The last things that were done, where a slow machine may have begun anew before.
fn ends_with(deeds: &[String], last: &[&str]) -> bool {
    let tail = deeds.len().saturating_sub(last.len());
    deeds[tail..].iter().map(String::as_str).eq(last.iter().copied())
}

#[test]
fn who_is_idle_is_told_twice_and_ended_and_who_works_beside_is_not() {
    let (Some(mut idle), Some(mut busy)) = (Person::start(), Person::start()) else { return };
    let lab = Lab::new(&[(idle.pid(), 0), (busy.pid(), 60)]);
    lab.config(&lab.usual(""));
    let recorder = lab.record();
    lab.has_done(Some(idle.pid()), "ended");
    assert_eq!(idle.0.wait().unwrap().signal(), Some(15));
    let deeds = lab.deeds(Some(idle.pid()));
    let expected = ["notice_sent", "notice_sent", "end_begun", "ended"];
    assert!(ends_with(&deeds, &expected), "{deeds:?}");
    assert!(busy.lives());
    assert_eq!(lab.deeds(Some(busy.pid())), [""; 0]);
    let told = lab.told();
    let begin = format!("|2|sleep (pid {}) on ", idle.pid());
    let last = told.lines().last().unwrap();
    assert!(last.contains(&begin), "{told}");
    assert!(last.contains("It will be ended in 2 s unless it works again."), "{told}");
    recorder.end();
}

#[test]
fn who_wakes_up_after_the_second_notice_is_not_touched() {
    let Some(mut idle) = Person::start() else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    // Time enough to wake up.
    lab.config(&lab.usual("").replace("\"6s\"", "\"60s\""));
    let mut recorder = lab.record();
    until("a second notice", || lab.told().lines().any(|line| line.contains("|2|")));
    lab.machine.becomes(&scenario(&[(idle.pid(), 50)]));
    lab.has_done(Some(idle.pid()), "relieved");
    let last = lab.details().pop().unwrap();
    assert_eq!(last, "no further steps after 2 notices: it works again (SM)");
    recorder.goes_on();
    assert!(idle.lives());
    recorder.end();
}

/// One rank that waits for the others of its job is not idle.
#[test]
fn one_of_a_job_that_works_is_left_alone() {
    let (Some(mut waits), Some(busy)) = (Person::start_in_job("5"), Person::start_in_job("5"))
    else {
        return;
    };
    let Some(idle) = Person::start_in_job("6") else { return };
    let lab = Lab::new(&[(waits.pid(), 0), (busy.pid(), 60), (idle.pid(), 0)]);
    lab.config(&lab.usual(""));
    let recorder = lab.record();
    lab.has_done(Some(idle.pid()), "ended");
    assert!(waits.lives());
    assert_eq!(lab.deeds(Some(waits.pid())), [""; 0]);
    let check = lab.json(&["policy", "check", "--json"]);
    let is_meant = |holder: &&serde_json::Value| holder["pid"] == waits.pid();
    let holder = check["holders"].as_array().unwrap().iter().find(is_meant).unwrap();
    assert_eq!(holder["works_by"], "others of its job", "{holder}");
    recorder.end();
}

/// Trap: an environment may name somebody else's job.
#[test]
fn a_job_that_only_an_environment_names_is_not_cancelled() {
    let Some(mut idle) = Person::start_in_job("7") else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    let cancelled = lab.machine.dir().join("cancelled");
    let cancel = format!("cancel = [\"/usr/bin/touch\", \"{}.{{job}}\"]", cancelled.display());
    lab.config(&lab.usual(&cancel));
    let recorder = lab.record();
    lab.has_done(Some(idle.pid()), "ended");
    assert_eq!(lab.details().pop().unwrap(), "ended when it was asked to (SIGTERM)");
    assert_eq!(idle.0.wait().unwrap().signal(), Some(15));
    assert!(!cancelled.with_extension("7").exists());
    recorder.end();
}

/// Idle counts and notices survive, and no notice is given twice. What was not final when the recorder
/// was killed counts as not seen, so that the next notice takes longer than this test.
#[test]
fn a_recorder_that_is_killed_goes_on_where_it_was() {
    let Some(idle) = Person::start() else { return };
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(&lab.usual("").replace("\"6s\"", "\"600s\""));
    let recorder = lab.record();
    lab.has_done(Some(idle.pid()), "notice_sent");
    recorder.kill();
    let recorder = lab.record();
    let before = recorder.number("SELECT max(idle_ms) FROM policy_state");
    let run = "SELECT until_ms - started_ms FROM run ORDER BY id DESC LIMIT 1";
    until("more time is final", || recorder.number(run) > 3000);
    let database = recorder.database.clone();
    recorder.end();
    let state =
        |column: &str| number(&database, &format!("SELECT max({column}) FROM policy_state"));
    assert!(state("idle_ms") > before + 2000, "{} {before}", state("idle_ms"));
    assert_eq!(state("notices"), 1);
    let firsts = lab.told().lines().filter(|line| line.contains("|1|")).count();
    assert_eq!(firsts, 1, "{}", lab.told());
}

#[test]
fn who_does_not_end_is_killed_where_the_rule_says_so() {
    let Some(idle) = Person::start() else { return };
    // A process that is stopped hears no signal but one.
    let pid = rustix::process::Pid::from_child(&idle.0);
    rustix::process::kill_process(pid, Signal::STOP).unwrap();
    let lab = Lab::new(&[(idle.pid(), 0)]);
    lab.config(&lab.usual("grace = \"300ms\"\nkill = true"));
    let recorder = lab.record();
    lab.has_done(Some(idle.pid()), "ended");
    let last = lab.details().pop().unwrap();
    assert_eq!(last, "killed (SIGKILL)");
    recorder.end();
}

/// Works two seconds of every five, beside somebody who always works, under a rule of four.
#[test]
fn who_works_now_and_then_is_not_ended_after_the_clock_was_set_back() {
    let (Some(mut person), Some(busy)) = (Person::start(), Person::start()) else { return };
    let holders = scenario(&[(person.pid(), 0), (busy.pid(), 20)]);
    let bursts = "sm = { points = [[\"0s\", 65], [\"2s\", 0]], repeat = \"30s\" }";
    let lab = Lab { machine: Machine::new(&holders.replace("sm = 0", bursts)), is_service: false };
    let Some(clock) = Clock::new(lab.machine.dir()) else {
        return skipped("the clock is set while rules are followed: libfaketime is not installed");
    };
    // Pauses of 28 s are longer than it takes until idle time is final, and too short for an end.
    lab.config(&lab.usual("").replace("\"6s\"", "\"40s\""));
    let recorder = lab.record_with("200ms", |command| clock.give(command));
    let has_done = |kind: &str| lab.deeds(Some(person.pid())).iter().any(|it| it == kind);
    until("a notice while it is idle", || has_done("notice_sent"));
    clock.set(-600);
    recorder.event("clock-set");
    let worked = || lab.details().iter().filter(|it| it.contains("it works again")).count();
    let before = worked();
    until("it works again, or is ended", || worked() > before || has_done("ended"));
    assert!(!has_done("end_begun"), "{:#?}", lab.details());
    assert!(person.lives());
    recorder.end();
}
