//! Tests of the real program, as one binary.
//!
//! Each runs `gua` in a process of its own on a pretend machine: a scenario behind
//! `libnvidia-ml.so.1` and a host root to match, the way a real driver is reached.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by falling over")]

/// The builder that the others use: a pretend machine to run the program on.
mod machine;

/// What a machine can suffer from, for the commands that look at it.
mod faults;

/// `gua config`, and what a config file changes.
mod config;
/// `gua db`: looks after the history.
mod db;
/// `gua db import`: imports the history of a Python gua.
mod db_import;
/// `gua demo`: the report on a machine that does not exist.
mod demo;
/// `gua doctor`: is this host ready?
mod doctor;
/// The import edges between crates and modules.
mod edges;
/// Wrong usage, no driver, broken pipes: how the program fails.
mod failing;
/// Many hosts: metrics out, the same report back.
mod fleet;
/// JSON and CSV of all commands, compared with files.
mod golden;
/// `gpu-tracker`, the second program: gpu_tracker's command line and formats.
mod gpu_tracker;
/// Histories in the record.
mod history;
/// A law: what is reported is what the ticks counted, whatever happens.
mod law;
/// Drivers whose list entries are longer than declared.
mod long_entries;
/// `gua pick`: which cards to use.
mod pick;
/// `gua policy`: notice first, end last.
mod policy;
/// `gua query`: fields of one's choice, shown and kept.
mod query;
/// The commands shown in the README.
mod readme;
/// `gua daemon`, `gua status`, `gua stop`: the recorder, whatever happens to it.
mod recorder;
/// `gua report`: what the cards did over a time.
mod report;
/// Holding sessions: stretches in which a process held a card idle.
mod sessions;
/// Simulated hosts, compared with a look through the library.
mod simulated;
/// `gua stat`: one line a card, then who holds it.
mod stat;
/// `gua top`: the live view, on a real terminal.
mod top;
/// `gua track`: what one command used.
mod track;
/// Words that make no sense, and where help has an option.
mod typed;
/// `gua who`: who holds which card, longest idle first.
mod who;
