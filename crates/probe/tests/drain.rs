//! Between looks that are far apart the driver's buffer runs over, unless it is drained.

use std::thread;
use std::time::{Duration, Instant};

use nvidia_ml::machine::Machine as Truth;
use probe::card::Basis;
use probe::nvml::{Look, Options, Prober, Wants};
use probe::{CardLook, Reading, Why};
use scenario::Moment;
use scenario::state::Place;

use crate::machine::{look_until, look_until_with, on, percent};

const PERIOD: Duration = Duration::from_millis(20);

/// A buffer of 200 ms, and cards whose load of the last 200 ms tells little of a second.
fn short_buffer(cards: usize) -> String {
    let card =
        "[[card]]\nutilization = { points = [[\"0s\", 100], [\"600ms\", 0]], repeat = \"1s\" }\n";
    format!("[samples]\nperiod = \"20ms\"\ncapacity = 10\n{}", card.repeat(cards))
}

/// Two cards with a short buffer and something wrong.
fn with_fault(fault: &str) -> String {
    format!("{}[[fault]]\n{fault}\n", short_buffer(2))
}

/// How many samples a card's figure rests on, and the time that they cover.
fn basis(card: &CardLook) -> (u32, Duration) {
    match card.vitals.utilization.known().unwrap().basis {
        Basis::Samples { count, covers } => (count, covers),
        other => panic!("{other:?}"),
    }
}

fn is_instant(card: &CardLook) -> bool {
    card.vitals.utilization.is_known_and(|busy| busy.basis == Basis::Instant)
}

fn elapsed(from: Moment, to: Moment) -> Duration {
    Duration::from_micros(u64::try_from(to.as_micros() - from.as_micros()).unwrap())
}

/// Looks, lets a good second of the machine's time go by and does something again and again
/// meanwhile, at last when it is over. Answers with when it looked.
fn look_and_wait(
    prober: &mut Prober,
    truth: &Truth,
    mut meanwhile: impl FnMut(&mut Prober),
) -> Moment {
    prober.look();
    let from = truth.scenario.newest_sample(truth.now());
    while elapsed(from, truth.now()) < Duration::from_millis(1300) {
        thread::sleep(PERIOD / 4);
        meanwhile(prober);
    }
    from
}

/// Drains a few times before each look, until the look is as wanted.
fn drain_and_look_until(prober: &mut Prober, what: &str, wanted: impl Fn(&Look) -> bool) -> Look {
    look_until_with(prober, what, wanted, |prober| {
        for _ in 0..10 {
            thread::sleep(PERIOD / 4);
            prober.drain();
        }
    })
}

/// Drains until one has met a card that hangs.
fn drain_until_one_waits(prober: &mut Prober) {
    for _ in 0..500 {
        let begun = Instant::now();
        prober.drain();
        if begun.elapsed() > Duration::from_millis(400) {
            return;
        }
        thread::sleep(PERIOD / 4);
    }
    panic!("no drain met the hung card");
}

#[test]
fn looks_far_apart_rest_on_every_sample_when_drained() {
    on(&short_buffer(2), |machine| {
        let (mut prober, truth) = (machine.prober(), machine.truth());
        // A test that was held up for longer than the buffer lasts has to begin again.
        for _ in 0..20 {
            let from = look_and_wait(&mut prober, &truth, Prober::drain);
            let look = prober.look();
            let to = truth.scenario.newest_sample(truth.now());
            if look.cards.iter().any(|card| basis(card).1 + 3 * PERIOD < elapsed(from, to)) {
                continue;
            }
            for (card, there) in look.cards.iter().zip(&truth.scenario.cards) {
                let (count, covers) = basis(card);
                assert_eq!(covers, PERIOD * count, "each sample once");
                assert!(covers <= elapsed(from, to) + 3 * PERIOD, "{covers:?}");
                let expected = truth.scenario.mean_utilization(Place::card(there), from, to);
                let found = percent(card).known().unwrap();
                assert!((found - expected).abs() < 6.0, "{found} and not {expected}");
            }
            return;
        }
        panic!("the drains never kept up");
    });
}

#[test]
fn without_drains_a_look_says_how_little_it_rests_on() {
    on(&short_buffer(1), |machine| {
        let mut prober = machine.prober();
        look_and_wait(&mut prober, &machine.truth(), |_| {});
        assert_eq!(basis(&prober.look().cards[0]), (10, Duration::from_millis(200)));
    });
}

