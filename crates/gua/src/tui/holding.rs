//! One line of the list: a process on a card, ready to be sorted, filtered and shown.

use std::cmp::Ordering;
use std::sync::Arc;

use probe::units::{Bytes, Percent, UnixMillis};
use probe::{Reading, Why};

use super::idle::{Idle, Idleness};
use super::look::{HolderKey, Kin, Look};
use crate::render::stat;
use crate::render::words::safe;
use crate::report::now::{Card, Holder, Presence};

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

/// Everybody who holds a card, in the order of the cards and pids.
#[must_use]
pub fn holdings(look: &Look, idleness: &Idleness) -> Vec<Holding> {
    let cards = look.now.cards.iter().enumerate();
    let all = cards.flat_map(|(place, card)| card.holders.iter().map(move |h| (place, card, h)));
    all.map(|(place, card, holder)| holding(look, idleness, place, card, holder)).collect()
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
    pub fn sort(self, holdings: &mut [Holding]) {
        holdings.sort_by(|a, b| self.compare(a, b).then_with(|| a.key.cmp(&b.key)));
    }

    fn compare(self, a: &Holding, b: &Holding) -> Ordering {
        let largest = |figure: &dyn Fn(&Holding) -> Option<f64>| self.figures(figure(a), figure(b));
        match self.by {
            Column::Card => self.turned(a.place.cmp(&b.place)),
            Column::User => self.turned(a.user.cmp(&b.user)),
            #[expect(clippy::cast_precision_loss, reason = "an order, not a figure")]
            Column::Memory => largest(&|h| h.memory.map(|bytes| bytes as f64)),
            Column::Sm => largest(&|h| h.sm),
            Column::RunTime => largest(&|h| h.runs_seconds),
            // The earlier it began, the longer it is.
            #[expect(clippy::cast_precision_loss, reason = "milliseconds fit 53 bits")]
            Column::Idle => largest(&|h| match h.idle {
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
    pub fn has(&self, holding: &Holding) -> bool {
        let text = self.text.to_lowercase();
        let is_in = |name: &str| name.to_lowercase().contains(&text);
        !(self.hides_graphics && holding.is_only_graphics)
            && self.only_of.is_none_or(|uid| holding.uid == Some(uid))
            && (text.is_empty()
                || is_in(&holding.user)
                || is_in(&holding.program)
                || is_in(&holding.key.pid.to_string()))
    }
}
