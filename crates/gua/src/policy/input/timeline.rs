//! Time of cards and holders, cut into steps (pure).
//!
//! A step ends at full seconds of UTC that the interval divides, so that steps do not depend on when
//! time was classified or read. Work anywhere in a step restarts the count at its end.

use std::collections::BTreeMap;

use gua_core::Period;
use gua_core::period::portion;
use gua_core::span::{HolderId, HolderTime, Work};
use gua_core::units::{Bytes, UnixMillis};
use gua_core::{Reading, Reason, Span, State};
use gua_store::rows::QUARTER_HOUR;
use gua_store::{HolderTimes, Precision, ReplayCard};

use super::sign_time::{SignTime, strongest, with_sign};
use crate::policy::subject::{Activity, Sign, Subject};

/// Longest step over exact spans.
const LONGEST_STEP: i64 = 30_000;

/// What rounding adds to memory at most.
const MEMORY_TOLERANCE: Bytes = Bytes(1 << 20);

/// Returns the length of steps over exact spans that were recorded at an interval.
#[must_use]
pub fn step_ms(interval_ms: Option<i64>) -> i64 {
    interval_ms.unwrap_or(LONGEST_STEP).clamp(1000, LONGEST_STEP)
}

/// A card over a stretch of time.
#[derive(Debug, Clone)]
pub struct CardTime {
    /// Place of the card in a list of its source.
    pub card: usize,
    /// Time in which it was observed.
    pub period: Period,
    /// True if it could be read.
    pub is_known: bool,
    pub holders: Vec<HeldTime>,
}

/// A process on a card.
#[derive(Debug, Clone, Copy)]
pub struct HeldTime {
    pub subject: Subject,
    pub activity: Activity,
    /// Part of the period in which it held the card.
    pub present_ms: i64,
    pub memory: Reading<Bytes>,
}

impl CardTime {
    /// Returns a part of a span. Who holds no more than `held` holds little.
    pub fn from_span(span: &Span, card: usize, part: Period, held: Bytes) -> Self {
        let holder = |time: &HolderTime| {
            let HolderId::Process(id) = time.holder else { return None };
            let memory = mean_memory(round(time.memory.sum), time.memory.known_ms);
            let activity = match (span.state, time.work) {
                (_, Work::Working) => Activity::Works(Sign::Sm),
                (State::Unknown(reason), _) => Activity::Unknown(reason),
                (_, Work::Unknown) => Activity::Unknown(Reason::NotTold),
                (state, Work::Idle) => idle(state, memory, held),
            };
            let present_ms = part.millis();
            Some(HeldTime { subject: Subject::from(id), activity, present_ms, memory })
        };
        Self {
            card,
            period: part,
            is_known: !matches!(span.state, State::Unknown(_)),
            holders: span.holders.iter().filter_map(holder).collect(),
        }
    }

    /// Returns a row. `subject` names the process of a holder. Time of the row that was not observed
    /// may lie anywhere in it; it is taken to be the beginning.
    pub fn from_row(
        row: &ReplayCard,
        card: usize,
        held: Bytes,
        subject: impl Fn(i64) -> Option<Subject>,
    ) -> Self {
        let times = &row.times;
        let observed = match row.precision {
            Precision::Exact | Precision::HalfMinute => row.period.millis(),
            Precision::QuarterHour | Precision::Hour => {
                times.observed_ms().min(row.period.millis())
            }
        };
        let period = Period { from: UnixMillis(row.period.to.0 - observed), ..row.period };
        let state = match () {
            () if times.idle_held_ms > 0 => State::IdleHeld,
            () if times.active_ms > 0 => State::Active,
            () if times.free_ms > 0 => State::TrulyIdle,
            () => State::Unknown(row.reason.unwrap_or(Reason::NotTold)),
        };
        let reason = row.reason.unwrap_or(Reason::NotTold);
        let holder = |holder: &gua_store::ReplayHolder| {
            let HolderTimes { working_ms, idle_ms, unknown_ms, .. } = holder.times;
            let present_ms = working_ms.saturating_add(idle_ms).saturating_add(unknown_ms);
            let known_ms = present_ms.saturating_sub(holder.times.memory_unknown_ms);
            let memory = mean_memory(holder.times.memory, known_ms);
            let activity = if working_ms > 0 {
                Activity::Works(Sign::Sm)
            } else if unknown_ms > 0 {
                Activity::Unknown(reason)
            } else {
                idle(state, memory, held)
            };
            Some(HeldTime { subject: subject(holder.holder)?, activity, present_ms, memory })
        };
        Self {
            card,
            period,
            is_known: times.unknown_ms == 0,
            holders: row.holders.iter().filter_map(holder).collect(),
        }
    }
}

