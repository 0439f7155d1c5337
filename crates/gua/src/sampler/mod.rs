//! Reads all cards and their holders once: a [`Tick`]. [`Pretend`] makes ticks of a scenario
//! instead.

mod behind;
mod faults;
mod pretend;
mod roster;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use probe::card::{CardFacts, CardLook, Vitals};
use probe::nvml::{DriverFacts, Look, OpenError, Prober, Wants};
use probe::proc::Host;
use probe::process::{Holder, Presence};
use probe::units::{Bytes, UnixMillis};
use probe::{Reading, Why};

pub use pretend::Pretend;

use self::roster::Roster;
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
    /// Who they are that the vitals list, in the same order. The same list as at the last tick
    /// where the same ones are there.
    pub holders: Arc<[HolderTick]>,
}

impl CardTick {
    /// Everybody who holds it: what the driver says of them, and who they are.
    pub fn held(&self) -> impl Iterator<Item = (&Holder, &HolderTick)> {
        self.vitals.holders.seen.iter().zip(self.holders.iter())
    }
}

/// Who a holder is. What it holds and does is told by the vitals: that changes at every tick.
#[derive(Debug, Clone)]
pub struct HolderTick {
    pub pid: u32,
    pub process: Presence,
    pub command: Reading<Vec<String>>,
}

/// Reads the driver and the host, again and again.
#[derive(Debug)]
pub struct Sampler {
    prober: Prober,
    host: Host,
    commands: Commands,
    sensors: Option<Pace>,
    roster: Roster,
}

/// When to read the arguments of a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Commands {
    Never,
    /// When it is named.
    Once,
    /// They may change while a process runs.
    Always,
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
        let (sensors, roster) = (None, Roster::default());
        Ok(Self { prober, host, commands: Commands::Never, sensors, roster })
    }

    /// Reads the arguments of each holder too. They may hold secrets.
    #[must_use]
    pub const fn with_commands(mut self, wanted: bool) -> Self {
        self.commands = if wanted { Commands::Always } else { Commands::Never };
        self
    }

    /// The same, but once a holder only: for who keeps them.
    #[must_use]
    pub const fn with_first_commands(mut self, wanted: bool) -> Self {
        self.commands = if wanted { Commands::Once } else { Commands::Never };
        self
    }

    /// Finds out who is behind each holder, too, when it is seen for the first time.
    #[must_use]
    pub fn with_who(mut self, wanted: bool) -> Self {
        self.host = self.host.with_who(wanted);
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
        if self.host.forget_the_ended().is_none_or(|ended| !ended.is_empty()) {
            self.roster.clear();
        }
        let lists = || look.cards.iter().map(|card| card.vitals.holders.seen.as_slice());
        if !self.roster.is_of(lists()) {
            let pids: HashSet<u32> = lists().flatten().map(|holder| holder.pid).collect();
            self.host.keep_only(|pid| pids.contains(&pid));
            self.roster.truncate(look.cards.len());
        }
        let cards = look.cards.into_iter().enumerate();
        let cards = cards.map(|(place, card)| self.card(place, card)).collect();
        Tick { at, driver: look.driver, cards }
    }

    fn card(&mut self, place: usize, look: CardLook) -> CardTick {
        let unattributed = look.unattributed();
        let CardLook { facts, vitals } = look;
        let holders = match self.roster.those_at(place, &vitals.holders.seen) {
            Some(holders) => Arc::clone(holders),
            None => self.name(place, &vitals.holders.seen),
        };
        CardTick { holders, facts, vitals, unattributed }
    }

    /// Finds out who the holders of a card are.
    fn name(&mut self, place: usize, holders: &[Holder]) -> Arc<[HolderTick]> {
        let named: Arc<[_]> = holders.iter().map(|holder| self.holder(holder.pid)).collect();
        let stay = self.commands != Commands::Always
            && holders.iter().all(|it| self.host.is_watched(it.pid));
        self.roster.put(place, stay.then(|| Arc::clone(&named)));
        named
    }

    fn holder(&mut self, pid: u32) -> HolderTick {
        let process = self.host.process(pid);
        let command = self.command(pid, &process);
        HolderTick { pid, process, command }
    }

    fn command(&self, pid: u32, process: &Presence) -> Reading<Vec<String>> {
        match process {
            _ if self.commands == Commands::Never => Reading::Unknown(Why::NotAsked),
            Presence::Here(_) => self.host.command(pid),
            Presence::Hidden(why) => Reading::Unknown(*why),
            // Whoever has the pid here is another.
            Presence::Gone | Presence::Foreign => Reading::Unknown(Why::Gone),
        }
    }
}
