//! Utilization, memory and the rest of one card.

use probe::card::{Basis, ComputeMode, MemorySource, PerformanceState, Setup};
use probe::units::{Bytes, Celsius, Megahertz, Milliwatts};
use probe::{CardLook, Reading, Why};

use crate::machine::{look_until, on, percent};

fn card(scenario: &str, check: impl FnOnce(&CardLook)) {
    on(scenario, |machine| check(&machine.prober().look().cards[0]));
}

#[test]
fn everything_that_a_card_tells() {
    let scenario = r#"
        [[card]]
        uuid = "GPU-1"
        name = "NVIDIA Test"
        minor = 3
        bus_id = "00000000:3B:00.0"
        memory = "80GiB"
        reserved = "600MiB"
        utilization = 50
        memory_utilization = 44
        encoder = 11
        decoder = 22
        fan = 33
        power = { idle = 100, full = 300, limit = 350 }
        temperature = { idle = 40, full = 60 }
        sm_clock = { idle = 200, full = 1400 }
    "#;
    card(scenario, |card| {
        let facts = &card.facts;
        assert_eq!(facts.uuid, Reading::Known("GPU-1".into()));
        assert_eq!(facts.name, Reading::Known("NVIDIA Test".into()));
        assert_eq!(facts.bus_id, Reading::Known("00000000:3B:00.0".into()));
        assert_eq!(facts.power_limit(), Reading::Known(Milliwatts(350_000)));
        let vitals = &card.vitals;
        assert_eq!(percent(card), Reading::Known(50.0));
        assert_eq!(vitals.power, Reading::Known(Milliwatts(200_000)));
        assert_eq!(vitals.temperature, Reading::Known(Celsius(50)));
        assert_eq!(vitals.sm_clock, Reading::Known(Megahertz(800)));
        assert_eq!(vitals.memory_clock, Reading::Known(Megahertz(1593)));
        let shares = [vitals.encoder, vitals.decoder, vitals.fan, vitals.memory_work];
        let shares = shares.map(|share| share.map(|percent| percent.0));
        assert_eq!(shares, [11.0, 22.0, 33.0, 44.0].map(Reading::Known));
        assert_eq!(vitals.performance, Reading::Known(PerformanceState(0)));
        let setup = Setup {
            compute_mode: Reading::Known(ComputeMode::Default),
            persistence: Reading::Known(true),
            mig: Reading::Known(false),
            power_limit: Reading::Known(Milliwatts(350_000)),
        };
        assert_eq!(vitals.setup, setup);
        assert!(vitals.energy.is_known_and(|energy| energy.0 > 0));
        // Trap: the index is not the device minor.
        assert_eq!((facts.index, facts.minor), (0, Reading::Known(3)));
    });
}

/// Trap: the utilization rate covers a moment only; the buffered samples cover the tick.
#[test]
fn a_burst_between_two_looks_is_not_missed() {
    // Busy for a tenth of each second: the rate of a moment says 0 or 100.
    let scenario =
        "[samples]\nperiod = \"50ms\"\n[[card]]\nutilization = { duty = 10, period = \"1s\" }\n";
    card(scenario, |card| {
        let busy = card.vitals.utilization.known().unwrap();
        assert!((busy.percent.0 - 10.0).abs() < 0.5, "{busy:?}");
        let Basis::Samples { count, covers } = busy.basis else { panic!("{busy:?}") };
        assert_eq!(count, 100);
        assert_eq!(covers.as_millis(), 5000);
    });
}

#[test]
fn looks_that_follow_closely_take_only_what_is_new() {
    on("[samples]\nperiod = \"20ms\"\n[[card]]\nutilization = 40\n", |machine| {
        let mut prober = machine.prober();
        prober.look();
        // With samples that are new; not the whole five seconds of the first look again.
        look_until(&mut prober, "new samples only", |look| {
            let busy = look.cards[0].vitals.utilization.known().unwrap();
            matches!(busy.basis, Basis::Samples { covers, .. } if covers.as_millis() < 5000)
        });
    });
}

#[test]
fn without_a_buffer_the_moment_stands_in_and_says_so() {
    let fault = "[[card]]\nutilization = 40\n[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncode = \"NOT_SUPPORTED\"\n";
    card(fault, |card| {
        let busy = card.vitals.utilization.known().unwrap();
        assert_eq!((busy.percent.0, busy.basis), (40.0, Basis::Instant));
    });
}

