//! Reasons for fields that are null in machine-readable output.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::reading::{Reading, Reason};

/// Reason a field is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullReason {
    /// It could not be read.
    Unread(Reason),
    /// Nothing on the host gives it a name.
    NoName,
    /// The figure is the value of a moment and covers no time.
    Instant,
    /// The record does not have it.
    NotRecorded,
    /// The reservations cannot be read.
    NoReservations,
    /// Nothing that can be trusted says which person is behind a process.
    Unattributed,
}

impl NullReason {
    const OWN: [Self; 5] =
        [Self::NoName, Self::Instant, Self::NotRecorded, Self::NoReservations, Self::Unattributed];

    /// A stable word for machine-readable output; codes of the driver share one.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Unread(reason) => reason.slug(),
            Self::NoName => "no_name",
            Self::Instant => "instant",
            Self::NotRecorded => "not_recorded",
            Self::NoReservations => "no_reservations",
            Self::Unattributed => "unattributed",
        }
    }
}

impl fmt::Display for NullReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unread(reason) => return reason.fmt(f),
            Self::NoName => "nothing gives it a name",
            Self::Instant => "the value of a moment",
            Self::NotRecorded => "not recorded",
            Self::NoReservations => "the reservations cannot be read",
            Self::Unattributed => "unattributed: nothing that can be trusted names a person",
        })
    }
}

impl From<Reason> for NullReason {
    fn from(reason: Reason) -> Self {
        Self::Unread(reason)
    }
}

impl Serialize for NullReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unread(reason) => reason.serialize(serializer),
            own => serializer.serialize_str(own.slug()),
        }
    }
}

/// A word of a later version is `Garbled`.
impl<'de> Deserialize<'de> for NullReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        let own = Self::OWN.into_iter().find(|own| own.slug() == word);
        let unread = || Self::Unread(Reason::from_word(&word).unwrap_or(Reason::Garbled));
        Ok(own.unwrap_or_else(unread))
    }
}

/// Why fields are null, by the name of the field.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Unknowns(BTreeMap<Cow<'static, str>, NullReason>);

impl Unknowns {
    /// Returns why a field is null.
    #[must_use]
    pub fn reason(&self, field: &str) -> Option<NullReason> {
        self.0.get(field).copied()
    }

    /// Returns why a field could not be read.
    #[must_use]
    pub fn unread(&self, field: &str) -> Option<Reason> {
        match self.reason(field)? {
            NullReason::Unread(reason) => Some(reason),
            _ => None,
        }
    }

    /// Returns the reasons of some fields.
    #[must_use]
    pub fn only(&self, fields: &[&str]) -> Self {
        let wanted = self.0.iter().filter(|(field, _)| fields.contains(&field.as_ref()));
        Self(wanted.map(|(field, reason)| (field.clone(), *reason)).collect())
    }

    /// Replaces what is said of some fields by what another says of them.
    pub fn replace(&mut self, fields: &[&str], by: &Self) {
        self.0.retain(|field, _| !fields.contains(&field.as_ref()));
        self.0.extend(by.only(fields).0);
    }

    /// Returns the value of a reading, and notes the reason if there is none.
    pub fn take<T>(&mut self, field: &'static str, reading: Reading<T>) -> Option<T> {
        match reading {
            Reading::Known(value) => Some(value),
            Reading::Unknown(reason) => {
                self.note(field, reason);
                None
            }
        }
    }

    /// Like [`Self::take`], for what is read only on request: without a request there is no reason.
    pub fn take_requested<T>(&mut self, field: &'static str, reading: Reading<T>) -> Option<T> {
        match reading.why() {
            Some(Reason::NotAsked) => None,
            _ => self.take(field, reading),
        }
    }

    pub fn note(&mut self, field: &'static str, reason: impl Into<NullReason>) {
        self.0.insert(Cow::Borrowed(field), reason.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_comes_back_from_json() {
        let unread = Reason::NAMED.into_iter().chain([Reason::Code(0), Reason::Code(999)]);
        for reason in unread.map(NullReason::Unread).chain(NullReason::OWN) {
            let json = serde_json::to_string(&reason).unwrap();
            assert_eq!(serde_json::from_str::<NullReason>(&json).unwrap(), reason, "{json}");
        }
        let later: NullReason = serde_json::from_str("\"from_the_future\"").unwrap();
        assert_eq!(later, NullReason::Unread(Reason::Garbled));
    }

    #[test]
    fn only_what_was_requested_has_a_reason() {
        let mut unknown = Unknowns::default();
        assert_eq!(unknown.take("a", Reading::<u8>::Unknown(Reason::NotAsked)), None);
        assert_eq!(unknown.take_requested("b", Reading::<u8>::Unknown(Reason::NotAsked)), None);
        assert_eq!(unknown.take_requested("c", Reading::<u8>::Unknown(Reason::Lost)), None);
        assert_eq!(unknown.take("d", Reading::Known(7)), Some(7));
        let json = serde_json::to_value(&unknown).unwrap();
        assert_eq!(json, serde_json::json!({"a": "not_asked", "c": "lost"}));
    }
}
