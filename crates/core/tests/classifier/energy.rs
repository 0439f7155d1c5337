//! Energy by state and person, against the integral of the power over the true times.

use crate::driver::{Kind, ProcessKind, USUAL};
use crate::exact::{self, Account};
use crate::run::run;
use crate::workload::{self, Workload};

/// Largest errors that are allowed, in percent: of the card's energy, and of a state's and a person's.
type Limits = [f64; 2];

const LIMITS: Limits = [2.0, 5.0];
const ANY: Limits = [f64::INFINITY; 2];

/// Part of the card's energy below which a figure is too small for a percentage of itself.
const LEAST_PART: f64 = 0.02;

/// Returns the errors of the card's energy, and the largest of a state and of a person.
fn errors(truth: &Account, found: &Account) -> [f64; 3] {
    let total = |account: &Account| account.energy.iter().sum::<f64>();
    let least = total(truth) * LEAST_PART;
    let error = |truth: f64, found: f64| (found - truth).abs() / truth.max(least) * 100.0;
    let state = truth.energy.iter().zip(found.energy).map(|(truth, found)| error(*truth, found));
    let people = truth.people.iter().flat_map(|(name, truth)| {
        let found = found.people.get(name).copied().unwrap_or_default();
        let all = truth.energy.iter().sum::<f64>().max(least);
        let both = truth.energy.into_iter().zip(found.energy);
        both.map(move |(truth, found)| (found - truth).abs() / all * 100.0)
    });
    [error(total(truth), total(found)), state.fold(0.0, f64::max), people.fold(0.0, f64::max)]
}

/// Classifies all workloads, prints the errors and returns those beyond the limits.
fn table(kind: Kind, limits: impl Fn(&Workload) -> Limits) -> Vec<String> {
    println!("{}: error of the card, largest of a state, of a person", kind.name);
    let mut beyond = Vec::new();
    for workload in workload::all() {
        let found = run(&workload, kind, 5, 30);
        let truth = exact::account(&workload);
        let [card, state, person] = errors(&truth, &found.account);
        let line = format!("{:32} {card:6.2} {state:6.2} {person:6.2}", workload.name);
        println!("{line}");
        let [most_card, most] = limits(&workload);
        if card > most_card || state > most || person > most {
            beyond.push(line);
        }
    }
    beyond
}

fn limits(workload: &Workload) -> Limits {
    match workload.name {
        // What state that is, is a matter of taste, or not known.
        "shorter than a poll" | "hovering 8 to 12 %" => [LIMITS[0], f64::INFINITY],
        _ => LIMITS,
    }
}

#[test]
fn energy_is_that_of_the_true_states() {
    assert_eq!(table(USUAL, limits), [""; 0]);
}

#[test]
fn energy_with_samples_of_one_second_from_a_dry_buffer() {
    let kind = Kind {
        name: "1 s, dry on idle, complete process samples",
        period: 1_000_000,
        processes: ProcessKind::Complete,
        runs_dry: true,
        ..USUAL
    };
    assert_eq!(table(kind, limits), [""; 0]);
}

#[test]
fn energy_without_a_counter() {
    let kind = Kind { name: "no energy counter", power_only: true, ..USUAL };
    let limits = |workload: &Workload| match workload.name {
        // All polls see the bursts, or none does.
        "blip 0.2 s / 5 s" => ANY,
        // The card is never seen without work, so that only the power at the polls is known.
        "30 % duty" => [6.0, 6.0],
        "30 % duty beside phases" | "training, 3 s pauses" => [5.0, 5.0],
        "background" => [LIMITS[0], 11.0],
        _ => limits(workload),
    };
    assert_eq!(table(kind, limits), [""; 0]);
}
