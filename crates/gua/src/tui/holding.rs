//! One line of the list: a process on a card, ready to be sorted, filtered and shown.

use std::cmp::Ordering;
use std::sync::Arc;

use gua_core::process::Kinds;
use gua_core::snapshot::{CardNow, HolderNow, IdleCertainty, IdleNow, PresenceNow, UnlistedNow};
use gua_core::units::{Bytes, Percent};
use gua_core::{Reading, Reason, State};

use super::look::{CardKey, HolderKey, Kin, Look};
use crate::render::stat;
use crate::render::words::{duration, safe};

/// A process on a card.
#[derive(Debug, Clone)]
pub struct Holding {
    pub key: HolderKey,
    /// Where the card is among the cards, and what it is called.
    pub place: usize,
    pub card: String,
    pub user: String,
    pub uid: Option<u32>,
    /// Uid of the owner of the process, who may end it.
    pub owner_uid: Option<u32>,
    pub program: String,
    pub is_here: bool,
    pub is_only_graphics: bool,
    pub memory: Option<u64>,
    pub sm: Option<f64>,
    pub cpu: Reading<Percent>,
    pub ram: Reading<Bytes>,
    pub runs_seconds: Option<f64>,
    pub state: State,
    pub idle: IdleNow,
    pub kin: Arc<[Kin]>,
}

/// Somebody on a card who is not listed.
#[derive(Debug, Clone)]
pub struct Unseen {
    pub card_key: CardKey,
    pub place: usize,
    pub card: String,
    /// What is known instead of a user and a program.
    pub what: String,
    pub memory: Option<u64>,
    pub state: State,
    pub idle: IdleNow,
}

/// One who holds a card, or may.
#[derive(Debug, Clone)]
pub enum Entry {
    Holder(Box<Holding>),
    Unseen(Unseen),
}

/// Everybody who holds a card or may, in the order of the cards and pids.
#[must_use]
pub fn entries(look: &Look) -> Vec<Entry> {
    let of_card = |(place, card): (usize, &CardNow)| {
        let holding = |holder| Entry::Holder(Box::new(holding(look, place, card, holder)));
        let mut entries: Vec<_> = card.holders.iter().map(holding).collect();
        let unlisted = card.unlisted.as_ref();
        entries.extend(unlisted.map(|unlisted| Entry::Unseen(of_unseen(place, card, unlisted))));
        entries
    };
    look.now.cards.iter().enumerate().flat_map(of_card).collect()
}

fn of_unseen(place: usize, card: &CardNow, unlisted: &UnlistedNow) -> Unseen {
    let unknown = || unlisted.unknown.unread("memory_bytes").unwrap_or(Reason::NotTold);
    Unseen {
        card_key: CardKey::of(card),
        place,
        card: card.card.label(),
        what: match (unlisted.holders_reason, unlisted.memory_bytes) {
            (Some(reason), _) => format!("unlisted: {reason}"),
            (None, Some(_)) => "no visible process".to_owned(),
            (None, None) => format!("memory: {}", unknown()),
        },
        memory: unlisted.memory_bytes,
        state: card.state,
        idle: unlisted.idle,
    }
}

impl Entry {
    const fn holder(&self) -> Option<&Holding> {
        match self {
            Self::Holder(holding) => Some(holding),
            Self::Unseen(_) => None,
        }
    }

    fn memory(&self) -> Option<u64> {
        match self {
            Self::Holder(holding) => holding.memory,
            Self::Unseen(unseen) => unseen.memory,
        }
    }

    fn user(&self) -> &str {
        self.holder().map_or("?", |holding| &holding.user)
    }

    /// By the cards as they are shown, then by pid; who is not listed comes last.
    const fn place(&self) -> (usize, bool, u32, Option<u64>) {
        match self {
            Self::Holder(holding) => {
                (holding.place, false, holding.key.pid, holding.key.start_ticks)
            }
            Self::Unseen(unseen) => (unseen.place, true, 0, None),
        }
    }
}

