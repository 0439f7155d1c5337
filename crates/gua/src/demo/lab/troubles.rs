//! Faults of the lab: cards that are lost, a driver that is replaced, memory that no listed process holds, a
//! recorder that stops. Each of them once in any week.

use gua_core::Period;
use gua_core::units::UnixMillis;
use scenario::{Card, Fault, Moment, NvmlCode};

use super::super::dice::Dice;
use super::super::play::{Ending, Shift};
use super::sessions::{Day, HOUR, MINUTE};

const LOST: NvmlCode = NvmlCode(15);
const VERSION_MISMATCH: NvmlCode = NvmlCode(18);

/// Why nobody recorded for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outage {
    Ended(Ending),
    Asleep,
}

/// The faults of a day, whose midnight is `t = 0`.
pub(super) fn faults(day: Day, cards: &[Card]) -> Vec<Fault> {
    [lost_card(day, cards), replaced_driver(day)].into_iter().flatten().collect()
}

/// One card is away for about an hour.
fn lost_card(day: Day, cards: &[Card]) -> Option<Fault> {
    let mut dice = Dice::of(day.number, "lost card");
    let begin = dice.number(7 * HOUR, 20 * HOUR);
    let length = dice.number(50 * MINUTE, 70 * MINUTE);
    let place = usize::try_from(dice.number(0, 6)).ok()?;
    let card = cards.get(place).filter(|_| day.number.rem_euclid(7) == 1)?;
    let (from, to) = (Moment::from_secs(begin), Moment::from_secs(begin + length));
    Some(Fault::answering("nvmlDeviceGet*", LOST, Some(vec![card.uuid.clone()]), from, to))
}

/// The driver is replaced, and no library fits it for ten minutes.
fn replaced_driver(day: Day) -> Option<Fault> {
    let begin = Dice::of(day.number, "driver").number(6 * HOUR, 9 * HOUR);
    let (from, to) = (Moment::from_secs(begin), Moment::from_secs(begin + 10 * MINUTE));
    let fault = Fault::answering("nvml*", VERSION_MISMATCH, None, from, to);
    (day.number.rem_euclid(7) == 3).then_some(fault)
}

/// For a day, memory of a card belongs to no process that the driver lists.
pub(super) fn add_unlisted_memory(day: Day, cards: &mut [Card]) {
    if let Some(card) = cards.get_mut(6).filter(|_| day.number.rem_euclid(7) == 5) {
        card.memory.unattributed = 1 << 30;
    }
}

/// When nobody recorded on a day, and why.
fn outage(day: Day) -> Option<(Period, Outage)> {
    let mut dice = Dice::of(day.number, "outage");
    let begin = dice.number(11 * HOUR, 16 * HOUR);
    let (length, outage) = match () {
        () if day.number.rem_euclid(7) == 4 => {
            (dice.number(20 * MINUTE, 50 * MINUTE), Outage::Ended(Ending::Stopped))
        }
        () if day.number.rem_euclid(7) == 6 => {
            (dice.number(HOUR, 3 * HOUR), Outage::Ended(Ending::Crashed))
        }
        () if day.number.rem_euclid(7) == 2 => (dice.number(HOUR, 2 * HOUR), Outage::Asleep),
        () => return None,
    };
    let at = |seconds: i64| UnixMillis((day.start() + seconds) * 1000);
    Some((Period::new(at(begin), at(begin + length)), outage))
}

/// When somebody recorded within a time.
pub(super) fn shifts(period: Period) -> Vec<Shift> {
    let days = Day::of(period.from).number..=Day::of(period.to).number;
    let mut shifts = Vec::new();
    let mut now = Shift { period, ending: Ending::Complete, asleep: Vec::new() };
    for (away, outage) in days.map(Day::new).filter_map(outage) {
        match outage {
            Outage::Asleep => now.asleep.push(away),
            Outage::Ended(ending) => {
                let next = Shift {
                    period: Period::new(away.to.max(period.from), period.to),
                    ending: Ending::Complete,
                    asleep: Vec::new(),
                };
                now.period.to = away.from.min(period.to);
                shifts.push(Shift { ending, ..std::mem::replace(&mut now, next) });
            }
        }
    }
    shifts.push(now);
    shifts.retain(|shift| !shift.period.is_empty());
    shifts
}
