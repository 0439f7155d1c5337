//! Time to classify polls of eight cards with samples of 1/6 s: `cargo bench -p gua-core`.
//! A first argument is the number of polls, a million (58 days) otherwise.

use std::env;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gua_core::card::{
    Basis, CardFacts, MemorySource, MemoryUse, ProcessSample, Sample, Samples, Utilization, Vitals,
};
use gua_core::poll::{CardPoll, HolderProcess};
use gua_core::process::{Holder, Holders, Kinds, ProcessId};
use gua_core::units::{Bytes, Millijoules, Percent, UnixMillis};
use gua_core::{Classifier, Clocks, Poll, Reading, Reason, Thresholds};

const CARDS: u32 = 8;
const POLL_MICROS: u64 = 5_000_000;
const BOOT_MICROS: u64 = 86_400_000_000;

fn main() {
    let number = env::args().skip(1).find_map(|argument| argument.parse().ok());
    let polls: u64 = number.unwrap_or(1_000_000);
    let cards: Vec<_> = (0..CARDS).map(card).collect();
    let mut classifier = Classifier::new(Thresholds::default());
    let (mut spent, mut spans, mut active_ms) = (Duration::ZERO, 0, 0);
    for number in 0..polls {
        let poll = poll(&cards, number);
        let begun = Instant::now();
        classifier.add(&poll);
        if number % 6 == 0 {
            let taken = classifier.take_spans();
            spans += taken.len();
            let active = taken.iter().filter(|span| span.state == gua_core::State::Active);
            active_ms += active.map(|span| span.period.millis()).sum::<i64>();
        }
        spent += begun.elapsed();
    }
    let per_card = spent.as_secs_f64() * 1e6 / (polls * u64::from(CARDS)) as f64;
    println!(
        "{polls} polls of {CARDS} cards: {:.1} s, {per_card:.2} µs per card and poll; {spans} spans, {:.0} active GPU-hours",
        spent.as_secs_f64(),
        active_ms as f64 / 3.6e6
    );
}

fn card(index: u32) -> Arc<CardFacts> {
    let uuid = Reading::Known(format!("GPU-{index}"));
    Arc::new(CardFacts { uuid, ..CardFacts::unread(index, Reason::NotAsked) })
}

fn poll(cards: &[Arc<CardFacts>], number: u64) -> Poll {
    let micros = BOOT_MICROS + number * POLL_MICROS;
    let since_boot = Duration::from_micros(micros);
    let wall = UnixMillis(1_794_182_400_000 + i64::try_from(micros / 1000).unwrap_or(0));
    Poll {
        clocks: Clocks { wall, since_boot, awake: since_boot },
        cards: Ok(cards.iter().map(|card| card_poll(card, micros)).collect()),
        exits: Vec::new(),
    }
}

/// Card 0 works, 1 to 3 are held idle, 4 to 6 work in phases of 41 s / 53 s, 7 is shared by two.
fn card_poll(card: &Arc<CardFacts>, micros: u64) -> CardPoll {
    let holders = if card.index == 7 { 2 } else { 1 };
    let works_at = |micros: u64| match card.index {
        0 => true,
        1..=3 => false,
        index => (micros / 1_000_000 + u64::from(index) * 13) % 94 < 41,
    };
    let period = 166_667;
    // The driver gives its whole buffer each time.
    let last = micros / period;
    let first = last - 99;
    let sample = |number: u64| Sample {
        stamp: number * period,
        percent: if works_at(number * period) { 90 } else { 0 },
    };
    let reading = Vitals {
        utilization: Reading::Known(Utilization {
            percent: Percent(0.0),
            basis: Basis::Samples { count: 30, covers: Duration::from_secs(5) },
        }),
        samples: Reading::Known(Samples {
            samples: (first..=last).map(sample).collect(),
            is_full: true,
        }),
        memory: Reading::Known(MemoryUse {
            total: Bytes::from_mib(80_000),
            used: Bytes::from_mib(holders * 8000),
            free: Bytes::from_mib(80_000 - holders * 8000),
            reserved: Reading::Known(Bytes::from_mib(600)),
            source: MemorySource::Card,
        }),
        energy: Reading::Known(Millijoules(micros / 10)),
        holders: Holders { seen: (0..holders).map(holder).collect(), unread: None },
        process_samples: Reading::Known(worker(card.index, last * period, works_at)),
        ..Vitals::unknown(Reason::NotAsked)
    };
    CardPoll { card: Arc::clone(card), reading, processes: (0..holders).map(process).collect() }
}

/// One of the two holders of the shared card works.
fn worker(index: u32, stamp: u64, works_at: impl Fn(u64) -> bool) -> Vec<ProcessSample> {
    let works = index == 7 && works_at(stamp);
    works.then(|| ProcessSample { pid: pid(0), stamp, percent: 90 }).into_iter().collect()
}

fn holder(number: u64) -> Holder {
    Holder {
        pid: pid(number),
        kinds: Kinds::COMPUTE,
        memory: Reading::Known(Bytes::from_mib(8000)),
        sm: Reading::Unknown(Reason::NotAsked),
        engines: Reading::Unknown(Reason::NotAsked),
    }
}

fn process(number: u64) -> HolderProcess {
    let id = ProcessId { pid: pid(number), start_ticks: Some(5), uid: Some(1000) };
    HolderProcess { id, started: None, cpu: Reading::Unknown(Reason::NotAsked) }
}

fn pid(number: u64) -> u32 {
    100 + u32::try_from(number).unwrap_or(0)
}
