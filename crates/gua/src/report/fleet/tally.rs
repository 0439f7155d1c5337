//! What the counters add up to.

use std::collections::{BTreeMap, HashMap};

use super::counter::CounterId;
use super::questions::NAME;
use super::target::own;
use crate::classify::State;
use crate::engine::Series;
use crate::metrics::STATES;
use crate::report::usage::times::Times;

/// What a counter counts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// A card's time in a state.
    Card {
        uuid: String,
        state: usize,
    },
    /// Somebody's share of cards in a state.
    Share {
        user: String,
        state: usize,
    },
    /// Somebody's time on cards, shared or not.
    Present {
        user: String,
        state: usize,
    },
    Observed,
}

/// Sums by counter, so that what is told twice of a host can be left out once.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counters: HashMap<CounterId, Sums>,
}

#[derive(Debug, Default)]
pub(super) struct Sums {
    pub cards: BTreeMap<String, Times>,
    pub shares: BTreeMap<String, Times>,
    pub present: BTreeMap<String, Times>,
    pub observed_millis: i64,
}

impl Sums {
    /// Of one host, seen at another time.
    pub fn add(&mut self, other: &Self) {
        let add = |to: &mut BTreeMap<String, Times>, from: &BTreeMap<String, Times>| {
            for (key, times) in from {
                let sum = to.entry(key.clone()).or_default();
                *sum = [*sum, *times].into_iter().sum();
            }
        };
        add(&mut self.cards, &other.cards);
        add(&mut self.shares, &other.shares);
        add(&mut self.present, &other.present);
        self.observed_millis += other.observed_millis;
    }
}

impl What {
    pub fn of(series: &Series) -> Option<Self> {
        let state = || STATES.iter().position(|word| *word == own(series, "state"));
        let user = || own(series, "user").to_owned();
        match name(series) {
            "gua_gpu_state_seconds_total" => {
                Some(Self::Card { uuid: own(series, "UUID").to_owned(), state: state()? })
            }
            "gua_user_gpu_seconds_total" => Some(Self::Share { user: user(), state: state()? }),
            "gua_user_gpu_present_seconds_total" => {
                Some(Self::Present { user: user(), state: state()? })
            }
            "gua_observed_seconds_total" => Some(Self::Observed),
            _ => None,
        }
    }
}

/// The name of a series, which some questions make a label.
pub(super) fn name(series: &Series) -> &str {
    match series.label("__name__") {
        "" => series.label(NAME),
        name => name,
    }
}

impl Tally {
    pub fn add(&mut self, counter: CounterId, what: What, seconds: f64) {
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds of centuries")]
        let millis = (seconds * 1000.0).round() as i64;
        let sums = self.counters.entry(counter).or_default();
        match what {
            What::Card { uuid, state } => {
                sums.cards.entry(uuid).or_default().add(of_place(state), millis);
            }
            What::Share { user, state } => {
                sums.shares.entry(user).or_default().add(of_place(state), millis);
            }
            What::Present { user, state } => {
                sums.present.entry(user).or_default().add(of_place(state), millis);
            }
            What::Observed => sums.observed_millis += millis,
        }
    }

    /// Begins anew with a counter.
    pub fn forget(&mut self, counter: CounterId) {
        self.counters.remove(&counter);
    }

    pub fn get(&self, counter: CounterId) -> Option<&Sums> {
        self.counters.get(&counter)
    }
}

/// The state that is counted at a place.
fn of_place(place: usize) -> State {
    match place {
        0 => State::Active,
        1 => State::IdleHeld,
        2 => State::TrulyIdle,
        _ => State::Unknown(probe::Why::NotTold),
    }
}
