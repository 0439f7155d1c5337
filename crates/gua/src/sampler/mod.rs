//! Reads all cards and their holders once: a [`Tick`]. [`Pretend`] makes ticks of a scenario
//! instead.

mod beat;
mod faults;
mod pretend;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use probe::card::{CardFacts, CardLook, Vitals};
use probe::nvml::{DriverFacts, Look, OpenError, Prober, Wants};
use probe::proc::Host;
use probe::process::{Holder, Presence};
use probe::units::{Bytes, UnixMillis};
use probe::{Reading, Why};

pub use beat::Beat;
pub use pretend::Pretend;

use crate::config::Machine;

/// One reading of all cards.
#[derive(Debug, Clone)]
pub struct Tick {
    pub at: UnixMillis,
    pub driver: Result<DriverFacts, OpenError>,
    pub cards: Vec<CardTick>,
}

/// One card at one tick.
#[derive(Debug, Clone)]
pub struct CardTick {
    pub facts: Arc<CardFacts>,
    pub vitals: Vitals,
    /// Used by no listed holder.
    pub unattributed: Reading<Bytes>,
    /// Who holds it, in the order of the vitals' holders.
    pub holders: Vec<HolderTick>,
}

/// One holder at one tick.
#[derive(Debug, Clone)]
pub struct HolderTick {
    pub holder: Holder,
    pub process: Presence,
    pub command: Reading<Vec<String>>,
}

/// Reads the driver and the host, again and again.
#[derive(Debug)]
pub struct Sampler {
    prober: Prober,
    host: Host,
    with_commands: bool,
    sensors: Option<Pace>,
}

/// How often to read what changes slowly, and when that was last done.
#[derive(Debug)]
struct Pace {
    wants: Wants,
    every: Duration,
    last: Option<Instant>,
}

impl Pace {
    /// What to read now.
    fn wants(&mut self) -> Wants {
        if self.last.is_some_and(|last| last.elapsed() < self.every) {
            return Wants { power: false, temperature: false, ..self.wants };
        }
        self.last = Some(Instant::now());
        self.wants
    }
}

impl Sampler {
    /// Opens the driver.
    ///
    /// # Errors
    /// When there is none that answers.
    pub fn open(machine: &Machine, wants: Wants) -> Result<Self, OpenError> {
        let host = Host::new(machine.host_root.clone());
        let prober = Prober::open(machine.probe_options(wants))?;
        Ok(Self { prober, host, with_commands: false, sensors: None })
    }

    /// Reads the arguments of each holder too. They may hold secrets.
    #[must_use]
    pub const fn with_commands(mut self, wanted: bool) -> Self {
        self.with_commands = wanted;
        self
    }

    /// Reads power and temperature, as `wants` says, no more often than this.
    #[must_use]
    pub const fn with_sensors_every(mut self, every: Duration, wants: Wants) -> Self {
        self.sensors = Some(Pace { wants, every, last: None });
        self
    }

    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// Reads everything once.
    pub fn tick(&mut self) -> Tick {
        if let Some(pace) = &mut self.sensors {
            self.prober.want(pace.wants());
        }
        let look = self.prober.look();
        self.tick_of(look)
    }

    /// A tick for who looks only once: it can already say how busy each card is.
    pub fn first_tick(&mut self) -> Tick {
        let look = self.prober.first_look();
        self.tick_of(look)
    }

    /// Takes what the driver has sampled since the last tick, for the next one: its buffer
    /// holds some seconds only.
    pub fn drain(&mut self) {
        self.prober.drain();
    }

    /// How long the driver keeps its samples, where it does.
    #[must_use]
    pub fn buffer_length(&self) -> Option<Duration> {
        self.prober.buffer_length()
    }

    fn tick_of(&mut self, look: Look) -> Tick {
        let at = UnixMillis::from(SystemTime::now());
        let holders = look.cards.iter().flat_map(|card| &card.vitals.holders.seen);
        let pids: HashSet<u32> = holders.map(|holder| holder.pid).collect();
        self.host.keep_only(|pid| pids.contains(&pid));
        let cards = look.cards.into_iter().map(|card| self.card(card)).collect();
        Tick { at, driver: look.driver, cards }
    }

    fn card(&mut self, look: CardLook) -> CardTick {
        let unattributed = look.unattributed();
        let CardLook { facts, vitals } = look;
        let holders = vitals.holders.seen.iter().map(|holder| self.holder(*holder)).collect();
        CardTick { holders, facts, vitals, unattributed }
    }

    fn holder(&mut self, holder: Holder) -> HolderTick {
        let process = self.host.process(holder.pid);
        let command = self.command(holder.pid, &process);
        HolderTick { holder, process, command }
    }

    fn command(&self, pid: u32, process: &Presence) -> Reading<Vec<String>> {
        match process {
            _ if !self.with_commands => Reading::Unknown(Why::NotAsked),
            Presence::Here(_) => self.host.command(pid),
            Presence::Hidden(why) => Reading::Unknown(*why),
            // Whoever has the pid here is another.
            Presence::Gone | Presence::Foreign => Reading::Unknown(Why::Gone),
        }
    }
}
