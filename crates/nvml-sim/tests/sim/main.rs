//! The pretend library as its callers see it: through `dlopen`, NVML's C interface and
//! the programs that come with it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[macro_use]
mod stage;

mod abi;
mod accounting;
mod cli;
mod faults;
mod gpm;
mod identity;
mod init;
mod install;
mod memory;
mod mig;
mod process_utilization;
mod processes;
mod reload;
mod samples;
mod smi;
mod symbols;
mod utilization;
