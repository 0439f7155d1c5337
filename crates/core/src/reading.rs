//! A value that was read, or the reason why it was not.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Known, or why not. Unknown is not zero and not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading<T> {
    Known(T),
    Unknown(Reason),
}

/// Reason a value is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The card or the driver does not offer it.
    NotSupported,
    /// The driver offers it, but not to this user.
    NoPermission,
    /// The card has fallen off the bus.
    Lost,
    /// The card does nothing until it is reset.
    NeedsReset,
    /// No answer within the time allowed.
    TimedOut,
    /// The time was up before it was asked, because others took too long.
    NoTurn,
    /// The driver was unloaded or replaced while it was in use.
    DriverGone,
    /// The driver listed it without a value.
    NotTold,
    /// It needs an earlier reading to compare with, and this was the first.
    FirstLook,
    /// The process, card or file is no longer there.
    Gone,
    /// Nobody asked for it.
    NotAsked,
    /// It was there but made no sense.
    Garbled,
    /// The driver's pids are those of the host, and ours are those of a container.
    Foreign,
    /// The driver's list has entries of another size than NVIDIA's header declares.
    EntrySize,
    /// Any other code of the driver.
    Code(u32),
}

impl Reason {
    /// Whether nothing else will be told of the card either.
    #[must_use]
    pub const fn concerns_the_whole_card(self) -> bool {
        matches!(self, Self::Lost | Self::NeedsReset | Self::DriverGone)
    }

    /// All reasons but codes of the driver.
    pub const NAMED: [Self; 14] = [
        Self::NotSupported,
        Self::NoPermission,
        Self::Lost,
        Self::NeedsReset,
        Self::TimedOut,
        Self::NoTurn,
        Self::DriverGone,
        Self::NotTold,
        Self::FirstLook,
        Self::Gone,
        Self::NotAsked,
        Self::Garbled,
        Self::Foreign,
        Self::EntrySize,
    ];

    /// A stable word for machine-readable output.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::NotSupported => "not_supported",
            Self::NoPermission => "no_permission",
            Self::Lost => "lost",
            Self::NeedsReset => "needs_reset",
            Self::TimedOut => "timed_out",
            Self::NoTurn => "no_turn",
            Self::DriverGone => "driver_gone",
            Self::NotTold => "not_told",
            Self::FirstLook => "first_look",
            Self::Gone => "gone",
            Self::NotAsked => "not_asked",
            Self::Garbled => "garbled",
            Self::Foreign => "foreign_pids",
            Self::EntrySize => "entry_size",
            Self::Code(_) => "driver_error",
        }
    }
}

/// Begin of the word for a code of the driver, which follows.
const DRIVER_ERROR: &str = "driver_error_";

/// Serializes the stable word. A code of the driver is part of it, so that it is not lost.
impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Code(code) => serializer.collect_str(&format_args!("{DRIVER_ERROR}{code}")),
            reason => serializer.serialize_str(reason.slug()),
        }
    }
}

/// A word of a later version is `Garbled`.
impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_word(&String::deserialize(deserializer)?).unwrap_or(Self::Garbled))
    }
}

impl Reason {
    /// Returns the reason that is serialized as this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        if let Some(code) = word.strip_prefix(DRIVER_ERROR) {
            return code.parse().ok().map(Self::Code);
        }
        Self::NAMED.into_iter().find(|reason| reason.slug() == word)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSupported => "not supported",
            Self::NoPermission => "no permission",
            Self::Lost => "lost from the bus",
            Self::NeedsReset => "needs a reset",
            Self::TimedOut => "no answer in time",
            Self::NoTurn => "not asked, as others took too long",
            Self::DriverGone => "the driver went away",
            Self::NotTold => "not told by the driver",
            Self::FirstLook => "needs a second reading",
            Self::Gone => "gone",
            Self::NotAsked => "not asked",
            Self::Garbled => "unreadable",
            Self::Foreign => "the driver's pids are not those of this container",
            Self::EntrySize => "the driver's list has entries of an unknown size",
            Self::Code(7) => "the driver wants more room than it says",
            Self::Code(11) => "the driver has trouble with its interrupts",
            Self::Code(14) => "the card's own description is corrupted",
            Self::Code(20) => "the driver is out of memory",
            Self::Code(999) => "the driver does not say why",
            Self::Code(code) => return write!(f, "driver error {code}"),
        })
    }
}

impl<T> Reading<T> {
    pub fn known(self) -> Option<T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown(_) => None,
        }
    }

    pub const fn why(&self) -> Option<Reason> {
        match self {
            Self::Known(_) => None,
            Self::Unknown(why) => Some(*why),
        }
    }

    pub const fn as_ref(&self) -> Reading<&T> {
        match self {
            Self::Known(value) => Reading::Known(value),
            Self::Unknown(why) => Reading::Unknown(*why),
        }
    }

    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reading<U> {
        match self {
            Self::Known(value) => Reading::Known(change(value)),
            Self::Unknown(why) => Reading::Unknown(why),
        }
    }

    /// Whether the value is known and fits.
    pub fn is_known_and(self, fits: impl FnOnce(T) -> bool) -> bool {
        self.known().is_some_and(fits)
    }
}

impl<T, E: Into<Reason>> From<Result<T, E>> for Reading<T> {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(value) => Self::Known(value),
            Err(why) => Self::Unknown(why.into()),
        }
    }
}
