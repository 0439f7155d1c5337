//! What idle time costs, and what it would cost in a month.

use std::collections::BTreeMap;

use serde::Serialize;

use super::request::Prices;
use super::states::{Energy, float, hours, rounded};
use super::sums::{CardTotals, card_times};

/// Length that a month is taken for, in milliseconds.
const MONTH_MS: i64 = 30 * 86_400_000;

/// Observed time below which there is no cost a month.
const LEAST_PACE_MS: i64 = 3_600_000;

/// Idle time in money.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Money {
    pub currency: String,
    pub idle_held: Cost,
    pub truly_idle: Cost,
    /// Prices by the models of the cards.
    pub prices: Vec<Price>,
    pub cost_per_kwh: Option<f64>,
    /// Cost of the energy that is known; null without a price of energy.
    pub active_energy_cost: Option<f64>,
    pub idle_held_energy_cost: Option<f64>,
    /// Length that a month is taken for.
    pub month_seconds: f64,
    /// Observed time that the pace is of. Costs a month are null if it is less than an hour.
    pub rests_on_seconds: f64,
}

/// An amount of money, without the cards that have no price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// Null if none of its cards has a price.
    pub cost: Option<f64>,
    /// Cost at the pace of the window.
    pub cost_per_month: Option<f64>,
    /// Time that is not in the cost, as its cards have no price.
    pub unpriced_gpu_hours: f64,
}

/// Price of a GPU-hour on the cards of one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Price {
    /// Null if it was never read.
    pub model: Option<String>,
    pub cards: usize,
    pub cost_per_gpu_hour: Option<f64>,
}

/// Prices of the cards of a report.
#[derive(Debug, Clone)]
pub(super) struct Pricing<'a> {
    prices: &'a Prices,
    cards: &'a [CardTotals],
    /// Prices by the place of the card.
    by_card: Vec<Option<f64>>,
}

impl<'a> Pricing<'a> {
    pub fn new(prices: &'a Prices, cards: &'a [CardTotals]) -> Self {
        let by_card = cards.iter().map(|card| prices.gpu_hour_on(card.name.as_deref())).collect();
        Self { prices, cards, by_card }
    }

    /// Returns the cost of times on cards, in milliseconds by the place of the card.
    pub fn cost(&self, times: impl Iterator<Item = (usize, f64)>) -> Cost {
        let (mut cost, mut is_priced, mut unpriced) = (0.0, false, 0.0);
        for (card, millis) in times.filter(|(_, millis)| *millis > 0.0) {
            match self.by_card.get(card).copied().flatten() {
                Some(price) => {
                    cost += price * millis / 3_600_000.0;
                    is_priced = true;
                }
                None => unpriced += millis,
            }
        }
        // No time costs nothing wherever there are prices.
        let is_known = is_priced || (unpriced <= 0.0 && self.has_prices());
        Cost {
            cost: is_known.then(|| rounded(cost)),
            cost_per_month: None,
            unpriced_gpu_hours: hours(unpriced),
        }
    }

    /// Returns what the idle time of all cards costs; `None` if nothing has a price.
    pub fn money(&self, recorded_ms: i64) -> Option<Money> {
        if !self.has_prices() && self.prices.kwh.is_none() {
            return None;
        }
        let cost = |millis: fn(&CardTotals) -> f64| {
            let cost = self.cost(self.cards.iter().map(millis).enumerate());
            Cost { cost_per_month: per_month(cost.cost, recorded_ms), ..cost }
        };
        let energy = Energy::from_cards(&card_times(self.cards));
        let energy_cost =
            |kwh: Option<f64>| kwh.zip(self.prices.kwh).map(|(kwh, price)| rounded(kwh * price));
        Some(Money {
            currency: self.prices.currency.clone(),
            idle_held: cost(|card| card.times.idle_held_ms),
            truly_idle: cost(|card| card.times.free_ms),
            prices: self.by_model(),
            cost_per_kwh: self.prices.kwh,
            active_energy_cost: energy_cost(energy.active_energy_kwh),
            idle_held_energy_cost: energy_cost(energy.idle_held_energy_kwh),
            month_seconds: float(MONTH_MS) / 1000.0,
            rests_on_seconds: float(recorded_ms) / 1000.0,
        })
    }

    fn has_prices(&self) -> bool {
        self.by_card.iter().any(Option::is_some)
    }

    fn by_model(&self) -> Vec<Price> {
        let mut models: BTreeMap<Option<&str>, Price> = BTreeMap::new();
        for (card, cost_per_gpu_hour) in self.cards.iter().zip(&self.by_card) {
            let model = card.name.clone();
            let price = || Price { model, cards: 0, cost_per_gpu_hour: *cost_per_gpu_hour };
            models.entry(card.name.as_deref()).or_insert_with(price).cards += 1;
        }
        models.into_values().collect()
    }
}

fn per_month(cost: Option<f64>, recorded_ms: i64) -> Option<f64> {
    let pace = (recorded_ms >= LEAST_PACE_MS).then(|| float(MONTH_MS) / float(recorded_ms))?;
    cost.map(|cost| rounded(cost * pace))
}
