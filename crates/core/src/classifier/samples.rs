//! Utilization samples of one card as an unbroken line of pieces on the boot clock.

use std::mem;

use crate::card::{Sample, Samples};
use crate::clocks::Clocks;
use crate::reading::Reading;

use super::activity::{CentiPercent, Micros, Piece, PieceBasis};

/// Furthest that the stamps of samples may lie before and after the time of the clock that they are
/// taken from. A buffer that got nothing for long has old samples.
const LARGEST_AGE: Micros = 3_600_000_000;
const LARGEST_LEAD: Micros = 2_000_000;

/// Longest delay of a sample. An answer that ends further back shows that the driver's clock was set.
const LATEST: u64 = 10_000_000;

/// Time before a poll that an empty buffer leaves open: a sample of it may still arrive.
const DRY_DELAY: Micros = 1_000_000;

/// Distance between samples that is assumed before there are two of them, and the longest that any
/// driver has: longer distances are idle time.
const USUAL_PERIOD: Micros = 1_000_000;
const LONGEST_PERIOD: Micros = 2_000_000;

/// Samples of one card since it was last unobserved, as far back as the classifier needs them.
#[derive(Debug)]
pub(super) struct SampleLine {
    /// Begin of the time that the samples are for. Older ones only fill the window before it.
    begin: Micros,
    /// In the order of time.
    entries: Vec<Entry>,
    clock: Option<StampClock>,
    /// Stamps of the samples taken, in order, and the newest one that is no longer among them.
    seen: Vec<u64>,
    forgotten: u64,
    period: Option<Micros>,
    /// True if the last poll found the buffer without new samples although the card worked.
    was_busy_and_dry: bool,
}

/// A sample on the boot clock.
#[derive(Debug, Clone, Copy)]
struct Entry {
    to: Micros,
    value: CentiPercent,
    origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Buffer,
    /// The first sample after others may have been overwritten in the buffer.
    BufferAfterLoss,
    /// The time since the poll before, by its mean (hardware counters) or by a moment in it.
    Poll {
        from: Micros,
        basis: PieceBasis,
    },
    /// The buffer got nothing up to here, as the card was idle.
    Dry,
}

/// Clock that the driver's stamps are taken from.
#[derive(Debug, Clone, Copy)]
enum StampClock {
    Boot,
    Wall,
    /// Another clock, by its difference to the boot clock. It is a guess.
    Other(i64),
}

/// What one poll gives besides samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct PollTime {
    pub at: Micros,
    pub before: Option<Micros>,
    pub clocks: Clocks,
}

impl SampleLine {
    pub const fn new(begin: Micros) -> Self {
        Self {
            begin,
            entries: Vec::new(),
            clock: None,
            seen: Vec::new(),
            forgotten: 0,
            period: None,
            was_busy_and_dry: false,
        }
    }

    /// Adds the samples of a poll; `rate` stands in where the buffer got nothing. Returns false if nothing is known of the time before it: the buffer
    /// got nothing, and the rate does not say that the card idled.
    pub fn add(&mut self, answer: &Samples, rate: Reading<CentiPercent>, poll: PollTime) -> bool {
        self.follow_driver_clock(answer, poll.clocks);
        let was_busy_and_dry = mem::take(&mut self.was_busy_and_dry);
        let has_new = self.clock.is_some_and(|clock| self.take(answer, clock, poll));
        has_new || self.add_dry(rate, was_busy_and_dry, poll)
    }

    /// Adds the utilization of a poll as a sample for the time since the poll before.
    pub fn add_poll(&mut self, value: CentiPercent, basis: PieceBasis, poll: PollTime) {
        let Some(from) = poll.before else { return };
        let from = self.newest().map_or(from, |newest| newest.max(from));
        if from < poll.at {
            self.entries.push(Entry { to: poll.at, value, origin: Origin::Poll { from, basis } });
        }
    }

