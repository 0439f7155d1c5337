//! What the pages and the API are made from.

use std::fmt::Debug;

use gua_fleet::NotReady;
use gua_query::page::UsagePage;
use gua_query::snapshot::Snapshot;
use gua_query::status::Status;
use gua_query::usage::Usage;
use gua_query::who::{WhoAnswer, WhoFilter};
use serde::Serialize;

use super::asked::Asked;

/// Answers from a record. Each may take a while, so none is asked for on the thread that serves.
pub trait Answers: Debug + Send + Sync {
    /// Returns everything on the page of a window.
    ///
    /// # Errors
    /// When the record cannot be read.
    fn page(&self, asked: &Asked) -> Result<UsagePage, NotReady>;

    /// Returns the report on a window.
    ///
    /// # Errors
    /// When the record cannot be read.
    fn report(&self, asked: &Asked) -> Result<Usage, NotReady>;

    /// Returns true if there is a price of a GPU-hour.
    fn has_prices(&self) -> bool;

    /// Returns what the recorder last saw; `None` before the first tick.
    ///
    /// # Errors
    /// When the record cannot be read.
    fn now(&self) -> Result<Option<Snapshot>, NotReady>;

    /// Returns who holds what, as the recorder last saw it.
    ///
    /// # Errors
    /// When the record cannot be read, or is empty.
    fn who(&self, filter: &WhoFilter) -> Result<WhoAnswer, NotReady>;

    /// Returns how the recorder does.
    fn status(&self) -> Status;

    /// Returns a number that changes with every tick; `None` before the first.
    fn tick(&self) -> Option<i64>;
}

/// Returns an answer as the command of that name prints it.
///
/// # Errors
/// When it cannot be written as JSON.
pub(super) fn json(answer: &impl Serialize) -> Result<Vec<u8>, NotReady> {
    let mut text = Vec::new();
    crate::render::json::pretty(&mut text, answer)
        .map_err(|error| NotReady::Unreadable(error.to_string()))?;
    Ok(text)
}
