//! The kinds of values that rules and notices are made of.

use std::path::Path;
use std::time::Duration;

use probe::units::Bytes;
use serde_json::json;
use toml::de::DeValue;

use super::fields::Detail;
use super::value::{Value, integer, time};
use crate::cli::{duration, size};
use crate::config::policy::{Action, Channel, Field, Hours, Kind, Pattern, Style, Template};
use crate::safe::safe;

/// Longer names and words are a slip of the finger.
const MOST_CHARACTERS: usize = 200;

/// A word on one line that can be shown as it is.
fn plain(typed: &DeValue<'_>) -> Option<String> {
    let typed = typed.as_str()?;
    let is_plain = safe(typed) == *typed && !typed.trim().is_empty();
    (is_plain && typed.chars().count() <= MOST_CHARACTERS).then(|| typed.to_string())
}

/// One of several words.
macro_rules! words {
    ($($kind:ident, $expected:literal;)+) => {$(
        impl Value for $kind {
            const EXPECTED: &'static str = $expected;

            fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
                let typed = typed.as_str()?;
                Self::ALL.into_iter().find(|one| one.word() == typed)
            }

            fn toml(&self) -> Option<toml::Value> {
                Some(toml::Value::String(self.word().to_owned()))
            }

            fn json(&self) -> serde_json::Value {
                json!(self.word())
            }
        }
    )+};
}

words! {
    Action, r#""observe", "notify" or "end""#;
    Kind, r#""notebook", "job", "container", "pod", "group" or "plain""#;
    Channel, r#""tty", "mail", "webhook" or "command""#;
    Style, r#""slack" or "plain""#;
}

/// A name in quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(pub String);

impl Value for Name {
    const EXPECTED: &'static str = r#"a name in quotes, such as "lab""#;

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        plain(typed).map(Self)
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(toml::Value::String(self.0.clone()))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

impl Value for Pattern {
    const EXPECTED: &'static str = r#"a name in quotes, `*` for anything, such as "python*""#;

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        plain(typed).map(|text| Self::new(&text))
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(toml::Value::String(self.as_str().to_owned()))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.as_str())
    }
}

impl Value for Hours {
    const EXPECTED: &'static str = r#"hours of the day in quotes, such as "20:00-07:00""#;

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        Self::parse(typed.as_str()?)
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(toml::Value::String(self.to_string()))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.to_string())
    }
}

impl Value for Template {
    const EXPECTED: &'static str =
        r#"a text in quotes with fields such as {user}, {pid} or {message}"#;

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        let typed = typed.as_str()?;
        let is_shown = typed.lines().all(|line| safe(line) == *line);
        Self::parse(typed).ok().filter(|_| is_shown)
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(toml::Value::String(self.as_str().to_owned()))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.as_str())
    }
}

/// An amount of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(pub Bytes);

impl Value for Size {
    const EXPECTED: &'static str = r#"an amount in quotes, such as "1GB" or "512MiB""#;

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        size(typed.as_str()?).ok().map(|bytes| Self(Bytes(bytes)))
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(toml::Value::String(format!("{}B", self.0.0)))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0.0)
    }
}

/// A length of time that may be none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span(pub Duration);

impl Span {
    /// Longer than anybody waits.
    const MOST: Duration = Duration::from_secs(366 * 86_400);
}

impl Value for Span {
    const EXPECTED: &'static str = r#"a time in quotes of up to a year, such as "1h45m""#;

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        let time = duration(typed.as_str()?).ok()?;
        (time <= Self::MOST).then_some(Self(time))
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(time(self.0))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0.as_secs_f64())
    }
}

/// How many in an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count(pub u32);

impl Value for Count {
    const EXPECTED: &'static str = "a whole number from 0 to 100000, such as 10";

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        u32::try_from(integer(typed)?).ok().filter(|count| *count <= 100_000).map(Self)
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(toml::Value::Integer(self.0.into()))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.0)
    }
}

/// The words of a command.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Words(pub Vec<Template>);

impl Value for Words {
    const EXPECTED: &'static str =
        r#"the words of a command in brackets, such as ["/usr/local/bin/tell", "{user}"]"#;

    fn read(typed: &DeValue<'_>, home: Option<&Path>) -> Option<Self> {
        let list = typed.as_array().filter(|list| !list.is_empty())?;
        let words = list.iter().map(|word| Template::read(word.get_ref(), home));
        words.collect::<Option<_>>().map(Self)
    }

    fn details(typed: &DeValue<'_>, home: Option<&Path>) -> Vec<Detail> {
        super::many::Many::<Template>::details(typed, home)
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(toml::Value::Array(self.0.iter().filter_map(Value::toml).collect()))
    }

    fn json(&self) -> serde_json::Value {
        self.0.iter().map(Value::json).collect()
    }
}

/// The words of a command that ends a holder, or its program alone: then the job follows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cancel(pub Vec<Template>);

impl Value for Cancel {
    const EXPECTED: &'static str =
        r#"a program such as "scancel", or the words of a command such as ["scancel", "{job}"]"#;

    fn read(typed: &DeValue<'_>, home: Option<&Path>) -> Option<Self> {
        if typed.as_array().is_some() {
            let Words(words) = Words::read(typed, home)?;
            return untrusted(&words).is_none().then_some(Self(words));
        }
        let program = Template::plain(&plain(typed)?);
        Some(Self(vec![program, Template::parse("{job}").ok()?]))
    }

    fn details(typed: &DeValue<'_>, home: Option<&Path>) -> Vec<Detail> {
        let details = Words::details(typed, home);
        let Some(words) = Words::read(typed, home).filter(|_| details.is_empty()) else {
            return details;
        };
        let reason = |field: Field| {
            let word = field.word();
            let why = format!("a process can say of itself what it likes, so `{{{word}}}` cannot");
            format!(
                "{why} tell what to end; there are {{job}}, {{container}}, {{pod}}, {{pid}}, {{uid}}"
            )
        };
        untrusted(&words.0)
            .map(|(place, field)| (at(typed, place), reason(field)))
            .into_iter()
            .collect()
    }

    fn toml(&self) -> Option<toml::Value> {
        Words(self.0.clone()).toml()
    }

    fn json(&self) -> serde_json::Value {
        Words(self.0.clone()).json()
    }
}

/// The first word that names what a process may have made up, and that.
fn untrusted(words: &[Template]) -> Option<(usize, Field)> {
    words.iter().enumerate().find_map(|(place, word)| {
        word.fields().find(|field| !field.may_be_ended_by()).map(|field| (place, field))
    })
}

fn at(typed: &DeValue<'_>, place: usize) -> usize {
    let word = typed.as_array().and_then(|words| words.get(place));
    word.map_or(0, |word| word.span().start)
}
