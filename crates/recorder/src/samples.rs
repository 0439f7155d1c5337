//! Samples of cards for plots: means since the last tick.

use std::sync::Arc;
use std::time::Duration;

use gua_core::card::{CardFacts, MemoryUse, Vitals};
use gua_core::poll::CardPoll;
use gua_core::units::{Celsius, Milliwatts, Percent};
use gua_core::{Clocks, Poll, Reading, Reason};
use gua_store::CardSample;

/// More than any card draws. An energy counter that rises faster has leapt.
const MOST_MILLIWATTS: f64 = 1e8;

/// Collects what polls read of each card.
#[derive(Debug, Default)]
pub(crate) struct PlotSamples {
    cards: Vec<CardMeans>,
}

#[derive(Debug)]
struct CardMeans {
    card: Arc<CardFacts>,
    is_listed: bool,
    utilization: Mean,
    /// Milliwatts.
    power: Mean,
    /// Millijoules and time since boot: of the last tick, and of the newest poll.
    energy: Option<[(u64, Duration); 2]>,
    memory: Option<MemoryUse>,
    temperature: Option<Celsius>,
    /// Temperature when it was last read, also before the last tick.
    last_temperature: Option<Celsius>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

impl PlotSamples {
    pub fn add(&mut self, poll: &Poll) {
        self.cards.iter_mut().for_each(|card| card.is_listed = false);
        for card in poll.cards.iter().flatten() {
            self.card(&card.card).add(card, poll.clocks);
        }
    }

    /// Returns a sample of each card of the newest poll.
    pub fn samples(&self) -> Vec<CardSample> {
        self.cards.iter().filter(|card| card.is_listed).map(CardMeans::sample).collect()
    }

    /// Returns what was read of a card. Where the newest poll did not ask for it: with the power since the
    /// last tick, and the temperature when it was last read.
    pub fn with_recent(&self, card: &CardFacts, reading: &Vitals) -> Vitals {
        let mut reading = reading.clone();
        let Some(means) = self.cards.iter().find(|known| known.card.is_same_card(card)) else {
            return reading;
        };
        let sample = means.sample();
        if let (Some(Reason::NotAsked), Some(power)) = (reading.power.why(), sample.power) {
            reading.power = Reading::Known(power);
        }
        if let (Some(Reason::NotAsked), Some(celsius)) =
            (reading.temperature.why(), means.last_temperature)
        {
            reading.temperature = Reading::Known(celsius);
        }
        reading
    }

    /// Begins again after a tick.
    pub fn restart(&mut self) {
        self.cards.retain(|card| card.is_listed);
        for card in &mut self.cards {
            let energy = card.energy.map(|[_, newest]| [newest, newest]);
            let last_temperature = card.last_temperature;
            *card = CardMeans {
                energy,
                is_listed: true,
                last_temperature,
                ..CardMeans::new(&card.card)
            };
        }
    }

    fn card(&mut self, facts: &Arc<CardFacts>) -> &mut CardMeans {
        let place = self.cards.iter().position(|known| known.card.is_same_card(facts));
        let place = place.unwrap_or_else(|| {
            self.cards.push(CardMeans::new(facts));
            self.cards.len() - 1
        });
        &mut self.cards[place]
    }
}

impl CardMeans {
    fn new(card: &Arc<CardFacts>) -> Self {
        Self {
            card: Arc::clone(card),
            is_listed: false,
            utilization: Mean::default(),
            power: Mean::default(),
            energy: None,
            memory: None,
            temperature: None,
            last_temperature: None,
        }
    }

    fn add(&mut self, card: &CardPoll, clocks: Clocks) {
        let reading = &card.reading;
        self.is_listed = true;
        self.card = Arc::clone(&card.card);
        if let Some(utilization) = reading.utilization.known() {
            self.utilization.add(utilization.percent.0);
        }
        if let Some(power) = reading.power.known() {
            self.power.add(f64::from(power.0));
        }
        if let Some(energy) = reading.energy.known() {
            let newest = (energy.0, clocks.since_boot);
            // A counter that went back began again with the driver.
            let first = self.energy.map(|[first, _]| first).filter(|first| first.0 <= energy.0);
            self.energy = Some([first.unwrap_or(newest), newest]);
        }
        self.memory = reading.memory.known().or(self.memory);
        self.temperature = reading.temperature.known().or(self.temperature);
        if reading.temperature.why() != Some(Reason::NotAsked) {
            self.last_temperature = reading.temperature.known();
        }
    }

    fn sample(&self) -> CardSample {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
        let milliwatts = |power: f64| Milliwatts(power.round() as u32);
        CardSample {
            card: Arc::clone(&self.card),
            utilization: self.utilization.value().map(Percent),
            memory: self.memory.map(|memory| memory.used),
            memory_total: self.memory.map(|memory| memory.total),
            power: self.power.value().or_else(|| self.mean_power()).map(milliwatts),
            temperature: self.temperature,
        }
    }

    /// Returns the mean power by the energy counter, in milliwatts.
    fn mean_power(&self) -> Option<f64> {
        let [(first, begin), (newest, end)] = self.energy?;
        let seconds = end.checked_sub(begin)?.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "the energy of a tick is small")]
        let used = newest.checked_sub(first)? as f64;
        let power = (seconds > 0.0).then(|| used / seconds);
        power.filter(|milliwatts| *milliwatts <= MOST_MILLIWATTS)
    }
}
