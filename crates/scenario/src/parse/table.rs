//! A reader of TOML tables that knows where each value stands in the text.
//!
//! The tables of a file are flat, the model is nested, and some defaults depend on a card's index.
//! `serde(flatten)` would bridge that but loses the lines of mistakes and accepts unknown keys, so a
//! table is read key by key, each with its default and its check, straight into the model.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// A value with its place in the text.
pub type Value<'a> = Spanned<DeValue<'a>>;

/// A mistake and its place, as bytes of the text.
#[derive(Debug)]
pub struct Wrong {
    pub span: Range<usize>,
    pub reason: String,
}

impl Wrong {
    pub fn new(span: Range<usize>, reason: impl Into<String>) -> Self {
        Self { span, reason: reason.into() }
    }

    /// Returns the mistake of a value that has the wrong type.
    pub fn unexpected(value: &Value<'_>, expected: &str) -> Self {
        let found = match value.get_ref() {
            DeValue::String(text) => format!("string {text:?}"),
            DeValue::Boolean(value) => format!("boolean `{value}`"),
            DeValue::Integer(value) => format!("integer `{value}`"),
            DeValue::Float(value) => format!("floating point `{value}`"),
            other => other.type_str().to_owned(),
        };
        Self::new(value.span(), format!("invalid type: {found}, expected {expected}"))
    }

    fn parsing(error: &toml::de::Error, span: Range<usize>) -> Self {
        let words: Vec<&str> = error.message().split_whitespace().collect();
        Self::new(error.span().unwrap_or(span), words.join(" "))
    }
}

/// A table that is being read. Reading goes on after a mistake; [`Table::finish`] returns the first.
#[derive(Debug, Default)]
pub struct Table<'a> {
    span: Range<usize>,
    entries: DeTable<'a>,
    /// The keys that were read so far, with the places of those that are there.
    known: Vec<(&'static str, Option<Range<usize>>)>,
    wrong: Option<Wrong>,
}

impl<'a> Table<'a> {
    pub fn parse(text: &'a str) -> Result<Self, Wrong> {
        let document = DeTable::parse(text).map_err(|error| Wrong::parsing(&error, 0..0))?;
        Ok(Self { span: document.span(), entries: document.into_inner(), ..Self::default() })
    }

    pub fn new(value: Value<'a>) -> Result<Self, Wrong> {
        let (span, wrong) = (value.span(), Wrong::unexpected(&value, "a table"));
        match value.into_inner() {
            DeValue::Table(entries) => Ok(Self { span, entries, ..Self::default() }),
            _ => Err(wrong),
        }
    }

    /// Reads a value as it stands.
    pub fn get<T: Deserialize<'a>>(&mut self, key: &'static str) -> Option<T> {
        self.get_as(key, Ok)
    }

    /// Reads a value and converts it.
    pub fn get_as<T: Deserialize<'a>, U>(
        &mut self,
        key: &'static str,
        convert: impl FnOnce(T) -> Result<U, String>,
    ) -> Option<U> {
        self.get_with(key, |value| converted(value, convert))
    }

    /// Reads a value of more than one type.
    pub fn get_with<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(Value<'a>) -> Result<T, Wrong>,
    ) -> Option<T> {
        let read = read(self.take(key)?);
        read.map_err(|wrong| self.keep(wrong)).ok()
    }

    /// Reads a text and converts it.
    pub fn text<T>(
        &mut self,
        key: &'static str,
        convert: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        self.get_as(key, |text: String| convert(&text))
    }

    /// Reads a value that must be there.
    pub fn need<T: Deserialize<'a> + Default>(&mut self, key: &'static str) -> T {
        self.need_as(key, Ok)
    }

    /// Reads a value that must be there, and converts it.
    pub fn need_as<T: Deserialize<'a>, U: Default>(
        &mut self,
        key: &'static str,
        convert: impl FnOnce(T) -> Result<U, String>,
    ) -> U {
        let value = self.get_as(key, convert);
        self.required(key, value)
    }

    /// Reads a text that must be there, and converts it.
    pub fn need_text<T: Default>(
        &mut self,
        key: &'static str,
        convert: impl FnOnce(&str) -> Result<T, String>,
    ) -> T {
        self.need_as(key, |text: String| convert(&text))
    }

    fn required<T: Default>(&mut self, key: &str, value: Option<T>) -> T {
        if !self.keys().any(|there| there == key) {
            self.refuse(format!("missing field `{key}`"));
        }
        value.unwrap_or_default()
    }

    /// Reads a table; one that is missing is empty.
    pub fn table<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(Self) -> Result<T, Wrong>,
    ) -> Result<T, Wrong> {
        read(self.take(key).map_or_else(|| Ok(Self::default()), Self::new)?)
    }

    /// Reads a list of tables, each with its index.
    pub fn tables<T>(
        &mut self,
        key: &'static str,
        mut read: impl FnMut(Self, u32) -> Result<T, Wrong>,
    ) -> Result<Vec<T>, Wrong> {
        let Some(value) = self.take(key) else { return Ok(Vec::new()) };
        let wrong = Wrong::unexpected(&value, "a list of tables");
        let DeValue::Array(values) = value.into_inner() else { return Err(wrong) };
        values.into_iter().zip(0..).map(|(value, index)| read(Self::new(value)?, index)).collect()
    }

    /// The keys that were read and are there.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.known.iter().filter(|(_, span)| span.is_some()).map(|(key, _)| *key)
    }

    /// Records a mistake of the whole table.
    pub fn refuse(&mut self, reason: impl Into<String>) {
        self.keep(Wrong::new(self.span.clone(), reason));
    }

    /// Records a mistake at a key that was read.
    pub fn refuse_at(&mut self, key: &str, reason: impl Into<String>) {
        let of_key = self.known.iter().find(|(known, _)| *known == key);
        let span = of_key.and_then(|(_, span)| span.clone()).unwrap_or_else(|| self.span.clone());
        self.keep(Wrong::new(span, reason));
    }

    /// Returns what was made of the table, unless it has an unknown key or another mistake.
    pub fn finish<T>(self, value: T) -> Result<T, Wrong> {
        let unknown = self.entries.keys().min_by_key(|key| key.span().start);
        if let Some(key) = unknown {
            let known: Vec<_> = self.known.iter().map(|(key, _)| format!("`{key}`")).collect();
            let expected = match known.as_slice() {
                [one, other] => format!("{one} or {other}"),
                [one] => one.clone(),
                several => format!("one of {}", several.join(", ")),
            };
            let reason = format!("unknown field `{}`, expected {expected}", key.get_ref());
            return Err(Wrong::new(key.span(), reason));
        }
        self.wrong.map_or(Ok(value), Err)
    }

    fn take(&mut self, key: &'static str) -> Option<Value<'a>> {
        let value = self.entries.remove(key);
        self.known.push((key, value.as_ref().map(Value::span)));
        value
    }

    fn keep(&mut self, wrong: Wrong) {
        self.wrong.get_or_insert(wrong);
    }
}

/// Reads a value and converts it.
pub fn converted<'a, T: Deserialize<'a>, U>(
    value: Value<'a>,
    convert: impl FnOnce(T) -> Result<U, String>,
) -> Result<U, Wrong> {
    let span = value.span();
    let typed = T::deserialize(ValueDeserializer::from(value));
    let typed = typed.map_err(|error| Wrong::parsing(&error, span.clone()))?;
    convert(typed).map_err(|reason| Wrong::new(span, reason))
}
