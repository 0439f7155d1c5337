//! Holders of one card: when each was there, and what its own samples say of its work.

use crate::card::{MemorySource, ProcessSample};
use crate::poll::{CardPoll, Exit, HolderProcess};
use crate::process::{Holder, ProcessId};
use crate::reading::{Reading, Reason};
use crate::span::HolderId;
use crate::state::Thresholds;
use crate::units::Bytes;

use super::activity::{CentiPercent, Micros, Piece, PieceBasis, Stretch, Sums};

/// Longest time that a process sample stands for, before and after its stamp.
const LONGEST_REACH: Micros = 2_500_000;

/// Age before the last query from which on the stamp of a new process sample is wrong.
const STALE: Micros = 500_000;

/// Holders of a card as one poll listed them, with unlisted memory as the last one.
#[derive(Debug, Default)]
pub(super) struct HolderList {
    pub holders: Vec<HolderFact>,
    /// Used memory that no listed holder is known to have; `None` where that is not known.
    pub remainder: Option<Bytes>,
    /// Why holders or memory may be hidden.
    pub hidden: Option<Reason>,
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
        let remainder = remainder(poll);
        let hidden = poll.reading.holders.memory().why().or(poll.reading.memory.why());
        let without_memory = holders.iter().filter(|holder| holder.memory.is_none()).count();
        if without_memory == 0 {
            holders.extend(remainder.filter(|memory| *memory > thresholds.held).map(unlisted));
        } else {
            share_remainder(&mut holders, remainder, without_memory);
        }
        Self { holders, remainder, hidden }
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

/// Returns the used memory that no listed holder and no reserve of the driver accounts for.
fn remainder(poll: &CardPoll) -> Option<Bytes> {
    let memory = poll.reading.memory.known().filter(|it| it.source == MemorySource::Card)?;
    let reserve = match memory.reserved {
        // It does not count as used.
        Reading::Known(_) => Bytes(0),
        Reading::Unknown(_) => largest_reserve(memory.total),
    };
    let listed = poll.reading.holders.known_memory();
    Some(memory.used.saturating_sub(listed).saturating_sub(reserve))
}

/// Returns more memory than any driver keeps for itself, for drivers that count it as used: some
/// hundred MiB, a little more on larger cards.
#[must_use]
pub fn largest_reserve(total: Bytes) -> Bytes {
    Bytes::from_mib(2048).max(Bytes(total.0 / 16))
}

/// Time in which a holder was on the card.
#[derive(Debug, Clone)]
pub(super) struct Presence {
    pub id: HolderId,
    pub from: Micros,
    /// `None` while the last poll lists it.
    pub to: Option<Micros>,
    /// Newest process sample in which it worked.
    pub last_worked: Option<Micros>,
}

impl Presence {
    pub fn covers(&self, time: Stretch) -> bool {
        self.from <= time.from && self.to.is_none_or(|to| time.to <= to)
    }
}

/// Presence of all holders of a card.
#[derive(Debug, Default)]
pub(super) struct Presences(pub Vec<Presence>);

impl Presences {
    /// Lets the holders of the first poll be there from the beginning.
    pub fn begin(&mut self, list: &HolderList, from: Micros) {
        let present = |holder: &HolderFact| Presence::new(holder.id, from);
        self.0.extend(list.holders.iter().map(present));
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
        let gone = before.holders.iter().filter(|holder| list.get(holder.id).is_none());
        for holder in gone {
            let end = exit_time(exits, holder.id).filter(|at| (last..=now).contains(at));
            let is_open = |it: &&mut Presence| it.id == holder.id && it.to.is_none();
            if let Some(presence) = self.0.iter_mut().find(is_open) {
                presence.to = Some(end.unwrap_or(middle(last, now)));
            }
        }
        for holder in list.holders.iter().filter(|holder| before.get(holder.id).is_none()) {
            let earliest = holder.started.map_or(last, |started| started.clamp(last, now));
            self.0.push(Presence::new(holder.id, middle(earliest, now)));
        }
    }

    pub fn forget_before(&mut self, time: Micros) {
        self.0.retain(|presence| presence.to.is_none_or(|to| to > time));
    }
}

impl Presence {
    const fn new(id: HolderId, from: Micros) -> Self {
        Self { id, from, to: None, last_worked: None }
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
    /// Adds what the driver answered at a time. Values over 100 % and stamps from the future are
    /// garbage.
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
            // Some drivers give the mean since the last query with a stamp of long before it.
            let at = match last {
                Some(last) if stamp < last - STALE => middle(last, now),
                _ => stamp,
            };
            if at <= latest {
                let value = sample.percent * 100;
                self.insert(sample.pid, SmSample { at, value, query_distance });
            }
        }
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
            let piece = |from, to, value| Piece { from, to, value, basis: PieceBasis::Moment };
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
            let reach = (usual.min(sample.query_distance) / 2).min(LONGEST_REACH);
            let before = place.checked_sub(1).map(|before| samples[before].at);
            let after = samples.get(place + 1).map(|after| after.at);
            let from = before.map_or(at - reach, |before| middle(before, at).max(at - reach));
            let to = after.map_or(at + reach, |after| middle(at, after).min(at + reach));
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
