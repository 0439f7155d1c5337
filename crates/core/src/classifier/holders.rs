//! Holders of one card: when each was there, and what its own samples say of its work.

use std::collections::VecDeque;

use crate::card::ProcessSample;
use crate::poll::{CardPoll, Exit, HolderProcess};
use crate::process::{Holder, ProcessId};
use crate::reading::Reason;
use crate::span::HolderId;
use crate::state::Thresholds;
use crate::units::Bytes;

use super::activity::{CentiPercent, Micros, Piece, PieceBasis, Stretch, Sums};

/// Longest time that a process sample stands for, before and after its stamp.
const LONGEST_REACH: Micros = 2_500_000;

/// Age before the last query from which on the stamp of a new process sample is wrong, and from which
/// on it is garbage.
const STALE: Micros = 500_000;
const LATEST: Micros = 10_000_000;

/// Number of late samples that are remembered.
const MOST_LATE: usize = 256;

/// Holders of a card as one poll listed them, with unlisted memory as the last one.
#[derive(Debug, Default)]
pub(super) struct HolderList {
    pub holders: Vec<HolderFact>,
    /// Used memory that no listed holder is known to have; `None` where that is not known.
    pub remainder: Option<Bytes>,
    /// Why there may be other holders, or more memory may be used.
    pub hidden: Option<Reason>,
    /// Why the memory of a listed holder is not known.
    pub memory_unknown: Option<Reason>,
}

/// A holder at one poll.
#[derive(Debug, Clone, Copy)]
pub(super) struct HolderFact {
    pub id: HolderId,
    pub memory: Option<Bytes>,
    /// Weight in what is split by memory.
    pub weight: u64,
    pub is_mps: bool,
    pub is_busy_on_cpu: bool,
    started: Option<Micros>,
}

impl HolderList {
    pub fn new(poll: &CardPoll, thresholds: &Thresholds) -> Self {
        let seen = poll.reading.holders.seen.iter();
        let mut holders: Vec<_> =
            seen.zip(&poll.processes).map(|it| listed(it, thresholds)).collect();
        let remainder = poll.reading.unlisted_memory();
        let list = &poll.reading.holders;
        let hidden = list.unread.or(poll.reading.memory.why());
        let memory_unknown = list.seen.iter().find_map(|holder| holder.memory.why());
        let without_memory = holders.iter().filter(|holder| holder.memory.is_none()).count();
        if without_memory == 0 {
            holders.extend(remainder.filter(|memory| *memory > thresholds.held).map(unlisted));
        } else {
            share_remainder(&mut holders, remainder, without_memory);
        }
        Self { holders, remainder, hidden, memory_unknown }
    }

    pub fn get(&self, id: HolderId) -> Option<&HolderFact> {
        self.holders.iter().find(|holder| holder.id == id)
    }

    fn has_same_holders(&self, other: &Self) -> bool {
        let ids = |list: &Self| list.holders.iter().map(|holder| holder.id).collect::<Vec<_>>();
        self.holders.len() == other.holders.len() && ids(self) == ids(other)
    }

    /// Keeps the identity of holders of which less is known than at the poll before.
    fn keep_identities(&mut self, before: &Self) {
        for holder in &mut self.holders {
            let HolderId::Process(id) = holder.id else { continue };
            let known = before.holders.iter().find_map(|earlier| match earlier.id {
                HolderId::Process(earlier) if earlier.matches(id) => Some(earlier),
                _ => None,
            });
            let is_less = |earlier: &ProcessId| {
                (id.start_ticks.is_none() && earlier.start_ticks.is_some())
                    || (id.uid.is_none() && earlier.uid.is_some())
            };
            if let Some(earlier) = known.filter(is_less) {
                holder.id = HolderId::Process(earlier);
            }
        }
    }
}

fn listed((holder, process): (&Holder, &HolderProcess), thresholds: &Thresholds) -> HolderFact {
    let memory = holder.memory.known();
    let started = process.started.map(|it| i64::try_from(it.as_micros()).unwrap_or(i64::MAX));
    HolderFact {
        id: HolderId::Process(process.id),
        memory,
        weight: memory.map_or(0, |memory| memory.0),
        is_mps: holder.kinds.mps,
        is_busy_on_cpu: process.cpu.is_known_and(|cpu| cpu >= thresholds.busy_cpu),
        started,
    }
}

const fn unlisted(memory: Bytes) -> HolderFact {
    HolderFact {
        id: HolderId::Unlisted,
        memory: Some(memory),
        weight: memory.0,
        is_mps: false,
        is_busy_on_cpu: false,
        started: None,
    }
}

