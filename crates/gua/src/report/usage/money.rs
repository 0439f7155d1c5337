//! What idle time cost, and what it would cost in a month.

use std::collections::BTreeMap;

use serde::Serialize;

use super::times::{Times, float, hours, rounded};
use crate::config::Cost as Tariff;
use crate::store::CardRow;

/// What a month is taken for.
const MONTH_MILLIS: i64 = 30 * 86_400_000;
/// From less than this nobody can tell a pace.
const LEAST_PACE_MILLIS: i64 = 3_600_000;

/// Idle time in money.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Money {
    pub currency: String,
    pub idle_held: Cost,
    pub truly_idle: Cost,
    /// By the models of the cards.
    pub prices: Vec<Price>,
    /// How long a month is taken to be.
    pub month_seconds: f64,
    /// The observed time that the pace is of; months are null where it is less than an hour.
    pub rests_on_seconds: f64,
}

/// An amount of money. A card without a price is left out, and told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// Null where no card of it has a price.
    pub cost: Option<f64>,
    /// At the pace of the window.
    pub cost_per_month: Option<f64>,
    /// The time that is not in it, as the cards have no price.
    pub unpriced_gpu_hours: f64,
}

/// What a GPU-hour costs on the cards of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Price {
    /// Null where it was never read.
    pub model: Option<String>,
    pub cards: usize,
    /// Null where nobody said.
    pub cost_per_gpu_hour: Option<f64>,
}

/// The prices of the cards.
#[derive(Debug, Clone)]
pub(super) struct Prices<'a> {
    tariff: &'a Tariff,
    cards: BTreeMap<i64, (Option<&'a str>, Option<f64>)>,
}

impl<'a> Prices<'a> {
    pub fn new(tariff: &'a Tariff, cards: &'a [CardRow]) -> Self {
        let card = |card: &'a CardRow| {
            let model = card.name.as_deref();
            (card.id, (model, tariff.price_of(model.unwrap_or_default())))
        };
        Self { tariff, cards: cards.iter().map(card).collect() }
    }

    /// What time on cards cost, in milliseconds by card.
    pub fn cost(&self, times: impl Iterator<Item = (i64, i64)>) -> Cost {
        let (mut cost, mut priced, mut unpriced) = (0.0, false, 0);
        for (card, millis) in times.filter(|(_, millis)| *millis > 0) {
            match self.cards.get(&card).and_then(|(_, price)| *price) {
                Some(price) => {
                    cost += price * float(millis) / 3_600_000.0;
                    priced = true;
                }
                None => unpriced += millis,
            }
        }
        // Of no time at all the cost is known wherever there are prices.
        let is_known = priced || (unpriced == 0 && self.are_any());
        Cost {
            cost: is_known.then(|| rounded(cost)),
            cost_per_month: None,
            unpriced_gpu_hours: hours(unpriced),
        }
    }

    fn are_any(&self) -> bool {
        self.cards.values().any(|(_, price)| price.is_some())
    }

    /// What the idle time of all cards cost; `None` where no card has a price.
    pub fn money(&self, times: &BTreeMap<i64, Times>, observed_millis: i64) -> Option<Money> {
        let of = |millis: fn(&Times) -> i64| {
            let cost = self.cost(times.iter().map(|(card, times)| (*card, millis(times))));
            Cost { cost_per_month: per_month(cost.cost, observed_millis), ..cost }
        };
        let prices = self.by_model(times);
        prices.iter().any(|price| price.cost_per_gpu_hour.is_some()).then(|| Money {
            currency: self.tariff.currency.clone(),
            idle_held: of(|times| times.idle_held),
            truly_idle: of(|times| times.truly_idle),
            prices,
            month_seconds: float(MONTH_MILLIS) / 1000.0,
            rests_on_seconds: float(observed_millis) / 1000.0,
        })
    }

    /// Of the cards that were seen in the window.
    fn by_model(&self, times: &BTreeMap<i64, Times>) -> Vec<Price> {
        let mut models: BTreeMap<Option<&str>, Price> = BTreeMap::new();
        for (model, cost_per_gpu_hour) in times.keys().filter_map(|card| self.cards.get(card)) {
            let price = || Price {
                model: model.map(str::to_owned),
                cards: 0,
                cost_per_gpu_hour: *cost_per_gpu_hour,
            };
            models.entry(*model).or_insert_with(price).cards += 1;
        }
        models.into_values().collect()
    }
}

fn per_month(cost: Option<f64>, observed_millis: i64) -> Option<f64> {
    let is_enough = observed_millis >= LEAST_PACE_MILLIS;
    let pace = is_enough.then(|| float(MONTH_MILLIS) / float(observed_millis))?;
    cost.map(|cost| rounded(cost * pace))
}