/// Far more drains than looks, and a sample now and then: it is a drain that takes it, and
/// the look that follows finds nothing new itself.
#[test]
fn what_a_drain_took_is_there_for_the_look_and_only_once() {
    let period = Duration::from_secs(1);
    let slow = "[samples]\nperiod = \"1s\"\n[[card]]\nutilization = 40\n";
    on(slow, |machine| {
        let mut prober = machine.prober();
        prober.look();
        for _ in 0..3 {
            drain_and_look_until(&mut prober, "nothing new", |look| is_instant(&look.cards[0]));
            let look =
                drain_and_look_until(&mut prober, "drained", |look| !is_instant(&look.cards[0]));
            assert_eq!(percent(&look.cards[0]), Reading::Known(40.0));
            let (count, covers) = basis(&look.cards[0]);
            assert_eq!(covers, period * count);
        }
    });
}

#[test]
fn a_drain_is_one_call_a_card() {
    on(&short_buffer(4), |machine| {
        let drains = 10;
        let options = Options { wants: Wants::ESSENTIALS, ..machine.options() };
        let mut prober = Prober::open(options).unwrap();
        prober.look();
        for _ in 0..drains {
            prober.drain();
        }
        drop(prober);
        // One for the size of the buffer, one for the look, and one a drain.
        assert_eq!(machine.calls_of("nvmlDeviceGetSamples"), 4 * (2 + drains));
        let once = ["nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetMemoryInfo_v2"];
        for call in once.into_iter().chain(["nvmlDeviceGetUUID", "nvmlDeviceGetMigMode"]) {
            assert_eq!(machine.calls_of(call), 4, "{call}\n{}", machine.calls());
        }
        assert_eq!(machine.calls_of("nvmlDeviceGetUtilizationRates"), 0);
    });
}

/// Works for the first part of every second only.
const IN_BURSTS: &str = r#"
[samples]
period = "20ms"
capacity = 10
[[card]]
[[card]]
[[process]]
pid = 5
card = 0
memory = "1GiB"
sm = { points = [["0s", 80], ["600ms", 0]], repeat = "1s" }
[[process]]
pid = 6
card = 0
memory = "1GiB"
"#;

/// Trap: the driver tells only what a process did in its newest period.
#[test]
fn a_process_that_worked_between_two_looks_has_worked() {
    on(IN_BURSTS, |machine| {
        let (mut prober, truth) = (machine.prober(), machine.truth());
        look_and_wait(&mut prober, &truth, Prober::drain);
        let look = prober.look();
        let sm: Vec<_> = look.cards[0].vitals.holders.seen.iter().map(|it| it.sm).collect();
        assert_eq!(sm[0].map(|sm| sm.0.round()), Reading::Known(80.0));
        assert_eq!(sm[1].map(|sm| sm.0), Reading::Known(0.0));
    });
}

#[test]
fn shares_cost_a_drain_one_call_more_where_somebody_holds_the_card() {
    on(IN_BURSTS, |machine| {
        let drains = 10;
        let options =
            Options { wants: Wants { shares: true, ..Wants::ESSENTIALS }, ..machine.options() };
        let mut prober = Prober::open(options).unwrap();
        prober.look();
        for _ in 0..drains {
            prober.drain();
        }
        drop(prober);
        assert_eq!(machine.calls_of("nvmlDeviceGetProcessUtilization"), 1 + drains);
        assert_eq!(machine.calls_of("nvmlDeviceGetSamples"), 2 * (2 + drains));
    });
}

/// A card that was not looked at may be asleep, and waking it up takes long.
#[test]
fn a_drain_before_the_first_look_asks_no_card() {
    on(&short_buffer(2), |machine| {
        let mut prober = machine.prober();
        prober.drain();
        assert_eq!(prober.buffer_length(), None);
        let look = prober.look();
        assert_eq!(basis(&look.cards[0]), (10, Duration::from_millis(200)));
        drop(prober);
        assert_eq!(machine.calls_of("nvmlDeviceGetHandleByIndex_v2"), 2);
        assert_eq!(machine.calls_of("nvmlDeviceGetSamples"), 4);
    });
}

#[test]
fn cards_without_a_buffer_are_not_asked() {
    let divided = "[[card]]\ngpm = true\n[[card.mig]]\nslot = 1\nprofile = \"3g.40gb\"\n\
                   memory = \"40GiB\"\nutilization = 55\n";
    let lacking = "[[card]]\nutilization = 40\n[[fault]]\ncall = \"nvmlDeviceGetSamples\"\n\
                   code = \"NOT_SUPPORTED\"\n";
    for (scenario, calls) in [(divided, 0), (lacking, 1)] {
        on(scenario, |machine| {
            let mut prober = machine.prober();
            prober.look();
            prober.drain();
            assert_eq!(prober.buffer_length(), None);
            let look = prober.look();
            assert!(percent(&look.cards[0]).known().is_some());
            drop(prober);
            assert_eq!(machine.calls_of("nvmlDeviceGetSamples"), calls, "{}", machine.calls());
            let counted = machine.calls_of("nvmlGpmMigSampleGet");
            assert_eq!(counted, if calls == 0 { 2 } else { 0 }, "{}", machine.calls());
        });
    }
}

