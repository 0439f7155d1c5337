//! MIG instances count by their part of the GPU; energy and what it costs.

use gua_core::{Reason, State};
use gua_query::usage::{By, Prices, UsageRequest};

use crate::lab::*;

/// Two GPUs for two hours: a whole one, and one that is divided, and divided anew after an hour.
fn two_gpus() -> Lab {
    let lab = Lab::new();
    let [ann, bob] = [holder(100, "ann", 30_000), holder(200, "bob", 8_000)];
    let whole = scene(1, State::Active, &[ann.clone().working()]);
    let mut recording = lab.begin(0);
    recording.record(
        HOUR,
        &[
            part(0, (Some(0), 4), State::IdleHeld, &[ann]),
            part(0, (Some(1), 2), State::Active, &[bob.clone().working()]),
            part(0, (None, 2), State::TrulyIdle, &[]),
            whole.clone(),
        ],
    );
    recording.record(
        HOUR,
        &[
            part(0, (Some(0), 1), State::IdleHeld, &[bob]),
            part(0, (None, 7), State::TrulyIdle, &[]),
            whole,
        ],
    );
    lab
}

#[test]
fn two_gpus_are_two_however_they_are_divided() {
    let usage = two_gpus().report(0, 2 * HOUR);
    assert_eq!(usage.states.gpu_hours(), 4.0);
    let hours = usage.states.all().map(|(_, amount)| amount.gpu_hours);
    assert_eq!(hours, [2.25, 0.625, 1.125, 0.0]);
    assert_eq!(usage.equivalent_gpus.idle_held, Some(0.3125));
    assert_eq!(usage.equivalent_gpus.truly_idle, Some(0.5625));
    let cards: Vec<_> = usage
        .cards
        .iter()
        .map(|card| (card.label().unwrap(), card.slices.unwrap(), card.states.gpu_hours()))
        .collect();
    let label = str::to_owned;
    assert_eq!(
        cards,
        [
            (label("0:0"), 4, 0.5),
            (label("0:0"), 1, 0.125),
            (label("0:1"), 2, 0.25),
            (label("0:rest"), 2, 0.25),
            (label("0:rest"), 7, 0.875),
            (label("1"), 1, 2.0),
        ]
    );
    assert!(usage.cards[3].unpartitioned && !usage.cards[2].unpartitioned);
    assert_eq!(usage.cards[2].mean_utilization_percent, Some(80.0));
    assert_eq!(usage.cards[2].mean_memory_used_bytes, Some(8_000 << 20));
}

#[test]
fn people_and_sessions_have_the_part_of_the_gpu_that_they_held() {
    let lab = two_gpus();
    let usage = lab.report(0, 2 * HOUR);
    let [ann, bob] = ["ann", "bob"].map(|name| account(&usage, name));
    assert_eq!((ann.active_gpu_hours, ann.idle_held_gpu_hours), (2.0, 0.5));
    assert_eq!((bob.active_gpu_hours, bob.idle_held_gpu_hours), (0.25, 0.125));
    // Processes and their memory count in full.
    assert_eq!(ann.present_process_hours, Some(3.0));
    assert_eq!(bob.held_idle_gib_hours, Some(7.8125));
    let idle: Vec<_> =
        usage.sessions.iter().map(|it| (it.idle_seconds, it.idle_held_gpu_hours)).collect();
    assert_eq!(idle, [(3600.0, 0.125), (3600.0, 0.5)]);
    let week: f64 = usage.heatmap.iter().flatten().map(|cell| cell.observed_seconds).sum();
    assert_eq!(week, 4.0 * 3600.0);
    // A window that cuts rows has parts of them.
    let half = lab.report(0, HOUR / 2);
    assert_eq!(half.states.gpu_hours(), 1.0);
}

#[test]
fn cost_is_that_of_two_gpus() {
    let prices =
        Prices { currency: "EUR".into(), gpu_hour: Some(2.0), kwh: Some(0.5), ..Prices::default() };
    let request = UsageRequest { prices, ..request(0, 2 * HOUR) };
    let usage = two_gpus().usage(&request);
    let money = usage.money.as_ref().unwrap();
    assert_eq!((money.idle_held.cost, money.truly_idle.cost), (Some(1.25), Some(2.25)));
    let models: Vec<_> = money.prices.iter().map(|price| price.cards).collect();
    assert_eq!(models, [1, 1]);
    assert_eq!(usage.gpu_count, 2);
    // Each GPU draws 100 W.
    let energy = usage.energy_money.as_ref().unwrap();
    assert_eq!((usage.energy.total.energy_kwh, energy.energy_cost), (Some(0.4), Some(0.2)));
    assert_eq!(energy.truly_idle_energy_cost, Some(0.05625));
    let ann = account(&usage, "ann");
    assert_eq!((ann.energy.energy_kwh, ann.energy_cost), (Some(0.25), Some(0.125)));
}

