//! Sums of a window: all that a report is made of, whether it comes from the record or from counters.

use std::collections::{BTreeMap, HashMap};

use gua_core::{Period, Reason};
use gua_store::{CardTimes, HolderSums};

use super::account::{AccountName, By};
use super::answer::Host;
use super::basis::Basis;
use super::gaps::Gap;
use super::hours::Week;
use super::session::Session;

/// Sums of a window, in `f64`: nothing is rounded before it is printed.
#[derive(Debug, Clone)]
pub struct Sums {
    pub host: Option<Host>,
    /// The window, ended where the record is final.
    pub window: Period,
    /// From the first to the last record that is kept.
    pub data: Option<Period>,
    /// Time in which the recorder ran and observed the host, in milliseconds.
    pub recorded_ms: i64,
    pub gaps: Vec<Gap>,
    pub basis: Vec<Basis>,
    /// Cards that were seen in the window, in the order in which they are shown.
    pub cards: Vec<CardTotals>,
    /// Sums of each account by the place of the card. Of one kind and without a filter, they add up to
    /// the cards, but for time of which the holders are not known.
    pub accounts: HashMap<(By, AccountName), BTreeMap<usize, HolderSums>>,
    pub week: Week,
    pub sessions: Vec<Session>,
    pub sessions_left_out: usize,
}

/// A card and what it did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CardTotals {
    pub uuid: Option<String>,
    /// `None` if only its counters are known.
    pub index: Option<u32>,
    /// Slot of a MIG instance.
    pub slot: Option<u32>,
    pub name: Option<String>,
    pub memory_bytes: Option<u64>,
    pub times: CardTimes<f64>,
    /// Unknown time in milliseconds, by its reason.
    pub unknown_ms: HashMap<Reason, f64>,
}

impl CardTotals {
    /// Returns the number that a card is shown with.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        Some(gua_core::card::label(self.index?, self.slot))
    }
}

impl Sums {
    /// Returns the sums of all cards.
    #[must_use]
    pub fn card_times(&self) -> CardTimes<f64> {
        let mut times = CardTimes::default();
        self.cards.iter().for_each(|card| times.add_sums(&card.times));
        times
    }

    /// Adds what a holder did on a card to an account.
    pub fn add_holder(&mut self, by: By, name: AccountName, card: usize, holder: &HolderSums) {
        let on_card = self.accounts.entry((by, name)).or_default().entry(card).or_default();
        add_holder_sums(on_card, holder);
    }
}

/// Adds what a holder did to sums of several.
pub(super) fn add_holder_sums(sums: &mut HolderSums, holder: &HolderSums) {
    sums.times.add_sums(&holder.times);
    sums.peak_mib = sums.peak_mib.max(holder.peak_mib);
}
