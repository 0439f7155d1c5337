//! Two windows side by side.

use std::collections::HashMap;
use std::hash::Hash;

use serde::Serialize;

use super::account::{Account, By, Unattributed};
use super::answer::{CardUsage, Usage, Window};
use super::states::{Amount, TotalState, rounded};
use super::verdict::is_little_observed;

/// The earlier window, and how it was then.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The earlier window.
    pub window: Window,
    /// True if little of it was observed, so that hours cannot be set beside each other.
    pub rests_on_little: bool,
    pub states: Vec<ComparedState>,
    /// Cards that would have been idle-held all the time.
    pub equivalent_gpus_idle_held: Pair,
    /// Cost of idle-held time.
    pub idle_held_cost: Pair,
    /// Cards of either window.
    pub cards: Vec<ComparedCard>,
    /// Accounts of either window.
    pub accounts: Vec<ComparedAccount>,
}

/// A figure now and before; null if it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pair {
    pub now: Option<f64>,
    pub before: Option<f64>,
    pub difference: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedState {
    pub state: TotalState,
    pub gpu_hours: Pair,
    pub share: Pair,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedAccount {
    pub by: By,
    pub name: Option<String>,
    pub unattributed: Option<Unattributed>,
    pub id: Option<String>,
    pub user: Option<String>,
    pub active_gpu_hours: Pair,
    pub idle_held_gpu_hours: Pair,
    pub total_gpu_hours: Pair,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedCard {
    pub uuid: Option<String>,
    pub index: Option<u32>,
    /// Slot of a MIG instance.
    pub slot: Option<u32>,
    pub name: Option<String>,
    pub active_gpu_hours: Pair,
    pub idle_held_gpu_hours: Pair,
    pub truly_idle_gpu_hours: Pair,
}

impl Pair {
    fn new(now: Option<f64>, before: Option<f64>) -> Self {
        let difference = now.zip(before).map(|(now, before)| rounded(now - before));
        Self { now, before, difference }
    }
}

impl Compared {
    /// Sets an answer beside an earlier one to the same request.
    #[must_use]
    pub fn new(now: &Usage, before: &Usage) -> Self {
        let is_observed = before.window.observed_seconds > 0.0;
        let cost = |usage: &Usage| usage.money.as_ref().and_then(|money| money.idle_held.cost);
        let equivalent = [now, before].map(|usage| usage.equivalent_gpus.idle_held);
        Self {
            window: before.window.clone(),
            rests_on_little: is_little_observed(
                before.window.observed_seconds,
                before.window.coverage,
            ),
            states: states(now, before, is_observed),
            equivalent_gpus_idle_held: Pair::new(equivalent[0], equivalent[1]),
            idle_held_cost: Pair::new(cost(now), cost(before).filter(|_| is_observed)),
            cards: cards(&now.cards, &before.cards, is_observed),
            accounts: accounts(&now.accounts, &before.accounts, is_observed),
        }
    }
}

fn states(now: &Usage, before: &Usage, is_observed: bool) -> Vec<ComparedState> {
    let pairs = now.states.all().into_iter().zip(before.states.all());
    let compare = |((state, now), (_, before)): ((TotalState, Amount), (_, Amount))| {
        let hours = is_observed.then_some(before.gpu_hours);
        ComparedState {
            state,
            gpu_hours: Pair::new(Some(now.gpu_hours), hours),
            share: Pair::new(now.share, before.share),
        }
    };
    pairs.map(compare).collect()
}

/// Returns the accounts of now in their order, then those that are gone.
fn accounts(now: &[Account], before: &[Account], is_observed: bool) -> Vec<ComparedAccount> {
    let figures = |it: &Account| [it.active_gpu_hours, it.idle_held_gpu_hours, it.total_gpu_hours];
    let pairs = beside(now, before, key, figures, is_observed);
    pairs.into_iter().map(|(account, pairs)| account_pairs(account, pairs)).collect()
}

/// Returns the cards of now in their order, then those that are gone.
fn cards(now: &[CardUsage], before: &[CardUsage], is_observed: bool) -> Vec<ComparedCard> {
    let key = |card: &CardUsage| (card.uuid.clone(), card.index, card.slot);
    let figures = |card: &CardUsage| {
        let states = &card.states;
        [states.active, states.idle_held, states.truly_idle].map(|amount| amount.gpu_hours)
    };
    let pairs = beside(now, before, key, figures, is_observed);
    let card = |(card, [active, idle_held, truly_idle]): (&CardUsage, [Pair; 3])| ComparedCard {
        uuid: card.uuid.clone(),
        index: card.index,
        slot: card.slot,
        name: card.name.clone(),
        active_gpu_hours: active,
        idle_held_gpu_hours: idle_held,
        truly_idle_gpu_hours: truly_idle,
    };
    pairs.into_iter().map(card).collect()
}

/// Returns the figures of either window for each row: rows of now in their order, then those that are gone.
/// A row that is missing in a window has no time there.
fn beside<'a, R, K: Eq + Hash>(
    now: &'a [R],
    before: &'a [R],
    key: impl Fn(&'a R) -> K,
    figures: impl Fn(&R) -> [f64; 3],
    is_observed: bool,
) -> Vec<(&'a R, [Pair; 3])> {
    let pairs = |now: [f64; 3], before: [f64; 3]| {
        let mut before = before.into_iter().map(|hours| is_observed.then_some(hours));
        now.map(|hours| Pair::new(Some(hours), before.next().flatten()))
    };
    let mut earlier: HashMap<K, &R> = before.iter().map(|row| (key(row), row)).collect();
    let mut rows = Vec::with_capacity(now.len());
    for row in now {
        let before = earlier.remove(&key(row)).map_or([0.0; 3], &figures);
        rows.push((row, pairs(figures(row), before)));
    }
    let gone = before.iter().filter(|row| earlier.contains_key(&key(row)));
    rows.extend(gone.map(|row| (row, pairs([0.0; 3], figures(row)))));
    rows
}

fn account_pairs(account: &Account, [active, idle_held, total]: [Pair; 3]) -> ComparedAccount {
    ComparedAccount {
        by: account.by,
        name: account.name.clone(),
        unattributed: account.unattributed,
        id: account.id.clone(),
        user: account.user.clone(),
        active_gpu_hours: active,
        idle_held_gpu_hours: idle_held,
        total_gpu_hours: total,
    }
}

type Key<'a> = (By, Option<Unattributed>, [Option<&'a str>; 3]);

fn key(account: &Account) -> Key<'_> {
    let names = [&account.name, &account.id, &account.user].map(Option::as_deref);
    (account.by, account.unattributed, names)
}
