//! What is in force as a list: every key with its value and its origin.

use super::cost::Models;
use super::origin::{Origin, Setting};
use super::section::{Section, Slot, Visit};
use super::value::Price;

/// A section, or a table below one.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    /// `recorder`, `cost.models`.
    pub name: String,
    pub rows: Vec<Row>,
}

/// A key and what stands behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// As it is written in a file.
    pub key: String,
    /// With its unit, as it is named in JSON.
    pub json_key: String,
    /// As it is written in a file; `None` where nothing is set.
    pub toml: Option<String>,
    pub json: serde_json::Value,
    pub origin: Origin,
}

impl Row {
    fn new(key: String, json_key: String, slot: &dyn Slot) -> Self {
        let toml = slot.toml().map(|value| value.to_string());
        Self { key, json_key, toml, json: slot.json(), origin: slot.origin().clone() }
    }
}

/// Gathers the rows of one section after the other.
#[derive(Debug, Default)]
struct Listing(Vec<Listed>);

pub(super) fn of<'a>(sections: impl IntoIterator<Item = &'a mut dyn Section>) -> Vec<Listed> {
    let mut listing = Listing::default();
    for section in sections {
        listing.0.push(Listed { name: section.name().to_owned(), rows: Vec::new() });
        section.visit(&mut listing);
    }
    listing.0
}

impl Visit for Listing {
    fn key(&mut self, name: &'static str, slot: &mut dyn Slot) {
        let row = Row::new(name.to_owned(), format!("{name}{}", slot.unit()), slot);
        if let Some(section) = self.0.last_mut() {
            section.rows.push(row);
        }
    }

    fn prices(&mut self, name: &'static str, models: &mut Models) {
        // As JSON has it, which is on one line and a key of TOML too.
        let quoted = |name: &str| serde_json::Value::from(name).to_string();
        let row =
            |(name, price): &(String, Setting<Price>)| Row::new(quoted(name), name.clone(), price);
        let rows: Vec<_> = models.values().map(row).collect();
        if let Some(section) = self.0.last().filter(|_| !rows.is_empty()) {
            let name = format!("{}.{name}", section.name);
            self.0.push(Listed { name, rows });
        }
    }
}