fn holding(look: &Look, place: usize, card: &CardNow, holder: &HolderNow) -> Holding {
    let key = look.key(card, holder);
    let process = look.processes.get(&holder.pid);
    let unseen = match holder.presence {
        PresenceNow::Here => Reason::NotAsked,
        PresenceNow::Gone => Reason::Gone,
        PresenceNow::Foreign => Reason::Foreign,
        PresenceNow::Hidden => Reason::NoPermission,
        PresenceNow::NotRecorded => Reason::NotTold,
    };
    let absence = || stat::absence(holder.presence).to_owned();
    Holding {
        place,
        card: card.card.label(),
        user: stat::user(holder),
        uid: holder.uid,
        owner_uid: holder.owner_uid,
        program: holder.program.as_deref().map_or_else(absence, safe),
        is_here: holder.presence == PresenceNow::Here,
        is_only_graphics: holder.kinds == Kinds::GRAPHICS,
        memory: holder.memory_bytes,
        sm: holder.sm_percent,
        cpu: process.map_or(Reading::Unknown(unseen), |process| process.cpu),
        ram: process.map_or(Reading::Unknown(unseen), |process| process.ram),
        runs_seconds: holder.running_seconds,
        state: holder.state,
        idle: holder.idle,
        kin: process.map_or_else(|| Arc::from([]), |process| Arc::clone(&process.kin)),
        key,
    }
}

impl Holding {
    /// Returns for how long it has been idle, at least; `None` if it is not, or if that is not known.
    #[must_use]
    pub fn idle_seconds(&self) -> Option<f64> {
        (self.state == State::IdleHeld).then(|| self.idle.idle_seconds.unwrap_or(0.0))
    }

    /// Formats for how long it has been idle, at least.
    #[must_use]
    pub fn format_idle(&self) -> Option<String> {
        self.idle_seconds().map(|seconds| format_idle(self.idle, seconds))
    }
}

/// Formats an idle time; with a sign if it may be longer.
#[must_use]
pub fn format_idle(idle: IdleNow, seconds: f64) -> String {
    let is_exact = idle.idle_certainty == Some(IdleCertainty::Exact);
    let length = duration(seconds);
    if is_exact { length } else { format!("≥{length}") }
}

/// What the list is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    Card,
    User,
    Memory,
    Sm,
    RunTime,
    Idle,
}

/// The order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub by: Column,
    pub is_reversed: bool,
}

impl Order {
    /// The largest come first, names and cards in their own order. What is not known comes
    /// last, whichever way.
    pub fn sort(self, entries: &mut [Entry]) {
        entries.sort_by(|a, b| self.compare(a, b).then_with(|| a.place().cmp(&b.place())));
    }

    fn compare(self, a: &Entry, b: &Entry) -> Ordering {
        let largest = |figure: &dyn Fn(&Entry) -> Option<f64>| self.figures(figure(a), figure(b));
        match self.by {
            Column::Card => self.turned(a.place().0.cmp(&b.place().0)),
            Column::User => self.turned(a.user().cmp(b.user())),
            #[expect(clippy::cast_precision_loss, reason = "an order, not a figure")]
            Column::Memory => largest(&|entry| entry.memory().map(|bytes| bytes as f64)),
            Column::Sm => largest(&|entry| entry.holder()?.sm),
            Column::RunTime => largest(&|entry| entry.holder()?.runs_seconds),
            Column::Idle => largest(&|entry| entry.holder()?.idle_seconds()),
        }
    }

    fn figures(self, a: Option<f64>, b: Option<f64>) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) => self.turned(b.total_cmp(&a)),
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }

    const fn turned(self, order: Ordering) -> Ordering {
        if self.is_reversed { order.reverse() } else { order }
    }
}

/// Which holders are shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// A part of the user's name, of the program's or of the pid, whatever its case.
    pub text: String,
    pub hides_graphics: bool,
    /// Only those of this user.
    pub only_of: Option<u32>,
}

impl Choice {
    #[must_use]
    pub fn has(&self, entry: &Entry) -> bool {
        let text = self.text.to_lowercase();
        let is_in = |name: &str| name.to_lowercase().contains(&text);
        let holding = match entry {
            Entry::Holder(holding) => holding,
            // Nobody knows whose it is.
            Entry::Unseen(unseen) => return self.only_of.is_none() && is_in(&unseen.what),
        };
        !(self.hides_graphics && holding.is_only_graphics)
            && self.only_of.is_none_or(|uid| holding.uid == Some(uid))
            && (text.is_empty()
                || is_in(&holding.user)
                || is_in(&holding.program)
                || is_in(&holding.key.pid.to_string()))
    }
}
