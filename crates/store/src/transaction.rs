//! The transaction of a tick, for those who store something of their own with it.

use gua_core::process::ProcessId;
use gua_core::units::UnixMillis;
use rusqlite::Connection;

use crate::error::Problem;
use crate::names::Names;
use crate::tick::{CardSample, ProcessEntry};
use crate::writer;

/// A transaction that is open. All of it is stored, or nothing.
#[derive(Debug)]
pub struct TickTransaction<'a> {
    pub(crate) db: &'a Connection,
    pub(crate) names: &'a mut Names,
    /// Row id of the boot.
    pub(crate) boot: i64,
}

impl TickTransaction<'_> {
    /// Writes a sample of another time than the tick's.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_sample(&mut self, at: UnixMillis, sample: &CardSample) -> Result<(), Problem> {
        let card = self.names.card(self.db, &sample.card)?;
        writer::write_sample(self.db, at, card, sample)
    }

    /// Returns the row id of a process, with a new row if it has none yet.
    pub(crate) fn process(&mut self, process: ProcessId) -> Result<i64, Problem> {
        match self.names.process_id(process) {
            Some(id) => Ok(id),
            None => self.names.process(self.db, self.boot, &ProcessEntry::unread(process)),
        }
    }
}