/// Gives the holders of unknown memory equal parts of what nobody else holds. Where that is not known
/// either, they weigh as much as the others on average.
fn share_remainder(holders: &mut [HolderFact], remainder: Option<Bytes>, without_memory: usize) {
    let known = holders.len() - without_memory;
    let total: u64 = holders.iter().map(|holder| holder.weight).sum();
    let each = match remainder {
        Some(memory) => memory.0 / without_memory as u64,
        None if known == 0 => 0,
        None => total / known as u64,
    };
    for holder in holders.iter_mut().filter(|holder| holder.memory.is_none()) {
        holder.weight = each;
    }
}

/// Time in which a holder is on the card.
#[derive(Debug, Clone)]
pub(super) struct Stay {
    pub id: HolderId,
    pub from: Micros,
    /// `None` while the last poll lists it.
    pub to: Option<Micros>,
    /// Newest sample in which it worked.
    pub last_worked: Option<Micros>,
}

impl Stay {
    const fn new(id: HolderId, from: Micros, last_worked: Option<Micros>) -> Self {
        Self { id, from, to: None, last_worked }
    }

    pub fn covers(&self, time: Stretch) -> bool {
        self.from <= time.from && self.to.is_none_or(|to| time.to <= to)
    }

    /// Notes a sample with work, which is its own if it was there.
    pub fn note_work(&mut self, at: Option<Micros>) {
        self.last_worked = self.last_worked.max(at.filter(|at| *at > self.from));
    }
}

/// Stays of all holders of a card.
#[derive(Debug, Default)]
pub(super) struct Stays(pub Vec<Stay>);

impl Stays {
    /// Lets the holders of the first poll be there from the beginning.
    pub fn begin(&mut self, list: &HolderList, from: Micros) {
        let before = std::mem::take(&mut self.0);
        for holder in &list.holders {
            let earlier = before.iter().rev().find(|stay| stay.id == holder.id);
            let last_worked = earlier.and_then(|stay| stay.last_worked);
            self.0.push(Stay::new(holder.id, from, last_worked));
        }
    }

    /// Returns the stays of the holders that are there, as ended.
    pub fn ended(&self, at: Micros) -> Self {
        let present = self.0.iter().filter(|stay| stay.to.is_none());
        Self(present.map(|stay| Stay { to: Some(at), ..stay.clone() }).collect())
    }

    /// Returns the stay of a holder that is there.
    pub fn open(&mut self, id: HolderId) -> Option<&mut Stay> {
        self.0.iter_mut().find(|stay| stay.id == id && stay.to.is_none())
    }

    /// Notes who came and went between two polls.
    pub fn follow(
        &mut self,
        (before, list): (&HolderList, &mut HolderList),
        (last, now): (Micros, Micros),
        exits: &[Exit],
    ) {
        if before.has_same_holders(list) {
            return;
        }
        list.keep_identities(before);
        for holder in before.holders.iter().filter(|holder| list.get(holder.id).is_none()) {
            let exit = exit_time(exits, holder.id).filter(|at| *at >= last);
            if let Some(stay) = self.open(holder.id) {
                stay.to = Some(exit.map_or(middle(last, now), |at| at.min(now)));
            }
        }
        for holder in list.holders.iter().filter(|holder| before.get(holder.id).is_none()) {
            let earliest = holder.started.map_or(last, |started| started.clamp(last, now));
            self.0.push(Stay::new(holder.id, middle(earliest, now), None));
        }
    }

    pub fn forget_before(&mut self, time: Micros) {
        self.0.retain(|stay| stay.to.is_none_or(|to| to > time));
    }
}

fn exit_time(exits: &[Exit], id: HolderId) -> Option<Micros> {
    let HolderId::Process(id) = id else { return None };
    let exit = exits.iter().find(|exit| exit.id.matches(id))?;
    i64::try_from(exit.at.as_micros()).ok()
}

pub(super) const fn middle(from: Micros, to: Micros) -> Micros {
    from + (to - from) / 2
}

/// Process samples of one card, by pid and in the order of time.
#[derive(Debug, Default)]
pub(super) struct ProcessSamples {
    processes: Vec<(u32, Vec<SmSample>)>,
    last_query: Option<Micros>,
    /// Pids and stamps of samples that came late, the newest last: drivers repeat some of them.
    late: VecDeque<(u32, u64)>,
}

/// SM use of a process at a time.
#[derive(Debug, Clone, Copy)]
struct SmSample {
    at: Micros,
    value: CentiPercent,
    /// Time between the query that it answers and the one before.
    query_distance: Micros,
}

