//! What a scenario did, straight from it, and what a report says of it.

use std::collections::BTreeMap;

use scenario::state::Place;
use scenario::{Moment, Scenario};
use serde_json::Value;

/// Hours by state: active, idle-held, truly idle.
pub(super) type Hours = [f64; 3];

/// What a scenario did, or what is said of it.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) cards: Vec<Hours>,
    /// All of their hours, and those in which they held a card idle.
    pub(super) people: BTreeMap<String, (f64, f64)>,
    /// Everybody's share of the hours in which cards were idle-held, by memory.
    pub(super) shares: BTreeMap<String, f64>,
}

/// Whoever nobody sees.
pub(super) const UNSEEN: &str = "";

/// Straight from the scenario, second by second: nothing of the pipeline is used.
pub(super) fn truth(scenario: &Scenario, ticks: &[i64]) -> Account {
    let mut account = Account::default();
    for card in &scenario.cards {
        let place = Place::card(card);
        let mut hours = Hours::default();
        for pair in ticks.windows(2) {
            let middles =
                || (pair[0]..pair[1]).map(|s| Moment::from_micros(s * 1_000_000 + 500_000));
            let sum: f64 = middles().map(|at| scenario.utilization_at(place, at)).sum();
            let is_active = sum / (pair[1] - pair[0]) as f64 >= 10.0;
            for at in middles() {
                add_second(scenario, place, at, is_active, &mut hours, &mut account);
            }
        }
        account.cards.push(hours);
    }
    account
}

fn add_second(
    scenario: &Scenario,
    place: Place<'_>,
    at: Moment,
    is_active: bool,
    hours: &mut Hours,
    account: &mut Account,
) {
    const SECOND: f64 = 1.0 / 3600.0;
    let mut held = BTreeMap::<&str, u64>::new();
    for process in scenario.processes_at(place, at) {
        let user = process.owner.user.as_deref().unwrap_or("nobody");
        *held.entry(user).or_default() += process.memory.unwrap() >> 20;
    }
    let unseen = place.card.memory.unattributed >> 20;
    let state = match held.values().sum::<u64>() {
        _ if is_active => 0,
        mib if mib > 100 || unseen > 100 => 1,
        _ => 2,
    };
    hours[state] += SECOND;
    if state == 1 {
        let of_unseen = (unseen > 100).then_some((UNSEEN, unseen));
        let all: Vec<_> = held.iter().map(|(user, mib)| (*user, *mib)).chain(of_unseen).collect();
        let sum: u64 = all.iter().map(|(_, mib)| mib).sum();
        for (user, mib) in all {
            let share = account.shares.entry(user.to_owned()).or_default();
            *share += SECOND * mib as f64 / sum as f64;
        }
    }
    for (user, mib) in held {
        let person = account.people.entry(user.to_owned()).or_default();
        person.0 += SECOND;
        if !is_active && mib > 100 {
            person.1 += SECOND;
        }
    }
}

/// What a report says.
pub(super) fn account(report: &Value) -> Account {
    let hours = |value: &Value| value["gpu_hours"].as_f64().unwrap();
    let card = |card: &Value| {
        ["active", "idle_held", "truly_idle"].map(|state| hours(&card["states"][state]))
    };
    let person = |person: &Value| {
        let name = person["user"].as_str().unwrap_or("nobody").to_owned();
        (name, (hours(person), person["idle_held_gpu_hours"].as_f64().unwrap()))
    };
    let share = |account: &Value| {
        let nobody =
            if account["unattributed"] == "no_visible_process" { UNSEEN } else { "nobody" };
        let name = account["name"].as_str().unwrap_or(nobody).to_owned();
        (name, account["idle_held_gpu_hours"].as_f64().unwrap())
    };
    Account {
        cards: report["cards"].as_array().unwrap().iter().map(card).collect(),
        people: report["identities"].as_array().unwrap().iter().map(person).collect(),
        shares: report["accounts"].as_array().unwrap().iter().map(share).collect(),
    }
}
