//! Time of cards and holders, cut into steps (pure).
//!
//! A step ends at full seconds of UTC that the interval divides, so that steps do not depend on when
//! time was classified or read. Work anywhere in a step restarts the count at its end.

use std::collections::{BTreeMap, HashMap};

use gua_core::Period;
use gua_core::period::portion;
use gua_core::span::{HolderId, HolderTime, Work};
use gua_core::units::{Bytes, UnixMillis};
use gua_core::{Reading, Reason, Span, State};
use gua_store::rows::QUARTER_HOUR;
use gua_store::{HolderTimes, Observed, Precision, ReplayCard};

use super::sign_time::{SignTime, strongest, with_sign};
use crate::policy::subject::{Activity, Sign, Subject};

/// Longest step.
const LONGEST_STEP: i64 = 30_000;

/// What rounding adds to memory at most.
const MEMORY_TOLERANCE: Bytes = Bytes(1 << 20);

/// Returns the length of steps over time that was recorded at an interval.
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

/// A process on a card, over a part of the card's time in which it held the card.
#[derive(Debug, Clone, Copy)]
pub struct HeldTime {
    pub subject: Subject,
    pub period: Period,
    pub activity: Activity,
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
            let subject = Subject::from(id);
            Some(HeldTime { subject, period: part, activity, memory })
        };
        Self {
            card,
            period: part,
            is_known: !matches!(span.state, State::Unknown(_)),
            holders: span.holders.iter().filter_map(holder).collect(),
        }
    }

    /// Returns a row, without the gaps in it. `subject` names the process of a holder. In a sum of a
    /// quarter hour or an hour, holders are idle in their sessions, and work in all other time if they
    /// worked at all. If a holder was away for a part of the other time, it is taken to have come late.
    pub fn from_row(
        row: &ReplayCard,
        card: usize,
        held: Bytes,
        exact: &ExactTimes,
        subject: impl Fn(i64) -> Option<Subject>,
    ) -> Vec<Self> {
        let is_coarse = row.precision > Precision::HalfMinute;
        let parts = if is_coarse { exact.observed(row) } else { vec![row.period] };
        let times = &row.times;
        let state = match () {
            () if times.idle_held_ms > 0 => State::IdleHeld,
            () if times.active_ms > 0 => State::Active,
            () if times.free_ms > 0 => State::TrulyIdle,
            () => State::Unknown(row.reason.unwrap_or(Reason::NotTold)),
        };
        let reason = row.reason.unwrap_or(Reason::NotTold);
        let mut holders = Vec::new();
        for holder in &row.holders {
            let Some(subject) = subject(holder.holder) else { continue };
            let sessions = exact.sessions.get(&holder.holder).filter(|_| is_coarse);
            let sum = HeldSum::new(&holder.times, |memory| idle(state, memory, held), reason);
            sum.spread(subject, &parts, sessions.map_or(&[], Vec::as_slice), &mut holders);
        }
        let of_part = |period: Period| {
            let holders = holders.iter().filter(|it| !it.period.overlap(&period).is_empty());
            Self {
                card,
                period,
                is_known: times.unknown_ms == 0,
                holders: holders.copied().collect(),
            }
        };
        parts.into_iter().map(of_part).collect()
    }
}

/// What is stored with exact times for as long as sums are.
#[derive(Debug, Clone, Default)]
pub struct ExactTimes {
    pub observed: Observed,
    /// Sessions by holder, in order.
    pub sessions: HashMap<i64, Vec<Period>>,
}

impl ExactTimes {
    /// Returns the observed parts of a row. Where the card was missing for longer than the gaps, it is
    /// taken to have come late.
    fn observed(&self, row: &ReplayCard) -> Vec<Period> {
        let mut parts = self.observed.parts(row.period, row.period);
        let mut missing = total(&parts).saturating_sub(row.times.observed_ms()).max(0);
        for part in &mut parts {
            let cut = missing.min(part.millis());
            part.from.0 += cut;
            missing -= cut;
        }
        parts
    }
}

/// What a row says of a holder.
struct HeldSum {
    times: HolderTimes,
    memory: Reading<Bytes>,
    /// Activity while it does not work.
    idle: Activity,
    reason: Reason,
}

impl HeldSum {
    fn new(times: &HolderTimes, idle: impl Fn(Reading<Bytes>) -> Activity, reason: Reason) -> Self {
        let times = *times;
        let known_ms = present_ms(&times).saturating_sub(times.memory_unknown_ms);
        let memory = mean_memory(times.memory, known_ms);
        Self { times, memory, idle: idle(memory), reason }
    }

