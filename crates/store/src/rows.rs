//! The one row shape: durations, integrals and energy. Rows of all ages have it, so reading is adding.
//!
//! Rows are integers. Where a window cuts a row, its part is taken in `f64`, and nothing is rounded
//! before it is printed.

use gua_core::span::{HolderId, HolderTime, Integral, Work};
use gua_core::units::UnixMillis;
use gua_core::{Period, Slices, Span, State};
use rusqlite::Row;

use crate::codes;

/// Half a minute in milliseconds: more than two spans of a card in one are stored as their sum.
pub const HALF_MINUTE: i64 = 30_000;

/// Quarter hour in milliseconds. No row but an hour's crosses one.
pub const QUARTER_HOUR: i64 = 900_000;

macro_rules! times {
    ($(#[$doc:meta])* $name:ident [$count:literal] { $($(#[$about:meta])* $column:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name<T = i64> {
            $($(#[$about])* pub $column: T,)+
        }

        impl<T: Copy> $name<T> {
            /// Columns of the tables, in the order of the schema.
            pub const COLUMNS: [&'static str; $count] = [$(stringify!($column)),+];

            #[must_use]
            pub const fn values(self) -> [T; $count] {
                [$(self.$column),+]
            }

            #[must_use]
            pub const fn from_values([$($column),+]: [T; $count]) -> Self {
                Self { $($column),+ }
            }
        }

        impl $name {
            /// Adds a row. Absurd figures of a damaged file saturate.
            pub fn add(&mut self, other: &Self) {
                $(self.$column = self.$column.saturating_add(other.$column);)+
            }

            /// Reads the columns from a place on.
            pub(crate) fn read(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
                let mut values = [0; $count];
                for (place, value) in values.iter_mut().enumerate() {
                    *value = row.get(first + place)?;
                }
                Ok(Self::from_values(values))
            }
        }

        impl $name<f64> {
            /// Adds sums of another part of time.
            pub fn add_sums(&mut self, other: &Self) {
                $(self.$column += other.$column;)+
            }

            /// Adds a part of a row, from 0 to 1.
            #[expect(clippy::cast_precision_loss, reason = "centuries in milliseconds fit 53 bits")]
            pub fn add_part(&mut self, row: &$name, part: f64) {
                $(self.$column += row.$column as f64 * part;)+
            }
        }
    };
}

times! {
    /// Times and sums of a card: durations in milliseconds, percent × seconds, MiB × seconds and joules.
    CardTimes [13] {
        active_ms,
        idle_held_ms,
        free_ms,
        unknown_ms,
        busy,
        busy_unknown_ms,
        memory,
        memory_unknown_ms,
        active_j,
        idle_held_j,
        other_j,
        energy_unknown_ms,
        /// Part of the time whose energy is known: there it is power × time.
        energy_estimated_ms,
    }
}

times! {
    /// Times and sums of a holder, with its shares of the card's time and energy.
    HolderTimes [14] {
        working_ms,
        idle_ms,
        unknown_ms,
        /// Part of the idle time in which another holder worked.
        idle_beside_ms,
        active_share_ms,
        low_use_share_ms,
        unused_share_ms,
        unknown_share_ms,
        memory,
        /// Part of `memory` that was held while working.
        working_memory,
        memory_unknown_ms,
        active_j,
        idle_held_j,
        energy_unknown_ms,
    }
}

impl<T: Copy + std::ops::Add<Output = T>> CardTimes<T> {
    /// Returns the time in which the card was observed, read or not.
    #[must_use]
    pub fn observed_ms(&self) -> T {
        self.active_ms + self.idle_held_ms + self.free_ms + self.unknown_ms
    }
}

impl CardTimes<f64> {
    /// Returns the times of a part of a GPU: time counts by the part. Energy is that of the part already.
    #[must_use]
    pub fn weighed(self, weight: f64) -> Self {
        let Self { active_j, idle_held_j, other_j, .. } = self;
        let weighed = Self::from_values(self.values().map(|value| value * weight));
        Self { active_j, idle_held_j, other_j, ..weighed }
    }
}

impl HolderTimes<f64> {
    /// Returns the times of a holder of a part of a GPU: shares of time count by the part. Memory and the
    /// process's own time do not, and energy is that of the part already.
    #[must_use]
    pub fn weighed(self, weight: f64) -> Self {
        Self {
            active_share_ms: self.active_share_ms * weight,
            low_use_share_ms: self.low_use_share_ms * weight,
            unused_share_ms: self.unused_share_ms * weight,
            unknown_share_ms: self.unknown_share_ms * weight,
            energy_unknown_ms: self.energy_unknown_ms * weight,
            ..self
        }
    }
}

/// One row of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardRow {
    pub period: Period,
    pub card: i64,
    /// Number of the reason of unknown time; 0 for known time.
    pub reason: i64,
    pub times: CardTimes,
}

/// One row of a holder; its period is that of the card's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HolderRow {
    pub period: Period,
    pub holder: i64,
    pub times: HolderTimes,
    pub peak_mib: i64,
}

/// A card's row with its holders'.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanRows {
    pub card: CardRow,
    pub holders: Vec<HolderRow>,
}

