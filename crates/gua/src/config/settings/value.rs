//! Kinds of values: how each is read from a file, and how it is written.

use std::path::{Path, PathBuf};
use std::time::Duration;

use probe::units::{Bytes, Percent};
use serde_json::json;
use toml::de::DeValue;

use super::fields::Detail;
use crate::cli::{MOST_MB, age, interval, percent};
use crate::config::labels::OUR_LABELS;

/// What can stand behind a key.
pub(super) trait Value: Sized {
    /// What is expected, and an example.
    const EXPECTED: &'static str;
    /// The unit, where the key does not name it: for names in JSON.
    const UNIT: &'static str = "";
    /// Whether a value that is wrong is not to be repeated: messages go to logs.
    const IS_SECRET: bool = false;

    /// `None` where it is something else, or out of range. `home` is what `~` means.
    fn read(typed: &DeValue<'_>, home: Option<&Path>) -> Option<Self>;

    /// What is wrong with the parts of a value that could not be read, where it has some.
    fn details(_typed: &DeValue<'_>, _home: Option<&Path>) -> Vec<Detail> {
        Vec::new()
    }

    /// `None` where nothing is set.
    fn toml(&self) -> Option<toml::Value>;

    fn json(&self) -> serde_json::Value;
}

/// A value that need not be there.
impl<T: Value> Value for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;
    const UNIT: &'static str = T::UNIT;

    fn read(typed: &DeValue<'_>, home: Option<&Path>) -> Option<Self> {
        T::read(typed, home).map(Some)
    }

    fn details(typed: &DeValue<'_>, home: Option<&Path>) -> Vec<Detail> {
        T::details(typed, home)
    }

    fn toml(&self) -> Option<toml::Value> {
        self.as_ref().and_then(T::toml)
    }

    fn json(&self) -> serde_json::Value {
        self.as_ref().map_or(serde_json::Value::Null, T::json)
    }
}

/// Time between two writes to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval(pub Duration);

impl Value for Interval {
    const EXPECTED: &'static str = r#"a time in quotes from 100ms to 1h, such as "30s""#;
    const UNIT: &'static str = "_seconds";

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        interval(typed.as_str()?).ok().map(Self)
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(time(self.0))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0.as_secs_f64())
    }
}

/// How long something is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Age(pub Duration);

impl Value for Age {
    const EXPECTED: &'static str =
        r#"a time in quotes of up to 36500d, in ms, s, m, h, d, w or mo, such as "30d""#;
    const UNIT: &'static str = "_seconds";

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        age(typed.as_str()?).ok().map(Self)
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(time(self.0))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0.as_secs_f64())
    }
}

impl Value for Percent {
    const EXPECTED: &'static str = "a percentage above 0 and up to 100, such as 10";

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        // By the rule that holds for options, too.
        percent(&number(typed)?.to_string()).ok().map(Self)
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(shortest(self.0))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// In MB of 1024² bytes, as cards are told.
impl Value for Bytes {
    const EXPECTED: &'static str =
        "a whole number of MB (of 1024² bytes) from 0 to 1073741824, such as 100";

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        let mb = u64::try_from(integer(typed)?).ok()?;
        (mb <= MOST_MB).then_some(Self::from_mib(mb))
    }

    fn toml(&self) -> Option<toml::Value> {
        i64::try_from(self.0 >> 20).ok().map(toml::Value::Integer)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0 >> 20)
    }
}

impl Value for bool {
    const EXPECTED: &'static str = "true or false";

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        typed.as_bool()
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(toml::Value::Boolean(*self))
    }

    fn json(&self) -> serde_json::Value {
        json!(self)
    }
}

/// A file, by a path that means the same from every folder.
impl Value for PathBuf {
    const EXPECTED: &'static str =
        r#"a path in quotes that begins with / or ~/, such as "/var/lib/gua/gua.db""#;

    fn read(typed: &DeValue<'_>, home: Option<&Path>) -> Option<Self> {
        let typed = typed.as_str()?;
        let names_a_file = !typed.ends_with('/') && !typed.contains(char::is_control);
        let path = match typed.strip_prefix("~/") {
            Some(below) => home?.join(below),
            None => Self::from(typed),
        };
        (names_a_file && path.is_absolute()).then_some(path)
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(toml::Value::String(self.display().to_string()))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.display().to_string())
    }
}

/// What a GPU-hour costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price(pub f64);

impl Price {
    /// More than anybody pays.
    const MOST: f64 = 1e6;
}