/// Returns what a process does on a card in this state while it does not work.
fn idle(state: State, memory: Reading<Bytes>, held: Bytes) -> Activity {
    match (memory, state) {
        (Reading::Known(memory), _) if memory <= held + MEMORY_TOLERANCE => Activity::HoldsLittle,
        (Reading::Known(_), _) | (Reading::Unknown(_), State::IdleHeld) => Activity::Idle,
        (Reading::Unknown(_), State::TrulyIdle) => Activity::HoldsLittle,
        (Reading::Unknown(why), State::Active | State::Unknown(_)) => Activity::Unknown(why),
    }
}

/// Returns the mean of an integral in MiB × seconds.
fn mean_memory(sum: i64, known_ms: i64) -> Reading<Bytes> {
    if known_ms <= 0 {
        return Reading::Unknown(Reason::NotTold);
    }
    let bytes = i128::from(sum.max(0)) * (1000 << 20) / i128::from(known_ms);
    Reading::Known(Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)))
}

#[expect(clippy::cast_possible_truncation, reason = "rounded; a cast saturates")]
fn round(value: f64) -> i64 {
    value.round() as i64
}

/// Everything that happened in one step.
#[derive(Debug, Clone)]
pub struct Cell {
    pub covers: Period,
    pub holders: BTreeMap<Subject, CellHolder>,
    /// True if all cards could be read: then who is not among the holders holds nothing.
    pub is_whole: bool,
}

/// A process on all of its cards.
#[derive(Debug, Clone)]
pub struct CellHolder {
    /// Places of its cards in the list of the source.
    pub cards: Vec<usize>,
    pub activity: Activity,
    pub memory: Reading<Bytes>,
    /// True if nothing says whether it worked by CPU, encoder or decoder.
    pub is_quiet_assumed: bool,
}

/// Time that was not cut into steps yet.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    times: Vec<CardTime>,
    done: Option<UnixMillis>,
}

impl Timeline {
    pub fn push(&mut self, time: CardTime) {
        if !time.period.is_empty() {
            self.times.push(time);
        }
    }

    /// Returns the end of the last step.
    pub const fn done(&self) -> Option<UnixMillis> {
        self.done
    }

    /// Takes the steps of this length that end by `until`; the last one may be shorter if `is_end`.
    pub fn take(
        &mut self,
        until: UnixMillis,
        length: i64,
        is_end: bool,
        signs: &[SignTime],
    ) -> Vec<Cell> {
        let mut cells = Vec::new();
        self.times.sort_by_key(|time| (time.period.from, time.card));
        while let Some(first) = self.times.iter().map(|time| time.period.from).min() {
            let from = self.done.map_or(first, |done| done.max(first));
            let grid = grid(from, length);
            let to = if is_end { grid.to.min(until) } else { grid.to };
            if to > until || from >= to {
                break;
            }
            let step = Period { from: grid.from.max(self.done.unwrap_or(grid.from)), to };
            let parts = self.observed(step);
            cells.extend(parts.into_iter().map(|part| self.cell(part, signs)));
            self.done = Some(to);
            self.times.retain(|time| time.period.to > to);
        }
        cells
    }

    /// Returns the parts of a step in which any card was observed.
    fn observed(&self, step: Period) -> Vec<Period> {
        let mut parts: Vec<Period> = Vec::new();
        for time in &self.times {
            let part = time.period.overlap(&step);
            match parts.last_mut() {
                _ if part.is_empty() => {}
                Some(last) if part.from <= last.to => last.to = last.to.max(part.to),
                _ => parts.push(part),
            }
        }
        parts
    }

