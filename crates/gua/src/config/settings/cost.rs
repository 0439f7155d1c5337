//! `[cost]`: what a GPU-hour costs, by the model of the card, and what energy costs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::origin::Setting;
use super::section::{self, Visit};
use super::value::{Currency, EnergyPrice, Price};

/// What a GPU-hour and energy cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    pub currency: String,
    /// Of a card of any other model; nothing is known where nobody said.
    pub price: Option<f64>,
    /// By parts of models' names in small letters, the longest first.
    pub models: Vec<(String, f64)>,
    /// Price of a kilowatt-hour.
    pub per_kwh: Option<f64>,
}

impl Default for Cost {
    fn default() -> Self {
        Self { currency: "EUR".to_owned(), price: None, models: Vec::new(), per_kwh: None }
    }
}

impl Cost {
    /// Of a card of this model: the longest name that is a part of it counts, in large or in
    /// small letters. `None` where nobody said.
    #[must_use]
    pub fn price_of(&self, model: &str) -> Option<f64> {
        let model = model.to_lowercase();
        let of_model = self.models.iter().find(|(part, _)| model.contains(part));
        of_model.map(|(_, price)| *price).or(self.price)
    }
}

/// Prices by parts of models' names: in small letters, and as they were typed.
pub(super) type Models = BTreeMap<String, (String, Setting<Price>)>;

#[derive(Debug, Clone)]
pub(super) struct Section {
    price: Setting<Option<Price>>,
    currency: Setting<Currency>,
    models: Models,
    per_kwh: Setting<Option<EnergyPrice>>,
}

impl Section {
    pub fn usual() -> Self {
        let Cost { currency, price, models: _, per_kwh } = Cost::default();
        Self {
            price: Setting::usual(price.map(Price)),
            currency: Setting::usual(Currency(currency)),
            models: Models::new(),
            per_kwh: Setting::usual(per_kwh.map(EnergyPrice)),
        }
    }

    pub fn settled(&self) -> Cost {
        let price =
            |(part, (_, price)): (&String, &(_, Setting<Price>))| (part.clone(), price.value.0);
        let mut models: Vec<_> = self.models.iter().map(price).collect();
        models.sort_by_key(|(part, _)| Reverse(part.chars().count()));
        Cost {
            currency: self.currency.value.0.clone(),
            price: self.price.value.map(|price| price.0),
            models,
            per_kwh: self.per_kwh.value.map(|price| price.0),
        }
    }
}

impl section::Section for Section {
    fn name(&self) -> &'static str {
        "cost"
    }

    fn visit(&mut self, keys: &mut dyn Visit) {
        keys.key("price", &mut self.price);
        keys.key("currency", &mut self.currency);
        keys.key("per_kwh", &mut self.per_kwh);
        keys.prices("models", &mut self.models);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_that_is_part_of_the_model_counts() {
        let models = [("a100-sxm4-80gb", 4.0), ("h100", 6.0), ("a100", 3.2)];
        let models = models.map(|(part, price)| (part.to_owned(), price)).to_vec();
        let cost = Cost { price: Some(2.5), models, ..Cost::default() };
        assert_eq!(cost.price_of("NVIDIA A100-SXM4-80GB"), Some(4.0));
        assert_eq!(cost.price_of("NVIDIA A100-PCIE-40GB"), Some(3.2));
        assert_eq!(cost.price_of("Tesla V100"), Some(2.5));
        assert_eq!(Cost::default().price_of("Tesla V100"), None);
    }
}
