//! Whom time on a card is counted for.

use serde::{Deserialize, Serialize};

use crate::ledger::{HolderEntry, Identity};
use crate::safe::safe;

/// Of memory that nobody listed holds, and of processes that nobody is known to be behind.
pub const UNATTRIBUTED: &str = "unattributed";

/// Where more series would be made than may be, the rest is counted together.
pub(super) const OTHERS: &str = "others";

/// A label is a name, not a text.
const LONGEST: usize = 120;

/// Somebody, and what they used the card with where that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Owner {
    pub user: String,
    /// Labels besides the user, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<(String, String)>,
}

/// Which labels besides the user are made, and how many series at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub job: bool,
    pub container: bool,
    pub notebook: bool,
    /// How many owners there are at most, over all cards.
    pub most_owners: usize,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { job: false, container: false, notebook: false, most_owners: 1000 }
    }
}

impl Owner {
    #[must_use]
    pub fn named(user: &str) -> Self {
        Self { user: user.to_owned(), more: Vec::new() }
    }

    /// The person alone.
    #[must_use]
    pub fn of_identity(identity: &Identity) -> Self {
        Self::named(&match (&identity.user, identity.uid) {
            (Some(user), _) => label(user),
            (None, Some(uid)) => format!("uid {uid}"),
            (None, None) => UNATTRIBUTED.to_owned(),
        })
    }

    pub(super) fn of_holder(holder: &HolderEntry, _wanted: &Wanted) -> Self {
        Self::of_identity(&holder.identity)
    }
}

/// A name from outside as the value of a label.
pub(super) fn label(text: &str) -> String {
    let safe = safe(text);
    match safe.char_indices().nth(LONGEST) {
        Some((end, _)) => safe[..end].to_owned(),
        None => safe,
    }
}