impl Value for Price {
    const EXPECTED: &'static str = "a price of one GPU-hour from 0 to 1000000, such as 2.50";
    const UNIT: &'static str = "_per_gpu_hour";

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        let price = number(typed).filter(|price| (0.0..=Self::MOST).contains(price))?;
        // A zero with a minus is shown as one without.
        Some(Self(price.abs()))
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(shortest(self.0))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// What a kilowatt-hour costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnergyPrice(pub f64);

impl Value for EnergyPrice {
    const EXPECTED: &'static str = "a price of one kWh from 0 to 1000000, such as 0.30";
    const UNIT: &'static str = "";

    fn read(typed: &DeValue<'_>, path: Option<&Path>) -> Option<Self> {
        Price::read(typed, path).map(|price| Self(price.0))
    }

    fn toml(&self) -> Option<toml::Value> {
        Price(self.0).toml()
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// What stands beside an amount of money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Currency(pub String);

impl Currency {
    const MOST_CHARACTERS: usize = 8;
}

impl Value for Currency {
    const EXPECTED: &'static str =
        r#"a sign or a name of up to 8 characters in quotes, such as "EUR" or "$""#;

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        let typed = typed.as_str()?;
        let is_short = (1..=Self::MOST_CHARACTERS).contains(&typed.chars().count());
        let is_shown = crate::safe::safe(typed) == typed && !typed.contains(char::is_whitespace);
        (is_short && is_shown).then(|| Self(typed.to_owned()))
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(toml::Value::String(self.0.clone()))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// A name or an address: printable, and without a blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word(pub String);

impl Value for Word {
    const EXPECTED: &'static str =
        r#"a word in quotes, such as "http://prometheus:9090/api/v1/write""#;

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        let typed = typed.as_str()?;
        let is_shown = crate::safe::safe(typed) == typed && !typed.contains(char::is_whitespace);
        (is_shown && !typed.is_empty()).then(|| Self(typed.to_owned()))
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(toml::Value::String(self.0.clone()))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// How many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count(pub usize);

impl Count {
    const MOST: i64 = 1_000_000;
}

impl Value for Count {
    const EXPECTED: &'static str = "a whole number from 1 to 1000000, such as 1000";

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        let count = integer(typed).filter(|count| (1..=Self::MOST).contains(count))?;
        usize::try_from(count).ok().map(Self)
    }

    fn toml(&self) -> Option<toml::Value> {
        i64::try_from(self.0).ok().map(toml::Value::Integer)
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// Labels of series, as Prometheus takes them. Those of our own are not to be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels(pub Vec<(String, String)>);

impl Labels {
    fn is_name(name: &str) -> bool {
        let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
        let is_other = |c: char| is_first(c) || c.is_ascii_digit();
        name.starts_with(is_first)
            && name.chars().all(is_other)
            && !name.starts_with("__")
            && !OUR_LABELS.contains(&name)
            && !name.starts_with("exported_")
    }
}

impl Value for Labels {
    const EXPECTED: &'static str =
        r#"labels by names that no series of gua has, such as { cluster = "a", rack = "r7" }"#;

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        let label = |(name, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
            let name: &toml::de::DeString<'_> = name.get_ref();
            let value = value.get_ref().as_str().filter(|it| crate::safe::safe(it) == **it)?;
            Self::is_name(name).then(|| (name.to_string(), value.to_owned()))
        };
        let mut labels: Vec<_> = typed.as_table()?.iter().map(label).collect::<Option<_>>()?;
        labels.sort();
        Some(Self(labels))
    }

    fn toml(&self) -> Option<toml::Value> {
        let labels = self.0.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
        Some(toml::Value::Table(labels.collect()))
    }

    fn json(&self) -> serde_json::Value {
        let labels = self.0.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
        serde_json::Value::Object(labels.collect())
    }
}

pub(super) fn integer(typed: &DeValue<'_>) -> Option<i64> {
    let typed = typed.as_integer()?;
    i64::from_str_radix(typed.as_str(), typed.radix()).ok()
}

/// Whole or not.
fn number(typed: &DeValue<'_>) -> Option<f64> {
    match typed.as_float() {
        Some(float) => float.as_str().parse().ok(),
        #[expect(clippy::cast_precision_loss, reason = "what is that large is out of range")]
        None => integer(typed).map(|whole| whole as f64),
    }
}

/// `10`, not `10.0`.
fn shortest(number: f64) -> toml::Value {
    /// Up to here a float holds every whole number.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= WHOLE {
        #[expect(clippy::cast_possible_truncation, reason = "looked at")]
        return toml::Value::Integer(number as i64);
    }
    toml::Value::Float(number)
}

/// As it is typed, in the largest unit that tells all of it.
pub(super) fn time(time: Duration) -> toml::Value {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)];
    let millis = time.as_millis();
    let fits = |(_, unit): &&(&str, u128)| millis > 0 && millis.is_multiple_of(*unit);
    let (name, unit) = units.iter().find(fits).copied().unwrap_or(("ms", 1));
    toml::Value::String(format!("{}{name}", millis / unit))
}
