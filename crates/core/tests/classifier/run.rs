//! Polls a workload and adds up what the classifier says of it.

use std::sync::Arc;

use gua_core::classifier::Classifier;
use gua_core::poll::{Exit, ProcessPoll};
use gua_core::span::{HolderId, Span, Work};
use gua_core::{Poll, Reading, State, Thresholds};

use crate::driver::{Driver, Kind, clocks, pid, process_id};
use crate::exact::{Account, Person};
use crate::workload::{HOUR, Random, SECOND, Workload};

const MICROS: u64 = 1_000_000;

/// What one hour of polls gave.
pub struct Outcome {
    pub account: Account,
    pub spans: Vec<Span>,
}

/// Polls an hour of a workload, a little out of step, and takes the spans out at each `tick`.
pub fn run(workload: &Workload, kind: Kind, poll_seconds: u64, tick_seconds: u64) -> Outcome {
    let mut driver = Driver::new(workload, kind);
    let mut classifier = Classifier::new(Thresholds::default());
    let mut spans = Vec::new();
    let mut random = Random::new(17);
    for number in 0..=3600 / poll_seconds {
        let jitter = if number == 0 { 0 } else { (random.unit() * 40_000.0) as u64 };
        let at = (number * poll_seconds * MICROS + jitter).min(3600 * MICROS - 1);
        let slot = at as usize / (MICROS as usize / SECOND);
        if workload.stopped.iter().any(|time| time.contains(&slot.min(HOUR - 1))) {
            continue;
        }
        if is_first_after_stop(workload, slot, poll_seconds) {
            classifier.finish();
            spans.extend(classifier.take_spans());
            classifier = Classifier::new(Thresholds::default());
        }
        let poll = Poll {
            clocks: clocks(at),
            cards: Ok(vec![driver.poll(at)]),
            exits: exits(workload, at),
        };
        classifier.add(&poll);
        if (number * poll_seconds).is_multiple_of(tick_seconds) {
            spans.extend(classifier.take_spans());
        }
        // Where several work, their process samples are read every second.
        for second in 1..poll_seconds {
            let at = at + second * MICROS;
            if classifier.has_several_workers(driver.card()) && at < 3600 * MICROS {
                let samples = Reading::Known(driver.process_samples(at));
                let card = Arc::clone(driver.card());
                classifier.add_process_samples(&ProcessPoll { clocks: clocks(at), card, samples });
            }
        }
    }
    classifier.finish();
    spans.extend(classifier.take_spans());
    Outcome { account: account(workload, &spans), spans }
}

/// Returns the processes that ended in the last seconds.
fn exits(workload: &Workload, at: u64) -> Vec<Exit> {
    let end = |place: usize| workload.processes[place].life.end as u64 * (MICROS / SECOND as u64);
    let ended = (0..workload.processes.len())
        .filter(|place| (at.saturating_sub(10 * MICROS)..=at).contains(&end(*place)));
    // They are looked for every second.
    let noticed = |place: usize| end(place) / MICROS * MICROS + MICROS / 2;
    ended
        .map(|place| Exit { id: process_id(place), at: clocks(noticed(place)).since_boot })
        .collect()
}

/// Returns true at the first poll after a time in which nothing polled.
fn is_first_after_stop(workload: &Workload, slot: usize, poll_seconds: u64) -> bool {
    let poll = poll_seconds as usize * SECOND;
    workload.stopped.iter().any(|time| slot >= time.end && slot < time.end + poll)
}

fn account(workload: &Workload, spans: &[Span]) -> Account {
    let mut account = Account::default();
    for process in &workload.processes {
        account.people.entry(process.person.to_owned()).or_default();
    }
    for span in spans {
        let seconds = span.period.seconds();
        match span.state {
            State::Active => account.active += seconds,
            State::IdleHeld => account.idle_held += seconds,
            State::TrulyIdle => account.free += seconds,
            State::Unknown(_) => account.unknown += seconds,
        }
        let energy = match span.state {
            State::Active => 0,
            State::IdleHeld => 1,
            State::TrulyIdle | State::Unknown(_) => 2,
        };
        account.energy[energy] += span.energy.sum;
        for holder in &span.holders {
            let HolderId::Process(id) = holder.holder else { continue };
            let is_it = |place: &usize| pid(*place) == id.pid;
            let place = (0..workload.processes.len()).find(is_it).unwrap();
            let name = workload.processes[place].person;
            let person = account.people.get_mut(name).unwrap();
            if let Some(energy) = person.energy.get_mut(energy) {
                *energy += holder.energy;
            }
            add(person, span, holder.work, holder.share_ms as f64 / 1000.0);
        }
    }
    account
}

fn add(person: &mut Person, span: &Span, work: Work, share: f64) {
    let seconds = span.period.seconds();
    match work {
        Work::Working => person.working += seconds,
        Work::Idle => person.idle += seconds,
        Work::Unknown => person.work_unknown += seconds,
    }
    match (span.state, work) {
        (State::Active, _) => person.active_share += share,
        (State::IdleHeld, Work::Idle) => person.unused_share += share,
        (State::IdleHeld, _) => person.low_use_share += share,
        (State::Unknown(_), _) => person.unknown_share += share,
        (State::TrulyIdle, _) => {}
    }
}
