//! What is exported after a tick: the counters, and gauges of what was last seen.

use std::sync::Arc;

use gua_core::State;
use gua_core::card::rest_label;
use gua_core::snapshot::{CardNow, HostNow};
use gua_core::units::UnixMillis;
use gua_store::{Database, Latest, StoreError};

use crate::caps;
use crate::counters::{Counters, Key};
use crate::counting::Counting;
use crate::family::Counter;
use crate::labels::{clean_label, user_label};

/// Everything that is exported after a tick.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Ticks since the program started.
    pub number: u64,
    pub host: Host,
    /// Time of the tick.
    pub at: UnixMillis,
    /// Time up to which the counters are final.
    pub final_until: Option<UnixMillis>,
    pub counting_since: Option<UnixMillis>,
    pub counters: Counters,
    pub cards: Vec<CardGauges>,
    pub unpartitioned: Vec<CardInfo>,
}

/// What is left of a partitioned GPU: it has counters, and no gauges of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardInfo {
    pub uuid: Arc<str>,
    /// `0:rest`.
    pub gpu: String,
    pub model: Option<String>,
}

/// Facts about the host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host {
    pub name: String,
    pub driver_version: Option<String>,
    /// Between ticks.
    pub interval_ms: Option<i64>,
}

/// A card at the last tick. What is not known is not exported.
#[derive(Debug, Clone, PartialEq)]
pub struct CardGauges {
    pub uuid: Arc<str>,
    /// `0`, or `0:1` for a MIG instance.
    pub gpu: String,
    pub model: Option<String>,
    pub state: State,
    pub utilization_ratio: Option<f64>,
    pub memory_used_bytes: Option<u64>,
    pub memory_total_bytes: Option<u64>,
    pub power_watts: Option<f64>,
    pub temperature_celsius: Option<u32>,
    /// Holders that compute, that only draw, and clients of MPS.
    pub holders: [u64; 3],
    /// Memory of each user, if all of it is known.
    pub user_memory_bytes: Vec<(Arc<str>, u64)>,
}

/// What was last seen: gauges, and the driver.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenNow {
    pub cards: Vec<CardGauges>,
    pub unpartitioned: Vec<CardInfo>,
    pub driver_version: Option<String>,
}

impl SeenNow {
    /// Reads what a tick stores as last seen.
    pub fn from_tick(latest: &[Latest], counters: &Counters) -> Self {
        let host = latest.iter().find(|it| it.card.is_none()).map(|it| &*it.body);
        let bodies = |unpartitioned: bool| {
            let is_it = move |it: &&Latest| {
                it.card.as_ref().is_some_and(|card| card.is_unpartitioned() == unpartitioned)
            };
            latest.iter().filter(is_it).map(|it| &*it.body)
        };
        Self::read(host, bodies(false), bodies(true), counters)
    }

    fn from_database(database: &Database, counters: &Counters) -> Result<Self, StoreError> {
        let Some(seen) = database.last_seen()? else { return Ok(Self::default()) };
        let cards = seen.cards.iter().map(|body| &**body);
        let unpartitioned = seen.unpartitioned.iter().map(|body| &**body);
        Ok(Self::read(seen.host.as_deref(), cards, unpartitioned, counters))
    }

    /// A body that another version wrote, and this one cannot read, gives no gauges.
    fn read<'a>(
        host: Option<&str>,
        cards: impl Iterator<Item = &'a str>,
        unpartitioned: impl Iterator<Item = &'a str>,
        counters: &Counters,
    ) -> Self {
        let host: Option<HostNow> = host.and_then(|body| serde_json::from_str(body).ok());
        let cards = cards.filter_map(|body| serde_json::from_str::<CardNow>(body).ok());
        let unpartitioned =
            unpartitioned.filter_map(|body| serde_json::from_str::<CardNow>(body).ok());
        Self {
            unpartitioned: unpartitioned
                .filter_map(|card| CardInfo::unpartitioned(&card))
                .collect(),
            cards: cards.map(|card| CardGauges::new(&card, counters)).collect(),
            driver_version: host.and_then(|host| host.driver_version),
        }
    }
}

