//! Cards that somebody was given and does not hold yet.
//!
//! A file a card and user in a folder that all users share. It names no more than a time, or
//! a command: after that time, or when the command has ended, it says nothing any more, so a
//! crash leaves nothing that lasts. A command keeps its file locked through a handle that it
//! inherits; a program that closes what it inherits is still known by its number and start.
//!
//! Whoever chooses locks the folder meanwhile. Nobody can take away what is another's, for
//! the folder is sticky; a file whose owner is not the one in its name is not believed.

mod folder;
mod slip;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

pub use folder::{Folder, Locked};
pub use slip::{Kind, Slip};

use gua_core::snapshot::Reservation;
use probe::units::UnixMillis;

use crate::failure::Failure;
use crate::safe::safe;

/// A card that is given to somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserved {
    /// As [`card_key`] has it.
    pub card: String,
    pub uid: u32,
    /// What the user is called, where that was asked for and is known.
    pub user: Option<String>,
    pub term: Term,
}

/// How long a card is given to somebody, as far as it can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    Until(UnixMillis),
    /// As long as this process runs.
    Command {
        pid: u32,
    },
    /// Its file is there and may not be read.
    Untold,
}

impl Reserved {
    /// Returns it as a part of a snapshot.
    #[must_use]
    pub fn as_reservation(&self, now: UnixMillis) -> Reservation {
        let pid = match self.term {
            Term::Command { pid } => Some(pid),
            Term::Until(_) | Term::Untold => None,
        };
        let seconds_left = self.seconds_left(now);
        Reservation { user: self.user.clone(), uid: self.uid, pid, seconds_left }
    }

    /// Who was given it.
    #[must_use]
    pub fn by(&self) -> String {
        self.user.as_deref().map_or_else(|| format!("uid {}", self.uid), safe)
    }

    /// The seconds that are left, begun ones included; `None` where no time ends it.
    #[must_use]
    pub fn seconds_left(&self, now: UnixMillis) -> Option<i64> {
        match self.term {
            Term::Until(until) => Some(until.0.saturating_sub(now.0).max(0) / 1000 + 1),
            Term::Command { .. } | Term::Untold => None,
        }
    }

    /// By whom and how long, as the rest of a sentence.
    #[must_use]
    pub fn terms(&self, now: UnixMillis) -> String {
        let by = self.by();
        match (self.term, self.seconds_left(now)) {
            (Term::Command { pid }, _) => format!("by {by} while its command runs (pid {pid})"),
            (_, Some(seconds)) => format!("by {by} for another {seconds} s"),
            (_, None) => format!("by {by}, who does not let others read for how long"),
        }
    }
}

/// A reservation that was made. A command inherits its handle.
#[derive(Debug)]
pub struct Taken {
    pub file: OwnedFd,
    name: String,
}

/// Why nothing can be reserved.
#[derive(Debug, thiserror::Error)]
pub enum ReservationError {
    #[error("the reservations' folder {} {}", .0.display(), .1)]
    Folder(PathBuf, io::Error),
    #[error("{} is not a folder for reservations: {}", .0.display(), .1)]
    NotOurs(PathBuf, String),
    #[error("somebody has locked the reservations in {} for too long", .0.display())]
    Locked(PathBuf),
    #[error("{} cannot be written: {}", .0.display(), .1)]
    File(PathBuf, io::Error),
}

impl From<ReservationError> for Failure {
    fn from(error: ReservationError) -> Self {
        Self::Failed {
            what: format!("cards cannot be reserved: {error}"),
            next: "Name a folder that all users share with GUA_RESERVATIONS, or only look with \
                   --no-reserve."
                .to_owned(),
        }
    }
}

/// A card's UUID as a part of a file's name.
#[must_use]
pub fn card_key(uuid: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    uuid.chars().map(plain).take(100).collect()
}
