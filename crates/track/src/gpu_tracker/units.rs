//! What figures are told in. Units are decimal: a gigabyte is 1 000 000 000 bytes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use probe::units::Bytes;

/// What each kind of figure is told in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    pub ram: RamUnit,
    pub gpu_ram: RamUnit,
    pub time: TimeUnit,
}

impl Default for Units {
    fn default() -> Self {
        Self { ram: RamUnit::Gigabytes, gpu_ram: RamUnit::Gigabytes, time: TimeUnit::Hours }
    }
}

impl Units {
    /// Bytes and seconds.
    pub const PLAIN: Self =
        Self { ram: RamUnit::Bytes, gpu_ram: RamUnit::Bytes, time: TimeUnit::Seconds };
}

/// What memory is told in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RamUnit {
    Bytes,
    Kilobytes,
    Megabytes,
    Gigabytes,
    Terabytes,
}

/// What time is told in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    Seconds,
    Minutes,
    Hours,
    Days,
}

/// There is no such unit. The sentence that users see names the kind of unit first, which
/// only they who asked know: see [`NoSuchUnit::sentence`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{typed}\" is not a valid unit. Valid values are {valid}")]
pub struct NoSuchUnit {
    pub typed: String,
    /// In alphabetical order.
    pub valid: &'static str,
}

impl NoSuchUnit {
    /// For a kind of unit: `RAM`, `GPU RAM` or `time`.
    #[must_use]
    pub fn sentence(&self, kind: &str) -> String {
        let Self { typed, valid } = self;
        format!("\"{typed}\" is not a valid {kind} unit. Valid values are {valid}")
    }
}

impl RamUnit {
    const ALL: [Self; 5] =
        [Self::Bytes, Self::Kilobytes, Self::Megabytes, Self::Gigabytes, Self::Terabytes];
    const VALID: &str = "bytes, gigabytes, kilobytes, megabytes, terabytes";

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Kilobytes => "kilobytes",
            Self::Megabytes => "megabytes",
            Self::Gigabytes => "gigabytes",
            Self::Terabytes => "terabytes",
        }
    }

    /// Divided, not multiplied by a fraction: so whole thousands stay whole.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "exact to 2^53 bytes, which are 9 petabytes")]
    pub fn of(self, bytes: Bytes) -> f64 {
        bytes.0 as f64 / self.bytes()
    }

    const fn bytes(self) -> f64 {
        match self {
            Self::Bytes => 1.0,
            Self::Kilobytes => 1e3,
            Self::Megabytes => 1e6,
            Self::Gigabytes => 1e9,
            Self::Terabytes => 1e12,
        }
    }
}

impl TimeUnit {
    const ALL: [Self; 4] = [Self::Seconds, Self::Minutes, Self::Hours, Self::Days];
    const VALID: &str = "days, hours, minutes, seconds";

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Minutes => "minutes",
            Self::Hours => "hours",
            Self::Days => "days",
        }
    }

    #[must_use]
    pub fn of(self, time: Duration) -> f64 {
        let seconds = match self {
            Self::Seconds => 1.0,
            Self::Minutes => 60.0,
            Self::Hours => 3600.0,
            Self::Days => 86400.0,
        };
        time.as_secs_f64() / seconds
    }
}

impl FromStr for RamUnit {
    type Err = NoSuchUnit;

    fn from_str(typed: &str) -> Result<Self, NoSuchUnit> {
        let found = Self::ALL.into_iter().find(|unit| unit.name() == typed);
        found.ok_or_else(|| NoSuchUnit { typed: typed.to_owned(), valid: Self::VALID })
    }
}

impl FromStr for TimeUnit {
    type Err = NoSuchUnit;

    fn from_str(typed: &str) -> Result<Self, NoSuchUnit> {
        let found = Self::ALL.into_iter().find(|unit| unit.name() == typed);
        found.ok_or_else(|| NoSuchUnit { typed: typed.to_owned(), valid: Self::VALID })
    }
}

impl fmt::Display for RamUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_reads_its_own_name() {
        for unit in RamUnit::ALL {
            assert_eq!(unit.name().parse(), Ok(unit));
        }
        for unit in TimeUnit::ALL {
            assert_eq!(unit.name().parse(), Ok(unit));
        }
    }

    #[test]
    fn another_unit_is_refused_in_gpu_trackers_words() {
        let refused = "mb".parse::<RamUnit>().unwrap_err();
        assert_eq!(
            refused.sentence("RAM"),
            "\"mb\" is not a valid RAM unit. Valid values are bytes, gigabytes, kilobytes, \
             megabytes, terabytes"
        );
        let refused = "milliseconds".parse::<TimeUnit>().unwrap_err();
        assert_eq!(
            refused.sentence("time"),
            "\"milliseconds\" is not a valid time unit. Valid values are days, hours, minutes, \
             seconds"
        );
    }

    #[test]
    fn units_are_decimal() {
        assert_eq!(RamUnit::Gigabytes.of(Bytes(63_088_230_400)).to_string(), "63.0882304");
        assert_eq!(RamUnit::Megabytes.of(Bytes(890_703_872)).to_string(), "890.703872");
        assert_eq!(RamUnit::Bytes.of(Bytes(7)).to_string(), "7");
        assert_eq!(TimeUnit::Hours.of(Duration::from_secs(1800)).to_string(), "0.5");
        assert_eq!(TimeUnit::Days.of(Duration::from_secs(86400)).to_string(), "1");
    }
}
