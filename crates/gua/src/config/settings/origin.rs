//! A value in force, and where it came from.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::safe::safe;

/// A value with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting<T> {
    pub value: T,
    pub origin: Origin,
}

impl<T> Setting<T> {
    pub(super) const fn usual(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }

    /// What was typed as an option wins, where it was.
    pub(super) fn flag(&mut self, name: &'static str, typed: Option<T>) {
        if let Some(value) = typed {
            *self = Self { value, origin: Origin::Flag(name) };
        }
    }
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    File {
        whose: Whose,
        path: Arc<Path>,
        line: usize,
    },
    /// A variable of this name.
    Environment(&'static str),
    /// An option of this name.
    Flag(&'static str),
    /// Another key, which it cannot exceed.
    Bounded(&'static str),
}

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    System,
    User,
}

impl Whose {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
        }
    }
}

/// On one line, fit to be shown.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { whose, path, line } => {
                let path = safe(&path.display().to_string());
                write!(f, "{} {path}:{line}", whose.word())
            }
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
            Self::Bounded(by) => write!(f, "as much as `{by}`, which it cannot exceed"),
        }
    }
}
