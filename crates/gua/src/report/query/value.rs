//! What a field says, with its unit.

use gua_core::Reason;
use gua_core::unknowns::{NullReason, Unknowns};
use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// A value, or why there is none.
pub type Cell = Result<Value, NoValue>;

/// Why a field has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoValue {
    Null(NullReason),
    /// What the state is judged by could not be read.
    NotJudged(Reason),
    /// Nobody holds the card.
    NoHolder,
}

impl NoValue {
    /// Returns why a field is null.
    pub(super) fn of_field(unknown: &Unknowns, field: &str) -> Self {
        Self::Null(unknown.reason(field).unwrap_or(Reason::NotTold.into()))
    }
}

impl From<Reason> for NoValue {
    fn from(reason: Reason) -> Self {
        Self::Null(reason.into())
    }
}

impl Serialize for NoValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null(reason) => reason.serialize(serializer),
            Self::NotJudged(reason) => reason.serialize(serializer),
            Self::NoHolder => serializer.serialize_str("no_holder"),
        }
    }
}

/// What a field says. Its [`Unit`] tells what a number counts.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    /// A name from outside, which may hold anything.
    Name(String),
    Whole(u64),
    Real(f64),
    Moment(Timestamp),
}

/// What a field's numbers count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nothing, or it is no number.
    None,
    Percent,
    /// Bytes, which are shown as MiB where people read them.
    Memory,
    Watts,
    Joules,
    Megahertz,
    Celsius,
    Seconds,
}

impl Unit {
    /// As nvidia-smi writes it behind a figure, which leaves degrees out.
    #[must_use]
    pub const fn sign(self) -> Option<&'static str> {
        match self {
            Self::None | Self::Celsius => None,
            Self::Percent => Some("%"),
            Self::Memory => Some("MiB"),
            Self::Watts => Some("W"),
            Self::Joules => Some("J"),
            Self::Megahertz => Some("MHz"),
            Self::Seconds => Some("s"),
        }
    }

    /// As it is explained.
    #[must_use]
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Celsius => Some("°C"),
            other => other.sign(),
        }
    }

    /// As it ends a name in JSON.
    #[must_use]
    pub const fn suffix(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Percent => Some("percent"),
            Self::Memory => Some("bytes"),
            Self::Watts => Some("watts"),
            Self::Joules => Some("joules"),
            Self::Megahertz => Some("mhz"),
            Self::Celsius => Some("celsius"),
            Self::Seconds => Some("seconds"),
        }
    }
}

/// Rounds a percentage to one decimal: the driver knows whole percents only.
pub(super) fn percent(percent: f64) -> Value {
    // A sum may be a zero with a sign.
    Value::Real((percent * 10.0).round() / 10.0 + 0.0)
}
