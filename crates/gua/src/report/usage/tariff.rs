//! What a GPU-hour costs, by the model of the card.

/// Prices, as they were settled.
#[derive(Debug, Clone, PartialEq)]
pub struct Tariff {
    pub currency: String,
    /// Of a card of any other model; nothing is known where nobody said.
    pub price: Option<f64>,
    /// By parts of models' names in small letters, the longest first.
    pub models: Vec<(String, f64)>,
}

impl Default for Tariff {
    fn default() -> Self {
        Self { currency: "EUR".to_owned(), price: None, models: Vec::new() }
    }
}

impl Tariff {
    /// Of a card of this model; `None` where nobody said.
    #[must_use]
    pub fn price_of(&self, model: &str) -> Option<f64> {
        let model = model.to_lowercase();
        let of_model = self.models.iter().find(|(part, _)| model.contains(part));
        of_model.map(|(_, price)| *price).or(self.price)
    }
}
