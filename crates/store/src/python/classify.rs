//! A card at one tick as a span, by the rule of the Python gua.

use std::sync::Arc;

use gua_core::card::CardFacts;
use gua_core::classifier::largest_reserve;
use gua_core::period::portion;
use gua_core::process::ProcessId;
use gua_core::span::{HolderId, HolderTime, Integral, Work};
use gua_core::units::Bytes;
use gua_core::{Period, Reason, Span, State};

use super::ticks::CardReading;
use super::{ACTIVE_PERCENT, HELD_MIB};

/// A process on a card at one tick, or memory that no listed process holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    /// Row id of the holder.
    pub holder: i64,
    pub is_process: bool,
    pub mib: Option<i64>,
}

/// Returns the state of a card. `listed_mib` is the memory of its processes; what could not be read is no
/// part of it.
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

/// Returns a span as long as the tick counts. What holders do is what their card does.
pub(super) fn span(
    card: &Arc<CardFacts>,
    reading: &CardReading,
    state: State,
    (period, held, remainder_mib): (Period, &[Held], Option<i64>),
) -> Span {
    let counts_ms = period.millis();
    let mib: Vec<_> = held.iter().map(|it| it.mib).collect();
    let shares = match state {
        State::TrulyIdle => vec![0; held.len()],
        _ => shares(&mib, counts_ms, remainder_mib),
    };
    let work = match state {
        State::Active => Work::Working,
        State::IdleHeld | State::TrulyIdle => Work::Idle,
        State::Unknown(_) => Work::Unknown,
    };
    let holders = held.iter().zip(shares).map(|(it, share_ms)| HolderTime {
        holder: if it.is_process { process(it.holder) } else { HolderId::Unlisted },
        work,
        share_ms,
        memory: integral(it.mib, counts_ms),
        peak: it.mib.and_then(|mib| u64::try_from(mib).ok()).map(Bytes::from_mib),
        energy: integral(reading.power_w, share_ms).sum,
    });
    Span {
        card: Arc::clone(card),
        period,
        state,
        holders: holders.collect(),
        busy: reading.percent.map_or_else(Integral::default, |percent| Integral {
            sum: percent * period.seconds(),
            known_ms: counts_ms,
        }),
        memory: integral(reading.used_mib, counts_ms),
        energy: integral(reading.power_w, counts_ms),
        energy_estimated_ms: integral(reading.power_w, counts_ms).known_ms,
    }
}

/// Returns an id that stands for the row of a holder while a file is converted.
pub(super) fn process(holder: i64) -> HolderId {
    HolderId::Process(ProcessId { pid: 0, start_ticks: u64::try_from(holder).ok(), uid: None })
}

fn integral(value: Option<i64>, millis: i64) -> Integral {
    #[expect(clippy::cast_precision_loss, reason = "all fit 53 bits")]
    let integral =
        |value| Integral { sum: value as f64 * millis as f64 / 1000.0, known_ms: millis };
    value.map_or_else(Integral::default, integral)
}

/// Splits a time by memory; evenly if none is known. A holder of unknown memory has an equal part of what
/// nobody else holds, or weighs as much as the others on average.
fn shares(mib: &[Option<i64>], counts_ms: i64, remainder_mib: Option<i64>) -> Vec<i64> {
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX).max(1);
    let known = mib.iter().flatten().count();
    let sum = mib.iter().flatten().fold(0_i64, |sum, mib| sum.saturating_add(*mib));
    let unknown = count(mib.len() - known);
    let each = remainder_mib.map_or(sum / count(known), |remainder| remainder / unknown);
    let mut weights: Vec<i64> = mib.iter().map(|mib| mib.unwrap_or(each)).collect();
    if weights.iter().all(|weight| *weight == 0) {
        weights.fill(1);
    }
    let total = weights.iter().fold(0_i64, |sum, weight| sum.saturating_add(*weight));
    let (mut weighed, mut shared) = (0_i64, 0);
    let share = |weight: i64| {
        weighed = weighed.saturating_add(weight);
        let until = portion(counts_ms, weighed, total);
        until - std::mem::replace(&mut shared, until)
    };
    weights.into_iter().map(share).collect()
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
        let shares = |memory: &[Option<i64>], remainder| shares(memory, 30_000, remainder);
        assert_eq!(shares(&[Some(500), Some(1500)], None), [7500, 22_500]);
        assert_eq!(shares(&[None, None, Some(0)], None), [10_000; 3]);
        assert_eq!(shares(&[Some(100), None], None), [15_000; 2]);
        assert_eq!(shares(&[Some(100), None, None], Some(400)), [6000, 12_000, 12_000]);
        assert_eq!(shares(&[Some(1), Some(1), Some(1)], None).iter().sum::<i64>(), 30_000);
        assert_eq!(shares(&[Some(0)], None), [30_000]);
    }
}