impl Frame {
    pub(crate) fn new(
        at: UnixMillis,
        counting: &Counting,
        host: &Host,
        counting_since: Option<UnixMillis>,
        seen: &SeenNow,
    ) -> Self {
        let driver_version = seen.driver_version.clone().or_else(|| host.driver_version.clone());
        Self {
            number: counting.number,
            host: Host { driver_version, ..host.clone() },
            at,
            final_until: counting.final_until(),
            counting_since,
            counters: counting.counters.clone(),
            cards: seen.cards.clone(),
            unpartitioned: seen.unpartitioned.clone(),
        }
    }

    /// Returns what a recorder has stored in a database. `None` if nothing was recorded yet.
    pub fn from_database(database: &Database) -> Result<Option<Self>, StoreError> {
        let runs = database.runs()?;
        let Some(run) = runs.iter().rfind(|run| !run.is_imported) else { return Ok(None) };
        let counters = Counters::from_stored(database.totals()?);
        let seen = SeenNow::from_database(database, &counters)?;
        let until = counters.get(&Key::host(Counter::FinalUntil, "")).map(|it| it.value);
        Ok(Some(Self {
            number: 0,
            host: Host {
                name: run.run.host.clone(),
                driver_version: seen.driver_version.or_else(|| run.run.driver.clone()),
                interval_ms: run.run.interval_ms,
            },
            at: run.last_tick,
            final_until: until.map(UnixMillis),
            counting_since: database.counting_since()?,
            counters,
            cards: seen.cards,
            unpartitioned: seen.unpartitioned,
        }))
    }
}

impl CardInfo {
    fn unpartitioned(card: &CardNow) -> Option<Self> {
        let uuid = clean_label(card.card.uuid.as_deref()?).into();
        let model = card.card.name.as_deref().map(clean_label);
        Some(Self { uuid, gpu: rest_label(card.card.index), model })
    }
}

impl CardGauges {
    fn new(card: &CardNow, counters: &Counters) -> Self {
        let gpu = card.card.label();
        let uuid: Arc<str> = match &card.card.uuid {
            Some(uuid) => clean_label(uuid).into(),
            None => format!("card {gpu}").into(),
        };
        let mut holders = [0; 3];
        for holder in &card.holders {
            let place = match holder.kinds {
                kinds if kinds.mps => 2,
                kinds if kinds.graphics && !kinds.compute => 1,
                _ => 0,
            };
            holders[place] += 1;
        }
        Self {
            model: card.card.name.as_deref().map(clean_label),
            state: card.state,
            utilization_ratio: card.utilization_percent.map(|percent| percent / 100.0),
            memory_used_bytes: card.memory_used_bytes,
            memory_total_bytes: card.memory_total_bytes,
            power_watts: card.power_watts,
            temperature_celsius: card.temperature_celsius,
            holders,
            user_memory_bytes: user_memory(card, &uuid, counters),
            uuid,
            gpu,
        }
    }
}

/// Returns the memory of each user on a card. A sum of which a part is unknown is unknown.
fn user_memory(card: &CardNow, uuid: &Arc<str>, counters: &Counters) -> Vec<(Arc<str>, u64)> {
    let mut users: Vec<(Arc<str>, Option<u64>)> = Vec::new();
    for holder in &card.holders {
        let user = caps::known_user(counters, uuid, user_label(&holder.person()));
        let held = holder.memory_bytes;
        match users.iter_mut().find(|(known, _)| *known == user) {
            Some((_, sum)) => *sum = sum.zip(held).map(|(sum, held)| sum.saturating_add(held)),
            None => users.push((user, held)),
        }
    }
    users.into_iter().filter_map(|(user, held)| Some((user, held?))).collect()
}
