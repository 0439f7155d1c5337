//! Errors of the classifier on all workloads, with each kind of driver, as a table.

use crate::driver::{Kind, ProcessKind, Stamps, USUAL};
use crate::exact;
use crate::figures::{Errors, errors};
use crate::run::run;
use crate::workload::{self, Workload};

/// Largest errors that are allowed: of a state in percent of the card's time, of a person in percent of
/// the person's time.
type Limits = (f64, f64);

const USUAL_LIMITS: Limits = (0.5, 1.0);
/// Neither is promised.
const ANY: Limits = (f64::INFINITY, f64::INFINITY);

/// Classifies all workloads, prints the errors and returns those beyond the limits.
fn table(kind: Kind, limits: impl Fn(&Workload) -> Limits) -> Vec<String> {
    println!("{}: largest error of a state, of a person; error of active", kind.name);
    let mut beyond = Vec::new();
    for workload in workload::all() {
        let found = run(&workload, kind, 5, 30);
        let Errors { state, person, active } = errors(&exact::account(&workload), &found.account);
        let line = format!("{:32} {state:6.2} {person:6.2} {active:+7.2}", workload.name);
        println!("{line}");
        let (most_state, most_person) = limits(&workload);
        if state > most_state || person > most_person {
            beyond.push(line);
        }
    }
    beyond
}

/// Limits of drivers that sample six times a second.
fn limits(workload: &Workload) -> Limits {
    match workload.name {
        "comers and goers" => (1.0, 3.5),
        "shorter than a poll" | "hovering 8 to 12 %" => ANY,
        _ => USUAL_LIMITS,
    }
}

#[test]
fn newest_process_samples() {
    assert_eq!(table(USUAL, limits), [""; 0]);
}

#[test]
fn dry_buffer_with_complete_process_samples_and_boot_stamps() {
    let kind = Kind {
        name: "1/6 s, dry on idle, complete process samples, stamps since boot",
        processes: ProcessKind::Complete,
        runs_dry: true,
        stamps: Stamps::Boot,
        ..USUAL
    };
    assert_eq!(table(kind, limits), [""; 0]);
}

#[test]
fn late_means_of_processes() {
    let kind = Kind {
        name: "1/6 s, process samples up to 9 s late",
        processes: ProcessKind::LateMean,
        ..USUAL
    };
    assert_eq!(table(kind, limits), [""; 0]);
}

#[test]
fn lost_samples() {
    let kind =
        Kind { name: "1/6 s, dry on idle, 2 % lost", runs_dry: true, lost_percent: 2.0, ..USUAL };
    let limits = |workload: &Workload| match workload.name {
        // A blip that is lost is no work.
        "blip 0.2 s / 5 s" => (0.5, 10.0),
        _ => limits(workload),
    };
    assert_eq!(table(kind, limits), [""; 0]);
}

/// Limits of drivers that sample once a second: bursts are shorter than a sample.
fn limits_of_one_second(workload: &Workload) -> Limits {
    match workload.name {
        "blip 0.2 s / 5 s" => (0.5, 100.0),
        "inference 0.2/s" => (0.7, 2.0),
        "inference 0.05/s" => (0.5, 1.5),
        _ => limits(workload),
    }
}

#[test]
fn samples_of_one_second() {
    let kind = Kind { name: "1 s, newest process samples", period: 1_000_000, ..USUAL };
    assert_eq!(table(kind, limits_of_one_second), [""; 0]);
}

#[test]
fn dry_buffer_with_samples_of_one_second() {
    let kind = Kind {
        name: "1 s, dry on idle, complete process samples",
        period: 1_000_000,
        processes: ProcessKind::Complete,
        runs_dry: true,
        ..USUAL
    };
    assert_eq!(table(kind, limits_of_one_second), [""; 0]);
}

#[test]
fn no_buffer() {
    let kind = Kind { name: "no sample buffer", period: 0, ..USUAL };
    let limits = |workload: &Workload| match workload.name {
        "steady" | "idle held" | "flat 9 %" | "flat 11 %" => USUAL_LIMITS,
        // One poll stands for 5 s: phases are unbiased, bursts are not seen.
        name if name.starts_with("phases") => (2.0, 2.0),
        _ => ANY,
    };
    assert_eq!(table(kind, limits), [""; 0]);
}