    fn cell(&self, covers: Period, signs: &[SignTime]) -> Cell {
        let mut all: BTreeMap<Subject, BTreeMap<usize, OnCard>> = BTreeMap::new();
        let mut is_whole = true;
        for time in &self.times {
            let overlap = time.period.overlap(&covers).millis();
            if overlap == 0 {
                continue;
            }
            is_whole &= time.is_known;
            for held in &time.holders {
                let on_card = all.entry(held.subject).or_default().entry(time.card).or_default();
                on_card.add(held, portion(held.present_ms, overlap, time.period.millis()));
            }
        }
        let holder = |(subject, cards): (Subject, BTreeMap<usize, OnCard>)| {
            let sign = strongest(signs, subject, covers);
            let activity = with_sign(on_cards(&cards, covers.millis()), sign);
            let holder = CellHolder {
                activity,
                memory: memory(cards.values()),
                is_quiet_assumed: sign.is_none(),
                cards: cards.into_keys().collect(),
            };
            (subject, holder)
        };
        let holders = all.into_iter().map(holder).collect();
        Cell { covers, holders, is_whole }
    }
}

/// A process on one card during a step.
#[derive(Debug, Clone, Copy, Default)]
struct OnCard {
    activity: Option<Activity>,
    present_ms: i64,
    memory: Option<Reading<Bytes>>,
}

impl OnCard {
    fn add(&mut self, held: &HeldTime, present_ms: i64) {
        let before = self.activity.replace(held.activity);
        self.activity = before.map_or(self.activity, |it| Some(louder(it, held.activity)));
        self.present_ms += present_ms;
        self.memory = Some(held.memory);
    }
}

/// Returns what a process did on all of its cards. One that was not there throughout has only come, or
/// has let go: its count does not begin before the next step.
fn on_cards(cards: &BTreeMap<usize, OnCard>, covered_ms: i64) -> Activity {
    let activities = cards.values().filter_map(|card| card.activity);
    let activity = activities.reduce(louder).unwrap_or(Activity::HoldsLittle);
    let present_ms = cards.values().map(|card| card.present_ms).max().unwrap_or(0);
    let is_there = present_ms >= covered_ms - covered_ms / 50;
    if activity == Activity::Idle && !is_there { Activity::HoldsLittle } else { activity }
}

pub const fn louder(one: Activity, other: Activity) -> Activity {
    const fn rank(activity: Activity) -> u8 {
        match activity {
            Activity::Works(_) => 3,
            Activity::Unknown(_) => 2,
            Activity::Idle => 1,
            Activity::HoldsLittle => 0,
        }
    }
    if rank(other) > rank(one) { other } else { one }
}

fn memory<'a>(cards: impl Iterator<Item = &'a OnCard>) -> Reading<Bytes> {
    let mut sum = Bytes(0);
    for card in cards {
        match card.memory {
            Some(Reading::Known(memory)) => sum = sum + memory,
            Some(Reading::Unknown(why)) => return Reading::Unknown(why),
            None => {}
        }
    }
    Reading::Known(sum)
}

