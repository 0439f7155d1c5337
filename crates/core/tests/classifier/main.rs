//! The classifier on virtual time: workloads with a known answer, and single cases.

#![allow(clippy::unwrap_used, reason = "a test fails by falling over")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an hour in microseconds fits into everything"
)]
#![allow(clippy::single_range_in_vec_init, reason = "a list of one time is meant")]

/// Errors on all workloads, as a table.
mod accuracy;
/// A driver that plays a workload.
mod driver;
/// Energy by state and person, against the true answer.
mod energy;
/// The true answer of a workload.
mod exact;
/// How far from the truth an account is.
mod figures;
/// Invariants of spans: they abut, and shares add up.
mod invariants;
/// Polls made by hand.
mod polls;
/// Polls a workload and adds up what the classifier says.
mod run;
/// Traps of drivers, clocks and machines.
mod traps;
/// Workloads of an hour.
mod workload;
