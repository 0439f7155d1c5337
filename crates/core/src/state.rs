//! State of a card, and the thresholds between the states.

use serde::{Deserialize, Serialize, Serializer};

use crate::reading::Reason;
use crate::units::{Bytes, Percent};

/// Thresholds by which time is classified.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Utilization from which on a card is active.
    pub active: Percent,
    /// Memory above which a card is held.
    pub held: Bytes,
    /// Utilization from which on a holder works, whatever its card does.
    pub worked: Percent,
    /// CPU use, in percent of one core, from which on a process counts as busy: where the driver
    /// does not say which of several holders works.
    pub busy_cpu: Percent,
}

impl Default for Thresholds {
    /// 100 MiB leave room for what a runtime takes without any data in it.
    fn default() -> Self {
        Self {
            active: Percent(10.0),
            held: Bytes::from_mib(100),
            worked: Percent(1.0),
            busy_cpu: Percent(10.0),
        }
    }
}

/// State of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    Active,
    /// Memory taken, nothing computed.
    IdleHeld,
    TrulyIdle,
    Unknown(Reason),
}

impl State {
    /// Returns the word for live views, in which a truly idle card is free.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::IdleHeld => "idle-held",
            Self::TrulyIdle => "free",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// Serializes the word alone; the reason of an unknown state has a field of its own.
impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// Serializes a state as two fields: the word, and the reason of an unknown one.
pub mod with_reason {
    use std::borrow::Cow;

    use serde::de::Error;
    use serde::{Deserializer, Serializer};

    use super::{Deserialize, Reason, Serialize, State};

    #[derive(Serialize, Deserialize)]
    struct Fields {
        state: Cow<'static, str>,
        state_reason: Option<Reason>,
    }

    pub fn serialize<S: Serializer>(state: &State, serializer: S) -> Result<S::Ok, S::Error> {
        let state_reason = match state {
            State::Unknown(reason) => Some(*reason),
            _ => None,
        };
        Fields { state: state.word().into(), state_reason }.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<State, D::Error> {
        let Fields { state, state_reason } = Fields::deserialize(deserializer)?;
        let unknown = State::Unknown(state_reason.unwrap_or(Reason::NotTold));
        let states = [State::Active, State::IdleHeld, State::TrulyIdle, unknown];
        let found = states.into_iter().find(|known| known.word() == state);
        found.ok_or_else(|| D::Error::custom(format!("state is {state:?}, not a state of a card")))
    }
}
