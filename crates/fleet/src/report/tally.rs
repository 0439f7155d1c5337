//! Sums of what counters rose by.

use std::collections::{BTreeMap, HashMap};

use gua_store::{CardTimes, HolderTimes};

use super::epoch::EpochId;
use crate::engine::Series;
use crate::family::{self, Counter, Family, Unit};
use crate::target::{own_label, series_name};

/// Families that a report is made from.
pub(super) static REPORT_FAMILIES: [&Family; 9] = [
    &family::GPU_STATE_SECONDS,
    &family::GPU_STATE_ENERGY,
    &family::GPU_ENERGY_SECONDS,
    &family::OBSERVED_SECONDS,
    &family::USER_SECONDS,
    &family::USER_IDLE_HELD_SECONDS,
    &family::USER_ENERGY,
    &family::USER_ENERGY_UNKNOWN,
    &family::USER_PRESENT_SECONDS,
];

/// What a series counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counted {
    pub counter: Counter,
    /// UUID; empty for counters of the host.
    pub card: String,
    /// Empty for counters of a card.
    pub user: String,
}

/// Sums by epoch.
#[derive(Debug, Default)]
pub(super) struct Tally(HashMap<EpochId, HostTally>);

/// Sums of one host.
#[derive(Debug, Default)]
pub(super) struct HostTally {
    pub observed_ms: f64,
    /// By UUID.
    pub cards: BTreeMap<String, CardTally>,
}

/// Sums of one card.
#[derive(Debug, Default)]
pub(super) struct CardTally {
    pub times: CardTimes<f64>,
    /// Part of `times.other_j` of unknown time.
    pub unknown_j: f64,
    /// Shares of users. Their times of presence are in the place of those of processes: several processes
    /// of one user count once.
    pub users: BTreeMap<String, HolderTimes<f64>>,
}

impl Counted {
    /// Returns what a series counts; `None` if the report does not need it.
    pub fn from_series(series: &Series) -> Option<Self> {
        let name = series_name(series);
        let family = REPORT_FAMILIES.into_iter().find(|family| family.name == name)?;
        let is_counter = |counter: &Counter| {
            let has_label = |(label, value): (&str, &str)| own_label(series, label) == value;
            counter.family() == Some(family) && counter.label().is_none_or(has_label)
        };
        let counter = Counter::ALL.iter().copied().find(is_counter)?;
        let own = |label| own_label(series, label).to_owned();
        Some(Self { counter, card: own("UUID"), user: own("user") })
    }

    /// Returns whether the card was active; `None` unless it counts time of a card.
    pub fn card_activity(&self) -> Option<bool> {
        match self.counter {
            Counter::StateActive => Some(true),
            Counter::StateIdleHeld | Counter::StateFree | Counter::StateUnknown => Some(false),
            _ => None,
        }
    }
}

impl Tally {
    /// Adds what a counter rose by, as it is exported.
    pub fn add(&mut self, epoch: EpochId, counted: Counted, rise: f64) {
        let amount = match counted.counter.unit() {
            Unit::Milliseconds => rise * 1000.0,
            _ => rise,
        };
        self.0.entry(epoch).or_default().add(counted, amount);
    }

    pub fn remove(&mut self, epoch: EpochId) {
        self.0.remove(&epoch);
    }

    pub fn get(&self, epoch: EpochId) -> Option<&HostTally> {
        self.0.get(&epoch)
    }
}

impl HostTally {
    fn add(&mut self, counted: Counted, amount: f64) {
        let Counted { counter, card, user } = counted;
        if counter == Counter::Observed {
            self.observed_ms += amount;
            return;
        }
        let card = self.cards.entry(card).or_default();
        if counter == Counter::EnergyUnknownState {
            card.unknown_j += amount;
        }
        if let Some(sum) = card_sum(&mut card.times, counter) {
            *sum += amount;
        } else if let Some(sum) = user_sum(card.users.entry(user).or_default(), counter) {
            *sum += amount;
        }
    }

