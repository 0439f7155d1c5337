//! The answer: what is printed, and the JSON of a report over many hosts.

use std::collections::BTreeMap;

use gua_query::usage::{CardUsage, States, Usage};
use jiff::Timestamp;
use serde::Serialize;

/// What the cards of many hosts did over a window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetUsage {
    pub source: Source,
    /// The report over all hosts as if they were one. Fields that counters cannot tell are null or empty.
    #[serde(flatten)]
    pub usage: Usage,
    /// Most idle-held time first.
    pub hosts: Vec<HostUsage>,
    /// Most cards first.
    pub models: Vec<ModelUsage>,
    /// In the order of the accounts.
    pub people: Vec<FleetPerson>,
    /// Names of hosts that were not heard of at the end of the window.
    pub silent_hosts: Vec<String>,
}

/// Engine and selection that a report is made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    pub url: String,
    pub matching: Option<String>,
    pub host: Option<String>,
    /// Why responses of the engine are incomplete.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostUsage {
    pub name: String,
    /// Labels that the engine knows it by.
    pub labels: BTreeMap<String, String>,
    pub gua_version: String,
    pub driver_version: Option<String>,
    pub states: States,
    pub observed_seconds: f64,
    /// Observed part of the window.
    pub coverage: Option<f64>,
    pub last_tick: Option<Timestamp>,
    /// True if it was not heard of at the end of the window.
    pub is_silent: bool,
    /// Number of GPUs that the cards are or are parts of.
    pub gpu_count: usize,
    pub cards: Vec<CardUsage>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelUsage {
    /// Null if it is not known.
    pub name: Option<String>,
    /// Number of GPUs.
    pub cards: usize,
    pub states: States,
}

/// Presence of one person on all hosts. Their shares are an account.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetPerson {
    /// Null for everybody who is not known.
    pub user: Option<String>,
    /// Hosts on which they held a card.
    pub hosts: usize,
    /// A card counts once for everybody who holds it.
    pub present_gpu_hours: f64,
    /// Part of it in which they did not work.
    pub present_idle_gpu_hours: f64,
}
