//! One value, or several in brackets.

use std::path::Path;

use toml::de::DeValue;

use super::fields::{Detail, shown};
use super::value::Value;

/// The values, in their order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Many<T>(pub Vec<T>);

impl<T> Default for Many<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Value> Value for Many<T> {
    const EXPECTED: &'static str = T::EXPECTED;
    const UNIT: &'static str = T::UNIT;

    fn read(typed: &DeValue<'_>, home: Option<&Path>) -> Option<Self> {
        match typed.as_array() {
            Some(list) => {
                list.iter().map(|one| T::read(one.get_ref(), home)).collect::<Option<_>>()
            }
            None => T::read(typed, home).map(|one| vec![one]),
        }
        .map(Self)
    }

    fn details(typed: &DeValue<'_>, home: Option<&Path>) -> Vec<Detail> {
        let Some(list) = typed.as_array() else { return T::details(typed, home) };
        let wrong = list.iter().filter(|one| T::read(one.get_ref(), home).is_none());
        wrong
            .flat_map(|one| {
                let details = T::details(one.get_ref(), home);
                let reason =
                    || format!("there is {}; expected {}", shown(one.get_ref()), T::EXPECTED);
                let whole = || vec![(one.span().start, reason())];
                if details.is_empty() { whole() } else { details }
            })
            .collect()
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(toml::Value::Array(self.0.iter().filter_map(T::toml).collect()))
    }

    fn json(&self) -> serde_json::Value {
        self.0.iter().map(T::json).collect()
    }
}