    /// Adds the parts of a row in and outside of the sessions of the holder.
    fn spread(
        &self,
        subject: Subject,
        parts: &[Period],
        sessions: &[Period],
        to: &mut Vec<HeldTime>,
    ) {
        let HolderTimes { working_ms, unknown_ms, .. } = self.times;
        let mut add = |period: Period, activity| {
            if !period.is_empty() {
                to.push(HeldTime { subject, period, activity, memory: self.memory });
            }
        };
        let overlaps = |part: &Period| {
            let overlaps: Vec<_> = sessions.iter().map(|session| session.overlap(part)).collect();
            overlaps.into_iter().filter(|overlap| !overlap.is_empty())
        };
        let idle: Vec<Period> = parts.iter().flat_map(overlaps).collect();
        let rest: Vec<Period> = parts.iter().flat_map(|part| part.without(&idle)).collect();
        let rest_ms = total(&rest);
        let activity = match () {
            () if working_ms > 0 => Activity::Works(Sign::Sm),
            () if unknown_ms > 0 => Activity::Unknown(self.reason),
            () => self.idle,
        };
        let present_ms = present_ms(&self.times).saturating_sub(total(&idle)).clamp(0, rest_ms);
        for part in rest {
            let present_ms = portion(present_ms, part.millis(), rest_ms);
            add(Period { from: UnixMillis(part.to.0 - present_ms), ..part }, activity);
        }
        // A session goes on over a short time without knowledge.
        let mut doubt_ms = working_ms.saturating_add(unknown_ms).saturating_sub(rest_ms).max(0);
        for part in idle {
            let known_from = UnixMillis(part.from.0 + doubt_ms.min(part.millis()));
            let unknown = Period { to: known_from, ..part };
            add(unknown, Activity::Unknown(self.reason));
            add(Period { from: known_from, ..part }, self.idle);
            doubt_ms -= unknown.millis();
        }
    }
}

/// Returns the part of a row in which a holder held its card.
const fn present_ms(times: &HolderTimes) -> i64 {
    times.working_ms.saturating_add(times.idle_ms).saturating_add(times.unknown_ms)
}

fn total(parts: &[Period]) -> i64 {
    parts.iter().map(Period::millis).sum()
}

/// Returns what a process does on a card in this state while it does not work.
pub(super) fn idle(state: State, memory: Reading<Bytes>, held: Bytes) -> Activity {
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
    /// Adds the part of a time that lies in a window.
    pub fn push_within(&mut self, window: Period, mut time: CardTime) {
        time.period = time.period.overlap(&window);
        time.holders.iter_mut().for_each(|held| held.period = held.period.overlap(&window));
        self.push(time);
    }

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
            if time.period.overlap(&covers).is_empty() {
                continue;
            }
            is_whole &= time.is_known;
            for held in &time.holders {
                let overlap = held.period.overlap(&covers).millis();
                if overlap > 0 {
                    let on_card =
                        all.entry(held.subject).or_default().entry(time.card).or_default();
                    on_card.add(held, overlap);
                }
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

/// Returns the step that a time lies in. No step crosses a quarter hour.
fn grid(at: UnixMillis, length: i64) -> Period {
    let begin = at.0.div_euclid(QUARTER_HOUR) * QUARTER_HOUR;
    let from = begin + (at.0 - begin) / length * length;
    Period::new(UnixMillis(from), UnixMillis((from + length).min(begin + QUARTER_HOUR)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::subject;

    fn time(card: usize, from: i64, to: i64, holders: &[(u32, Activity)]) -> CardTime {
        let period = Period::new(UnixMillis(from), UnixMillis(to));
        let holder = |(pid, activity): &(u32, Activity)| HeldTime {
            subject: subject(*pid),
            period,
            activity: *activity,
            memory: Reading::Known(Bytes::from_mib(1000)),
        };
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

    /// An hour of which 10 min were not observed, with a session of 24 min. In the other 26 min the holder
    /// worked, after it came late; or it worked all of them, and 1 min of the session is unknown.
    #[test]
    fn sum_is_spread_by_gaps_and_sessions() {
        let minutes =
            |from: i64, to: i64| Period::new(UnixMillis(from * 60_000), UnixMillis(to * 60_000));
        let exact = ExactTimes {
            observed: Observed::without(vec![minutes(-5, 0), minutes(20, 30)]),
            sessions: HashMap::from([(7, vec![minutes(-50, -9), minutes(31, 55)])]),
        };
        for (working, idle, unknown) in [(13, 24, 0), (26, 23, 1)] {
            let times = HolderTimes {
                working_ms: working * 60_000,
                idle_ms: idle * 60_000,
                unknown_ms: unknown * 60_000,
                memory: 1000 * 60 * (working + idle + unknown),
                ..HolderTimes::default()
            };
            let row = ReplayCard {
                card: 1,
                period: minutes(0, 60),
                precision: Precision::Hour,
                times: gua_store::CardTimes {
                    active_ms: 26 * 60_000,
                    idle_held_ms: 24 * 60_000,
                    ..gua_store::CardTimes::default()
                },
                reason: None,
                holders: vec![gua_store::ReplayHolder { holder: 7, times }],
            };
            let held = Bytes::from_mib(100);
            let parts = CardTime::from_row(&row, 0, held, &exact, |_| Some(subject(1)));
            let periods: Vec<_> = parts.iter().map(|part| part.period).collect();
            assert_eq!(periods, [minutes(0, 20), minutes(30, 60)]);
            let mut timeline = Timeline::default();
            parts.into_iter().for_each(|part| timeline.push(part));
            let cells = told(&timeline.take(UnixMillis(3_600_000), 30_000, true, &[]), 1);
            let minutes = |activity| {
                let of_it = cells.iter().filter(|cell| cell.2 == activity);
                of_it.map(|(from, to, _)| to - from).sum::<i64>() / 60_000
            };
            assert_eq!(minutes(Some(WORKS)), working);
            assert_eq!(minutes(Some(IDLE)), idle);
            assert_eq!(minutes(Some(Activity::Unknown(Reason::NotTold))), unknown);
            assert_eq!(minutes(None), 26 - working);
        }
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