impl SpanRows {
    /// Returns the rows of a span. `holders` are the ids of the span's holders, in order.
    #[must_use]
    pub fn new(span: &Span, card: i64, holders: &[i64]) -> Self {
        let reason = match span.state {
            State::Unknown(reason) => codes::from_reason(reason),
            _ => codes::KNOWN,
        };
        let row = CardRow { period: span.period, card, reason, times: card_times(span) };
        let energy = holder_energy(span, &row.times);
        let holders = span.holders.iter().zip(holders).zip(energy);
        let holders = holders.map(|((time, holder), energy)| HolderRow {
            period: span.period,
            holder: *holder,
            times: holder_times(span, time, energy),
            peak_mib: time.peak.map_or(0, |peak| i64::try_from(peak.0 >> 20).unwrap_or(i64::MAX)),
        });
        Self { card: row, holders: holders.collect() }
    }

    /// Returns true if `next` follows in the same UTC half minute and both can be one row.
    ///
    /// The last span of a half minute may end in the next one, so that no sum is longer than a minute.
    #[must_use]
    pub fn shares_half_minute_with(&self, next: &Self) -> bool {
        let half_minute = |at: UnixMillis| at.0.div_euclid(HALF_MINUTE);
        let [first, last] = [self.card.period, next.card.period];
        let quarter = |at: i64| at.div_euclid(QUARTER_HOUR);
        first.to == last.from
            && self.card.reason == codes::KNOWN
            && next.card.reason == codes::KNOWN
            && half_minute(first.from) == half_minute(last.from)
            && last.to.0 <= (half_minute(last.from) + 2) * HALF_MINUTE
            && quarter(first.from.0) == quarter(last.to.0 - 1)
    }

    /// Adds rows that follow these: one row over both periods.
    pub fn extend(&mut self, next: &Self) {
        let period = Period::new(self.card.period.from, next.card.period.to);
        self.card.times.add(&next.card.times);
        self.card.period = period;
        for row in &next.holders {
            match self.holders.iter_mut().find(|known| known.holder == row.holder) {
                Some(known) => {
                    known.times.add(&row.times);
                    known.peak_mib = known.peak_mib.max(row.peak_mib);
                }
                None => self.holders.push(*row),
            }
        }
        self.holders.iter_mut().for_each(|row| row.period = period);
    }
}

impl SpanRows {
    /// Lets the time of a part of a GPU count by that part. Shares still add up to the card's time. The
    /// time of processes and their memory stay, and energy is that of the part already.
    pub fn weigh(&mut self, slices: Slices) {
        if slices.is_whole() {
            return;
        }
        let times = &mut self.card.times;
        let CardTimes { active_j, idle_held_j, other_j, .. } = *times;
        let weighed = CardTimes::from_values(times.values().map(|value| slices.portion(value)));
        *times = CardTimes { active_j, idle_held_j, other_j, ..weighed };
        let columns: [fn(&mut HolderTimes) -> &mut i64; 5] = [
            |times| &mut times.active_share_ms,
            |times| &mut times.low_use_share_ms,
            |times| &mut times.unused_share_ms,
            |times| &mut times.unknown_share_ms,
            |times| &mut times.energy_unknown_ms,
        ];
        for column in columns {
            // Each sum of the first holders is rounded.
            let (mut sum, mut rounded) = (0_i64, 0);
            for row in &mut self.holders {
                let share = column(&mut row.times);
                sum = sum.saturating_add(*share);
                let until = slices.portion(sum);
                *share = until - std::mem::replace(&mut rounded, until);
            }
        }
    }
}

fn card_times(span: &Span) -> CardTimes {
    let length = span.period.millis();
    let energy = round(span.energy.sum);
    let mut times = CardTimes {
        busy: round(span.busy.sum),
        busy_unknown_ms: unknown_ms(span.busy, length),
        memory: round(span.memory.sum),
        memory_unknown_ms: unknown_ms(span.memory, length),
        energy_unknown_ms: unknown_ms(span.energy, length),
        energy_estimated_ms: span.energy_estimated_ms.clamp(0, length),
        ..CardTimes::default()
    };
    match span.state {
        State::Active => (times.active_ms, times.active_j) = (length, energy),
        State::IdleHeld => (times.idle_held_ms, times.idle_held_j) = (length, energy),
        State::TrulyIdle => (times.free_ms, times.other_j) = (length, energy),
        State::Unknown(_) => (times.unknown_ms, times.other_j) = (length, energy),
    }
    times
}

