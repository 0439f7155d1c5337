//! What an account is called.

use serde::Serialize;

use crate::ledger::Identity;

/// The name of an account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    Known(Known),
    /// The number of a card.
    Card(i64),
    Nobody(Unattributed),
    /// Somebody whom nobody asked about.
    Another,
}

/// A name as the outside gave it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Known {
    /// What it is known by.
    pub id: String,
    /// What a person calls it.
    pub label: String,
    /// Whose it is, where others may have one of the same name.
    pub user: Option<String>,
}

/// Why an account has no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unattributed {
    /// There is none: it runs in no job, in no container.
    None,
    /// It cannot be told, or was not written down.
    NotKnown,
    /// Memory that no listed process accounts for.
    NoVisibleProcess,
}

impl Unattributed {
    /// A stable word for machine-readable output.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::NotKnown => "not_known",
            Self::NoVisibleProcess => "no_visible_process",
        }
    }
}

impl Known {
    pub(super) fn of(name: impl Into<String>) -> Self {
        let id: String = name.into();
        Self { label: id.clone(), id, user: None }
    }
}

impl Name {
    /// One name is one person, whichever uid it goes by.
    #[must_use]
    pub fn of_user(identity: &Identity) -> Self {
        match (&identity.user, identity.uid) {
            (None, None) => Self::Nobody(Unattributed::NotKnown),
            _ => Self::Known(Known::of(Self::called(identity))),
        }
    }

    /// What somebody is called, by name or number.
    pub(super) fn called(identity: &Identity) -> String {
        match (&identity.user, identity.uid) {
            (Some(user), _) => user.to_string(),
            (None, Some(uid)) => format!("uid {uid}"),
            (None, None) => "unattributed".to_owned(),
        }
    }
}
