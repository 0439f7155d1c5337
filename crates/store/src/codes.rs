//! Numbers that stand for reasons and kinds. They are part of the schema: none ever changes its meaning.

use gua_core::Reason;
use gua_core::process::Kinds;
use gua_core::sign::Sign;
use gua_core::span::GapReason;

/// Number of known time, which has no reason.
pub(crate) const KNOWN: i64 = 0;

/// Reasons by their number, from 1 on.
const REASONS: [Reason; 14] = [
    Reason::NotSupported,
    Reason::NoPermission,
    Reason::Lost,
    Reason::NeedsReset,
    Reason::TimedOut,
    Reason::NoTurn,
    Reason::DriverGone,
    Reason::NotTold,
    Reason::FirstLook,
    Reason::Gone,
    Reason::NotAsked,
    Reason::Garbled,
    Reason::Foreign,
    Reason::EntrySize,
];

/// Added to an error code of the driver.
const DRIVER_ERROR: i64 = 1000;

/// Number of a gap in which no recorder ran.
pub(crate) const NO_RECORDER: i64 = 0;

pub(crate) const CLOCK_SET: i64 = -1;
const SUSPENDED: i64 = -2;
const LATE: i64 = -3;
const STORAGE: i64 = -4;

pub(crate) fn from_reason(reason: Reason) -> i64 {
    if let Reason::Code(code) = reason {
        return DRIVER_ERROR + i64::from(code);
    }
    let place = REASONS.iter().position(|known| *known == reason).unwrap_or(REASONS.len());
    i64::try_from(place + 1).unwrap_or(i64::MAX)
}

/// Returns the reason of a number. A number of a newer version is `Garbled`.
pub(crate) fn reason(code: i64) -> Reason {
    if let Ok(code) = u32::try_from(code.saturating_sub(DRIVER_ERROR)) {
        return Reason::Code(code);
    }
    let place = usize::try_from(code.saturating_sub(1)).ok();
    place.and_then(|place| REASONS.get(place)).copied().unwrap_or(Reason::Garbled)
}

pub(crate) fn from_gap_reason(reason: GapReason) -> i64 {
    match reason {
        GapReason::ClockSet => CLOCK_SET,
        GapReason::Suspended => SUSPENDED,
        GapReason::Late => LATE,
        GapReason::Storage => STORAGE,
        GapReason::Driver(reason) => from_reason(reason),
    }
}

pub(crate) fn gap_reason(code: i64) -> GapReason {
    match code {
        CLOCK_SET => GapReason::ClockSet,
        SUSPENDED => GapReason::Suspended,
        LATE => GapReason::Late,
        STORAGE => GapReason::Storage,
        code => GapReason::Driver(reason(code)),
    }
}

pub(crate) fn from_kinds(kinds: Kinds) -> i64 {
    i64::from(kinds.compute) | i64::from(kinds.graphics) << 1 | i64::from(kinds.mps) << 2
}

pub(crate) const fn kinds(code: i64) -> Kinds {
    Kinds { compute: code & 1 != 0, graphics: code & 2 != 0, mps: code & 4 != 0 }
}

pub(crate) fn from_sign(sign: Sign) -> i64 {
    match sign {
        Sign::Unknown => 0,
        Sign::Sm => 1,
        Sign::Cpu => 2,
        Sign::Encoder => 3,
        Sign::Decoder => 4,
        Sign::Quiet => 5,
    }
}

/// Returns the sign of a number. A number of a newer version is `Unknown`.
pub(crate) fn sign(code: i64) -> Sign {
    Sign::ALL.into_iter().find(|sign| from_sign(*sign) == code).unwrap_or(Sign::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_and_kind_comes_back() {
        for code in (1..=14).chain([1000, 1999]) {
            assert_eq!(from_reason(reason(code)), code);
        }
        for code in (-4..=14).filter(|code| *code != 0) {
            assert_eq!(from_gap_reason(gap_reason(code)), code);
        }
        assert!((0..8).all(|code| from_kinds(kinds(code)) == code));
        assert!((0..6).all(|code| from_sign(sign(code)) == code));
        assert_eq!(reason(77), Reason::Garbled);
        assert_eq!(reason(i64::MAX), Reason::Garbled);
    }
}
