//! Utilization samples of one card as an unbroken line of pieces on the boot clock.

use std::mem;

use crate::card::{Sample, Samples};
use crate::clocks::Clocks;

use super::activity::{CentiPercent, Micros, Piece, PieceBasis};

/// Furthest that the stamps of samples may lie before and after the time of the clock that they are
/// taken from. A buffer that got nothing for long has old samples.
const LARGEST_AGE: Micros = 3_600_000_000;
const LARGEST_LEAD: Micros = 2_000_000;

/// Longest delay of a sample. An answer that ends further back shows that the driver's clock was set.
const LATEST: u64 = 10_000_000;

/// Time before a poll that an empty buffer leaves open: a sample of it may still arrive.
const DRY_DELAY: Micros = 1_000_000;

/// Distance between samples that is assumed before there are two of them.
const USUAL_PERIOD: Micros = 1_000_000;

/// Samples of one card since it was last unobserved, as far back as the classifier needs them.
#[derive(Debug)]
pub(super) struct SampleLine {
    /// Begin of the time that the samples are for. Older ones only fill the window before it.
    begin: Micros,
    entries: Vec<Entry>,
    offset: Option<StampOffset>,
    /// Newest stamp of the samples taken.
    newest_stamp: Option<u64>,
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

#[derive(Debug, Clone, Copy)]
enum Origin {
    Buffer {
        stamp: u64,
        /// True if samples before this one may have been overwritten in the buffer.
        after_loss: bool,
    },
    /// The time since the poll before, by its mean (hardware counters) or by a moment in it.
    Poll { from: Micros, basis: PieceBasis },
    /// The buffer got nothing up to here, as the card was idle.
    Dry,
}

/// Difference between the driver's stamps and the boot clock.
#[derive(Debug, Clone, Copy)]
struct StampOffset {
    micros: i64,
    /// True if the stamps are taken from a clock of the host. Else the offset is a guess.
    is_of_host: bool,
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
            offset: None,
            newest_stamp: None,
            period: None,
            was_busy_and_dry: false,
        }
    }

    /// Adds the samples of a poll. `rate` is the instant rate, for a buffer that got nothing.
    pub fn add(&mut self, answer: &Samples, rate: Option<CentiPercent>, poll: PollTime) {
        self.follow_driver_clock(answer, poll.clocks);
        let known = self.entries.len();
        if let Some(offset) = self.offset {
            self.take(answer, offset, poll.at);
        }
        let was_busy_and_dry = mem::take(&mut self.was_busy_and_dry);
        if self.entries.len() == known {
            self.add_dry(rate.filter(|rate| *rate > 0), was_busy_and_dry, poll);
        }
    }

    /// Adds the utilization of a poll as a sample for the time since the poll before.
    pub fn add_poll(&mut self, value: CentiPercent, basis: PieceBasis, poll: PollTime) {
        if let Some(from) = poll.before {
            self.entries.push(Entry { to: poll.at, value, origin: Origin::Poll { from, basis } });
        }
    }

    /// Returns the time up to which samples have arrived.
    pub fn newest(&self) -> Option<Micros> {
        self.entries.last().map(|entry| entry.to)
    }

    /// Returns the time that passes before a sample is sure to have arrived.
    pub fn delay(&self) -> Micros {
        match self.entries.last() {
            Some(&Entry { to, origin: Origin::Poll { from, basis }, .. }) => match basis {
                PieceBasis::Moment => 0,
                // An edge of work is known when two more means are.
                PieceBasis::Mean => 2 * (to - from),
            },
            _ => 2 * self.period(),
        }
    }

    /// Returns the distance between two samples.
    pub fn period(&self) -> Micros {
        self.period.unwrap_or(USUAL_PERIOD)
    }

    /// Returns the time of a stamp of the driver on the boot clock.
    pub fn time_of(&self, stamp: u64, clocks: Clocks) -> Micros {
        self.offset.or_else(|| StampOffset::of_stamp(stamp, clocks)).map_or(0, |it| it.time(stamp))
    }

    /// Returns the end of the newest sample that reaches a threshold.
    pub fn last_reaching(&self, threshold: CentiPercent) -> Option<Micros> {
        self.entries.iter().rev().find(|entry| entry.value >= threshold).map(|entry| entry.to)
    }

    /// Forgets samples that ended before a time.
    pub fn forget_before(&mut self, time: Micros) {
        let count = self.entries.partition_point(|entry| entry.to < time);
        // Moving the rest costs more than keeping some.
        if count > 64 || count == self.entries.len() {
            self.entries.drain(..count.saturating_sub(1));
        }
    }

    /// Returns the pieces that the samples stand for between two times, in order. Where two do not abut,
    /// samples were lost.
    pub fn pieces(&self, from: Micros, to: Micros) -> Vec<Piece> {
        let first = self.entries.partition_point(|entry| entry.to <= from);
        let mut pieces = Vec::with_capacity(self.entries.len() - first + 2);
        let mut last = first.checked_sub(1).and_then(|at| self.entries.get(at)).map(|it| it.to);
        let period = self.period();
        for entry in &self.entries[first..] {
            let begin = last.unwrap_or(self.begin.min(entry.to - period));
            let (from, basis) = match entry.origin {
                // A lost sample is bridged.
                Origin::Buffer { .. } if 2 * (entry.to - begin) <= 5 * period => {
                    (begin, PieceBasis::Mean)
                }
                Origin::Buffer { after_loss: true, .. } => (entry.to - period, PieceBasis::Mean),
                // The buffer gets no samples while the card idles.
                Origin::Buffer { .. } => {
                    let from = entry.to - period;
                    pieces.push(Piece { from: begin, to: from, value: 0, basis: PieceBasis::Mean });
                    (from, PieceBasis::Mean)
                }
                Origin::Poll { from, basis } => (from.max(last.unwrap_or(from)), basis),
                Origin::Dry => (begin, PieceBasis::Mean),
            };
            if from < entry.to {
                pieces.push(Piece { from, to: entry.to, value: entry.value, basis });
            }
            last = Some(entry.to);
        }
        // At the end of a run no more samples come: what is missing is bridged, or idle time.
        if let Some(piece) = pieces.last().copied().filter(|piece| piece.to < to) {
            let is_short = 2 * (to - piece.to) <= 5 * period;
            let value = if is_short { piece.value } else { 0 };
            pieces.push(Piece { from: piece.to, to, value, ..piece });
        }
        pieces
    }

    /// Finds out which clock the driver's stamps are taken from, at first and when it was set.
    fn follow_driver_clock(&mut self, answer: &Samples, clocks: Clocks) {
        let Some(newest) = answer.samples.iter().map(|sample| sample.stamp).max() else { return };
        let was_set_back =
            self.newest_stamp.is_some_and(|before| newest.saturating_add(LATEST) < before);
        let is_wrong = self.offset.is_none_or(|offset| {
            let latest = micros(clocks) + self.period();
            let is_beyond = |sample: &Sample| offset.time(sample.stamp) > latest;
            // A few samples from the future are garbage where the clock is a known one.
            let enough = if offset.is_of_host { 3 } else { 1 };
            answer.samples.len() >= enough && answer.samples.iter().all(is_beyond)
        });
        if was_set_back || is_wrong {
            self.newest_stamp = None;
            self.offset = StampOffset::of_samples(&answer.samples, clocks);
        }
    }

    fn take(&mut self, answer: &Samples, offset: StampOffset, now: Micros) {
        let is_first = self.newest_stamp.is_none();
        let last = self.newest();
        let latest = now + self.period();
        let before = self.entries.len();
        for &Sample { stamp, percent } in &answer.samples {
            let to = offset.time(stamp);
            // After the driver's clock was set, its stamps do not tell new samples from old ones.
            let is_repeated = is_first && last.is_some_and(|last| to <= last);
            if percent <= 100 && to <= latest && !is_repeated && !self.has(stamp, to, before) {
                let origin = Origin::Buffer { stamp, after_loss: false };
                self.entries.push(Entry { to, value: percent * 100, origin });
                self.newest_stamp = self.newest_stamp.max(Some(stamp));
            }
        }
        if self.entries.len() == before {
            return;
        }
        self.entries[before..].sort_unstable_by_key(|entry| entry.to);
        self.learn_period(before);
        self.mark_loss(before, answer.is_full, last);
        if last.is_some_and(|last| self.entries[before].to <= last) {
            self.entries.sort_by_key(|entry| entry.to);
        }
        self.entries.dedup_by_key(|entry| entry.to);
    }

    /// Returns true if a sample with this stamp was taken before.
    fn has(&self, stamp: u64, to: Micros, among: usize) -> bool {
        if self.newest_stamp.is_none_or(|newest| stamp > newest) {
            return false;
        }
        let known = &self.entries[..among];
        let is_forgotten = known.first().is_some_and(|first| to < first.to);
        let is_same = |entry: &Entry| matches!(entry.origin, Origin::Buffer { stamp: known, .. } if known == stamp);
        is_forgotten
            || known[known.partition_point(|entry| entry.to < to)..]
                .iter()
                .take_while(|entry| entry.to == to)
                .any(is_same)
    }

    /// Learns the period from the median distance of new samples.
    fn learn_period(&mut self, from: usize) {
        let new = &self.entries[from..];
        let mut distances: Vec<_> = new.windows(2).map(|pair| pair[1].to - pair[0].to).collect();
        if distances.len() >= if self.period.is_none() { 1 } else { 4 } {
            let middle = distances.len() / 2;
            self.period = Some((*distances.select_nth_unstable(middle).1).max(1));
        }
    }

    /// Marks the oldest of the new samples if the buffer may have run over before it.
    fn mark_loss(&mut self, oldest: usize, is_full: bool, last: Option<Micros>) {
        let period = self.period();
        let entry = &mut self.entries[oldest];
        let is_far = 2 * (entry.to - last.unwrap_or(self.begin)) > 5 * period;
        if let Origin::Buffer { after_loss, .. } = &mut entry.origin {
            *after_loss = is_full && is_far;
        }
    }

    /// The buffer got no sample since the last poll: the card idled. Where its rate says that it
    /// works now, that has just begun, unless the poll before found the same.
    fn add_dry(&mut self, rate: Option<CentiPercent>, was_busy_and_dry: bool, poll: PollTime) {
        let to = poll.at - DRY_DELAY;
        let newest = self.newest();
        if newest.is_some_and(|newest| newest + 5 * self.period() / 2 > to) {
            // A sample may only be late.
            return;
        }
        match rate {
            Some(value) if was_busy_and_dry => {
                let poll = PollTime { before: newest.or(poll.before), ..poll };
                self.add_poll(value, PieceBasis::Moment, poll);
            }
            Some(_) => {}
            None => self.entries.push(Entry { to, value: 0, origin: Origin::Dry }),
        }
        self.was_busy_and_dry = rate.is_some();
    }
}

