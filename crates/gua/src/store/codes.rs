//! The numbers that stand for states and reasons in the database.
//!
//! They are part of the layout: a number never changes its meaning.

use probe::Why;
use probe::card::Basis;
use probe::process::Kinds;

use crate::classify::{Holds, State, Work};
use crate::ledger::Part;

const ACTIVE: i64 = 0;
const IDLE_HELD: i64 = 1;
const TRULY_IDLE: i64 = 2;
const HOLDS_MUCH: i64 = 3;
const HOLDS_LITTLE: i64 = 4;
const HOLDS_UNTOLD: i64 = 5;
/// Added to what somebody holds who worked, or did not, by their own account.
const WORKS: i64 = 100;
const IDLE: i64 = 200;
/// A reason's own number is added to it.
const UNKNOWN: i64 = 10;
/// An error code of the driver is added to it.
const DRIVER_CODE: i64 = 1000;

/// The reasons without a code of the driver, by their numbers.
const REASONS: [Why; 14] = [
    Why::NotSupported,
    Why::NoPermission,
    Why::Lost,
    Why::NeedsReset,
    Why::TimedOut,
    Why::NoTurn,
    Why::DriverGone,
    Why::NotTold,
    Why::FirstLook,
    Why::Gone,
    Why::NotAsked,
    Why::Garbled,
    Why::Foreign,
    Why::EntrySize,
];

#[must_use]
pub(super) const fn of_state(state: State) -> i64 {
    match state {
        State::Active => ACTIVE,
        State::IdleHeld => IDLE_HELD,
        State::TrulyIdle => TRULY_IDLE,
        State::Unknown(why) => of_why(why),
    }
}

/// A number that no version has given out is as good as unknown.
#[must_use]
pub(super) fn state(code: i64) -> State {
    match code {
        ACTIVE => State::Active,
        IDLE_HELD => State::IdleHeld,
        TRULY_IDLE => State::TrulyIdle,
        code => State::Unknown(why(code)),
    }
}

/// Whether a version has given it out.
#[must_use]
pub(super) fn is_known(code: i64) -> bool {
    of_state(state(code)) == code
}

#[must_use]
pub(super) const fn of_holds(holds: Holds) -> i64 {
    match holds {
        Holds::Much => HOLDS_MUCH,
        Holds::Little => HOLDS_LITTLE,
        Holds::Untold => HOLDS_UNTOLD,
    }
}

#[must_use]
pub(super) const fn of_holder(holds: Holds, work: Work) -> i64 {
    of_holds(holds) + of_work(work)
}

const fn of_work(work: Work) -> i64 {
    match work {
        Work::AsTheCard => 0,
        Work::Works => WORKS,
        Work::Idle => IDLE,
    }
}

#[must_use]
pub(super) fn part(code: i64) -> Part {
    let held = [Work::AsTheCard, Work::Works, Work::Idle]
        .into_iter()
        .find_map(|work| holds(code - of_work(work)).map(|holds| Part::Holds(holds, work)));
    held.unwrap_or_else(|| Part::Judged(state(code)))
}

const fn holds(code: i64) -> Option<Holds> {
    Some(match code {
        HOLDS_MUCH => Holds::Much,
        HOLDS_LITTLE => Holds::Little,
        HOLDS_UNTOLD => Holds::Untold,
        _ => return None,
    })
}

/// Whether some version has given out this number for somebody on a card.
pub(super) fn is_known_part(code: i64) -> bool {
    matches!(part(code), Part::Holds(..)) || is_known(code)
}

#[must_use]
pub(super) const fn of_why(why: Why) -> i64 {
    let number = match why {
        Why::NotSupported => 0,
        Why::NoPermission => 1,
        Why::Lost => 2,
        Why::NeedsReset => 3,
        Why::TimedOut => 4,
        Why::NoTurn => 5,
        Why::DriverGone => 6,
        Why::NotTold => 7,
        Why::FirstLook => 8,
        Why::Gone => 9,
        Why::NotAsked => 10,
        Why::Garbled => 11,
        Why::Foreign => 12,
        Why::EntrySize => 13,
        Why::Code(code) => return DRIVER_CODE + code as i64,
    };
    UNKNOWN + number
}

