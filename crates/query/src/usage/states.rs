//! Card time by state, and how figures are written: hours and shares.

use gua_store::CardTimes;
use serde::Serialize;

use super::sums::CardTotals;

/// Card time in each state.
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

/// State of a card over time, whatever the reason of unknown time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TotalState {
    Active,
    IdleHeld,
    TrulyIdle,
    Unknown,
}

impl States {
    #[must_use]
    pub fn new(times: &CardTimes<f64>) -> Self {
        let all = times.observed_ms();
        let amount = |millis| Amount { gpu_hours: hours(millis), share: share(millis, all) };
        Self {
            active: amount(times.active_ms),
            idle_held: amount(times.idle_held_ms),
            truly_idle: amount(times.free_ms),
            unknown: amount(times.unknown_ms),
        }
    }

    /// Returns the four in the order in which they are shown.
    #[must_use]
    pub const fn all(&self) -> [(TotalState, Amount); 4] {
        [
            (TotalState::Active, self.active),
            (TotalState::IdleHeld, self.idle_held),
            (TotalState::TrulyIdle, self.truly_idle),
            (TotalState::Unknown, self.unknown),
        ]
    }

    /// Returns the observed card time.
    #[must_use]
    pub fn gpu_hours(&self) -> f64 {
        self.all().iter().map(|(_, amount)| amount.gpu_hours).sum()
    }
}

impl TotalState {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::IdleHeld => "idle-held",
            Self::TrulyIdle => "truly-idle",
            Self::Unknown => "unknown",
        }
    }

    /// Returns a stable word, for other programs.
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

/// Energy in kilowatt-hours, as far as it is known; null if nothing of it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Energy {
    /// Of all states; of an account, active and idle-held.
    pub energy_kwh: Option<f64>,
    pub active_energy_kwh: Option<f64>,
    pub idle_held_energy_kwh: Option<f64>,
    /// Time whose energy is not known and not in the figures.
    pub energy_unknown_gpu_hours: f64,
}

/// Energy of cards by state. That of time that is neither active nor idle-held belongs to no account.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CardEnergy {
    #[serde(flatten)]
    pub total: Energy,
    pub truly_idle_energy_kwh: Option<f64>,
    /// Of time in which the state is unknown.
    pub unknown_state_energy_kwh: Option<f64>,
    /// Time whose energy is power × time, as the card has no energy counter.
    pub energy_estimated_gpu_hours: f64,
    /// True if it is the part of a GPU by slices: the driver has no energy of MIG instances.
    pub energy_divided: bool,
}

/// Known time below which energy counts as never known: that is rounding.
const LEAST_KNOWN_MS: f64 = 0.5;

impl Energy {
    /// Returns the energy of active and idle-held time, each with its joules and milliseconds. `unknown_ms`
    /// of both together are without a reading.
    pub(super) fn new(active: [f64; 2], idle_held: [f64; 2], unknown_ms: f64) -> Self {
        let both = [active[0] + idle_held[0], active[1] + idle_held[1]];
        let [energy_kwh, active_energy_kwh, idle_held_energy_kwh] =
            [both, active, idle_held].map(|of| known_kwh(of, unknown_ms));
        let energy_unknown_gpu_hours = hours(unknown_ms);
        Self { energy_kwh, active_energy_kwh, idle_held_energy_kwh, energy_unknown_gpu_hours }
    }
}

impl CardEnergy {
    pub(super) fn new<'a>(cards: impl Iterator<Item = &'a CardTotals>) -> Self {
        let (mut times, mut unknown_j, mut is_divided) = (CardTimes::default(), 0.0, false);
        for card in cards {
            times.add_sums(&card.times);
            unknown_j += card.unknown_j;
            is_divided |= card.is_part();
        }
        let CardTimes { active_j, idle_held_j, other_j, energy_unknown_ms, .. } = times;
        let known = |joules, time_ms| known_kwh([joules, time_ms], energy_unknown_ms);
        let (active, idle_held) = ([active_j, times.active_ms], [idle_held_j, times.idle_held_ms]);
        let total = Energy::new(active, idle_held, energy_unknown_ms);
        let energy_kwh = known(active_j + idle_held_j + other_j, times.observed_ms());
        Self {
            total: Energy { energy_kwh, ..total },
            truly_idle_energy_kwh: known(other_j - unknown_j, times.free_ms),
            unknown_state_energy_kwh: known(unknown_j, times.unknown_ms),
            energy_estimated_gpu_hours: hours(times.energy_estimated_ms),
            energy_divided: is_divided && energy_kwh.is_some(),
        }
    }
}

/// Returns the energy of a time, given its joules and milliseconds; `None` if all of the time may be among
/// the `unknown_ms` without a reading.
fn known_kwh([joules, time_ms]: [f64; 2], unknown_ms: f64) -> Option<f64> {
    let is_none = time_ms <= LEAST_KNOWN_MS || unknown_ms <= 0.0;
    let is_known = joules > 0.0 || is_none || time_ms - unknown_ms > LEAST_KNOWN_MS;
    is_known.then(|| kwh(joules))
}

/// Returns joules as kilowatt-hours, to the billionth, so that columns still add up.
fn kwh(joules: f64) -> f64 {
    (joules / 3.6e6 * 1e9).round() / 1e9
}

/// Returns milliseconds as hours, to the billionth: that is finer than a millisecond, so that columns
/// still add up.
pub(super) fn hours(millis: f64) -> f64 {
    (millis / 3_600_000.0 * 1e9).round() / 1e9
}

/// Returns milliseconds as seconds, to the millisecond.
pub(crate) fn seconds(millis: f64) -> f64 {
    millis.round() / 1000.0
}

/// Returns a part of a whole; `None` if there is no whole.
pub(super) fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| rounded(part / whole))
}

/// Rounds to six decimals: more would only show how numbers are kept.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// Returns whole milliseconds as a number that can be divided.
#[expect(clippy::cast_precision_loss, reason = "centuries in milliseconds fit 53 bits")]
pub(super) const fn float(millis: i64) -> f64 {
    millis as f64
}
