//! Ticks of a card that become one row: equal ones that follow each other, or all of a quarter hour or an
//! hour. Integrals have milliseconds in place of seconds until they are written.

use gua_core::classifier::largest_reserve;
use gua_core::period::{HOUR, portion};
use gua_core::units::Bytes;
use gua_core::{Period, Reason, State};
use rusqlite::Connection;

use super::ticks::CardReading;
use super::{ACTIVE_PERCENT, HELD_MIB};
use crate::codes;
use crate::error::Problem;
use crate::rows::{CardRow, CardTimes, HolderRow, HolderTimes, read_period};
use crate::tables::{self, Age};

/// One card at one tick, classified.
#[derive(Debug)]
pub(super) struct CardTick {
    pub state: State,
    /// Time for which it counts.
    pub counts_ms: i64,
    pub percent: Option<f64>,
    pub used_mib: Option<i64>,
    pub power_w: Option<i64>,
    pub holders: Vec<HolderTick>,
}

/// A holder of a card at one tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct HolderTick {
    pub holder: i64,
    pub is_process: bool,
    pub mib: Option<i64>,
    /// Part of the time for which the tick counts.
    pub share_ms: i64,
}

/// Returns the state of a card by the rule of the Python gua. `listed_mib` is the memory of its processes;
/// what could not be read is no part of it.
pub(super) fn state(percent: Option<f64>, listed_mib: i64) -> State {
    match percent {
        None => State::Unknown(Reason::NotTold),
        Some(percent) if percent >= ACTIVE_PERCENT => State::Active,
        Some(_) if listed_mib > HELD_MIB => State::IdleHeld,
        Some(_) => State::TrulyIdle,
    }
}

/// Returns the used memory of a card that neither a process nor the driver accounts for. The Python gua
/// counts what the driver keeps for itself as used.
pub(super) fn remainder_mib(
    card: &CardReading,
    total_mib: Option<i64>,
    listed_mib: i64,
) -> Option<i64> {
    let total = Bytes::from_mib(u64::try_from(total_mib?).ok()?);
    let reserve = i64::try_from(largest_reserve(total).0 >> 20).ok()?;
    Some((card.used_mib? - listed_mib - reserve).max(0))
}

/// Splits a time by memory; evenly if none is known. A holder of unknown memory has an equal part of what
/// nobody else holds, or weighs as much as the others on average.
pub(super) fn share(holders: &mut [HolderTick], counts_ms: i64, remainder_mib: Option<i64>) {
    let known: Vec<i64> = holders.iter().filter_map(|holder| holder.mib).collect();
    let sum = known.iter().fold(0_i64, |sum, mib| sum.saturating_add(*mib));
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let unknown = count(holders.len() - known.len());
    let each = match remainder_mib {
        Some(mib) => mib / unknown.max(1),
        None => sum / count(known.len()).max(1),
    };
    let is_even = sum.saturating_add(each.saturating_mul(unknown)) == 0;
    let weight = |holder: &HolderTick| if is_even { 1 } else { holder.mib.unwrap_or(each) };
    let total = holders.iter().fold(0_i64, |sum, holder| sum.saturating_add(weight(holder)));
    let (mut weighed, mut shared) = (0_i64, 0);
    for holder in holders {
        weighed = weighed.saturating_add(weight(holder));
        let until = portion(counts_ms, weighed, total);
        holder.share_ms = until - std::mem::replace(&mut shared, until);
    }
}

/// Kind of row that a tick belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    /// Equal ticks that follow each other within the quarter hour that begins then.
    Exact(i64),
    /// All ticks of the quarter hour that begins then.
    Quarter(i64),
    /// All ticks of the hour that begins then, of which only hours are kept.
    Hour(i64),
}

/// A row that later ticks may add to.
#[derive(Debug)]
pub(super) struct OpenRow {
    period: Period,
    kind: RowKind,
    state: State,
    known: CardTimes,
    unknown: CardTimes,
    holders: Vec<OpenHolder>,
}

#[derive(Debug)]
struct OpenHolder {
    holder: i64,
    times: HolderTimes,
    peak_mib: i64,
}

impl OpenRow {
    pub fn new(period: Period, kind: RowKind, tick: &CardTick) -> Self {
        let none = CardTimes::default();
        let (known, unknown, holders) = (none, none, Vec::new());
        let mut row = Self { period, kind, state: tick.state, known, unknown, holders };
        row.add(period, tick);
        row
    }