impl StampOffset {
    /// Returns the difference to the clock of the host that samples are stamped by. Where they fit
    /// neither clock, the newest sample is as old as the poll.
    fn of_samples(samples: &[Sample], clocks: Clocks) -> Option<Self> {
        let mut stamps: Vec<u64> = samples.iter().map(|sample| sample.stamp).collect();
        stamps.sort_unstable();
        let median = *stamps.get(stamps.len() / 2)?;
        if let Some(offset) = Self::of_stamp(median, clocks) {
            return Some(offset);
        }
        let newest = stamps.iter().filter(|stamp| stamp.abs_diff(median) < 60_000_000).max()?;
        Some(Self { micros: to_signed(*newest) - micros(clocks), is_of_host: false })
    }

    /// Returns the difference to the clock that a stamp is taken from, boot or wall.
    fn of_stamp(stamp: u64, clocks: Clocks) -> Option<Self> {
        let boot = micros(clocks);
        let wall = clocks.wall.0.saturating_mul(1000);
        let age = |clock: i64| clock.saturating_sub(to_signed(stamp));
        let is_plausible = |clock: &i64| (-LARGEST_LEAD..LARGEST_AGE).contains(&age(*clock));
        let clock = [boot, wall].into_iter().find(is_plausible)?;
        Some(Self { micros: clock - boot, is_of_host: true })
    }

    fn time(self, stamp: u64) -> Micros {
        to_signed(stamp).saturating_sub(self.micros)
    }
}

fn to_signed(stamp: u64) -> i64 {
    i64::try_from(stamp).unwrap_or(i64::MAX)
}

/// Returns the time since boot in microseconds.
pub(super) fn micros(clocks: Clocks) -> Micros {
    i64::try_from(clocks.since_boot.as_micros()).unwrap_or(i64::MAX)
}