    /// Returns the time up to which samples have arrived.
    pub fn newest(&self) -> Option<Micros> {
        self.entries.last().map(|entry| entry.to)
    }

    /// Returns the time that passes before a sample is sure to have arrived.
    pub fn delay(&self) -> Micros {
        match self.entries.last().map(|entry| (entry.to, entry.origin)) {
            // An edge of work is known when two more means are.
            Some((to, Origin::Poll { from, basis: PieceBasis::Mean })) => 2 * (to - from),
            Some((_, Origin::Poll { .. })) => 0,
            _ => 2 * self.period(),
        }
    }

    /// Returns the distance between two samples.
    pub fn period(&self) -> Micros {
        self.period.unwrap_or(USUAL_PERIOD)
    }

    /// Returns the time of a stamp of the driver on the boot clock.
    pub fn time_of(&self, stamp: u64, clocks: Clocks) -> Micros {
        let clock = self.clock.or_else(|| StampClock::of_stamp(stamp, clocks));
        clock.map_or(0, |clock| clock.time(stamp, clocks))
    }

    /// Returns the end of the newest sample that reaches a threshold.
    pub fn last_reaching(&self, threshold: CentiPercent) -> Option<Micros> {
        self.entries.iter().rev().find(|entry| entry.value >= threshold).map(|entry| entry.to)
    }

    /// Forgets samples that ended before a time.
    pub fn forget_before(&mut self, time: Micros) {
        let count = self.entries.partition_point(|entry| entry.to < time).saturating_sub(1);
        // Moving the rest costs more than keeping some.
        if count > 64 {
            self.entries.drain(..count);
        }
        // Older stamps than these need not be compared one by one.
        if self.seen.len() > self.entries.len() + 256 {
            let forgotten = self.seen.len() - self.entries.len();
            self.forgotten = self.seen.drain(..forgotten).next_back().unwrap_or(self.forgotten);
        }
    }

    /// Returns the pieces that the samples stand for from a time on, in order. Where two do not abut,
    /// samples were lost. The end of a run lets the last samples stand for the time up to it.
    pub fn pieces(&self, from: Micros, end: Option<Micros>) -> Vec<Piece> {
        let first = self.entries.partition_point(|entry| entry.to <= from);
        let mut pieces = Vec::with_capacity(self.entries.len() - first + 2);
        let mut last = first.checked_sub(1).and_then(|at| self.entries.get(at));
        for entry in &self.entries[first..] {
            self.push_piece(&mut pieces, entry, last);
            last = Some(entry);
        }
        // No more samples come: what is missing is bridged, or idle time.
        let missing = end.and_then(|end| Some((pieces.last().filter(|it| it.to < end)?, end)));
        if let Some((&piece, to)) = missing {
            let is_short = self.is_bridged(to - piece.to);
            let value = if is_short { piece.value } else { 0 };
            pieces.push(Piece { from: piece.to, to, value, ..piece });
        }
        pieces
    }

    fn push_piece(&self, pieces: &mut Vec<Piece>, entry: &Entry, last: Option<&Entry>) {
        let period = self.period();
        let begin = last.map_or(self.begin.min(entry.to - period), |last| last.to);
        let was_dry = last.is_some_and(|last| last.origin == Origin::Dry);
        // After an empty buffer nothing was lost.
        let longest = if was_dry { period } else { 5 * period / 2 };
        let (from, basis) = match entry.origin {
            Origin::Poll { from, basis } => (last.map_or(from, |last| last.to.max(from)), basis),
            Origin::Dry => (begin, PieceBasis::Mean),
            Origin::Buffer | Origin::BufferAfterLoss if entry.to - begin <= longest => {
                (begin, PieceBasis::Mean)
            }
            Origin::BufferAfterLoss => (entry.to - period, PieceBasis::Mean),
            // The buffer gets no samples while the card idles.
            Origin::Buffer => {
                let from = entry.to - period;
                pieces.push(Piece { from: begin, to: from, value: 0, basis: PieceBasis::Mean });
                (from, PieceBasis::Mean)
            }
        };
        if from < entry.to {
            pieces.push(Piece { from, to: entry.to, value: entry.value, basis });
        }
    }

