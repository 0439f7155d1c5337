//! Two windows side by side.

use std::collections::HashMap;

use serde::Serialize;

use super::account::Account;
use super::answer::{Usage, Window};
use super::times::{Shown, rounded};
use crate::report::accounts::{By, Unattributed};

/// The earlier window, and how it was then.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The earlier one.
    pub window: Window,
    /// Whether little of it was observed, so that hours cannot be set beside each other.
    pub rests_on_little: bool,
    pub states: Vec<ComparedState>,
    /// How many cards would have been idle-held all the time.
    pub equivalent_gpus_idle_held: Pair,
    /// What idle-held time cost.
    pub idle_held_cost: Pair,
    /// Of either window; null where accounts cannot be judged again.
    pub accounts: Option<Vec<ComparedAccount>>,
}

/// A figure now and then; null is what is not known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Pair {
    pub now: Option<f64>,
    pub before: Option<f64>,
    pub difference: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedState {
    pub state: Shown,
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
    pub gpu_hours: Pair,
    pub idle_held_gpu_hours: Pair,
}

impl Pair {
    fn new(now: Option<f64>, before: Option<f64>) -> Self {
        let difference = now.zip(before).map(|(now, before)| rounded(now - before));
        Self { now, before, difference }
    }
}

/// Sets two answers to the same question side by side.
pub(super) fn compared(now: &Usage, before: &Usage) -> Compared {
    let is_observed = before.window.observed_seconds > 0.0;
    let cost = |usage: &Usage| usage.money.as_ref().and_then(|money| money.idle_held.cost);
    Compared {
        window: before.window.clone(),
        rests_on_little: !is_observed || before.verdict.rests_on_little,
        states: states(now, before),
        equivalent_gpus_idle_held: Pair::new(
            now.equivalent_gpus.idle_held,
            before.equivalent_gpus.idle_held,
        ),
        idle_held_cost: Pair::new(cost(now), cost(before).filter(|_| is_observed)),
        accounts: now
            .accounts
            .as_deref()
            .zip(before.accounts.as_deref())
            .map(|(now, before)| accounts(now, before, is_observed)),
    }
}

fn states(now: &Usage, before: &Usage) -> Vec<ComparedState> {
    let is_observed = before.window.observed_seconds > 0.0;
    let pairs = now.states.all().into_iter().zip(before.states.all());
    let state = |((state, now), (_, before)): ((Shown, super::Amount), (_, super::Amount))| {
        let hours = is_observed.then_some(before.gpu_hours);
        ComparedState {
            state,
            gpu_hours: Pair::new(Some(now.gpu_hours), hours),
            share: Pair::new(now.share, before.share),
        }
    };
    pairs.map(state).collect()
}

/// Those of now in their order, then those that are gone.
fn accounts(now: &[Account], before: &[Account], is_observed: bool) -> Vec<ComparedAccount> {
    let mut earlier: HashMap<_, _> = before.iter().map(|account| (key(account), account)).collect();
    let then = |(all, idle_held): (f64, f64)| {
        (is_observed.then_some(all), is_observed.then_some(idle_held))
    };
    let mut compared: Vec<_> = Vec::with_capacity(now.len());
    for account in now {
        let before = earlier.remove(&key(account)).map_or((0.0, 0.0), hours);
        compared.push(side_by_side(account, hours(account), then(before)));
    }
    let gone = before.iter().filter(|account| earlier.contains_key(&key(account)));
    compared.extend(gone.map(|account| side_by_side(account, (0.0, 0.0), then(hours(account)))));
    compared
}

const fn hours(account: &Account) -> (f64, f64) {
    (account.gpu_hours, account.idle_held_gpu_hours)
}

fn side_by_side(
    account: &Account,
    now: (f64, f64),
    before: (Option<f64>, Option<f64>),
) -> ComparedAccount {
    ComparedAccount {
        by: account.by,
        name: account.name.clone(),
        unattributed: account.unattributed,
        id: account.id.clone(),
        user: account.user.clone(),
        gpu_hours: Pair::new(Some(now.0), before.0),
        idle_held_gpu_hours: Pair::new(Some(now.1), before.1),
    }
}

type Key<'a> = (By, Option<Unattributed>, [Option<&'a str>; 3]);

fn key(account: &Account) -> Key<'_> {
    let names = [&account.name, &account.id, &account.user].map(Option::as_deref);
    (account.by, account.unattributed, names)
}
