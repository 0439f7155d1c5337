//! The true answer of a workload, worked out slot by slot from its script.

use std::collections::BTreeMap;

use crate::driver::POWER;
use crate::workload::{HOUR, Process, SECOND, Slots, Workload};

/// Seconds in each state, and of each person.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Account {
    pub active: f64,
    pub idle_held: f64,
    pub free: f64,
    pub unknown: f64,
    /// Joules while active, idle-held and free.
    pub energy: [f64; 3],
    pub people: BTreeMap<String, Person>,
}

/// Seconds of one person. Processes count separately, shares add up to the card's time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Person {
    pub working: f64,
    pub idle: f64,
    pub work_unknown: f64,
    pub active_share: f64,
    pub low_use_share: f64,
    pub unused_share: f64,
    pub unknown_share: f64,
    /// Joules while the card was active and idle-held.
    pub energy: [f64; 2],
}

const HELD_MIB: u64 = 100;

/// Returns what is true of the time of a workload that somebody polls.
pub fn account(workload: &Workload) -> Account {
    let active = card_work(workload);
    let works: Vec<Vec<(Slots, f64)>> = workload.processes.iter().map(process_work).collect();
    let utilization = workload.utilization();
    let mut account = Account::default();
    for slots in steady_times(workload, &active, &works) {
        let (slot, seconds) = (slots.start, slots.len() as f64 / SECOND as f64);
        if is_in(&workload.stopped, slot) {
            continue;
        }
        if is_in(&workload.lost, slot) {
            account.unknown += seconds;
            continue;
        }
        let present: Vec<usize> = (0..workload.processes.len())
            .filter(|place| workload.processes[*place].life.contains(&slot))
            .collect();
        let mib = |place: &usize| workload.processes[*place].mib(slot) as f64;
        let memory: f64 = present.iter().map(mib).sum::<f64>() + workload.unlisted as f64;
        let level = |place: &usize| {
            works[*place].iter().find(|(work, _)| work.contains(&slot)).map(|(_, level)| *level)
        };
        let total: f64 = present.iter().filter_map(level).sum();
        let is_active = is_in(&active, slot);
        let percents: u32 = utilization[slots.clone()].iter().sum();
        let joules = POWER[0] * seconds + POWER[1] * f64::from(percents) / SECOND as f64;
        for place in &present {
            let name = workload.processes[*place].person.to_owned();
            let person = account.people.entry(name).or_default();
            let by_memory = if memory > 0.0 { mib(place) / memory } else { 0.0 } * seconds;
            if !is_active && memory > HELD_MIB as f64 {
                person.energy[1] += by_memory / seconds * joules;
            }
            match level(place) {
                Some(level) => {
                    person.working += seconds;
                    if is_active {
                        person.active_share += level / total * seconds;
                        person.energy[0] += level / total * joules;
                    } else {
                        person.low_use_share += by_memory;
                    }
                }
                None => {
                    person.idle += seconds;
                    if !is_active {
                        person.unused_share += by_memory;
                    }
                }
            }
        }
        let (state, energy) = match () {
            () if is_active => (&mut account.active, 0),
            () if memory > HELD_MIB as f64 => (&mut account.idle_held, 1),
            () => (&mut account.free, 2),
        };
        *state += seconds;
        account.energy[energy] += joules;
    }
    account
}

/// Returns the times in which nothing changes, but memory that grows: by a second's worth.
fn steady_times(workload: &Workload, active: &[Slots], works: &[Vec<(Slots, f64)>]) -> Vec<Slots> {
    let lives = workload.processes.iter().map(|process| &process.life);
    let working = works.iter().flatten().map(|(slots, _)| slots);
    let away = workload.lost.iter().chain(&workload.stopped);
    let times = active.iter().chain(lives).chain(working).chain(away);
    let edges = times.flat_map(|slots| [slots.start, slots.end]);
    let mut cuts: Vec<usize> = edges.chain((0..=HOUR).step_by(SECOND)).collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

fn is_in(times: &[Slots], slot: usize) -> bool {
    times.iter().any(|time| time.contains(&slot))
}

/// Returns the times in which the card is active: by the script where all processes have one.
fn card_work(workload: &Workload) -> Vec<Slots> {
    let scripts: Option<Vec<_>> = workload.processes.iter().map(|it| it.work.as_ref()).collect();
    match scripts {
        Some(scripts) => scripts.into_iter().flatten().map(|(slots, _)| slots.clone()).collect(),
        None => by_rule(&workload.utilization(), 10),
    }
}

/// Returns the times in which a process works, with the level at which it does.
fn process_work(process: &Process) -> Vec<(Slots, f64)> {
    if let Some(script) = &process.work {
        return script.clone();
    }
    let mut own = vec![0; HOUR];
    for (slots, percent) in &process.bursts {
        own[slots.clone()].fill(*percent);
    }
    // Work above the threshold of the card is work of the process, too.
    by_rule(&own, 1).into_iter().chain(by_rule(&own, 10)).map(|slots| (slots, 1.0)).collect()
}

/// The rule on the exact utilization: a slot counts if it lies between two busy slots of five seconds
/// whose mean reaches the threshold.
fn by_rule(utilization: &[u32], threshold: u32) -> Vec<Slots> {
    let window = 5 * SECOND;
    let busy: Vec<usize> =
        (0..utilization.len()).filter(|slot| utilization[*slot] >= threshold).collect();
    let mut times: Vec<Slots> = Vec::new();
    let mut sum: u32 = utilization[..window].iter().sum();
    let (mut first, mut after) = (0, 0);
    for begin in 0..=utilization.len() - window {
        if begin > 0 {
            sum += utilization[begin + window - 1];
            sum -= utilization[begin - 1];
        }
        if sum < threshold * 5 * SECOND as u32 {
            continue;
        }
        while first < busy.len() && busy[first] < begin {
            first += 1;
        }
        while after < busy.len() && busy[after] < begin + window {
            after += 1;
        }
        if first == after {
            continue;
        }
        let (from, to) = (busy[first], busy[after - 1] + 1);
        match times.last_mut() {
            Some(time) if time.end >= from => time.end = to,
            _ => times.push(from..to),
        }
    }
    times
}
