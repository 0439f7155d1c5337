//! One line of the list: a process on a card, ready to be sorted, filtered and shown.

use std::cmp::Ordering;
use std::sync::Arc;

use probe::units::{Bytes, Percent, UnixMillis};
use probe::{Reading, Why};

use super::idle::{Idle, Idleness};
use super::look::{CardKey, HolderKey, Kin, Look};
use crate::classify::State;
use crate::render::stat;
use crate::render::words::safe;
use crate::report::now::{self, Card, Holder, Presence};

/// A process on a card.
#[derive(Debug, Clone)]
pub struct Holding {
    pub key: HolderKey,
    /// Where the card is among the cards, and what it is called.
    pub place: usize,
    pub card: String,
    pub user: String,
    pub uid: Option<u32>,
    pub program: String,
    pub is_here: bool,
    pub is_only_graphics: bool,
    pub memory: Option<u64>,
    pub sm: Option<f64>,
    pub cpu: Reading<Percent>,
    pub ram: Reading<Bytes>,
    pub runs_seconds: Option<f64>,
    pub idle: Idle,
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
}

/// One who holds a card, or may.
#[derive(Debug, Clone)]
pub enum Entry {
    Holder(Box<Holding>),
    Unseen(Unseen),
}

/// Everybody who holds a card or may, in the order of the cards and pids.
#[must_use]
pub fn entries(look: &Look, idleness: &Idleness) -> Vec<Entry> {
    let of_card = |(place, card): (usize, &Card)| {
        let holding =
            |holder| Entry::Holder(Box::new(holding(look, idleness, place, card, holder)));
        let mut entries: Vec<_> = card.holders.iter().map(holding).collect();
        entries.extend(card.unseen.map(|unseen| Entry::Unseen(of_unseen(place, card, unseen))));
        entries
    };
    look.now.cards.iter().enumerate().flat_map(of_card).collect()
}

fn of_unseen(place: usize, card: &Card, unseen: now::Unseen) -> Unseen {
    Unseen {
        card_key: CardKey::of(card),
        place,
        card: card.identity.label(),
        what: match (unseen.unread, unseen.memory) {
            (Some(why), _) => format!("unseen: {why}"),
            (None, Reading::Known(_)) => "no visible process".to_owned(),
            (None, Reading::Unknown(why)) => format!("memory: {why}"),
        },
        memory: unseen.memory.known().map(|bytes| bytes.0),
        state: card.state,
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

fn holding(
    look: &Look,
    idleness: &Idleness,
    place: usize,
    card: &Card,
    holder: &Holder,
) -> Holding {
    let key = look.key(card, holder);
    let process = look.processes.get(&holder.pid);
    let unseen = match holder.presence {
        Presence::Here => Why::NotAsked,
        Presence::Gone => Why::Gone,
        Presence::Foreign => Why::Foreign,
        Presence::Hidden => Why::NoPermission,
        Presence::NotRecorded => Why::NotTold,
    };
    let started = holder.owner.started.map(|at| UnixMillis(at.as_millisecond()));
    let absence = || stat::absence(holder.presence).to_owned();
    Holding {
        place,
        card: card.identity.label(),
        user: stat::user(holder),
        uid: holder.owner.uid,
        program: holder.owner.program.as_deref().map_or_else(absence, safe),
        is_here: holder.presence == Presence::Here,
        is_only_graphics: holder.kinds == ["graphics"],
        memory: holder.memory_bytes,
        sm: holder.sm_percent,
        cpu: process.map_or(Reading::Unknown(unseen), |process| process.cpu),
        ram: process.map_or(Reading::Unknown(unseen), |process| process.ram),
        runs_seconds: holder.owner.running_seconds,
        idle: idleness.of(&key, started),
        kin: process.map_or_else(|| Arc::from([]), |process| Arc::clone(&process.kin)),
        key,
    }
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
            // The earlier it began, the longer it is.
            #[expect(clippy::cast_precision_loss, reason = "milliseconds fit 53 bits")]
            Column::Idle => largest(&|entry| match entry.holder()?.idle {
                Idle::Since(stretch) => Some(-(stretch.from.0 as f64)),
                Idle::No | Idle::Unknown(_) => None,
            }),
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
