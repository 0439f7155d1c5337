//! What the pages are made from.

use std::fmt::Debug;

use gua_query::status::Status;
use serde::Serialize;

use super::asked::Asked;
use gua_fleet::NotReady;
use crate::report::board::{Board, Page};
use crate::report::now::Now;
use crate::report::usage::Usage;
use crate::report::who::{self, Who};

/// Answers from a history. Each may take a while, so it is asked where nobody waits for it.
pub trait Answers: Debug + Send + Sync {
    /// A window of time, and what is beside it on a page.
    ///
    /// # Errors
    /// When the history cannot be read.
    fn page(&self, asked: &Asked) -> Result<Page, NotReady>;

    /// The window alone, for a program.
    ///
    /// # Errors
    /// When the history cannot be read.
    fn report(&self, asked: &Asked) -> Result<Usage, NotReady>;

    /// Every card at the newest tick; `None` where there is none.
    ///
    /// # Errors
    /// When the history cannot be read.
    fn board(&self) -> Result<Option<Board>, NotReady>;

    /// What a look would have told at the newest tick.
    ///
    /// # Errors
    /// When the history cannot be read, or is empty.
    fn stat(&self) -> Result<Now, NotReady>;

    /// Who holds what at the newest tick.
    ///
    /// # Errors
    /// When the history cannot be read, or is empty.
    fn who(&self, asked: &who::Asked) -> Result<Who, NotReady>;

    /// How the recorder does.
    fn status(&self) -> Status;

    /// A number that is another one after every tick; `None` before the first.
    fn tick(&self) -> Option<i64>;
}

/// An answer as the command of that name prints it.
///
/// # Errors
/// When it cannot be written as JSON.
pub(super) fn json(answer: &impl Serialize) -> Result<Vec<u8>, NotReady> {
    let mut text = Vec::new();
    crate::render::json::pretty(&mut text, answer)
        .map_err(|error| NotReady::Unreadable(error.to_string()))?;
    Ok(text)
}