    /// Returns true if a tick is part of this row.
    pub fn includes(&self, period: Period, kind: RowKind, tick: &CardTick) -> bool {
        let is_known = |it: &HolderTick| self.holders.iter().any(|row| row.holder == it.holder);
        let is_equal = || {
            self.period.to == period.from
                && self.state == tick.state
                && self.holders.len() == tick.holders.len()
                && tick.holders.iter().all(is_known)
        };
        self.kind == kind && (!matches!(kind, RowKind::Exact(_)) || is_equal())
    }

    pub fn add(&mut self, period: Period, tick: &CardTick) {
        self.period.to = period.to;
        let is_unknown = matches!(tick.state, State::Unknown(_));
        let times = if is_unknown { &mut self.unknown } else { &mut self.known };
        times.add(&card_times(tick));
        for it in &tick.holders {
            let place = self.holders.iter().position(|known| known.holder == it.holder);
            let place = place.unwrap_or_else(|| {
                let times = HolderTimes::default();
                self.holders.push(OpenHolder { holder: it.holder, times, peak_mib: 0 });
                self.holders.len() - 1
            });
            let holder = &mut self.holders[place];
            holder.times.add(&holder_times(tick, it));
            holder.peak_mib = holder.peak_mib.max(it.mib.unwrap_or(0));
        }
    }

    /// Writes the rows of the card and its holders.
    pub fn write(&self, db: &Connection, card: i64) -> Result<(), Problem> {
        let (age, period) = match self.kind {
            RowKind::Hour(hour) => (Age::Hours, read_period(hour, HOUR)),
            RowKind::Exact(_) | RowKind::Quarter(_) => (Age::Fine, self.period),
        };
        let unknown = codes::from_reason(Reason::NotTold);
        for (reason, times) in [(codes::KNOWN, &self.known), (unknown, &self.unknown)] {
            if times.observed_ms() > 0 {
                let row = CardRow { period, card, reason, times: card_seconds(times) };
                write_card_row(db, age, row)?;
            }
        }
        let (mut active, mut idle_held) = (Rounded::default(), Rounded::default());
        for OpenHolder { holder, times, peak_mib } in &self.holders {
            let times = HolderTimes {
                memory: seconds(times.memory),
                working_memory: seconds(times.working_memory),
                active_j: active.next(times.active_j),
                idle_held_j: idle_held.next(times.idle_held_j),
                ..*times
            };
            let row = HolderRow { period, holder: *holder, times, peak_mib: *peak_mib };
            write_holder_row(db, age, row)?;
        }
        Ok(())
    }
}

/// Adds a row to that of the same hour, if there is one.
fn write_card_row(db: &Connection, age: Age, mut row: CardRow) -> Result<(), Problem> {
    if age == Age::Hours {
        let begin = row.period.from.0;
        tables::each_card_row(db, age, [begin, begin + 1], |stored| {
            if (stored.card, stored.reason) == (row.card, row.reason) {
                row.times.add(&stored.times);
            }
            Ok(())
        })?;
    }
    tables::write_card_row(db, age, &row)
}

/// Adds a row to that of the same hour, if there is one.
fn write_holder_row(db: &Connection, age: Age, mut row: HolderRow) -> Result<(), Problem> {
    if age == Age::Hours {
        let begin = row.period.from.0;
        tables::each_holder_row(db, age, [begin, begin + 1], |stored| {
            if stored.holder == row.holder {
                row.times.add(&stored.times);
                row.peak_mib = row.peak_mib.max(stored.peak_mib);
            }
            Ok(())
        })?;
        db.prepare_cached("UPDATE holder SET until_ms = max(until_ms, ?2) WHERE id = ?1")?
            .execute((row.holder, row.period.to.0))?;
    }
    tables::write_holder_row(db, age, &row)
}

