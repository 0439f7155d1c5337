//! A look that is begun, and taken when it is there.

use std::time::Duration;

use probe::nvml::{self, Look, OpenError, Patience, Prober};
use probe::{CardLook, Why};

use crate::machine::{look_until_with, on};

const TWO: &str = "[[card]]\nutilization = 50\n[[card]]\nutilization = 60\n";
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(50);

fn with_fault(fault: &str) -> String {
    format!("{TWO}[[fault]]\n{fault}\n")
}

fn troubles(cards: &[CardLook]) -> Vec<Option<Why>> {
    cards.iter().map(|card| card.vitals.trouble()).collect()
}

#[test]
fn the_next_look_is_the_one_that_was_begun() {
    on(TWO, |machine| {
        let mut prober = Prober::closed(machine.options());
        assert_eq!(prober.is_seen_within(SHORT).ok(), Some(false), "nothing was begun");
        prober.begin_look();
        assert_eq!(prober.is_seen_within(LONG).ok(), Some(true));
        assert!(prober.has_begun());
        // Nothing else is done with the cards meanwhile.
        prober.drain();
        assert!(prober.accounts(&[1]).is_empty());
        prober.begin_look();
        assert_eq!(troubles(&prober.look().cards), [None, None]);
        assert!(!prober.has_begun());
        prober.begin_last_look(&[1]);
        let (look, accounts) = prober.last_look(&[]);
        assert_eq!((look.cards.len(), accounts.len()), (2, 2));
        prober.begin_look();
        prober.look();
        drop(prober);
        // Each of the three looks asks both cards.
        assert_eq!(machine.calls_of("nvmlDeviceGetMemoryInfo_v2"), 6, "{}", machine.calls());
    });
}

#[test]
fn a_card_that_hangs_is_waited_for_only_as_long_as_one_likes() {
    let hangs = with_fault("call = \"nvmlDeviceGetMemoryInfo*\"\ncard = 1\nhang = true");
    on(&hangs, |machine| {
        let mut prober = machine.prober();
        prober.begin_look();
        assert_eq!(prober.is_seen_within(SHORT).ok(), Some(false));
        assert!(prober.has_begun(), "it is not given up");
        let look = prober.look_as_it_is();
        assert_eq!(troubles(&look.cards), [None, Some(Why::TimedOut)]);
    });
}

#[test]
fn a_driver_that_hangs_or_is_not_there_is_told_by_the_wait() {
    on(&with_fault("call = \"nvmlInit*\"\nhang = true"), |machine| {
        let mut prober = Prober::closed(machine.options());
        prober.begin_look();
        assert_eq!(prober.is_seen_within(SHORT).ok(), Some(false));
        assert!(!prober.is_open() && !prober.has_begun());
        let nowhere = nvml::Options { library: Some("/nowhere".into()), ..machine.options() };
        let mut prober = Prober::closed(nowhere);
        prober.begin_look();
        assert!(matches!(prober.is_seen_within(LONG), Err(OpenError::LibraryNotFound { .. })));
    });
}

#[test]
fn a_driver_that_goes_and_comes_is_met_by_looks_that_were_begun() {
    on(TWO, |machine| {
        let mut prober = machine.prober();
        let gone = with_fault("call = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\"");
        for (scenario, is_there) in [(TWO, true), (&*gone, false), (TWO, true)] {
            machine.becomes(scenario);
            let is_it = |look: &Look| look.driver.is_ok() == is_there;
            let look = look_until_with(&mut prober, "so", is_it, Prober::begin_look);
            assert_eq!(look.cards.len(), 2);
            assert!(!prober.has_begun());
        }
    });
}

/// A look with a short timeout does not change the timeout of the next one.
#[test]
fn a_short_timeout_is_for_one_look_only() {
    on(TWO, |machine| {
        let mut prober = machine.prober();
        let usual = prober.wait_at_most(Duration::ZERO);
        assert_eq!(usual, Patience::default());
        prober.wait(usual);
        assert_eq!(troubles(&prober.look().cards), [None, None]);
    });
}