impl ProcessSamples {
    /// Adds what the driver answered at a time. Values over 100 %, stamps from the future and of long
    /// before the last query, and late samples that it repeats are garbage.
    pub fn add(
        &mut self,
        samples: &[ProcessSample],
        now: Micros,
        latest: Micros,
        time_of: impl Fn(u64) -> Micros,
    ) {
        let last = self.last_query.replace(now);
        let query_distance = last.map_or(2 * LONGEST_REACH, |last| now - last);
        for sample in samples.iter().filter(|sample| sample.percent <= 100) {
            let stamp = time_of(sample.stamp);
            let at = match last {
                // Some drivers give the mean since the last query with a stamp of before it.
                Some(last) if stamp < last - STALE => {
                    if stamp < last - LATEST || !self.is_first(sample) {
                        continue;
                    }
                    middle(last, now)
                }
                _ => stamp,
            };
            if at <= latest {
                let value = sample.percent * 100;
                self.insert(sample.pid, SmSample { at, value, query_distance });
            }
        }
    }

    /// Returns true if a late sample was not seen before.
    fn is_first(&mut self, sample: &ProcessSample) -> bool {
        let key = (sample.pid, sample.stamp);
        if self.late.contains(&key) {
            return false;
        }
        if self.late.len() >= MOST_LATE {
            self.late.pop_front();
        }
        self.late.push_back(key);
        true
    }

    fn insert(&mut self, pid: u32, sample: SmSample) {
        let samples = match self.processes.iter().position(|(known, _)| *known == pid) {
            Some(place) => &mut self.processes[place].1,
            None => {
                self.processes.push((pid, Vec::new()));
                let last = self.processes.len() - 1;
                &mut self.processes[last].1
            }
        };
        let place = samples.partition_point(|known| known.at < sample.at);
        if samples.get(place).is_none_or(|known| known.at != sample.at) {
            samples.insert(place, sample);
        }
    }

    pub fn forget_before(&mut self, time: Micros) {
        for (_, samples) in &mut self.processes {
            let count = samples.partition_point(|sample| sample.at < time);
            samples.drain(..count);
        }
        self.processes.retain(|(_, samples)| !samples.is_empty());
    }

    /// Returns true if the driver was ever asked.
    pub const fn are_known(&self) -> bool {
        self.last_query.is_some()
    }

    /// Returns the newest sample of a process in which it worked.
    pub fn last_reaching(&self, pid: u32, threshold: CentiPercent) -> Option<Micros> {
        let mut samples = self.samples(pid).iter().rev();
        samples.find(|sample| sample.value >= threshold).map(|sample| sample.at)
    }

    fn samples(&self, pid: u32) -> &[SmSample] {
        let found = self.processes.iter().find(|(known, _)| *known == pid);
        found.map_or(&[], |(_, samples)| samples)
    }

    /// Returns the pieces that a process's samples stand for, with zeros between them: each stands
    /// from halfway to the one before to halfway to the one after, if those are near.
    pub fn pieces(&self, pid: u32, within: Stretch) -> Vec<Piece> {
        let samples = self.samples(pid);
        let usual = usual_distance(samples);
        let mut pieces = Vec::with_capacity(2 * samples.len() + 1);
        let mut last = within.from;
        let mut push = |from: Micros, to: Micros, value| {
            let from = from.max(last);
            let piece = |from, to, value| Piece { from, to, value, basis: PieceBasis::Process };
            if from > last {
                pieces.push(piece(last, from, 0));
            }
            if to > from {
                pieces.push(piece(from, to, value));
            }
            last = to.max(last);
        };
        for (place, sample) in samples.iter().enumerate() {
            let at = sample.at;
            let usual = usual.min(sample.query_distance).min(2 * LONGEST_REACH);
            // Distances vary a little.
            let is_near = |other: &Micros| 8 * (at - other).abs() <= 9 * usual;
            let before = place.checked_sub(1).map(|before| samples[before].at).filter(is_near);
            let after = samples.get(place + 1).map(|after| after.at).filter(is_near);
            let from = before.map_or(at - usual / 2, |before| middle(before, at));
            let to = after.map_or(at + usual / 2, |after| middle(at, after));
            push(from, to, sample.value);
        }
        push(within.to, within.to, 0);
        pieces
    }
}

/// Returns the usual distance of a process's samples: drivers give every period, or only the newest at
/// each query.
fn usual_distance(samples: &[SmSample]) -> Micros {
    let mut distances: Vec<_> = samples.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    if distances.len() < 3 {
        return 2 * LONGEST_REACH;
    }
    let middle = distances.len() / 2;
    *distances.select_nth_unstable(middle).1
}

/// Returns the mean utilization over a time, where what is not in the pieces counts as 0.
pub(super) fn mean(pieces: &[Piece], time: Stretch) -> f64 {
    let length = (time.to - time.from).max(1);
    Sums::new(pieces).over(time).sum as f64 / length as f64
}