fn card_times(tick: &CardTick) -> CardTimes {
    let CardTick { counts_ms, percent, used_mib, power_w, .. } = *tick;
    let energy = power_w.unwrap_or(0).saturating_mul(counts_ms);
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "rounded")]
    let busy = (percent.unwrap_or(0.0) * counts_ms as f64).round() as i64;
    let unknown_ms = |is_known: bool| if is_known { 0 } else { counts_ms };
    let mut times = CardTimes {
        busy,
        busy_unknown_ms: unknown_ms(percent.is_some()),
        memory: used_mib.unwrap_or(0).saturating_mul(counts_ms),
        memory_unknown_ms: unknown_ms(used_mib.is_some()),
        energy_unknown_ms: unknown_ms(power_w.is_some()),
        ..CardTimes::default()
    };
    match tick.state {
        State::Active => (times.active_ms, times.active_j) = (counts_ms, energy),
        State::IdleHeld => (times.idle_held_ms, times.idle_held_j) = (counts_ms, energy),
        State::TrulyIdle => (times.free_ms, times.other_j) = (counts_ms, energy),
        State::Unknown(_) => (times.unknown_ms, times.other_j) = (counts_ms, energy),
    }
    times
}

fn holder_times(tick: &CardTick, holder: &HolderTick) -> HolderTimes {
    let HolderTick { mib, share_ms, .. } = *holder;
    let memory = mib.unwrap_or(0).saturating_mul(tick.counts_ms);
    let energy = tick.power_w.unwrap_or(0).saturating_mul(share_ms);
    let mut times = HolderTimes {
        memory,
        memory_unknown_ms: if mib.is_some() { 0 } else { tick.counts_ms },
        ..HolderTimes::default()
    };
    match tick.state {
        State::Active => {
            (times.working_ms, times.working_memory) = (tick.counts_ms, memory);
            (times.active_share_ms, times.active_j) = (share_ms, energy);
        }
        State::IdleHeld => {
            times.idle_ms = tick.counts_ms;
            (times.unused_share_ms, times.idle_held_j) = (share_ms, energy);
        }
        State::TrulyIdle => times.idle_ms = tick.counts_ms,
        State::Unknown(_) => {
            (times.unknown_ms, times.unknown_share_ms) = (tick.counts_ms, share_ms);
        }
    }
    if tick.power_w.is_none() && matches!(tick.state, State::Active | State::IdleHeld) {
        times.energy_unknown_ms = share_ms;
    }
    times
}

fn card_seconds(times: &CardTimes) -> CardTimes {
    CardTimes {
        busy: seconds(times.busy),
        memory: seconds(times.memory),
        active_j: seconds(times.active_j),
        idle_held_j: seconds(times.idle_held_j),
        other_j: seconds(times.other_j),
        ..*times
    }
}

/// Returns an integral over milliseconds as one over seconds.
pub(super) const fn seconds(integral: i64) -> i64 {
    integral.saturating_add(500) / 1000
}

/// Integrals over seconds, rounded so that they add up to their sum.
#[derive(Debug, Default)]
struct Rounded {
    sum: i64,
    done: i64,
}

impl Rounded {
    fn next(&mut self, integral: i64) -> i64 {
        self.sum = self.sum.saturating_add(integral);
        seconds(self.sum) - std::mem::replace(&mut self.done, seconds(self.sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_those_of_the_python_gua() {
        assert_eq!([state(Some(10.0), 0), state(Some(10.0), 101)], [State::Active; 2]);
        assert_eq!(state(Some(9.9), 101), State::IdleHeld);
        assert_eq!(state(Some(9.0), 100), State::TrulyIdle);
        assert_eq!(state(None, 5000), State::Unknown(Reason::NotTold));
    }

    /// Trap: shares without remainder; holder memory unknown.
    #[test]
    fn time_is_shared_by_memory() {
        let shares = |memory: &[Option<i64>], remainder| {
            let tick = |mib: &Option<i64>| HolderTick {
                holder: 1,
                is_process: true,
                mib: *mib,
                share_ms: 0,
            };
            let mut holders: Vec<_> = memory.iter().map(tick).collect();
            share(&mut holders, 30_000, remainder);
            holders.iter().map(|holder| holder.share_ms).collect::<Vec<_>>()
        };
        assert_eq!(shares(&[Some(500), Some(1500)], None), [7500, 22_500]);
        assert_eq!(shares(&[None, None, Some(0)], None), [10_000; 3]);
        assert_eq!(shares(&[Some(100), None], None), [15_000; 2]);
        assert_eq!(shares(&[Some(100), None, None], Some(400)), [6000, 12_000, 12_000]);
        assert_eq!(shares(&[Some(1), Some(1), Some(1)], None).iter().sum::<i64>(), 30_000);
        assert_eq!(shares(&[Some(0)], None), [30_000]);
    }
}