#[must_use]
pub(super) fn why(code: i64) -> Why {
    if let Ok(code) = u32::try_from(code - DRIVER_CODE) {
        return Why::Code(code);
    }
    let reason = usize::try_from(code - UNKNOWN).ok().and_then(|place| REASONS.get(place));
    reason.copied().unwrap_or(Why::Garbled)
}

#[must_use]
pub(super) const fn of_basis(basis: Basis) -> i64 {
    match basis {
        Basis::Samples { .. } => 0,
        Basis::Counters { .. } => 1,
        Basis::Instant => 2,
    }
}

/// A word for it; `None` for a number that no version has given out.
#[must_use]
pub(super) const fn basis(code: i64) -> Option<&'static str> {
    Some(match code {
        0 => "samples",
        1 => "counters",
        2 => "instant",
        _ => return None,
    })
}

#[must_use]
pub(super) const fn of_kinds(kinds: Kinds) -> i64 {
    kinds.compute as i64 | (kinds.graphics as i64) << 1 | (kinds.mps as i64) << 2
}

#[must_use]
pub(super) const fn kinds(code: i64) -> Kinds {
    Kinds { compute: code & 1 != 0, graphics: code & 2 != 0, mps: code & 4 != 0 }
}

/// Every state with a number of its own, and a word for whoever reads the file without us.
pub(super) fn all_states() -> impl Iterator<Item = (i64, String)> {
    let known = [
        (ACTIVE, "active".to_owned()),
        (IDLE_HELD, "idle-held".to_owned()),
        (TRULY_IDLE, "truly-idle".to_owned()),
        (HOLDS_MUCH, "holding".to_owned()),
        (HOLDS_LITTLE, "holding little".to_owned()),
        (HOLDS_UNTOLD, "holding, how much is not told".to_owned()),
    ];
    let unknown = REASONS.into_iter().map(|why| (of_why(why), format!("unknown: {why}")));
    let by_itself = [(WORKS, "working"), (IDLE, "idle")].into_iter().flat_map(|(work, word)| {
        [
            (work + HOLDS_MUCH, format!("{word}, holding")),
            (work + HOLDS_LITTLE, format!("{word}, holding little")),
            (work + HOLDS_UNTOLD, format!("{word}, holding, how much is not told")),
        ]
    });
    known.into_iter().chain(unknown).chain(by_itself)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_comes_back_as_itself() {
        let whys = REASONS.into_iter().chain([Why::Code(0), Why::Code(999)]);
        let states = [State::Active, State::IdleHeld, State::TrulyIdle].into_iter();
        for known in states.chain(whys.map(State::Unknown)) {
            assert_eq!(state(of_state(known)), known);
        }
    }

    /// Files that are out there depend on them.
    #[test]
    fn the_numbers_stay_what_they_are() {
        let codes: Vec<_> = all_states().map(|(code, _)| code).collect();
        let (cards, holders) = codes.split_at(20);
        assert_eq!(
            cards,
            [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]
        );
        assert_eq!(holders, [103, 104, 105, 203, 204, 205]);
        assert_eq!(part(104), Part::Holds(Holds::Little, Work::Works));
        assert_eq!(part(5), Part::Holds(Holds::Untold, Work::AsTheCard));
        assert_eq!(part(202), Part::Judged(State::Unknown(Why::Garbled)));
        assert_eq!(of_why(Why::Code(15)), 1015);
        assert_eq!(state(5), State::Unknown(Why::Garbled));
        assert_eq!(state(-7), State::Unknown(Why::Garbled));
        assert!(codes.into_iter().chain([1000, 1999]).all(is_known_part));
        assert!(![5, -7, 3, 9, 24, 999, 103].into_iter().any(is_known));
        assert!(![6, 102, 106, 202, 303].into_iter().any(is_known_part));
    }

    #[test]
    fn what_somebody_holds_and_does_comes_back_as_itself() {
        for holds in [Holds::Much, Holds::Little, Holds::Untold] {
            for work in [Work::Works, Work::Idle, Work::AsTheCard] {
                assert_eq!(part(of_holder(holds, work)), Part::Holds(holds, work));
            }
            assert_eq!(part(of_holds(holds)), Part::Holds(holds, Work::AsTheCard));
        }
    }
}
