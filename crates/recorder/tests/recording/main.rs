//! Polls made by hand, recorded into a real database: no clock is read and nothing is waited for.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an hour in microseconds fits into everything"
)]
#![allow(clippy::single_range_in_vec_init, reason = "a list of one time is meant")]

mod lab;

/// Clocks that are set, a machine that is suspended, polls that come late.
mod clock;
/// Figures that do not depend on the interval.
mod intervals;
/// A recorder at work on a host with the simulated library.
mod loop_with_library;
/// What observers are called for.
mod observers;
/// Sessions, processes and what was last seen.
mod processes;
/// Proof of time before anything is deleted.
mod pruning;
/// Disks that are full, files that are locked, moved or damaged.
mod storage;

/// A driver that plays workloads, shared with the tests of the classifier.
#[allow(dead_code, reason = "the classifier's tests use the rest")]
#[path = "../../../core/tests/classifier/driver.rs"]
mod driver;
#[allow(dead_code, reason = "the classifier's tests use the rest")]
#[path = "../../../core/tests/classifier/workload.rs"]
mod workload;

/// A host with the simulated library, shared with the tests of the prober.
#[allow(dead_code, reason = "the prober's tests use the rest")]
#[path = "../../../probe/tests/machine.rs"]
mod machine;