    /// Returns true if a sample stands for all the time since the one before: at most one and a half
    /// samples are missing.
    fn is_bridged(&self, distance: Micros) -> bool {
        2 * distance <= 5 * self.period()
    }

    /// Finds out which clock the driver's stamps are taken from, at first and when it was set.
    fn follow_driver_clock(&mut self, answer: &Samples, clocks: Clocks) {
        let Some(newest) = answer.samples.iter().map(|sample| sample.stamp).max() else { return };
        let seen = self.seen.last().copied();
        let was_set_back = seen.is_some_and(|seen| newest.saturating_add(LATEST) < seen);
        let is_wrong = self.clock.is_none_or(|clock| {
            let latest = micros(clocks) + self.period();
            let is_beyond = |sample: &Sample| clock.time(sample.stamp, clocks) > latest;
            // A few samples from the future are garbage where the clock is a known one.
            let enough = if matches!(clock, StampClock::Other(_)) { 1 } else { 3 };
            answer.samples.len() >= enough && answer.samples.iter().all(is_beyond)
        });
        if was_set_back || is_wrong {
            self.seen.clear();
            self.forgotten = 0;
            self.clock = StampClock::of_samples(&answer.samples, clocks);
        }
    }

    /// Takes the new samples of an answer. Returns false if there are none.
    fn take(&mut self, answer: &Samples, clock: StampClock, poll: PollTime) -> bool {
        let (known, last) = (self.entries.len(), self.newest());
        // Without stamps to compare, only the time tells new samples from old ones.
        let after = last.filter(|_| self.seen.is_empty()).unwrap_or(Micros::MIN);
        let latest = poll.at + self.period();
        let mut oldest = Micros::MAX;
        let mut place = 0;
        let new_from = self.seen.len();
        for &Sample { stamp, percent } in &answer.samples {
            let to = clock.time(stamp, poll.clocks);
            if percent > 100 || to > latest {
                continue;
            }
            oldest = oldest.min(to);
            if to > after && stamp > self.forgotten && !self.has_seen(stamp, new_from, &mut place) {
                self.entries.push(Entry { to, value: percent * 100, origin: Origin::Buffer });
                self.seen.push(stamp);
            }
        }
        if self.entries.len() == known {
            return false;
        }
        if !self.seen[new_from.saturating_sub(1)..].is_sorted() {
            self.seen.sort_unstable();
        }
        self.seen.dedup();
        self.entries[known..].sort_unstable_by_key(|entry| entry.to);
        self.learn_period(known);
        let is_far = !self.is_bridged(oldest - last.unwrap_or(self.begin));
        if answer.is_full && is_far {
            self.entries[known].origin = Origin::BufferAfterLoss;
        }
        self.put_in_order(known, last);
        true
    }

    /// Returns true if a sample with this stamp was taken before. Answers are mostly in order, so that
    /// the search goes on at the place of the last one.
    fn has_seen(&self, stamp: u64, among: usize, place: &mut usize) -> bool {
        let seen = &self.seen[..among];
        if place.checked_sub(1).and_then(|before| seen.get(before)).is_some_and(|it| *it >= stamp) {
            *place = 0;
        }
        if seen.get(*place + 8).is_some_and(|it| *it < stamp) {
            *place = seen.partition_point(|it| *it < stamp);
        }
        while seen.get(*place).is_some_and(|it| *it < stamp) {
            *place += 1;
        }
        seen.get(*place) == Some(&stamp)
    }

    /// Puts late samples into their place. Time that counted as idle without them no longer does.
    fn put_in_order(&mut self, known: usize, last: Option<Micros>) {
        let oldest = self.entries[known].to;
        if last.is_none_or(|last| oldest > last) {
            return;
        }
        self.entries.retain(|entry| entry.origin != Origin::Dry || entry.to < oldest);
        self.entries.sort_by_key(|entry| entry.to);
        self.entries.dedup_by_key(|entry| entry.to);
    }

