//! Moments as a calendar has them: what is kept is milliseconds, which go further than any.

use jiff::Timestamp;
use probe::units::UnixMillis;

/// `None` where no calendar has it.
#[must_use]
pub fn timestamp(at: UnixMillis) -> Option<Timestamp> {
    Timestamp::from_millisecond(at.0).ok()
}

/// For who shows a moment in any case: one that no calendar has is the last that one does.
#[must_use]
pub fn nearest(at: UnixMillis) -> Timestamp {
    let far = if at.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
    timestamp(at).unwrap_or(far)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trap: what no calendar has was shown as 1970.
    #[test]
    fn what_no_calendar_has_is_at_its_end_or_nowhere() {
        let day = UnixMillis(86_400_000);
        assert_eq!(timestamp(day).unwrap().to_string(), "1970-01-02T00:00:00Z");
        assert_eq!(Some(nearest(day)), timestamp(day));
        for (far, end) in [(i64::MIN, Timestamp::MIN), (i64::MAX, Timestamp::MAX)] {
            assert_eq!((timestamp(UnixMillis(far)), nearest(UnixMillis(far))), (None, end));
        }
    }
}
