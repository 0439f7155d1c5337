//! Samples of cards and processes as the driver stamped them.

use probe::card::{Basis, ProcessSample, Samples};
use probe::nvml::{Options, Prober, Wants};
use probe::{CardLook, Reading, Why};

use crate::machine::{Machine, look_until_with, on};

/// A card with a buffer of 200 ms, one process that works and one that does not.
const BUSY: &str = "[samples]\nperiod = \"20ms\"\ncapacity = 10\n[[card]]\n\
    [[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\nsm = 40\nbegin = \"-1h\"\n\
    [[process]]\npid = 2\ncard = 0\nmemory = \"1GiB\"\n";

const IDLE: &str = "[[card]]\nutilization = 0\n[[process]]\npid = 2\ncard = 0\nmemory = \"1GiB\"\n";

fn fault(call: &str, code: &str) -> String {
    format!("[[fault]]\ncall = \"{call}\"\ncode = \"{code}\"\n")
}

fn look(machine: &Machine, wants: Wants) -> CardLook {
    let mut prober = Prober::open(Options { wants, ..machine.options() }).unwrap();
    prober.look().cards.remove(0)
}

fn stamps(samples: &Samples) -> Vec<u64> {
    samples.samples.iter().map(|sample| sample.stamp).collect()
}

#[test]
fn a_look_brings_the_whole_buffer() {
    on(BUSY, |machine| {
        let samples = look(machine, Wants::ESSENTIALS).vitals.samples.known().unwrap();
        assert_eq!((samples.samples.len(), samples.is_full), (10, true));
        assert!(samples.samples.iter().all(|sample| sample.percent == 40));
        let stamps = stamps(&samples);
        assert!(stamps.windows(2).all(|pair| pair[1] - pair[0] == 20_000), "{stamps:?}");
    });
}

#[test]
fn samples_of_drains_come_with_the_next_look() {
    on(BUSY, |machine| {
        let mut prober = machine.prober();
        prober.look();
        let drains = |prober: &mut Prober| {
            for _ in 0..30 {
                prober.drain();
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        };
        let is_longer_than_the_buffer = |look: &probe::nvml::Look| {
            look.cards[0].vitals.samples.clone().known().unwrap().samples.len() > 11
        };
        let look = look_until_with(&mut prober, "drained", is_longer_than_the_buffer, drains);
        let stamps = stamps(&look.cards[0].vitals.samples.clone().known().unwrap());
        assert!(stamps.is_sorted_by(|one, next| one < next), "each once: {stamps:?}");
        let again = prober.look().cards.remove(0).vitals.samples.known().unwrap();
        assert_eq!(again.samples.len(), 10, "those of drains are handed over once");
    });
}

/// Trap: the buffer runs dry while a card idles.
#[test]
fn an_empty_buffer_is_known_to_be_empty() {
    for code in ["NOT_FOUND", "NO_DATA"] {
        on(&format!("{IDLE}{}", fault("nvmlDeviceGetSamples", code)), |machine| {
            let mut prober = machine.prober();
            for _ in 0..2 {
                let vitals = prober.look().cards.remove(0).vitals;
                assert_eq!(vitals.samples, Reading::Known(Samples::default()));
                assert!(vitals.utilization.is_known_and(|work| work.basis == Basis::Instant));
            }
            machine.becomes(IDLE);
            look_until_with(
                &mut prober,
                "filled",
                |look| look.cards[0].vitals.samples.clone().is_known_and(|it| it.is_full),
                |_| {},
            );
        });
    }
}

#[test]
fn samples_are_unknown_where_there_is_no_buffer() {
    for (code, why) in [("NOT_SUPPORTED", Why::NotSupported), ("UNKNOWN", Why::Code(999))] {
        on(&format!("{BUSY}{}", fault("nvmlDeviceGetSamples", code)), |machine| {
            let mut prober = machine.prober();
            for _ in 0..2 {
                let vitals = prober.look().cards.remove(0).vitals;
                assert_eq!(vitals.samples, Reading::Unknown(why));
            }
        });
    }
}

#[test]
fn process_samples_are_those_that_the_driver_gave() {
    on(BUSY, |machine| {
        let vitals = look(machine, Wants::ALL).vitals;
        let newest = *stamps(&vitals.samples.known().unwrap()).last().unwrap();
        let samples = vitals.process_samples.known().unwrap();
        assert_eq!(samples.len(), 1, "{samples:?}");
        let ProcessSample { pid, stamp, percent } = samples[0];
        assert_eq!((pid, percent), (1, 40));
        assert!(stamp >= newest, "{stamp} {newest}");
    });
}

#[test]
fn garbage_among_process_samples_is_left_out() {
    let strays = "[[stray_sample]]\ncard = 0\npid = 2\nsm = 4000000\n\
        [[stray_sample]]\ncard = 0\npid = 0\nsm = 5\n";
    on(&format!("{BUSY}{strays}"), |machine| {
        let samples = look(machine, Wants::ALL).vitals.process_samples.known().unwrap();
        assert_eq!(samples.iter().map(|sample| sample.pid).collect::<Vec<_>>(), [1]);
    });
}

#[test]
fn process_samples_are_empty_only_where_nobody_worked() {
    let nobody = Reading::Known(vec![]);
    on(IDLE, |machine| {
        assert_eq!(look(machine, Wants::ALL).vitals.process_samples, nobody);
        let not_asked = look(machine, Wants::ESSENTIALS).vitals.process_samples;
        assert_eq!(not_asked, Reading::Unknown(Why::NotAsked));
    });
    let lacking = fault("nvmlDeviceGetProcessUtilization", "NOT_SUPPORTED");
    let divided = "[[card]]\ngpm = true\n[[card.mig]]\nslot = 1\nprofile = \"3g.40gb\"\n\
                   memory = \"40GiB\"\n[[process]]\npid = 2\ncard = 0\nslot = 1\nmemory = \"1GiB\"\n";
    for scenario in [&format!("{BUSY}{lacking}"), divided] {
        on(scenario, |machine| {
            let vitals = look(machine, Wants::ALL).vitals;
            assert_eq!(vitals.process_samples, Reading::Unknown(Why::NotSupported));
        });
    }
}
