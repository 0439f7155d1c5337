//! Why fields of a report are null.

use std::collections::BTreeMap;
use std::fmt;

use probe::{Reading, Why};
use serde::{Serialize, Serializer};

/// Why a field is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It could not be read.
    Unread(Why),
    /// It is that of a process outside of this container.
    Foreign,
    /// Nothing on the host gives it a name.
    NoName,
    /// What it is judged by could not be read.
    NotJudged(Why),
    /// There is nobody whose it could be.
    NoHolder,
    /// The figure is that of a moment and covers no time.
    Instant,
    /// There is no driver that could tell.
    NoDriver,
    /// It was over before it was told.
    NotInTime,
    /// It did not last long enough to tell.
    TooShort,
    /// It did not come to its end, or was not seen from its begin.
    OnlyAPart,
    /// No history tells of it.
    NotRecorded,
    /// The reservations cannot be read.
    NoReservations,
}

impl Reason {
    /// A stable word for machine-readable output.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Unread(why) | Self::NotJudged(why) => why.slug(),
            Self::Foreign => "foreign",
            Self::NoName => "no_name",
            Self::NoHolder => "no_holder",
            Self::Instant => "instant",
            Self::NoDriver => "no_driver",
            Self::NotInTime => "not_in_time",
            Self::TooShort => "too_short",
            Self::OnlyAPart => "only_a_part",
            Self::NotRecorded => "not_recorded",
            Self::NoReservations => "no_reservations",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unread(why) | Self::NotJudged(why) => return why.fmt(f),
            Self::Foreign => "outside this container",
            Self::NoName => "nothing gives it a name",
            Self::NoHolder => "nobody holds it",
            Self::Instant => "the value of a moment",
            Self::NoDriver => "there is no driver",
            Self::NotInTime => "it was over too soon",
            Self::TooShort => "it was too short to tell",
            Self::OnlyAPart => "only a part of it was seen",
            Self::NotRecorded => "it is not recorded",
            Self::NoReservations => "the reservations cannot be read",
        })
    }
}

impl From<Why> for Reason {
    fn from(why: Why) -> Self {
        Self::Unread(why)
    }
}

/// Reasons by field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unknowns(BTreeMap<&'static str, Reason>);

impl Unknowns {
    /// Why a field could not be read.
    #[must_use]
    pub fn why(&self, field: &str) -> Option<Why> {
        match self.0.get(field)? {
            Reason::Unread(why) => Some(*why),
            _ => None,
        }
    }

    /// Why a field is null.
    #[must_use]
    pub fn reason(&self, field: &str) -> Option<Reason> {
        self.0.get(field).copied()
    }

    /// Takes the value out of a reading, and keeps the reason where there is none.
    pub(super) fn take<T>(&mut self, field: &'static str, reading: Reading<T>) -> Option<T> {
        if let Some(why) = reading.why() {
            self.note(field, why);
        }
        reading.known()
    }

    pub(super) fn note(&mut self, field: &'static str, reason: impl Into<Reason>) {
        self.0.insert(field, reason.into());
    }
}

impl Serialize for Unknowns {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(field, reason)| (field, reason.slug())))
    }
}
