//! From the wall clock to a [`Moment`]: as it runs, or from an origin at a speed.

use crate::model::Time;
use crate::moment::Moment;

/// Turns wall-clock readings, which come in as values, into moments of a scenario.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    /// The wall clock when the scenario began to play, µs since the Unix epoch.
    started: i64,
    /// What the pretend clock shows at `t = 0`, µs since the Unix epoch.
    origin: i64,
    speed: f64,
}

impl Clock {
    /// A clock for a scenario that began to play when the wall clock showed `started`.
    #[must_use]
    pub fn new(time: &Time, started_unix_micros: i64) -> Self {
        Self {
            started: started_unix_micros,
            origin: time.origin_unix_micros.unwrap_or(started_unix_micros),
            speed: time.speed,
        }
    }

    /// The moment at which the wall clock shows `unix_micros`.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a float only where the speed is not 1; saturates"
    )]
    pub fn moment(&self, unix_micros: i64) -> Moment {
        let elapsed = unix_micros.saturating_sub(self.started);
        if (self.speed - 1.0).abs() < f64::EPSILON {
            return Moment::from_micros(elapsed);
        }
        Moment::from_micros((elapsed as f64 * self.speed) as i64)
    }

    /// What the pretend clock shows at a moment, µs since the Unix epoch.
    #[must_use]
    pub fn unix_micros(&self, at: Moment) -> i64 {
        self.origin.saturating_add(at.as_micros())
    }

    /// The moment at which the pretend clock shows `unix_micros`.
    #[must_use]
    pub fn moment_of_pretend(&self, unix_micros: i64) -> Moment {
        Moment::from_micros(unix_micros.saturating_sub(self.origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Stamps;

    fn clock(origin_unix_micros: Option<i64>, speed: f64) -> Clock {
        let stamps = Stamps::Unix;
        let time = Time { origin_unix_micros, speed, stamp_offset_micros: 0, stamps };
        Clock::new(&time, 5_000_000)
    }

    #[test]
    fn without_an_origin_the_wall_clock_runs_as_it_is() {
        let clock = clock(None, 1.0);
        let at = clock.moment(7_000_000);
        assert_eq!(at, Moment::from_secs(2));
        assert_eq!(clock.unix_micros(at), 7_000_000);
    }

    #[test]
    fn with_origin_and_speed_a_second_is_a_minute_there() {
        let clock = clock(Some(0), 60.0);
        let at = clock.moment(6_000_000);
        assert_eq!(at, Moment::from_secs(60));
        assert_eq!(clock.unix_micros(at), 60_000_000);
        assert_eq!(clock.moment_of_pretend(60_000_000), at);
    }
}
