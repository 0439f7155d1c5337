//! What one page shows: a window, what each card did when, and all cards now.

use gua_core::Period;
use gua_store::Database;

use crate::snapshot::{Snapshot, SnapshotError, recorded};
use crate::timeline::{Timeline, timeline};
use crate::usage::{Usage, UsageRequest, usage};

/// A window that ends less than this before now ends now.
const SOON_MS: i64 = 60_000;

/// Everything on one page.
#[derive(Debug, Clone, PartialEq)]
pub struct UsagePage {
    pub usage: Usage,
    /// `None` if it is not known what each card did when.
    pub timeline: Option<Timeline>,
    /// What the recorder last saw; `None` if the page is not about now, or about one person only.
    pub now: Option<Snapshot>,
}

impl From<Usage> for UsagePage {
    /// Returns a page of a window alone.
    fn from(usage: Usage) -> Self {
        Self { usage, timeline: None, now: None }
    }
}

/// Reads everything on the page of a window.
pub fn usage_page(store: &Database, request: &UsageRequest) -> Result<UsagePage, SnapshotError> {
    store.at_once(|| {
        let usage = usage(store, request)?;
        // Where the record ends, the picture does.
        let window = Period::new(usage.window.from.into(), usage.window.to.into());
        let mut timeline = timeline(store, window, request)?;
        // A report on one person has their cards only.
        timeline.cards.retain(|drawn| usage.cards.iter().any(|card| drawn.is_of(card)));
        let is_about_now = request.user.is_none() && request.window.to.0 + SOON_MS >= request.now.0;
        let now = if is_about_now { recorded(store, request.now)? } else { None };
        Ok(UsagePage { usage, timeline: Some(timeline), now })
    })
}