/// Returns the step that a time lies in. No step crosses a quarter hour, unless it is as long as hours.
fn grid(at: UnixMillis, length: i64) -> Period {
    let whole = length.max(QUARTER_HOUR);
    let begin = at.0.div_euclid(whole) * whole;
    let from = begin + (at.0 - begin) / length * length;
    Period::new(UnixMillis(from), UnixMillis((from + length).min(begin + whole)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::subject;

    fn time(card: usize, from: i64, to: i64, holders: &[(u32, Activity)]) -> CardTime {
        let holder = |(pid, activity): &(u32, Activity)| HeldTime {
            subject: subject(*pid),
            activity: *activity,
            present_ms: to - from,
            memory: Reading::Known(Bytes::from_mib(1000)),
        };
        let period = Period::new(UnixMillis(from), UnixMillis(to));
        CardTime { card, period, is_known: true, holders: holders.iter().map(holder).collect() }
    }

    const IDLE: Activity = Activity::Idle;
    const WORKS: Activity = Activity::Works(Sign::Sm);

    fn told(cells: &[Cell], pid: u32) -> Vec<(i64, i64, Option<Activity>)> {
        let told = |cell: &Cell| {
            let covers = cell.covers;
            let activity = cell.holders.get(&subject(pid)).map(|holder| holder.activity);
            (covers.from.0, covers.to.0, activity)
        };
        cells.iter().map(told).collect()
    }

    #[test]
    fn steps_do_not_depend_on_when_time_was_final() {
        let mut at_once = Timeline::default();
        let mut bit_by_bit = Timeline::default();
        let mut later = Vec::new();
        for second in 7..100 {
            let activity = if (40..45).contains(&second) { WORKS } else { IDLE };
            let time = time(0, second * 1000, second * 1000 + 1000, &[(1, activity)]);
            at_once.push(time.clone());
            bit_by_bit.push(time);
            let until = UnixMillis(second * 1000 + 1000);
            later.extend(bit_by_bit.take(until, 30_000, false, &[]));
        }
        let cells = at_once.take(UnixMillis(100_000), 30_000, false, &[]);
        let expected = [
            (7000, 30_000, Some(IDLE)),
            (30_000, 60_000, Some(WORKS)),
            (60_000, 90_000, Some(IDLE)),
        ];
        assert_eq!(told(&cells, 1), expected);
        assert_eq!(told(&later, 1), expected);
        let end = at_once.take(UnixMillis(100_000), 30_000, true, &[]);
        assert_eq!(told(&end, 1), [(90_000, 100_000, Some(IDLE))]);
    }

    #[test]
    fn time_that_was_not_observed_is_in_no_step() {
        let mut timeline = Timeline::default();
        timeline.push(time(0, 0, 10_000, &[(1, IDLE)]));
        timeline.push(time(0, 25_000, 30_000, &[(1, IDLE)]));
        timeline.push(time(0, 300_000, 330_000, &[(1, IDLE)]));
        let cells = timeline.take(UnixMillis(330_000), 30_000, false, &[]);
        let idle = Some(IDLE);
        assert_eq!(
            told(&cells, 1),
            [(0, 10_000, idle), (25_000, 30_000, idle), (300_000, 330_000, idle)]
        );
    }

    #[test]
    fn process_is_idle_if_it_works_on_none_of_its_cards() {
        let cells = |first, second| {
            let mut timeline = Timeline::default();
            timeline.push(time(0, 0, 30_000, &[(1, first)]));
            timeline.push(time(1, 0, 30_000, &[(1, second)]));
            timeline.take(UnixMillis(30_000), 30_000, false, &[])[0].holders[&subject(1)].clone()
        };
        assert_eq!(cells(IDLE, WORKS).activity, WORKS);
        assert_eq!(cells(IDLE, IDLE).activity, IDLE);
        let lost = Activity::Unknown(Reason::Lost);
        assert_eq!(cells(IDLE, lost).activity, lost);
        assert_eq!(cells(WORKS, lost).activity, WORKS);
        assert_eq!(cells(IDLE, Activity::HoldsLittle).activity, IDLE);
        assert_eq!(cells(IDLE, IDLE).memory, Reading::Known(Bytes::from_mib(2000)));
        assert_eq!(cells(IDLE, IDLE).cards, [0, 1]);
    }

    #[test]
    fn count_begins_with_the_first_whole_step() {
        let mut timeline = Timeline::default();
        timeline.push(time(0, 0, 20_000, &[]));
        timeline.push(time(0, 20_000, 60_000, &[(1, IDLE)]));
        let cells = timeline.take(UnixMillis(60_000), 30_000, false, &[]);
        let activities: Vec<_> = told(&cells, 1).into_iter().map(|it| it.2).collect();
        assert_eq!(activities, [Some(Activity::HoldsLittle), Some(IDLE)]);
    }
}
