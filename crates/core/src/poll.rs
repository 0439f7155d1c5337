//! One reading of the cards and their holders: the input of the classifier.

use std::sync::Arc;
use std::time::Duration;

use crate::card::{CardFacts, ProcessSample, Vitals};
use crate::clocks::Clocks;
use crate::process::ProcessId;
use crate::reading::{Reading, Reason};
use crate::units::Percent;

/// One reading of all cards and their holders.
#[derive(Debug, Clone)]
pub struct Poll {
    pub clocks: Clocks,
    /// All cards, or why the driver could not be asked for any.
    pub cards: Result<Vec<CardPoll>, Reason>,
    /// Processes that ended since the last poll.
    pub exits: Vec<Exit>,
}

/// One card as a poll read it.
#[derive(Debug, Clone)]
pub struct CardPoll {
    pub card: Arc<CardFacts>,
    pub reading: Vitals,
    /// The processes of `reading.holders.seen`, in the same order.
    pub processes: Vec<HolderProcess>,
}

/// Process samples of one card, read between two polls.
#[derive(Debug, Clone)]
pub struct ProcessPoll {
    pub clocks: Clocks,
    pub card: Arc<CardFacts>,
    pub samples: Reading<Vec<ProcessSample>>,
}

/// The process behind a holder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HolderProcess {
    pub id: ProcessId,
    /// Start of the process since boot, where known.
    pub started: Option<Duration>,
    /// CPU time since the last poll, in percent of one core.
    pub cpu: Reading<Percent>,
}

/// The end of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    pub id: ProcessId,
    /// Time since boot, halfway between the check that noticed it and the check before.
    pub at: Duration,
}
