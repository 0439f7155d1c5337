//! Whom time on a card is counted for.

use serde::{Deserialize, Serialize};

use crate::config::{Config, Metrics, Recorder};
use crate::ledger::{HolderEntry, Identity};
use crate::safe::safe;

/// Of memory that nobody listed holds, and of processes that nobody is known to be behind.
pub const UNATTRIBUTED: &str = "unattributed";

/// Where more series would be made than may be, the rest is counted together.
pub(super) const OTHERS: &str = "others";

/// A label is a name, not a text.
const LONGEST: usize = 120;

/// What is told apart, and how often is looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Which labels besides the user are made, and how many owners there are at most.
    pub labels: Metrics,
    pub beat: Recorder,
}

impl From<&Config> for Wanted {
    fn from(config: &Config) -> Self {
        Self { labels: config.metrics, beat: config.recorder }
    }
}

/// Somebody, and what they used the card with where that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Owner {
    pub user: String,
    /// Labels besides the user, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<(String, String)>,
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
            // An account may have a name that stands for something here.
            (Some(user), _) if [UNATTRIBUTED, OTHERS].contains(&&**user) => format!("user {user}"),
            (Some(user), _) => label(user),
            (None, Some(uid)) => format!("uid {uid}"),
            (None, None) => UNATTRIBUTED.to_owned(),
        })
    }

    /// With what the holder runs for, as far as it is wanted and known.
    pub(super) fn of_holder(holder: &HolderEntry, wanted: &Metrics) -> Self {
        let Self { user, .. } = Self::of_identity(&holder.identity);
        let mut more = Vec::new();
        if let Some(who) = &holder.workload {
            let job = who.job.as_ref().filter(|_| wanted.job).map(|job| &job.value.id);
            let container = who.container.as_ref().filter(|_| wanted.container);
            let container = container.map(|it| it.value.name.as_ref().unwrap_or(&it.value.id));
            let notebook = who.notebook.as_ref().filter(|_| wanted.notebook);
            let notebook = notebook.and_then(|it| it.value.path.as_ref());
            let named = [("slurm_job", job), ("container", container), ("notebook", notebook)];
            more.extend(named.into_iter().filter_map(|(name, it)| Some((name.into(), label(it?)))));
        }
        Self { user, more }
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
