//! One account, as it is told.

use serde::Serialize;

use super::money::{Cost, Prices};
use super::times::{hours, rounded, share};
use crate::report::accounts::{self, By, Known, Name, Unattributed};
use crate::store::CardRow;

/// Time in GPU-hours: one card for one hour.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Account {
    pub by: By,
    /// Null for what is nobody's, or has none.
    pub name: Option<String>,
    /// Why there is no name, where there is none.
    pub unattributed: Option<Unattributed>,
    /// What it is known by: a container's id, a pod's uid, a card's UUID.
    pub id: Option<String>,
    /// Whose job or notebook it is.
    pub user: Option<String>,
    /// With a process on a card, whatever it did; a card counts once.
    pub gpu_hours: f64,
    /// With a process that worked.
    pub worked_gpu_hours: f64,
    /// Of that, what it worked so little that its card was idle-held: under the card's line.
    pub worked_on_idle_held_gpu_hours: f64,
    /// Its part of the cards' idle-held time: a shared card is split by memory, so all accounts
    /// add up to the cards.
    pub idle_held_gpu_hours: f64,
    /// What part of the cards' idle-held time that is.
    pub idle_held_share: Option<f64>,
    /// All of the time in which it held memory and did not work, also where others did.
    pub idle_gpu_hours: f64,
    /// Whether it worked, or how much it held, could not be told.
    pub unknown_gpu_hours: f64,
    /// What of the time worked or idle is known only of the card: the driver did not tell what
    /// each process did.
    pub as_the_card_gpu_hours: f64,
    /// The most that it held at once on one card; null where that was not always told.
    pub peak_memory_bytes: Option<u64>,
    /// The memory that was held by what did not work, in GB of 10⁹ bytes.
    pub held_idle_gb_hours: f64,
    /// What its part of the idle-held time cost; null where that is not known.
    pub cost: Option<f64>,
    /// What of its part is not in the cost, as the card has no price.
    pub unpriced_gpu_hours: f64,
}

/// What the accounts are told beside.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beside<'a> {
    pub cards: &'a [CardRow],
    pub prices: &'a Prices<'a>,
    /// Of all cards, in milliseconds.
    pub idle_held: i64,
}

impl Beside<'_> {
    /// An account as it is told.
    pub fn told(&self, by: By, account: &accounts::Account) -> Account {
        let called = self.called(by, &account.name);
        let on_cards = account.cards.iter().map(|on| (on.card, on.idle_held_share));
        let Cost { cost, unpriced_gpu_hours, .. } = self.prices.cost(on_cards);
        Account {
            by,
            name: called.name,
            unattributed: called.unattributed,
            id: called.id,
            user: called.user,
            gpu_hours: hours(account.present),
            worked_gpu_hours: hours(account.worked),
            worked_on_idle_held_gpu_hours: hours(account.worked_little),
            idle_held_gpu_hours: hours(account.idle_held_share),
            idle_held_share: share(account.idle_held_share, self.idle_held),
            idle_gpu_hours: hours(account.idle_held),
            unknown_gpu_hours: hours(account.unknown),
            as_the_card_gpu_hours: hours(account.as_the_card),
            peak_memory_bytes: account.peak.known().map(|most| most.0 << 10),
            held_idle_gb_hours: rounded(account.held_idle.gb_hours()),
            cost,
            unpriced_gpu_hours,
        }
    }

    fn called(&self, by: By, name: &Name) -> Called {
        let has_an_id = matches!(by, By::Container | By::Pod);
        match name {
            Name::Known(Known { id, label, user }) => Called {
                name: Some(label.clone()),
                id: has_an_id.then(|| id.clone()),
                user: user.clone(),
                unattributed: None,
            },
            Name::Card(id) => self.card(*id),
            Name::Nobody(why) => Called { unattributed: Some(*why), ..Called::default() },
            Name::Another => Called::default(),
        }
    }

    fn card(&self, id: i64) -> Called {
        let Some(card) = self.cards.iter().find(|card| card.id == id) else {
            return Called { unattributed: Some(Unattributed::NotKnown), ..Called::default() };
        };
        let place = card
            .slot
            .map_or_else(|| card.number.to_string(), |slot| format!("{}:{slot}", card.number));
        Called { name: Some(place), id: card.uuid.clone(), ..Called::default() }
    }
}

/// The names of an account.
#[derive(Debug, Default)]
struct Called {
    name: Option<String>,
    id: Option<String>,
    user: Option<String>,
    unattributed: Option<Unattributed>,
}
