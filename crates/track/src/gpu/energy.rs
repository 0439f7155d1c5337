//! What a counter of energy went up by.

use probe::units::Millijoules;
use probe::{Reading, Why};

/// A counter that only goes up, unless the driver is loaded anew.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Energy {
    #[default]
    Unread,
    /// It could not be read so far.
    Missing(Why),
    Once(u64),
    Counted {
        first: u64,
        last: u64,
    },
    /// It went backwards: what was used in between is not known.
    Restarted,
}

impl Energy {
    pub const fn see(&mut self, reading: Reading<Millijoules>) {
        *self = match (*self, reading) {
            (Self::Unread | Self::Missing(_), Reading::Unknown(why)) => Self::Missing(why),
            (before, Reading::Unknown(_)) => before,
            (before, Reading::Known(Millijoules(now))) => before.then(now),
        };
    }

    const fn then(self, now: u64) -> Self {
        match self {
            Self::Unread | Self::Missing(_) => Self::Once(now),
            Self::Once(last) | Self::Counted { last, .. } if now < last => Self::Restarted,
            Self::Once(first) | Self::Counted { first, .. } => Self::Counted { first, last: now },
            Self::Restarted => Self::Restarted,
        }
    }

    pub const fn tell(&self) -> Reading<Millijoules> {
        match *self {
            Self::Unread => Reading::Unknown(Why::NotAsked),
            Self::Missing(why) => Reading::Unknown(why),
            Self::Once(_) => Reading::Unknown(Why::FirstLook),
            Self::Counted { first, last } => Reading::Known(Millijoules(last - first)),
            Self::Restarted => Reading::Unknown(Why::DriverGone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AWAY: Reading<Millijoules> = Reading::Unknown(Why::TimedOut);

    fn told(readings: &[Reading<Millijoules>]) -> Reading<Millijoules> {
        let mut energy = Energy::default();
        readings.iter().for_each(|reading| energy.see(*reading));
        energy.tell()
    }

    const fn at(millijoules: u64) -> Reading<Millijoules> {
        Reading::Known(Millijoules(millijoules))
    }

    #[test]
    fn it_is_the_last_reading_less_the_first() {
        assert_eq!(told(&[at(100), at(130), at(170)]), at(70));
        assert_eq!(told(&[AWAY, at(100), AWAY, at(170), AWAY]), at(70));
        assert_eq!(told(&[at(100), at(100)]), at(0));
    }

    #[test]
    fn a_counter_that_was_not_read_twice_tells_nothing() {
        assert_eq!(told(&[]), Reading::Unknown(Why::NotAsked));
        assert_eq!(told(&[AWAY, AWAY]), AWAY);
        assert_eq!(told(&[AWAY, at(100)]), Reading::Unknown(Why::FirstLook));
    }

    /// Trap: a driver that is loaded anew counts from zero.
    #[test]
    fn a_counter_that_went_backwards_tells_nothing() {
        assert_eq!(told(&[at(100), at(5), at(900)]), Reading::Unknown(Why::DriverGone));
    }
}