    /// Learns the period from the median distance of new samples. Only several distances can make it
    /// longer: one may have a hole in it.
    fn learn_period(&mut self, from: usize) {
        let pairs = self.entries[from..].windows(2).map(|pair| pair[1].to - pair[0].to);
        let mut distances: Vec<_> = pairs.filter(|it| (1..=LONGEST_PERIOD).contains(it)).collect();
        if distances.is_empty() {
            return;
        }
        let middle = distances.len() / 2;
        let median = *distances.select_nth_unstable(middle).1;
        if distances.len() >= 4 || self.period.is_none_or(|period| median < period) {
            self.period = Some(median);
        }
    }

    /// The buffer got no sample since the last poll: the card idled. Where its rate says that it works
    /// now, that has just begun, unless the poll before found the same. Returns false if the rate is
    /// not known.
    fn add_dry(
        &mut self,
        rate: Reading<CentiPercent>,
        was_busy_and_dry: bool,
        poll: PollTime,
    ) -> bool {
        let to = poll.at - DRY_DELAY;
        let newest = self.newest();
        if newest.is_some_and(|newest| 2 * (to - newest) < 5 * self.period()) {
            // A sample may only be late.
            return true;
        }
        match rate {
            Reading::Unknown(_) => return false,
            Reading::Known(0) => self.entries.push(Entry { to, value: 0, origin: Origin::Dry }),
            Reading::Known(value) => {
                if was_busy_and_dry {
                    let poll = PollTime { before: newest.or(poll.before), ..poll };
                    self.add_poll(value, PieceBasis::Moment, poll);
                }
                self.was_busy_and_dry = true;
            }
        }
        true
    }
}

impl StampClock {
    /// Returns the clock of the host that samples are stamped by. Where they fit neither, the newest
    /// sample is as old as the poll.
    fn of_samples(samples: &[Sample], clocks: Clocks) -> Option<Self> {
        let mut stamps: Vec<u64> = samples.iter().map(|sample| sample.stamp).collect();
        stamps.sort_unstable();
        let median = *stamps.get(stamps.len() / 2)?;
        if let Some(clock) = Self::of_stamp(median, clocks) {
            return Some(clock);
        }
        let newest = stamps.iter().filter(|stamp| stamp.abs_diff(median) < 60_000_000).max()?;
        Some(Self::Other(to_signed(*newest).saturating_sub(micros(clocks))))
    }

    fn of_stamp(stamp: u64, clocks: Clocks) -> Option<Self> {
        let is_plausible = |clock: &Self| {
            let age = micros(clocks).saturating_sub(clock.time(stamp, clocks));
            (-LARGEST_LEAD..LARGEST_AGE).contains(&age)
        };
        [Self::Boot, Self::Wall].into_iter().find(is_plausible)
    }

    /// Returns the time of a stamp on the boot clock. The wall clock is compared anew at each poll, as
    /// small steps of it add up.
    fn time(self, stamp: u64, clocks: Clocks) -> Micros {
        let offset = match self {
            Self::Boot => 0,
            Self::Wall => clocks.wall.0.saturating_mul(1000).saturating_sub(micros(clocks)),
            Self::Other(offset) => offset,
        };
        to_signed(stamp).saturating_sub(offset)
    }
}

/// Bounds times so that sums of some of them fit.
fn to_signed(stamp: u64) -> i64 {
    i64::try_from(stamp).unwrap_or(i64::MAX).min(i64::MAX / 4)
}

/// Returns the time since boot in microseconds.
pub(super) fn micros(clocks: Clocks) -> Micros {
    i64::try_from(clocks.since_boot.as_micros()).unwrap_or(i64::MAX).min(i64::MAX / 4)
}
