//! The library that stays open, and what is left of a prober that was dropped.

use std::fs;
use std::time::{Duration, Instant};

use probe::fork;
use probe::nvml::{self, OpenError, Options, Prober};

use crate::machine::on;

const TWO: &str = "[[card]]\nutilization = 50\n[[card]]\nutilization = 60\n";

fn threads() -> Vec<String> {
    let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    // A thread that has ended meanwhile has no such file.
    let names = threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).filter(|name| name.starts_with("gua-")).collect()
}

/// Python warns when a process with threads forks.
#[test]
fn a_fork_finds_no_thread_of_a_prober_that_was_dropped() {
    on(TWO, |machine| {
        nvml::stay_open();
        for _ in 0..20 {
            assert_eq!(machine.prober().look().cards.len(), 2);
            fork::before();
            fork::after_in_parent();
            assert_eq!(threads(), [""; 0]);
        }
    });
}

#[test]
fn a_library_that_stays_open_is_used_for_its_own_path_only() {
    on(TWO, |machine| {
        nvml::stay_open();
        assert_eq!(machine.prober().look().cards.len(), 2);
        let elsewhere = Options { library: Some("/nowhere".into()), ..machine.options() };
        let error = Prober::open(elsewhere).unwrap_err();
        assert!(matches!(error, OpenError::LibraryNotFound { .. }), "{error:?}");
    });
}

#[test]
fn dropping_a_prober_does_not_wait_for_a_card_that_hangs() {
    let hangs = format!("{TWO}[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncard = 1\nhang = true\n");
    on(&hangs, |machine| {
        let mut prober = Prober::open(machine.hasty()).unwrap();
        prober.begin_look();
        assert_eq!(prober.is_seen_within(Duration::from_millis(50)).ok(), Some(false));
        prober.wait_at_most(Duration::ZERO);
        let begun = Instant::now();
        drop(prober);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        fork::before();
        fork::after_in_parent();
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    });
}
