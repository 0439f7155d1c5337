//! The states by the Python gua's rules.

use probe::Why;

use crate::classify::{CentiPercent, Holds, State};

/// From here on a card is active, in hundredths of a percent.
const ACTIVE: CentiPercent = CentiPercent(1000);
/// More than this and it is held, in MiB.
pub(super) const HELD_MIB: u64 = 100;

/// The state of a card with this much memory in processes. Memory
/// that is not known is no part of it.
pub(super) fn state(work: Option<CentiPercent>, known_mib: u64) -> State {
    match work {
        None => State::Unknown(Why::NotTold),
        Some(work) if work >= ACTIVE => State::Active,
        Some(_) if known_mib > HELD_MIB => State::IdleHeld,
        Some(_) => State::TrulyIdle,
    }
}

/// What a process holds. The Python gua has no rule for it, so that ours holds: what is not known
/// is not nothing. What it did is what its card did.
pub(super) fn holds(mib: Option<u64>) -> Holds {
    match mib {
        Some(mib) if mib > HELD_MIB => Holds::Much,
        Some(_) => Holds::Little,
        None => Holds::Untold,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_those_of_the_python_gua() {
        let judge = |percent: u32, mib| state(Some(CentiPercent(percent * 100)), mib);
        assert_eq!([judge(10, 0), judge(10, 101)], [State::Active; 2]);
        assert_eq!([judge(9, 101), judge(9, 100)], [State::IdleHeld, State::TrulyIdle]);
        assert_eq!(state(None, 5000), State::Unknown(Why::NotTold));
        let of_process = |work, mib| holds(mib).state(state(work, mib.unwrap_or(0)));
        assert_eq!(of_process(Some(ACTIVE), None), State::Active);
        assert_eq!(of_process(Some(CentiPercent(0)), None), State::Unknown(Why::NotTold));
        assert_eq!(of_process(Some(CentiPercent(0)), Some(101)), State::IdleHeld);
        assert_eq!(of_process(Some(CentiPercent(0)), Some(100)), State::TrulyIdle);
    }
}
