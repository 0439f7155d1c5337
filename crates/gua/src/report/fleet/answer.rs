//! What `gua report --prometheus` answers.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::report::usage::{Card, States, Usage};

/// What the cards of many hosts did over a window of time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetUsage {
    pub source: Source,
    /// The same as of one host, over all of them; its schema is that of the whole.
    #[serde(flatten)]
    pub usage: Usage,
    /// Most idle-held time first.
    pub hosts: Vec<HostUsage>,
    pub models: Vec<ModelUsage>,
    /// On how many hosts each person was, and what they hold by memory on shared cards.
    pub people: Vec<FleetPerson>,
    /// Names of hosts that have not been heard of at the end of the window.
    pub silent_hosts: Vec<String>,
}

/// Where it was asked, and about whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    pub url: String,
    pub matching: Option<String>,
    pub host: Option<String>,
    /// Why the answers of the engine are not whole, where it says so.
    pub flaws: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostUsage {
    pub name: String,
    /// What the engine knows it by.
    pub labels: BTreeMap<String, String>,
    pub gua_version: String,
    pub driver_version: Option<String>,
    pub states: States,
    pub observed_seconds: f64,
    /// The observed part of the window.
    pub coverage: Option<f64>,
    pub last_tick: Option<Timestamp>,
    /// Whether it has not been heard of at the end of the window.
    pub is_silent: bool,
    pub cards: Vec<Card>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelUsage {
    /// Null where it is not told.
    pub name: Option<String>,
    pub cards: usize,
    pub states: States,
}

/// One person on all hosts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetPerson {
    /// Null where nobody is known.
    pub user: Option<String>,
    pub hosts: usize,
    /// A card counts once for everybody who has a process on it.
    pub gpu_hours: f64,
    /// The same of the time in which they held a card idle.
    pub idle_held_gpu_hours: f64,
    /// The card's idle-held time divided by memory among its holders: it adds up to all of it.
    pub idle_held_part_gpu_hours: f64,
}