/// Energy of active and idle-held time belongs to accounts, all other energy to none.
#[test]
fn energy_of_accounts_adds_up_to_active_and_idle_held() {
    let lab = two_gpus();
    let usage = lab.usage(&UsageRequest { by: vec![By::User, By::Card], ..request(0, 2 * HOUR) });
    let energy = usage.energy;
    for by in [By::User, By::Card] {
        let accounts = usage.accounts.iter().filter(|account| account.by == by);
        let sum: [f64; 2] = accounts.fold([0.0; 2], |[active, idle_held], account| {
            let energy = account.energy;
            [
                active + energy.active_energy_kwh.unwrap(),
                idle_held + energy.idle_held_energy_kwh.unwrap(),
            ]
        });
        let all = [energy.total.active_energy_kwh, energy.total.idle_held_energy_kwh];
        for (sum, all) in sum.into_iter().zip(all) {
            assert!((sum - all.unwrap()).abs() < 1e-9, "{by:?}: {sum} of {all:?}");
        }
    }
    assert_eq!(energy.truly_idle_energy_kwh, Some(0.1125));
    let used = energy.total.active_energy_kwh.unwrap() + energy.total.idle_held_energy_kwh.unwrap();
    assert!((used + 0.1125 - energy.total.energy_kwh.unwrap()).abs() < 1e-9);
    assert!(energy.energy_divided && !usage.cards[5].energy.energy_divided);
}

/// Trap: energy of a card of which nobody knows whether it works is not that of free time.
#[test]
fn energy_of_unknown_time_is_apart() {
    let lab = Lab::new();
    let ann = holder(100, "ann", 30_000);
    let unknown = State::Unknown(Reason::NotSupported);
    lab.begin(0).record(HOUR, &[scene(0, unknown, &[ann]), scene(1, State::TrulyIdle, &[])]);
    let energy = lab.report(0, HOUR).energy;
    assert_eq!(energy.truly_idle_energy_kwh, Some(0.1));
    assert_eq!(energy.unknown_state_energy_kwh, Some(0.1));
    assert_eq!(energy.total.energy_kwh, Some(0.2));
}

/// Trap: unknown energy is never zero, nor that of one state because another's is known.
#[test]
fn unknown_energy_is_null() {
    let lab = Lab::new();
    let [ann, bob] = [holder(100, "ann", 30_000), holder(200, "bob", 8_000)];
    let works = scene(0, State::Active, &[ann.clone().working()]).without_energy();
    let free = scene(2, State::TrulyIdle, &[]).without_energy();
    lab.begin(0).record(HOUR, &[works, scene(1, State::IdleHeld, &[ann, bob]), free]);
    let all = lab.report(0, HOUR);
    let ann = UsageRequest { user: Some("ann".to_owned()), ..request(0, HOUR) };
    let ann = lab.usage(&ann);
    let energies = [all.energy.total, account(&all, "ann").energy, ann.energy.total];
    let states = energies.map(|it| (it.active_energy_kwh, it.energy_unknown_gpu_hours));
    assert_eq!(states, [(None, 2.0), (None, 1.0), (None, 1.0)]);
    assert_eq!(all.energy.truly_idle_energy_kwh, None);
    assert_eq!(all.energy.unknown_state_energy_kwh, Some(0.0), "there is no such time");
    assert_eq!(all.energy.total.idle_held_energy_kwh, Some(0.1));
    assert_eq!(all.energy.total.energy_kwh, Some(0.1));
    assert_eq!(account(&all, "bob").energy.active_energy_kwh, Some(0.0), "bob did not work");
    let cards = all.cards.iter().map(|card| card.energy.total.energy_kwh);
    assert_eq!(cards.collect::<Vec<_>>(), [None, Some(0.1), None]);
}

/// Trap: unknown energy of accounts is not that of unknown holders, too.
#[test]
fn unknown_energy_of_accounts_adds_up() {
    let lab = Lab::new();
    let idle = scene(0, State::IdleHeld, &[holder(100, "ann", 30_000)]).without_energy();
    let mut recording = lab.begin(0);
    recording.record(HOUR, &[idle]).record(HOUR / 2, &[scene(0, State::Active, &[])]);
    let usage = lab.report(0, 2 * HOUR);
    let accounts = usage.accounts.iter().map(|it| it.energy);
    let found: Vec<_> = accounts.map(|it| (it.energy_kwh, it.energy_unknown_gpu_hours)).collect();
    assert_eq!(found, [(None, 1.0), (Some(0.05), 0.0)]);
    assert_eq!(usage.energy.total.energy_unknown_gpu_hours, 1.0);
}
