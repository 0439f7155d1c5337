//! A prober that stays open after its last use, for whoever wants one next.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use probe::fork;
use probe::nvml::{self, Patience, Prober};

use crate::machine::{Machine, on};

const TWO: &str = "[[card]]\nutilization = 50\n[[card]]\nutilization = 60\n";

/// One that was looked through and left to the next.
fn keep_one(machine: &Machine) {
    let mut prober = machine.prober();
    assert_eq!(prober.look().cards.len(), 2);
    assert!(prober.keep().is_none());
}

fn workers() -> usize {
    let names = fs::read_dir("/proc/self/task").unwrap().flatten().filter_map(|thread| {
        // One that has ended since is not there.
        fs::read_to_string(thread.path().join("comm")).ok()
    });
    names.filter(|name| name.trim() == "gua-nvml").count()
}

#[test]
fn it_is_one_asker_at_a_time_who_has_it() {
    on(TWO, |machine| {
        nvml::stay_open();
        assert!(Prober::kept(machine.options()).is_none(), "nothing was opened yet");
        keep_one(machine);
        for _ in 0..3 {
            let mut prober = Prober::kept(machine.options()).unwrap();
            assert!(Prober::kept(machine.options()).is_none(), "somebody has it");
            assert_eq!(prober.look().cards.len(), 2);
            assert!(prober.keep().is_none());
        }
        let second = machine.prober();
        assert!(second.keep().is_some(), "there is one already");
        let elsewhere = nvml::Options { library: Some("/nowhere".into()), ..machine.options() };
        assert!(Prober::kept(elsewhere).is_none(), "it is of another library");
        nvml::let_go();
        assert!(Prober::kept(machine.options()).is_none());
        assert_eq!(machine.calls_of("nvmlInit_v2"), 1, "{}", machine.calls());
    });
}

#[test]
fn where_nobody_wants_it_nothing_is_kept() {
    on(TWO, |machine| {
        let mut prober = machine.prober();
        prober.look();
        assert!(prober.keep().is_some());
        assert!(Prober::kept(machine.options()).is_none());
    });
}

#[test]
fn one_with_a_card_that_does_not_answer_is_not_kept() {
    let hangs = format!("{TWO}[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncard = 1\nhang = true\n");
    on(&hangs, |machine| {
        nvml::stay_open();
        let mut prober = Prober::open(machine.hasty()).unwrap();
        prober.look();
        assert!(prober.keep().is_some());
    });
}

#[test]
fn its_worker_goes_when_nobody_comes() {
    on(TWO, |machine| {
        nvml::stay_open();
        keep_one(machine);
        assert_eq!(workers(), 1);
        let begun = Instant::now();
        while workers() > 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "it never went");
            thread::sleep(Duration::from_millis(20));
        }
        let mut prober = Prober::kept(machine.options()).unwrap();
        assert_eq!(prober.look().cards.len(), 2, "another one came");
    });
}

#[test]
fn who_forks_meets_no_worker_that_only_waits() {
    on(TWO, |machine| {
        nvml::stay_open();
        keep_one(machine);
        fork::before();
        assert_eq!(workers(), 0);
        fork::after_in_parent();
        let mut prober = Prober::kept(machine.options()).unwrap();
        assert_eq!(prober.look().cards.len(), 2);
    });
}

/// A look of somebody who is in a hurry, in between, has no consequences for the next.
#[test]
fn patience_comes_back() {
    on(TWO, |machine| {
        let mut prober = machine.prober();
        let usual = prober.wait_at_most(Duration::ZERO);
        assert_eq!(usual, Patience::default());
        prober.wait(usual);
        assert_eq!(
            prober.look().cards.iter().filter(|card| card.facts.uuid.why().is_none()).count(),
            2
        );
    });
}
