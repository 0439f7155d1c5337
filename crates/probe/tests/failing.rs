//! Lost cards, hung calls, a driver that goes away and comes back.

use std::time::{Duration, Instant};

use probe::nvml::{self, OpenError, Options, Patience, Prober};
use probe::{Reading, Why};

use crate::machine::{look_until, on, percent};

const TWO: &str = "[[card]]\nutilization = 40\n[[card]]\nutilization = 60\n";

/// Two cards with something wrong.
fn with_fault(fault: &str) -> String {
    format!("{TWO}[[fault]]\n{fault}\n")
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

/// Trap: it was forgotten when the driver went away, and one card seemed to be pulled out.
#[test]
fn a_card_that_was_never_read_keeps_its_place_without_a_driver() {
    let lost = "call = \"nvmlDevice*\"\ncard = 1\ncode = \"GPU_IS_LOST\"";
    on(&with_fault(lost), |machine| {
        let mut prober = machine.prober();
        assert_eq!(prober.look().cards.len(), 2);
        machine.becomes(&with_fault("call = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\""));
        let look = look_until(&mut prober, "gone", |look| look.driver.is_err());
        let places: Vec<_> = look.cards.iter().map(|card| card.facts.index).collect();
        assert_eq!(places, [0, 1]);
        assert_eq!(percent(&look.cards[1]), Reading::Unknown(Why::DriverGone));
    });
}

/// Trap: a call can hang for minutes when a card is failing.
#[test]
fn a_hung_card_hangs_nobody() {
    on(&with_fault("call = \"nvmlDeviceGetMemoryInfo_v2\"\ncard = 0\nhang = true"), |machine| {
        let mut prober = Prober::open(machine.hasty()).unwrap();
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
fn a_card_that_hangs_has_a_name_all_the_same() {
    on(&with_fault("call = \"nvmlDeviceGetTemperature\"\ncard = 0\nhang = true"), |machine| {
        let look = Prober::open(machine.hasty()).unwrap().look();
        assert_eq!(percent(&look.cards[0]), Reading::Unknown(Why::TimedOut));
        assert!(look.cards[0].facts.uuid.why().is_none(), "{:?}", look.cards[0].facts);
    });
}

#[test]
fn a_slow_card_is_read_again_once_it_answers() {
    let slow = "call = \"nvmlDeviceGetMemoryInfo_v2\"\ncard = 0\nlatency = \"1500ms\"\ntimes = 1";
    on(&with_fault(slow), |machine| {
        let mut prober = Prober::open(machine.hasty()).unwrap();
        assert_eq!(percent(&prober.look().cards[0]), Reading::Unknown(Why::TimedOut));
        let look =
            look_until(&mut prober, "back", |look| percent(&look.cards[0]).known().is_some());
        assert_eq!(percent(&look.cards[0]), Reading::Known(40.0));
    });
}

/// Without persistence mode a card that sleeps is woken up by being asked for.
#[test]
fn a_card_that_takes_long_to_wake_up_is_waited_for() {
    let slow =
        "call = \"nvmlDeviceGetHandleByIndex_v2\"\ncard = 0\nlatency = \"1500ms\"\ntimes = 1";
    on(&with_fault(slow), |machine| {
        let options = machine.hasty();
        let patience = Patience { attach: Duration::from_secs(20), ..options.patience };
        let look = Prober::open(Options { patience, ..options }).unwrap().look();
        assert_eq!(percent(&look.cards[0]), Reading::Known(40.0));
    });
}

/// Cards numbered from 0, with a load of their own, and faults.
fn many(cards: u32, faults: &str) -> String {
    let cards: String = (0..cards).map(|i| format!("[[card]]\nutilization = {i}\n")).collect();
    format!("{cards}{faults}")
}

#[test]
fn some_hung_cards_do_not_hide_the_others() {
    let hang = |card| {
        format!("[[fault]]\ncall = \"nvmlDeviceGetHandleByIndex_v2\"\ncard = {card}\nhang = true\n")
    };
    let faults: String = (0..4).map(hang).collect();
    on(&many(8, &faults), |machine| {
        let options = machine.hasty();
        let patience = Patience { attach: Duration::from_secs(1), ..options.patience };
        let look = Prober::open(Options { patience, ..options }).unwrap().look();
        let read: Vec<_> = look.cards.iter().map(percent).collect();
        assert_eq!(read[..4], [Reading::Unknown(Why::TimedOut); 4]);
        assert_eq!(read[4..], [4.0, 5.0, 6.0, 7.0].map(Reading::Known));
    });
}

#[test]
fn slow_cards_are_asked_at_the_same_time() {
    let slow = "[[fault]]\ncall = \"nvmlDeviceGetMemoryInfo_v2\"\nlatency = \"600ms\"\n";
    on(&many(12, slow), |machine| {
        let options = machine.hasty();
        // One after the other they would take 7 s.
        let patience = Patience {
            card: Duration::from_secs(3),
            attach: Duration::from_secs(3),
            open: Duration::from_secs(5),
            ..options.patience
        };
        let look = Prober::open(Options { patience, ..options }).unwrap().look();
        assert!(look.cards.iter().all(|card| percent(card).known().is_some()), "{look:?}");
    });
}

/// Once the cards have been woken up, one that cannot be had costs no more than any other.
#[test]
fn a_lost_card_does_not_make_the_looks_long() {
    let faults = "[[fault]]\ncall = \"nvmlDevice*\"\ncard = 0\ncode = \"GPU_IS_LOST\"\n\
                  [[fault]]\ncall = \"nvmlDeviceGetMemoryInfo_v2\"\ncard = 1\nhang = true\n";
    on(&many(3, faults), |machine| {
        let options = machine.hasty();
        let patience = Patience {
            open: Duration::from_secs(60),
            attach: Duration::from_secs(60),
            ..options.patience
        };
        let mut prober = Prober::open(Options { patience, ..options }).unwrap();
        prober.look();
        let begun = Instant::now();
        let look = prober.look();
        assert!(begun.elapsed() < Duration::from_secs(20), "it waited as for a first look");
        let whys: Vec<_> = look.cards.iter().map(|card| percent(card).why()).collect();
        assert_eq!(whys, [Some(Why::Lost), Some(Why::TimedOut), None]);
    });
}

/// The loader would wait for ever on a pipe.
#[test]
fn what_is_no_file_is_not_opened() {
    on(TWO, |machine| {
        let folder = machine.root();
        let error =
            Prober::open(Options { library: Some(folder), ..machine.options() }).unwrap_err();
        assert!(matches!(error, OpenError::NotAFile { .. }), "{error:?}");
        let pipe = machine.root().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let error = Prober::open(Options { library: Some(pipe), ..machine.options() }).unwrap_err();
        assert!(matches!(error, OpenError::NotAFile { .. }), "{error:?}");
    });
}

/// One card that says the driver is gone, alone, does not have the library opened anew.
#[test]
fn one_card_that_says_the_driver_is_gone_is_alone_with_it() {
    on(&with_fault("call = \"nvmlDeviceGet*\"\ncard = 1\ncode = \"UNINITIALIZED\""), |machine| {
        let mut prober = machine.prober();
        for _ in 0..3 {
            let look = prober.look();
            assert!(look.driver.is_ok());
            assert_eq!(percent(&look.cards[0]), Reading::Known(40.0));
            assert_eq!(percent(&look.cards[1]), Reading::Unknown(Why::DriverGone));
        }
        drop(prober);
        let calls = machine.calls();
        assert!(calls.contains("nvmlInit_v2 1\n"), "{calls}");
    });
}

#[test]
fn all_cards_hung_is_still_an_answer() {
    on(&with_fault("call = \"nvmlDeviceGetHandleByIndex_v2\"\nhang = true"), |machine| {
        let look = Prober::open(machine.hasty()).unwrap().look();
        let whys: Vec<_> = look.cards.iter().map(|card| percent(card).why()).collect();
        assert_eq!(whys, [Some(Why::TimedOut); 2]);
    });
}

#[test]
fn a_driver_that_hangs_at_the_start_is_given_up() {
    on(&with_fault("call = \"nvmlInit*\"\nhang = true"), |machine| {
        let options = machine.hasty();
        let patience = Patience { open: Duration::from_millis(300), ..options.patience };
        let error = Prober::open(Options { patience, ..options }).unwrap_err();
        assert!(matches!(error, OpenError::TimedOut { .. }), "{error:?}");
    });
}

/// Trap: the driver is replaced or unloaded under a running program.
#[test]
fn a_driver_that_goes_away_is_picked_up_again() {
    for (code, expected, is_kept) in [
        ("LIB_RM_VERSION_MISMATCH", OpenError::VersionMismatch, false),
        ("DRIVER_NOT_LOADED", OpenError::DriverNotLoaded, false),
        ("LIB_RM_VERSION_MISMATCH", OpenError::VersionMismatch, true),
    ] {
        on(TWO, |machine| {
            if is_kept {
                nvml::stay_open();
            }
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
