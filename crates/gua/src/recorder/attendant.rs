//! Who is told of every tick that is kept.

use std::fmt;

use super::log::Log;
use super::source::Seen;
use crate::ledger::Entry;
use crate::store::Database;

/// Makes something of every tick, after it was stored, and may write beside it what came of it.
/// A tick waits for it, so nothing in it may take long.
pub trait Attendant: fmt::Debug + Send {
    fn attend(&mut self, seen: &Seen, entry: &Entry, kept: Kept<'_>, log: &mut Log);

    /// The recording ends: what is to outlast it can be written beside it.
    fn close(&mut self, kept: Kept<'_>, log: &mut Log);
}

/// Where a tick was stored.
#[derive(Debug)]
pub struct Kept<'a> {
    pub database: &'a mut Database,
    /// The number of the run.
    pub run: i64,
}
