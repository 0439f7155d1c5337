//! Lost cards, hung calls, a driver that goes away and comes back.

use std::time::{Duration, Instant};

use probe::nvml::{OpenError, Options, Patience, Prober};
use probe::{Reading, Why};

use crate::machine::{Machine, look_until, on, percent};

const TWO: &str = "[[card]]\nutilization = 40\n[[card]]\nutilization = 60\n";

/// Two cards with something wrong.
fn with_fault(fault: &str) -> String {
    format!("{TWO}[[fault]]\n{fault}\n")
}

fn hasty(machine: &Machine) -> Options {
    let patience = Patience {
        open: Duration::from_secs(5),
        attach: Duration::from_millis(150),
        card: Duration::from_millis(150),
        look: Duration::from_secs(5),
    };
    Options { patience, ..machine.options() }
}

/// Trap: one card lost or off the bus.
#[test]
fn a_lost_card_is_unknown_with_its_reason_and_the_others_go_on() {
    on(TWO, |machine| {
        let mut prober = machine.prober();
        let before = prober.look();
        machine.becomes(&with_fault("call = \"nvmlDevice*\"\ncard = 1\ncode = \"GPU_IS_LOST\""));
        let look = look_until(&mut prober, "lost", |look| {
            percent(&look.cards[1]) == Reading::Unknown(Why::Lost)
        });
        assert_eq!(percent(&look.cards[0]), Reading::Known(40.0));
        assert_eq!(look.cards[1].vitals.holders.unread, Some(Why::Lost));
        let later = prober.look();
        assert_eq!(later.cards[1].facts, before.cards[1].facts, "it is still known by its UUID");
        machine.becomes(TWO);
        look_until(&mut prober, "back", |look| percent(&look.cards[1]) == Reading::Known(60.0));
    });
}

#[test]
fn a_card_that_was_lost_from_the_start_has_a_place_but_no_name() {
    on(&with_fault("call = \"nvmlDevice*\"\ncard = 0\ncode = \"GPU_IS_LOST\""), |machine| {
        let look = machine.prober().look();
        assert_eq!(look.cards.len(), 2);
        assert_eq!(look.cards[0].facts.uuid, Reading::Unknown(Why::Lost));
        assert_eq!(percent(&look.cards[1]), Reading::Known(60.0));
    });
}

/// Trap: a call can hang for minutes when a card is failing.
#[test]
fn a_hung_card_hangs_nobody() {
    on(&with_fault("call = \"nvmlDeviceGetMemoryInfo_v2\"\ncard = 0\nhang = true"), |machine| {
        let mut prober = Prober::open(hasty(machine)).unwrap();
        for _ in 0..3 {
            let begun = Instant::now();
            let look = prober.look();
            assert!(begun.elapsed() < Duration::from_secs(4), "past its deadline");
            assert_eq!(percent(&look.cards[0]), Reading::Unknown(Why::TimedOut));
            assert_eq!(percent(&look.cards[1]), Reading::Known(60.0));
        }
    });
}

#[test]
fn a_slow_card_is_read_again_once_it_answers() {
    let slow = "call = \"nvmlDeviceGetMemoryInfo_v2\"\ncard = 0\nlatency = \"500ms\"\ntimes = 1";
    on(&with_fault(slow), |machine| {
        let mut prober = Prober::open(hasty(machine)).unwrap();
        assert_eq!(percent(&prober.look().cards[0]), Reading::Unknown(Why::TimedOut));
        let look =
            look_until(&mut prober, "back", |look| percent(&look.cards[0]).known().is_some());
        assert_eq!(percent(&look.cards[0]), Reading::Known(40.0));
    });
}

/// Without persistence mode a card that sleeps is woken up by being asked for.
#[test]
fn a_card_that_takes_long_to_wake_up_is_waited_for() {
    let slow = "call = \"nvmlDeviceGetHandleByIndex_v2\"\ncard = 0\nlatency = \"500ms\"\ntimes = 1";
    on(&with_fault(slow), |machine| {
        let options = hasty(machine);
        let patience = Patience { attach: Duration::from_secs(20), ..options.patience };
        let look = Prober::open(Options { patience, ..options }).unwrap().look();
        assert_eq!(percent(&look.cards[0]), Reading::Known(40.0));
    });
}

#[test]
fn all_cards_hung_is_still_an_answer() {
    on(&with_fault("call = \"nvmlDeviceGetHandleByIndex_v2\"\nhang = true"), |machine| {
        let look = Prober::open(hasty(machine)).unwrap().look();
        let whys: Vec<_> = look.cards.iter().map(|card| percent(card).why()).collect();
        assert_eq!(whys, [Some(Why::TimedOut); 2]);
    });
}

#[test]
fn a_driver_that_hangs_at_the_start_is_given_up() {
    on(&with_fault("call = \"nvmlInit*\"\nhang = true"), |machine| {
        let options = hasty(machine);
        let patience = Patience { open: Duration::from_millis(300), ..options.patience };
        let error = Prober::open(Options { patience, ..options }).unwrap_err();
        assert!(matches!(error, OpenError::TimedOut { .. }), "{error:?}");
    });
}

/// Trap: the driver is replaced or unloaded under a running program.
#[test]
fn a_driver_that_goes_away_is_picked_up_again() {
    for (code, expected) in [
        ("LIB_RM_VERSION_MISMATCH", OpenError::VersionMismatch),
        ("DRIVER_NOT_LOADED", OpenError::DriverNotLoaded),
    ] {
        on(TWO, |machine| {
            let mut prober = machine.prober();
            let before = prober.look();
            machine.becomes(&with_fault(&format!("call = \"nvml*\"\ncode = \"{code}\"")));
            let look = look_until(&mut prober, "away", |look| look.driver.is_err());
            assert_eq!(look.driver, Err(expected.clone()));
            assert_eq!(look.cards.len(), 2, "the cards are still named");
            assert_eq!(look.cards[1].facts, before.cards[1].facts);
            assert_eq!(percent(&look.cards[0]), Reading::Unknown(Why::DriverGone));
            machine.becomes(TWO);
            let look = look_until(&mut prober, "back", |look| look.driver.is_ok());
            assert_eq!(percent(&look.cards[1]), Reading::Known(60.0));
        });
    }
}

#[test]
fn a_card_added_by_a_new_driver_is_seen() {
    on(TWO, |machine| {
        let mut prober = machine.prober();
        prober.look();
        machine.becomes(&with_fault("call = \"nvml*\"\ncode = \"UNINITIALIZED\""));
        look_until(&mut prober, "away", |look| look.driver.is_err());
        machine.becomes(&format!("{TWO}[[card]]\nutilization = 5\n"));
        let look = look_until(&mut prober, "back", |look| look.driver.is_ok());
        assert_eq!(look.cards.len(), 3);
    });
}
