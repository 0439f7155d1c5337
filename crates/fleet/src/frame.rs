//! What is exported after a tick: the counters, and gauges of the newest poll.

use std::collections::HashMap;
use std::sync::Arc;

use gua_core::State;
use gua_core::card::{CardFacts, Vitals};
use gua_core::poll::CardPoll;
use gua_core::units::UnixMillis;
use gua_recorder::RecordedTick;
use gua_store::{Database, StoreError};

use crate::caps;
use crate::counters::{Counters, Key};
use crate::counting::{Counting, process_user};
use crate::family::Counter;
use crate::labels::{card_label, clean_label};

/// Time for which what a sensor read last is exported. Sensors are read more rarely than cards.
const SENSORS_HOLD_MS: i64 = 60_000;

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
}

/// Facts about the host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host {
    pub name: String,
    pub driver_version: Option<String>,
    /// Between ticks.
    pub interval_ms: Option<i64>,
}

/// A card now. What is not known is not exported.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CardGauges {
    pub uuid: Arc<str>,
    /// `0`, or `0:1` for a MIG instance.
    pub gpu: String,
    pub model: Option<String>,
    /// Newest final state.
    pub state: Option<State>,
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

/// What the sensors of each card read last, with the time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sensors(HashMap<Arc<str>, SensorReadings>);

#[derive(Debug, Clone, Copy, Default)]
struct SensorReadings {
    milliwatts: Option<(UnixMillis, u32)>,
    celsius: Option<(UnixMillis, u32)>,
}

impl Sensors {
    pub fn read(&mut self, cards: &[CardPoll], at: UnixMillis) {
        for card in cards {
            let known = self.0.entry(card_label(&card.card)).or_default();
            let reading = &card.reading;
            let stamped = |value: Option<u32>| value.map(|value| (at, value));
            let milliwatts = stamped(reading.power.known().map(|power| power.0));
            let celsius = stamped(reading.temperature.known().map(|temperature| temperature.0));
            known.milliwatts = milliwatts.or(known.milliwatts);
            known.celsius = celsius.or(known.celsius);
        }
    }

    fn get(&self, card: &Arc<str>, now: UnixMillis) -> (Option<u32>, Option<u32>) {
        let fresh = |read: Option<(UnixMillis, u32)>| {
            let (at, value) = read?;
            ((0..=SENSORS_HOLD_MS).contains(&(now.0 - at.0))).then_some(value)
        };
        let read = self.0.get(card).copied().unwrap_or_default();
        (fresh(read.milliwatts), fresh(read.celsius))
    }
}

impl Frame {
    pub(crate) fn new(
        recorded: &RecordedTick<'_>,
        counting: &Counting,
        host: &Host,
        counting_since: Option<UnixMillis>,
        sensors: &Sensors,
    ) -> Self {
        let gauges = |card| CardGauges::new(card, recorded, counting, sensors);
        let cards = recorded.poll.cards.iter().flatten().map(gauges).collect();
        Self {
            number: counting.number,
            host: host.clone(),
            at: recorded.tick.at,
            final_until: counting.final_until(),
            counting_since,
            counters: counting.counters.clone(),
            cards,
        }
    }

    /// Returns what a recorder has counted in a database, with gauges that the caller has. `None` if
    /// nothing was recorded yet.
    pub fn from_database(
        database: &Database,
        cards: Vec<CardGauges>,
    ) -> Result<Option<Self>, StoreError> {
        let runs = database.runs()?;
        let Some(run) = runs.iter().rfind(|run| !run.is_imported) else { return Ok(None) };
        let counters = Counters::from_stored(database.totals()?);
        let until = counters.get(&Key::host(Counter::FinalUntil, "")).map(|it| it.value);
        Ok(Some(Self {
            number: 0,
            host: Host {
                name: run.run.host.clone(),
                driver_version: run.run.driver.clone(),
                interval_ms: run.run.interval_ms,
            },
            at: run.last_tick,
            final_until: until.map(UnixMillis),
            counting_since: database.counting_since()?,
            counters,
            cards,
        }))
    }
}

impl CardGauges {
    fn new(
        card: &CardPoll,
        recorded: &RecordedTick<'_>,
        counting: &Counting,
        sensors: &Sensors,
    ) -> Self {
        let uuid = card_label(&card.card);
        let (milliwatts, celsius) = sensors.get(&uuid, recorded.poll.clocks.wall);
        Self {
            state: counting.states.get(&uuid).copied(),
            user_memory_bytes: user_memory(card, &uuid, recorded, &counting.counters),
            power_watts: milliwatts.map(|milliwatts| f64::from(milliwatts) / 1000.0),
            temperature_celsius: celsius,
            ..Self::from_reading(&card.card, &card.reading)
        }
    }

    /// Returns the gauges that a reading alone has.
    #[must_use]
    pub fn from_reading(card: &CardFacts, reading: &Vitals) -> Self {
        let memory = reading.memory.known();
        let mut holders = [0; 3];
        for holder in &reading.holders.seen {
            let place = match holder.kinds {
                kinds if kinds.mps => 2,
                kinds if kinds.graphics && !kinds.compute => 1,
                _ => 0,
            };
            holders[place] += 1;
        }
        Self {
            uuid: card_label(card),
            gpu: card.label(),
            model: card.name.as_ref().known().map(|name| clean_label(name)),
            utilization_ratio: reading.utilization.known().map(|it| it.percent.0 / 100.0),
            memory_used_bytes: memory.map(|memory| memory.used.0),
            memory_total_bytes: memory.map(|memory| memory.total.0),
            power_watts: reading.power.known().map(|power| f64::from(power.0) / 1000.0),
            temperature_celsius: reading.temperature.known().map(|celsius| celsius.0),
            holders,
            ..Self::default()
        }
    }
}

/// Returns the memory of each user on a card. A sum of which a part is unknown is unknown.
fn user_memory(
    card: &CardPoll,
    uuid: &Arc<str>,
    recorded: &RecordedTick<'_>,
    counters: &Counters,
) -> Vec<(Arc<str>, u64)> {
    let mut users: Vec<(Arc<str>, Option<u64>)> = Vec::new();
    for (holder, process) in card.reading.holders.seen.iter().zip(&card.processes) {
        let user = process_user(recorded.processes, process.id);
        let user = caps::known_user(counters, uuid, user);
        let held = holder.memory.known().map(|memory| memory.0);
        match users.iter_mut().find(|(known, _)| *known == user) {
            Some((_, sum)) => *sum = sum.zip(held).map(|(sum, held)| sum.saturating_add(held)),
            None => users.push((user, held)),
        }
    }
    users.into_iter().filter_map(|(user, held)| Some((user, held?))).collect()
}
