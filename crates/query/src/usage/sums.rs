//! Sums of a window: all that a report is made of, whether it comes from the record or from counters.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use gua_core::{Period, Reason, Slices, card};
use gua_store::{CardTimes, HolderSums, HolderTimes, Person};

use super::account::{AccountName, By, person_name};
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
    /// Uids of users by the name that their accounts have; `None` for a user with several.
    pub uids: BTreeMap<Arc<str>, Option<u32>>,
    /// Sums of each account. Those of one kind add up to the cards, but for time of which the holders are
    /// not known; in a report on one person, there are only theirs.
    pub accounts: BTreeMap<(By, AccountName), OnCards>,
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
    /// UUID of the GPU that it is a part of.
    pub parent_uuid: Option<String>,
    /// Its part of a GPU; `None` if only its counters are known.
    pub slices: Option<Slices>,
    /// True if it is what is left of a GPU beside its MIG instances.
    pub unpartitioned: bool,
    /// Times of a part of a GPU count by that part.
    pub times: CardTimes<f64>,
    /// Unknown time in milliseconds, by its reason.
    pub unknown_ms: HashMap<Reason, f64>,
    /// Energy of unknown time in joules: a part of `times.other_j`.
    pub unknown_j: f64,
}

/// Sums of an account by the place of the card. Most accounts are on one or two cards.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OnCards(pub Vec<(usize, HolderSums)>);

impl CardTotals {
    /// Returns the number that a card is shown with.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        label(self.index, self.slot, self.unpartitioned)
    }

    /// Returns true if it is a part of a GPU, whose energy is divided by slices.
    #[must_use]
    pub const fn is_part(&self) -> bool {
        self.slot.is_some() || self.unpartitioned
    }

    /// Returns the part of a card that belongs to a holder. Utilization and used memory are the card's, and
    /// free time belongs to nobody.
    fn part(&self, holder: &HolderTimes<f64>) -> Self {
        let times = CardTimes {
            active_ms: holder.active_share_ms,
            idle_held_ms: holder.unused_share_ms + holder.low_use_share_ms,
            unknown_ms: holder.unknown_share_ms,
            active_j: holder.active_j,
            idle_held_j: holder.idle_held_j,
            // The energy of unknown time belongs to no holder.
            energy_unknown_ms: holder.energy_unknown_ms + holder.unknown_share_ms,
            ..CardTimes::default()
        };
        let [busy_unknown_ms, memory_unknown_ms] = [times.observed_ms(); 2];
        let times = CardTimes { busy_unknown_ms, memory_unknown_ms, ..times };
        Self { times, unknown_ms: HashMap::new(), unknown_j: 0.0, ..self.clone() }
    }
}

/// Returns the number that a card is shown with; `None` if only its counters are known.
#[must_use]
pub fn label(index: Option<u32>, slot: Option<u32>, unpartitioned: bool) -> Option<String> {
    let index = index?;
    Some(if unpartitioned { card::rest_label(index) } else { card::label(index, slot) })
}

/// Returns the sums of cards.
pub(super) fn card_times(cards: &[CardTotals]) -> CardTimes<f64> {
    let mut times = CardTimes::default();
    cards.iter().for_each(|card| times.add_sums(&card.times));
    times
}

impl Sums {
    /// Returns the sums of all cards.
    #[must_use]
    pub fn card_times(&self) -> CardTimes<f64> {
        card_times(&self.cards)
    }

    /// Returns the cards that the users of the accounts were on, with their part of them.
    pub(super) fn cards_of_users(&self) -> Vec<CardTotals> {
        let mut own = OnCards::default();
        let of_users = self.accounts.iter().filter(|((by, _), _)| *by == By::User);
        for (card, holder) in of_users.flat_map(|(_, on_cards)| &on_cards.0) {
            own.add(*card, holder);
        }
        own.0.sort_by_key(|(card, _)| *card);
        let part =
            |(card, holder): (usize, HolderSums)| Some(self.cards.get(card)?.part(&holder.times));
        own.0.into_iter().filter_map(part).collect()
    }

    /// Notes the uid of somebody who has an account.
    pub fn add_uid(&mut self, person: &Person) {
        let uid = self.uids.entry(person_name(person).into()).or_insert(person.uid);
        if *uid != person.uid {
            *uid = None;
        }
    }

    /// Returns the number of cards with any time.
    #[expect(clippy::cast_precision_loss, reason = "a host has few cards")]
    pub fn observed_cards(&self) -> f64 {
        self.cards.iter().filter(|card| card.times.observed_ms() > 0.0).count() as f64
    }

    /// Adds what a holder did on a card to an account.
    pub fn add_holder(&mut self, by: By, name: AccountName, card: usize, holder: &HolderSums) {
        self.accounts.entry((by, name)).or_default().add(card, holder);
    }
}

impl OnCards {
    /// Adds what a holder did on a card.
    pub fn add(&mut self, card: usize, holder: &HolderSums) {
        match self.0.iter_mut().find(|(place, _)| *place == card) {
            Some((_, sums)) => add_holder_sums(sums, holder),
            None => {
                // Most accounts never have more.
                self.0.reserve_exact(1);
                self.0.push((card, *holder));
            }
        }
    }
}

/// Adds what a holder did to what others did.
pub(super) fn add_holder_sums(sums: &mut HolderSums, holder: &HolderSums) {
    sums.times.add_sums(&holder.times);
    sums.peak_mib = sums.peak_mib.max(holder.peak_mib);
}