#[test]
fn a_buffer_that_is_refused_or_empty_is_none() {
    let refused = "[[card]]\nutilization = 40\n[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncode = \"INVALID_ARGUMENT\"\n";
    let empty = "[samples]\ncapacity = 0\n[[card]]\nutilization = 40\n";
    for scenario in [refused, empty] {
        card(scenario, |card| {
            let busy = card.vitals.utilization.known().unwrap();
            assert_eq!((busy.percent.0, busy.basis), (40.0, Basis::Instant));
            assert!(card.vitals.memory.known().is_some());
        });
    }
}

/// A library that knows another layout of the newer call's argument.
#[test]
fn a_memory_call_of_another_version_is_stepped_over() {
    let fault = "[[card]]\n[[fault]]\ncall = \"nvmlDeviceGetMemoryInfo_v2\"\ncode = \"ARGUMENT_VERSION_MISMATCH\"\n";
    card(fault, |card| {
        let memory = card.vitals.memory.known().unwrap();
        assert_eq!((memory.source, memory.reserved.known()), (MemorySource::Card, None));
    });
}

#[test]
fn a_card_that_is_lost_to_one_call_is_lost() {
    let fault = "[[card]]\nutilization = 0\n[[fault]]\ncall = \"nvmlDeviceGetMemoryInfo*\"\ncode = \"GPU_IS_LOST\"\n";
    card(fault, |card| {
        assert_eq!(percent(card), Reading::Unknown(Why::Lost));
        assert_eq!(card.vitals.holders.unread, Some(Why::Lost));
    });
}

/// Trap: the older memory call counts the driver's reserve as used.
#[test]
fn the_reserve_is_not_counted_as_used() {
    let machine = "[[card]]\nmemory = \"80GiB\"\nreserved = \"1GiB\"\n[[process]]\npid = 1\ncard = 0\nmemory = \"2GiB\"\n";
    card(machine, |card| {
        let memory = card.vitals.memory.known().unwrap();
        assert_eq!(memory.used, Bytes::from_mib(2048));
        assert_eq!(memory.reserved, Reading::Known(Bytes::from_mib(1024)));
    });
    let old = format!("[driver]\nlacks = [\"nvmlDeviceGetMemoryInfo_v2\"]\n{machine}");
    card(&old, |card| {
        let memory = card.vitals.memory.known().unwrap();
        assert_eq!(memory.used, Bytes::from_mib(3072), "the old call has it so");
        assert_eq!(memory.reserved, Reading::Unknown(Why::NotSupported), "and we say so");
    });
}

/// Trap: unified-memory devices have no memory of their own to tell.
#[test]
fn a_card_that_shares_the_hosts_memory_shows_the_hosts() {
    card("[[card]]\nunified_memory = true\nutilization = 0\n", |card| {
        let memory = card.vitals.memory.known().unwrap();
        assert_eq!(memory.source, MemorySource::System);
        assert_eq!(memory.total.0 >> 30, 128);
        assert_eq!(card.unattributed(), Reading::Unknown(Why::NotSupported));
    });
}

/// Trap: managed memory is missing per process.
#[test]
fn what_no_process_accounts_for_is_the_remainder() {
    let scenario =
        "[[card]]\nunattributed = \"3GiB\"\n[[process]]\npid = 1\ncard = 0\nmemory = \"2GiB\"\n";
    card(scenario, |card| {
        assert_eq!(card.unattributed(), Reading::Known(Bytes::from_mib(3 * 1024)));
    });
}

#[test]
fn one_quantity_that_fails_leaves_the_others() {
    let scenario = "[[card]]\nutilization = 40\n[[fault]]\ncall = \"nvmlDeviceGetPowerUsage\"\ncode = \"NO_PERMISSION\"\n\
                    [[fault]]\ncall = \"nvmlDeviceGetTemperature*\"\ncode = \"UNKNOWN\"\n";
    card(scenario, |card| {
        assert_eq!(card.vitals.power, Reading::Unknown(Why::NoPermission));
        assert_eq!(card.vitals.temperature, Reading::Unknown(Why::Code(999)));
        assert_eq!(percent(card), Reading::Known(40.0));
    });
}
