//! A table or a list within a value: its parts one by one, each mistake at its place.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::names::proposed;
use super::value::Value;

/// What is wrong with a part of a value, and at which byte of the text.
pub(super) type Detail = (usize, String);

/// The keys of a table, as they are asked for.
pub(super) struct Fields<'a, 'i> {
    name: &'static str,
    table: &'a DeTable<'i>,
    home: Option<&'a Path>,
    known: Vec<&'static str>,
    details: Vec<Detail>,
}

impl<'a, 'i> Fields<'a, 'i> {
    pub fn of(name: &'static str, table: &'a DeTable<'i>, home: Option<&'a Path>) -> Self {
        Self { name, table, home, known: Vec::new(), details: Vec::new() }
    }

    /// What stands behind a key; `None` where it is not there or makes no sense.
    pub fn get<T: Value>(&mut self, key: &'static str) -> Option<T> {
        self.known.push(key);
        let value = self.table.get(key)?;
        let read = T::read(value.get_ref(), self.home);
        if read.is_none() {
            self.details.extend(details::<T>(key, value, self.home));
        }
        read
    }

    /// The same for a key that must be there.
    pub fn must<T: Value>(&mut self, key: &'static str) -> Option<T> {
        if !self.table.contains_key(key) {
            let begin = self.table.keys().map(|key| key.span().start).min().unwrap_or(0);
            let reason = format!("`{}` has no `{key}`; expected {}", self.name, T::EXPECTED);
            self.wrong(begin, reason);
        }
        self.get(key)
    }

    /// What is wrong with what stands behind a key.
    pub fn wrong_at(&mut self, key: &str, reason: String) {
        let place = self.table.get_key_value(key).map_or(0, |(key, _)| key.span().start);
        self.wrong(place, reason);
    }

    fn wrong(&mut self, place: usize, reason: String) {
        self.details.push((place, reason));
    }

    /// Everything that is wrong, with the keys that nobody has asked for.
    pub fn details(mut self) -> Vec<Detail> {
        for key in self.table.keys() {
            if !self.known.iter().any(|known| **known == **key.get_ref()) {
                let said = format!("there is no key `{}` in `{}`", key.get_ref(), self.name);
                let reason = proposed(&said, key.get_ref(), &self.known);
                self.details.push((key.span().start, reason));
            }
        }
        self.details
    }
}

/// What is wrong with a value that could not be read.
pub(super) fn details<T: Value>(
    key: &str,
    value: &Spanned<DeValue<'_>>,
    home: Option<&Path>,
) -> Vec<Detail> {
    let details = T::details(value.get_ref(), home);
    if details.is_empty() {
        let value_shown = match T::IS_SECRET {
            true => "something else".to_owned(),
            false => shown(value.get_ref()),
        };
        let reason = format!("`{key}` is {value_shown}; expected {}", T::EXPECTED);
        return vec![(value.span().start, reason)];
    }
    details
}

/// How much of a wrong text is shown.
const MOST_SHOWN: usize = 40;

/// A value that makes no sense, in few characters.
pub(super) fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.chars().count() > MOST_SHOWN => {
            format!("{:?}…", text.chars().take(MOST_SHOWN).collect::<String>())
        }
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(is) => is.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
