//! What a field says, with its unit.

use jiff::Timestamp;
use probe::Reading;
use probe::units::{Bytes, Megahertz, Milliwatts, Percent};

use crate::report::unknowns::Reason;

/// A value, or why there is none.
pub type Cell = Result<Value, Reason>;

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

/// A reading as a cell.
pub(super) fn cell<T>(reading: Reading<T>, value: impl FnOnce(T) -> Value) -> Cell {
    match reading {
        Reading::Known(known) => Ok(value(known)),
        Reading::Unknown(why) => Err(why.into()),
    }
}

pub(super) fn name(reading: Reading<&str>) -> Cell {
    cell(reading, |name| Value::Name(name.to_owned()))
}

pub(super) fn percent(reading: Reading<Percent>) -> Cell {
    cell(reading, |percent| Value::Real(tenths(percent.0)))
}

pub(super) fn bytes(reading: Reading<Bytes>) -> Cell {
    cell(reading, |bytes| Value::Whole(bytes.0))
}

pub(super) fn watts(reading: Reading<Milliwatts>) -> Cell {
    cell(reading, |milliwatts| Value::Real(f64::from(milliwatts.0) / 1000.0))
}

pub(super) fn megahertz(reading: Reading<Megahertz>) -> Cell {
    cell(reading, |clock| Value::Whole(clock.0.into()))
}

/// The driver's word for a mode that is on or off.
pub(super) fn switched(reading: Reading<bool>) -> Cell {
    cell(reading, |is_on| Value::Text(if is_on { "Enabled" } else { "Disabled" }.to_owned()))
}

/// More digits than the driver's whole percents would pretend to know.
fn tenths(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}
