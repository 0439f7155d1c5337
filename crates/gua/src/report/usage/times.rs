//! Time by state, in milliseconds until the end and in hours then.

use serde::Serialize;

use crate::classify::State;

/// Card time in each state, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::report) struct Times {
    pub active: i64,
    pub idle_held: i64,
    pub truly_idle: i64,
    pub unknown: i64,
}

impl Times {
    pub fn add(&mut self, state: State, millis: i64) {
        let time = match state {
            State::Active => &mut self.active,
            State::IdleHeld => &mut self.idle_held,
            State::TrulyIdle => &mut self.truly_idle,
            State::Unknown(_) => &mut self.unknown,
        };
        *time = time.saturating_add(millis);
    }

    pub fn all(&self) -> i64 {
        let times = [self.active, self.idle_held, self.truly_idle, self.unknown];
        times.into_iter().fold(0, i64::saturating_add)
    }
}

impl std::iter::Sum for Times {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::default(), |sum, times| Self {
            active: sum.active.saturating_add(times.active),
            idle_held: sum.idle_held.saturating_add(times.idle_held),
            truly_idle: sum.truly_idle.saturating_add(times.truly_idle),
            unknown: sum.unknown.saturating_add(times.unknown),
        })
    }
}

/// Hours and shares by state.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct States {
    pub active: Amount,
    pub idle_held: Amount,
    pub truly_idle: Amount,
    /// Could not be read.
    pub unknown: Amount,
}

/// Time in one state, and its share of all card time; no share of nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Amount {
    pub gpu_hours: f64,
    pub share: Option<f64>,
}

impl From<Times> for States {
    fn from(times: Times) -> Self {
        let amount =
            |millis| Amount { gpu_hours: hours(millis), share: share(millis, times.all()) };
        Self {
            active: amount(times.active),
            idle_held: amount(times.idle_held),
            truly_idle: amount(times.truly_idle),
            unknown: amount(times.unknown),
        }
    }
}

impl States {
    /// The four with the words and the slugs for them, in the order in which they are shown.
    #[must_use]
    pub const fn all(&self) -> [(Shown, Amount); 4] {
        [
            (Shown::Active, self.active),
            (Shown::IdleHeld, self.idle_held),
            (Shown::TrulyIdle, self.truly_idle),
            (Shown::Unknown, self.unknown),
        ]
    }

    #[must_use]
    pub fn gpu_hours(&self) -> f64 {
        self.all().iter().map(|(_, amount)| amount.gpu_hours).sum()
    }
}

/// A state over a time, whatever the reason where it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    Active,
    IdleHeld,
    TrulyIdle,
    Unknown,
}

impl Shown {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::IdleHeld => "idle-held",
            Self::TrulyIdle => "truly-idle",
            Self::Unknown => "unknown",
        }
    }

    /// A stable word for machine-readable output.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::IdleHeld => "idle_held",
            Self::TrulyIdle => "truly_idle",
            Self::Unknown => "unknown",
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "centuries in ms fit 53 bits")]
pub(super) const fn float(millis: i64) -> f64 {
    millis as f64
}

/// Milliseconds as hours, to the billionth: a millisecond more or less is seen in it, so that
/// what adds up still does.
pub(in crate::report) fn hours(millis: i64) -> f64 {
    (float(millis) / 3_600_000.0 * 1e9).round() / 1e9
}

pub(in crate::report) const fn seconds(millis: i64) -> f64 {
    float(millis) / 1000.0
}

/// What part of the whole it is; `None` where there is no whole.
pub(in crate::report) fn share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| rounded(float(part) / float(whole)))
}

/// To six decimals: more would only show how numbers are kept.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
