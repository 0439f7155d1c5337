//! Workloads with a known answer, classified on virtual time.

#![allow(clippy::unwrap_used, reason = "a test fails by falling over")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an hour in microseconds fits into everything"
)]

/// Errors on all workloads, as a table.
mod accuracy;
/// A driver that plays a workload.
mod driver;
/// The true answer of a workload.
mod exact;
/// How far from the truth an account is.
mod figures;
/// Polls a workload and adds up what the classifier says.
mod run;
/// What a card and its holders do over an hour.
mod workload;
