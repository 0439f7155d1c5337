//! What the driver keeps account of: each process on a card, also after its end.

use std::sync::Arc;

use crate::card::CardFacts;
use crate::reading::Reading;
use crate::units::{Bytes, UnixMillis};

/// The accounts of one card.
#[derive(Debug, Clone, PartialEq)]
pub struct CardAccounts {
    pub facts: Arc<CardFacts>,
    /// Of the processes that were asked for, those that the card knows. Unknown where the
    /// accounting mode is off.
    pub accounts: Reading<Vec<Account>>,
}

/// One process on one card, over its whole life.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Account {
    pub pid: u32,
    /// When it began. A pid may have been that of another process before.
    pub started: UnixMillis,
    /// The most it ever held.
    pub peak: Reading<Bytes>,
}
