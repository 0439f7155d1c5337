//! What happened besides the ticks, and why time is missing.

use probe::units::UnixMillis;

/// Something worth telling later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub at: UnixMillis,
    /// The end, where it lasted.
    pub until: Option<UnixMillis>,
    pub kind: Kind,
    /// In words.
    pub detail: String,
}

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Time is missing, for this reason.
    Gap(Trouble),
    /// A card could not be read, or could be again.
    Card,
    /// The driver is another than before.
    Driver,
    /// A database was taken over.
    Import,
}

/// Why no tick speaks for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// The machine slept.
    Suspended,
    /// The wall clock was set.
    ClockSet,
    /// The tick came too late: the machine or the driver was too slow.
    Late,
    /// The driver was away.
    DriverGone,
    /// The disk was full, or the database locked.
    Storage,
}

impl Kind {
    /// Every kind there is.
    pub const ALL: [Self; 8] = [
        Self::Gap(Trouble::Suspended),
        Self::Gap(Trouble::ClockSet),
        Self::Gap(Trouble::Late),
        Self::Gap(Trouble::DriverGone),
        Self::Gap(Trouble::Storage),
        Self::Card,
        Self::Driver,
        Self::Import,
    ];

    /// A stable word for the database and for machine-readable output.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Gap(trouble) => trouble.slug(),
            Self::Card => "card",
            Self::Driver => "driver",
            Self::Import => "import",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn of_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.slug() == slug)
    }
}

impl Trouble {
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Suspended => "suspended",
            Self::ClockSet => "clock_set",
            Self::Late => "late",
            Self::DriverGone => "driver_gone",
            Self::Storage => "storage",
        }
    }
}
