//! Quantities with their unit in the type.

use jiff::Timestamp;

macro_rules! unit {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
        pub struct $name(pub $inner);
    )+};
}

unit! {
    /// 0 to 100, or above for what several cores or cards add up to.
    Percent(f64);
    Milliwatts(u32);
    Millijoules(u64);
    Celsius(u32);
    Megahertz(u32);
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl Bytes {
    #[must_use]
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib << 20)
    }

    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::ops::Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self(0), |sum, part| sum + part)
    }
}

/// Milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMillis(pub i64);

impl From<std::time::SystemTime> for UnixMillis {
    fn from(time: std::time::SystemTime) -> Self {
        let since = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A time that no calendar has becomes the first or the last one that it has.
impl From<UnixMillis> for Timestamp {
    fn from(time: UnixMillis) -> Self {
        let end = if time.0 < 0 { Self::MIN } else { Self::MAX };
        Self::from_millisecond(time.0).unwrap_or(end)
    }
}

impl From<Timestamp> for UnixMillis {
    fn from(time: Timestamp) -> Self {
        Self(time.as_millisecond())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trap: a time that no calendar has was shown as 1970.
    #[test]
    fn time_beyond_the_calendar_is_its_end() {
        let day = Timestamp::from(UnixMillis(86_400_000));
        assert_eq!(day.to_string(), "1970-01-02T00:00:00Z");
        assert_eq!(UnixMillis::from(day), UnixMillis(86_400_000));
        assert_eq!(Timestamp::from(UnixMillis(i64::MIN)), Timestamp::MIN);
        assert_eq!(Timestamp::from(UnixMillis(i64::MAX)), Timestamp::MAX);
    }
}
