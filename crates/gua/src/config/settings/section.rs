//! A section of the file as a list of its keys, which serves reading and showing alike.

use std::path::Path;

use toml::de::DeValue;

use super::cost::Models;
use super::fields::Detail;
use super::origin::{Origin, Setting};
use super::value::Value;

/// One section. Its keys are named in one place, so that what is read, what is shown and what
/// is proposed are the same.
pub(super) trait Section {
    fn name(&self) -> &'static str;

    /// Shows every key to a visitor.
    fn visit(&mut self, keys: &mut dyn Visit);
}

/// Who goes through the keys.
pub(super) trait Visit {
    fn key(&mut self, name: &'static str, slot: &mut dyn Slot);

    /// A table below the section, with prices by names that are the user's own.
    fn prices(&mut self, name: &'static str, models: &mut Models);
}

/// The place of a value.
pub(super) trait Slot {
    /// What can stand there, with an example.
    fn expected(&self) -> &'static str;
    /// Takes what was typed; says whether it could be taken.
    fn take(&mut self, typed: &DeValue<'_>, home: Option<&Path>, origin: Origin) -> bool;
    /// What is wrong with the parts of what could not be taken, where it has some.
    fn details(&self, typed: &DeValue<'_>, home: Option<&Path>) -> Vec<Detail>;
    /// `None` where nothing is set.
    fn toml(&self) -> Option<toml::Value>;
    fn json(&self) -> serde_json::Value;
    /// What the name in JSON ends with.
    fn unit(&self) -> &'static str;
    fn origin(&self) -> &Origin;
}

impl<T: Value> Slot for Setting<T> {
    fn expected(&self) -> &'static str {
        T::EXPECTED
    }

    fn take(&mut self, typed: &DeValue<'_>, home: Option<&Path>, origin: Origin) -> bool {
        let read = T::read(typed, home);
        let could_be = read.is_some();
        if let Some(value) = read {
            *self = Self { value, origin };
        }
        could_be
    }

    fn details(&self, typed: &DeValue<'_>, home: Option<&Path>) -> Vec<Detail> {
        T::details(typed, home)
    }

    fn toml(&self) -> Option<toml::Value> {
        self.value.toml()
    }

    fn json(&self) -> serde_json::Value {
        self.value.json()
    }

    fn unit(&self) -> &'static str {
        T::UNIT
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }
}
