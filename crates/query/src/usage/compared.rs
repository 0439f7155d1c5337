//! Two windows side by side.

use std::collections::HashMap;

use serde::Serialize;

use super::account::{Account, By, Unattributed};
use super::answer::{Usage, Window};
use super::states::{TotalState, rounded};

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
    pub total_gpu_hours: Pair,
    pub idle_held_gpu_hours: Pair,
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
            rests_on_little: !is_observed || before.verdict.rests_on_little,
            states: states(now, before, is_observed),
            equivalent_gpus_idle_held: Pair::new(equivalent[0], equivalent[1]),
            idle_held_cost: Pair::new(cost(now), cost(before).filter(|_| is_observed)),
            accounts: accounts(&now.accounts, &before.accounts, is_observed),
        }
    }
}

fn states(now: &Usage, before: &Usage, is_observed: bool) -> Vec<ComparedState> {
    let pairs = now.states.all().into_iter().zip(before.states.all());
    let compare =
        |((state, now), (_, before)): ((TotalState, super::Amount), (_, super::Amount))| {
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
    let mut earlier: HashMap<_, _> = before.iter().map(|account| (key(account), account)).collect();
    let mut compared = Vec::with_capacity(now.len());
    for account in now {
        let before = earlier.remove(&key(account)).map_or([0.0; 2], figures);
        compared.push(compare(account, figures(account), before, is_observed));
    }
    let gone = before.iter().filter(|account| earlier.contains_key(&key(account)));
    compared.extend(gone.map(|account| compare(account, [0.0; 2], figures(account), is_observed)));
    compared
}

const fn figures(account: &Account) -> [f64; 2] {
    [account.total_gpu_hours, account.idle_held_gpu_hours]
}

fn compare(
    account: &Account,
    now: [f64; 2],
    before: [f64; 2],
    is_observed: bool,
) -> ComparedAccount {
    let before = before.map(|hours| is_observed.then_some(hours));
    ComparedAccount {
        by: account.by,
        name: account.name.clone(),
        unattributed: account.unattributed,
        id: account.id.clone(),
        user: account.user.clone(),
        total_gpu_hours: Pair::new(Some(now[0]), before[0]),
        idle_held_gpu_hours: Pair::new(Some(now[1]), before[1]),
    }
}

type Key<'a> = (By, Option<Unattributed>, [Option<&'a str>; 3]);

fn key(account: &Account) -> Key<'_> {
    let names = [&account.name, &account.id, &account.user].map(Option::as_deref);
    (account.by, account.unattributed, names)
}