#[test]
fn a_card_that_errs_in_a_drain_is_told_by_the_look() {
    on(&short_buffer(2), |machine| {
        let mut prober = machine.prober();
        prober.look();
        machine.becomes(&with_fault("call = \"nvmlDevice*\"\ncard = 0\ncode = \"GPU_IS_LOST\""));
        let look = drain_and_look_until(&mut prober, "lost", |look| {
            percent(&look.cards[0]) == Reading::Unknown(Why::Lost)
        });
        assert!(percent(&look.cards[1]).known().is_some());
        machine.becomes(&with_fault("call = \"*GetSamples\"\ncard = 0\ncode = \"UNKNOWN\""));
        drain_and_look_until(&mut prober, "without samples", |look| {
            is_instant(&look.cards[0]) && !is_instant(&look.cards[1])
        });
        machine.becomes(&short_buffer(2));
        drain_and_look_until(&mut prober, "well again", |look| {
            look.cards.iter().all(|card| !is_instant(card) && percent(card).known().is_some())
        });
    });
}

/// What was gathered before the buffer failed is still true of the time since the last look.
#[test]
fn a_buffer_that_fails_leaves_what_was_drained_before() {
    on(&short_buffer(2), |machine| {
        let mut prober = machine.prober();
        look_and_wait(&mut prober, &machine.truth(), Prober::drain);
        machine.becomes(&with_fault("call = \"*GetSamples\"\ncode = \"UNKNOWN\""));
        // Time for the simulated driver to see it; that it has not would be right as well.
        thread::sleep(PERIOD);
        let look = prober.look();
        assert!(look.cards.iter().all(|card| basis(card).0 >= 10), "{look:?}");
        look_until(&mut prober, "failing", |look| look.cards.iter().all(is_instant));
    });
}

/// Trap: a call can hang for minutes when a card is failing.
#[test]
fn a_card_that_hangs_in_a_drain_hangs_nobody() {
    on(&short_buffer(2), |machine| {
        let mut prober = Prober::open(machine.hasty()).unwrap();
        prober.look();
        machine.becomes(&with_fault("call = \"nvmlDeviceGetSamples\"\ncard = 0\nhang = true"));
        let begun = Instant::now();
        drain_until_one_waits(&mut prober);
        for _ in 0..20 {
            prober.drain();
        }
        // Nobody waits for it twice: 20 times half a second would be longer.
        assert!(begun.elapsed() < Duration::from_secs(9), "past its deadline");
        let look = prober.look();
        assert_eq!(percent(&look.cards[0]), Reading::Unknown(Why::TimedOut));
        assert!(percent(&look.cards[1]).known().is_some());
        assert!(look.cards[0].facts.uuid.why().is_none(), "it has its name all the same");
    });
}

#[test]
fn a_card_that_was_slow_in_a_drain_is_read_again() {
    on(&short_buffer(2), |machine| {
        let mut prober = Prober::open(machine.hasty()).unwrap();
        prober.look();
        let slow = "call = \"nvmlDeviceGetSamples\"\ncard = 0\nlatency = \"1500ms\"\ntimes = 1";
        machine.becomes(&with_fault(slow));
        drain_until_one_waits(&mut prober);
        drain_and_look_until(&mut prober, "back", |look| {
            let read = percent(&look.cards[0]);
            assert!(matches!(read, Reading::Known(_) | Reading::Unknown(Why::TimedOut)));
            read.known().is_some()
        });
    });
}

/// Opening may take long or find another driver, which is for a look to tell.
#[test]
fn a_drain_does_not_open_the_driver() {
    on(&short_buffer(2), |machine| {
        let mut prober = machine.prober();
        prober.look();
        machine.becomes(&with_fault("call = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\""));
        look_until(&mut prober, "away", |look| look.driver.is_err());
        machine.becomes(&short_buffer(2));
        prober.drain();
        assert!(prober.driver().is_none());
        assert_eq!(prober.buffer_length(), None);
        let look = look_until(&mut prober, "back", |look| look.driver.is_ok());
        assert_eq!(basis(&look.cards[1]).0, 10, "as at a first look");
    });
}

#[test]
fn the_length_of_the_buffer_is_known_after_a_look() {
    on(&short_buffer(2), |machine| {
        let mut prober = machine.prober();
        assert_eq!(prober.buffer_length(), None);
        prober.look();
        assert_eq!(prober.buffer_length(), Some(Duration::from_millis(200)));
        prober.drain();
        assert_eq!(prober.buffer_length(), Some(Duration::from_millis(200)));
    });
    on("[[card]]\nutilization = 40\n", |machine| {
        let mut prober = machine.prober();
        prober.look();
        assert_eq!(prober.buffer_length(), Some(Duration::from_micros(16_666_700)));
    });
}
