//! Those who do something with every poll and every tick: rules and counters.

use std::collections::HashMap;
use std::time::Duration;

use gua_core::Poll;
use gua_core::poll::ProcessPoll;
use gua_core::process::ProcessId;
use gua_store::{Database, Problem, ProcessEntry, StoreError, Tick, TickTransaction, Writer};

use crate::log::Log;

/// Observes the recording. State in memory must advance only in `stored`: a transaction may be rolled
/// back, and its time is then part of a later tick.
pub trait TickObserver: Send {
    /// Called when a database was opened, before anything is written to it: also when the one before was
    /// moved away, and this one is empty.
    ///
    /// # Errors
    /// When something cannot be read. Then nothing is recorded.
    fn opened(&mut self, _database: &Database) -> Result<(), StoreError> {
        Ok(())
    }

    /// Called after each poll.
    fn polled(&mut self, _poll: &Poll) {}

    /// Called with the time that a poll took.
    fn poll_took(&mut self, _time: Duration) {}

    /// Called after process samples were read between two polls.
    fn sampled(&mut self, _samples: &ProcessPoll) {}

    /// Called in the transaction of each tick.
    ///
    /// # Errors
    /// When something cannot be written. Then nothing of the tick is.
    fn write(
        &mut self,
        tick: &RecordedTick<'_>,
        transaction: &mut TickTransaction<'_>,
    ) -> Result<(), Problem>;

    /// Called after a tick was stored.
    fn stored(&mut self, tick: &RecordedTick<'_>, writer: &mut Writer, log: &mut Log);

    /// Called when the recording ends in order, after its last tick.
    fn close(&mut self, _writer: &mut Writer, _log: &mut Log) {}
}

/// A tick with what else is known at its time.
#[derive(Debug, Clone, Copy)]
pub struct RecordedTick<'a> {
    pub tick: &'a Tick<'a>,
    /// The newest poll.
    pub poll: &'a Poll,
    /// Everything that is known of the processes of `tick` and `poll`.
    pub processes: &'a HashMap<ProcessId, ProcessEntry>,
    pub thresholds: gua_core::Thresholds,
}