fn holder_times(span: &Span, time: &HolderTime, energy: i64) -> HolderTimes {
    let length = span.period.millis();
    let memory = round(time.memory.sum);
    let energy_unknown_ms = unknown_ms(span.energy, length);
    let mut times = HolderTimes {
        memory,
        memory_unknown_ms: unknown_ms(time.memory, length),
        ..HolderTimes::default()
    };
    match time.work {
        Work::Working => (times.working_ms, times.working_memory) = (length, memory),
        Work::Idle => times.idle_ms = length,
        Work::Unknown => times.unknown_ms = length,
    }
    if time.work == Work::Idle && span.holders.iter().any(|other| other.work == Work::Working) {
        times.idle_beside_ms = length;
    }
    // Nobody is known to work with unlisted memory.
    let is_unused = time.work == Work::Idle || time.holder == HolderId::Unlisted;
    match (span.state, time.work) {
        (State::Active, _) => (times.active_share_ms, times.active_j) = (time.share_ms, energy),
        (State::IdleHeld, _) if is_unused => {
            (times.unused_share_ms, times.idle_held_j) = (time.share_ms, energy);
        }
        (State::IdleHeld, _) => {
            (times.low_use_share_ms, times.idle_held_j) = (time.share_ms, energy);
        }
        (State::Unknown(_), _) => times.unknown_share_ms = time.share_ms,
        (State::TrulyIdle, _) => {}
    }
    if matches!(span.state, State::Active | State::IdleHeld) {
        let portion = gua_core::period::portion(time.share_ms, energy_unknown_ms, length);
        times.energy_unknown_ms = portion;
    }
    times
}

/// Returns the energy of each holder in whole joules, which add up to the card's if the card's
/// energy is shared: each sum of the first holders is rounded, so no holder is off by more than one.
fn holder_energy(span: &Span, card: &CardTimes) -> Vec<i64> {
    let shared: f64 = span.holders.iter().map(|holder| holder.energy).sum();
    let total = card.active_j.saturating_add(card.idle_held_j);
    if shared <= 0.0 {
        return vec![0; span.holders.len()];
    }
    let (mut sum, mut rounded) = (0.0, 0);
    let energy = |holder: &HolderTime| {
        sum += holder.energy;
        #[expect(clippy::cast_precision_loss, reason = "joules fit 53 bits")]
        let until = round(sum / shared * total as f64);
        until - std::mem::replace(&mut rounded, until)
    };
    span.holders.iter().map(energy).collect()
}

fn unknown_ms(integral: Integral, length: i64) -> i64 {
    (length - integral.known_ms).clamp(0, length)
}

#[expect(clippy::cast_possible_truncation, reason = "rounded; a cast saturates")]
fn round(value: f64) -> i64 {
    value.round() as i64
}