    /// Adds sums of another time of the host.
    pub fn add_sums(&mut self, other: &Self) {
        self.observed_ms += other.observed_ms;
        for (uuid, card) in &other.cards {
            let sums = self.cards.entry(uuid.clone()).or_default();
            sums.times.add_sums(&card.times);
            sums.unknown_j += card.unknown_j;
            for (user, times) in &card.users {
                sums.users.entry(user.clone()).or_default().add_sums(times);
            }
        }
    }
}

fn card_sum(times: &mut CardTimes<f64>, counter: Counter) -> Option<&mut f64> {
    Some(match counter {
        Counter::StateActive => &mut times.active_ms,
        Counter::StateIdleHeld => &mut times.idle_held_ms,
        Counter::StateFree => &mut times.free_ms,
        Counter::StateUnknown => &mut times.unknown_ms,
        Counter::EnergyActive => &mut times.active_j,
        Counter::EnergyIdleHeld => &mut times.idle_held_j,
        Counter::EnergyFree | Counter::EnergyUnknownState => &mut times.other_j,
        Counter::EnergyEstimated => &mut times.energy_estimated_ms,
        Counter::EnergyUnknown => &mut times.energy_unknown_ms,
        _ => return None,
    })
}

/// Returns where a counter of a user is added. Idle-held time is that of both uses.
fn user_sum(times: &mut HolderTimes<f64>, counter: Counter) -> Option<&mut f64> {
    Some(match counter {
        Counter::UserActive => &mut times.active_share_ms,
        Counter::UserUnknown => &mut times.unknown_share_ms,
        Counter::UserUnused => &mut times.unused_share_ms,
        Counter::UserLowUse => &mut times.low_use_share_ms,
        Counter::UserEnergyActive => &mut times.active_j,
        Counter::UserEnergyIdleHeld => &mut times.idle_held_j,
        Counter::UserEnergyUnknown => &mut times.energy_unknown_ms,
        Counter::PresentActive => &mut times.working_ms,
        Counter::PresentIdleHeld | Counter::PresentFree => &mut times.idle_ms,
        Counter::PresentUnknown => &mut times.unknown_ms,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Points, SeriesLabels};

    fn counted(name: &str, labels: &[(&str, &str)]) -> Option<Counted> {
        let all = labels.iter().copied().chain([("__name__", name)]);
        let all = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Counted::from_series(&Series {
            metric: SeriesLabels(all.collect()),
            values: Points::default(),
        })
    }

    #[test]
    fn series_is_the_counter_that_it_is_exported_as() {
        let card = [("UUID", "GPU-1"), ("state", "idle_held")];
        let found = counted("gua_gpu_state_energy_joules_total", &card).unwrap();
        assert_eq!((found.counter, found.card.as_str()), (Counter::EnergyIdleHeld, "GPU-1"));
        let user = [("UUID", "GPU-1"), ("user", "ann"), ("use", "low_use")];
        let found = counted("gua_user_gpu_idle_held_seconds_total", &user).unwrap();
        assert_eq!((found.counter, found.user.as_str()), (Counter::UserLowUse, "ann"));
        assert_eq!(counted("gua_gpu_idle_held_seconds_total", &user), None);
        assert_eq!(counted("gua_gpu_state_seconds_total", &[("state", "new")]), None);
    }

    #[test]
    fn idle_held_time_of_a_user_counts_once() {
        let mut tally = Tally::default();
        let epoch = EpochId::default();
        for (name, label, value, seconds) in [
            ("gua_user_gpu_seconds_total", "state", "idle_held", 30.0),
            ("gua_user_gpu_idle_held_seconds_total", "use", "unused", 20.0),
            ("gua_user_gpu_idle_held_seconds_total", "use", "low_use", 10.0),
            ("gua_user_gpu_energy_joules_total", "state", "idle_held", 900.0),
        ] {
            let labels = [("UUID", "GPU-1"), ("user", "ann"), (label, value)];
            tally.add(epoch, counted(name, &labels).unwrap(), seconds);
        }
        let times = tally.get(epoch).unwrap().cards["GPU-1"].users["ann"];
        assert_eq!([times.unused_share_ms, times.low_use_share_ms], [20_000.0, 10_000.0]);
        assert_eq!(times.idle_held_j, 900.0);
    }
}
