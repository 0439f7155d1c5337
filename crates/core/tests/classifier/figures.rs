//! How far from the truth an account is.

use crate::exact::{Account, Person};

/// Largest errors: of a state in percent of the card's time, of a person in percent of the time that
/// the person was there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    pub state: f64,
    pub person: f64,
    /// Signed error of the active time, in percent of the card's time.
    pub active: f64,
}

pub fn errors(truth: &Account, found: &Account) -> Errors {
    let states =
        |account: &Account| [account.active, account.idle_held, account.free, account.unknown];
    let total: f64 = states(truth).iter().sum();
    let differences = states(truth).into_iter().zip(states(found)).map(|(a, b)| (a - b).abs());
    let person = truth.people.iter().map(|(name, truth)| {
        let found = found.people.get(name).copied().unwrap_or_default();
        let there = truth.working + truth.idle;
        columns(truth)
            .into_iter()
            .zip(columns(&found))
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max)
            / there
            * 100.0
    });
    Errors {
        state: differences.fold(0.0, f64::max) / total * 100.0,
        person: person.fold(0.0, f64::max),
        active: (found.active - truth.active) / total * 100.0,
    }
}

fn columns(person: &Person) -> [f64; 7] {
    let Person {
        working,
        idle,
        work_unknown,
        active_share,
        low_use_share,
        unused_share,
        unknown_share,
        energy: _,
    } = *person;
    [working, idle, work_unknown, active_share, low_use_share, unused_share, unknown_share]
}