/// Returns a period from a row's first and length columns.
pub(crate) fn read_period(from_ms: i64, length_ms: i64) -> Period {
    Period::new(UnixMillis(from_ms), UnixMillis(from_ms.saturating_add(length_ms.max(0))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gua_core::Reason;
    use gua_core::card::CardFacts;
    use gua_core::process::ProcessId;
    use gua_core::units::Bytes;
    use proptest::prelude::*;

    fn integral(sum: f64, known_ms: i64) -> Integral {
        Integral { sum, known_ms }
    }

    fn holder(pid: u32, work: Work, share_ms: i64, energy: f64) -> HolderTime {
        HolderTime {
            holder: HolderId::Process(ProcessId::unread(pid)),
            work,
            share_ms,
            memory: integral(100.0, 10_000),
            peak: Some(Bytes::from_mib(11)),
            energy,
        }
    }

    fn span(from: i64, length: i64, state: State, holders: Vec<HolderTime>) -> Span {
        Span {
            card: CardFacts::unread(0, Reason::NotAsked).into(),
            period: Period::new(UnixMillis(from), UnixMillis(from + length)),
            state,
            energy: integral(holders.iter().map(|holder| holder.energy).sum(), length),
            holders,
            busy: integral(50.0, length),
            memory: integral(70.0, length / 2),
            energy_estimated_ms: 0,
        }
    }

    #[test]
    fn idle_held_share_is_unused_or_low_use() {
        let unlisted = holder(3, Work::Unknown, 1000, 0.2);
        let holders = vec![
            holder(1, Work::Working, 4000, 1.4),
            holder(2, Work::Idle, 5000, 1.2),
            HolderTime { holder: HolderId::Unlisted, ..unlisted },
        ];
        let rows = SpanRows::new(&span(0, 10_000, State::IdleHeld, holders), 1, &[5, 6, 7]);
        let [worker, idle, unlisted] = [0, 1, 2].map(|place| rows.holders[place].times);
        assert_eq!((worker.low_use_share_ms, worker.unused_share_ms), (4000, 0));
        assert_eq!((unlisted.low_use_share_ms, unlisted.unused_share_ms), (0, 1000));
        assert_eq!((worker.working_memory, idle.working_memory), (100, 0));
        assert_eq!(
            (idle.unused_share_ms, idle.idle_beside_ms, idle.idle_ms),
            (5000, 10_000, 10_000)
        );
        assert_eq!(
            worker.idle_held_j + idle.idle_held_j + unlisted.idle_held_j,
            rows.card.times.idle_held_j
        );
        assert_eq!((rows.card.times.idle_held_ms, rows.card.times.idle_held_j), (10_000, 3));
        assert_eq!(rows.holders[0].peak_mib, 11);
    }

    /// Trap: an integral needs the time for which its quantity was known.
    #[test]
    fn integral_keeps_its_known_time_so_unknown_is_not_zero() {
        let times = SpanRows::new(&span(0, 10_000, State::Active, vec![]), 1, &[]).card.times;
        assert_eq!((times.memory, times.memory_unknown_ms), (70, 5000));
        assert_eq!((times.busy, times.busy_unknown_ms), (50, 0));
    }

    #[test]
    fn unreadable_card_is_unknown_with_its_reason() {
        let rows = SpanRows::new(&span(0, 9, State::Unknown(Reason::Lost), vec![]), 1, &[]);
        assert_eq!(codes::reason(rows.card.reason), Reason::Lost);
        assert_eq!(rows.card.times.unknown_ms, 9);
    }

    #[test]
    fn spans_of_one_half_minute_become_one_row() {
        let rows = |from, length, state| SpanRows::new(&span(from, length, state, vec![]), 1, &[]);
        let first = rows(1000, 2000, State::Active);
        let mut sum = first.clone();
        let next = rows(3000, 4000, State::IdleHeld);
        assert!(first.shares_half_minute_with(&next));
        sum.extend(&next);
        assert_eq!(sum.card.period, Period::new(UnixMillis(1000), UnixMillis(7000)));
        assert_eq!((sum.card.times.active_ms, sum.card.times.idle_held_ms), (2000, 4000));
        let apart = [
            rows(3001, 4000, State::IdleHeld),
            rows(3000, 57_001, State::IdleHeld),
            rows(3000, 9, State::Unknown(Reason::Lost)),
        ];
        assert!(!apart.iter().any(|next| first.shares_half_minute_with(next)));
        let last = rows(870_000, 20_000, State::Active);
        assert!(last.shares_half_minute_with(&rows(890_000, 10_000, State::TrulyIdle)));
        assert!(!last.shares_half_minute_with(&rows(890_000, 10_001, State::TrulyIdle)));
    }

    /// Trap: absurd figures in a damaged file saturate instead of overflowing.
    #[test]
    fn absurd_figures_saturate() {
        let mut times = CardTimes { active_ms: i64::MAX, ..CardTimes::default() };
        times.add(&times.clone());
        assert_eq!(times.active_ms, i64::MAX);
        assert_eq!(read_period(i64::MAX, i64::MAX).millis(), 0);
        let absurd = span(0, 10, State::Active, vec![holder(1, Work::Working, 10, 1e300)]);
        assert_eq!(SpanRows::new(&absurd, 1, &[1]).card.times.active_j, i64::MAX);
    }

    proptest! {
        /// Trap: shares without remainder.
        #[test]
        fn energy_shares_add_up_without_remainder(energy in proptest::collection::vec(0.0..1000.0, 1..9)) {
            let holders = energy.iter().map(|joules| holder(1, Work::Idle, 1, *joules)).collect();
            let ids = vec![1; energy.len()];
            let rows = SpanRows::new(&span(0, 1000, State::IdleHeld, holders), 1, &ids);
            let sum: i64 = rows.holders.iter().map(|row| row.times.idle_held_j).sum();
            prop_assert_eq!(sum, rows.card.times.idle_held_j);
            for (row, joules) in rows.holders.iter().zip(energy) {
                prop_assert!((row.times.idle_held_j as f64 - joules).abs() <= 1.6);
            }
        }
    }
}
