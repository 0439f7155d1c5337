//! Where the looks come from: the driver, or a machine that does not exist.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use probe::proc::Host;
use probe::process::{Presence, ProcessFacts};
use probe::units::{Bytes, Percent, UnixMillis};
use probe::{Reading, Why};

use super::look::{Kin, Look, Process};
use crate::classify::Thresholds;
use crate::failure::Failure;
use crate::report::now;
use crate::safe::safe;
use crate::sampler::{Sampler, Tick};

/// Looks at a machine, again and again.
pub trait Source: Send {
    /// Looks once.
    ///
    /// # Errors
    /// When what was asked for is not there.
    fn look(&mut self) -> Result<Look, Failure>;
}

/// Leaves only the cards that were asked for.
pub type Pick = Box<dyn FnMut(Tick) -> Result<Tick, Failure> + Send>;

/// The driver and the host of this machine.
pub struct Machine {
    sampler: Sampler,
    pick: Pick,
    host_name: Option<String>,
    kin: Kindred,
    before: HashMap<u32, Before>,
    is_first: bool,
    thresholds: Thresholds,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("sampler", &self.sampler).finish_non_exhaustive()
    }
}

/// A process's processor time at the last look.
#[derive(Debug, Clone, Copy)]
struct Before {
    start_ticks: u64,
    cpu: Duration,
    at: Instant,
}

impl Machine {
    /// `host` is asked for the parents of the holders.
    #[must_use]
    pub fn new(sampler: Sampler, host: Host, pick: Pick, thresholds: Thresholds) -> Self {
        let host_name = sampler.host().name();
        let kin = Kindred { host, known: HashMap::new() };
        Self { sampler, pick, host_name, kin, before: HashMap::new(), is_first: true, thresholds }
    }

    fn process(&mut self, facts: &ProcessFacts) -> Process {
        let at = Instant::now();
        let (cpu, ram) = match self.sampler.host().taken(facts) {
            Reading::Known(taken) => {
                let now = Before { start_ticks: facts.start_ticks, cpu: taken.cpu, at };
                let before = self.before.insert(facts.pid, now);
                (load(before, now), Reading::Known(taken.resident))
            }
            Reading::Unknown(why) => (Reading::Unknown(why), Reading::Unknown(why)),
        };
        Process { start_ticks: facts.start_ticks, cpu, ram, kin: self.kin.of(facts) }
    }
}

/// How much of a core a process had between two looks.
fn load(before: Option<Before>, now: Before) -> Reading<Percent> {
    match before.filter(|before| before.start_ticks == now.start_ticks) {
        Some(before) => {
            let passed = now.at.duration_since(before.at).as_secs_f64();
            let worked = now.cpu.saturating_sub(before.cpu).as_secs_f64();
            Reading::Known(Percent(if passed > 0.0 { worked / passed * 100.0 } else { 0.0 }))
        }
        None => Reading::Unknown(Why::FirstLook),
    }
}

impl Source for Machine {
    fn look(&mut self) -> Result<Look, Failure> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        let tick = if is_first { self.sampler.first_tick() } else { self.sampler.tick() };
        let tick = (self.pick)(tick)?;
        let mut processes = HashMap::new();
        for facts in here(&tick) {
            processes.entry(facts.pid).or_insert_with(|| self.process(facts));
        }
        self.before.retain(|pid, _| processes.contains_key(pid));
        self.kin.keep_only(&processes);
        let now = now::now(&tick, self.host_name.as_deref(), &self.thresholds);
        Ok(Look { now, processes })
    }
}

fn here(tick: &Tick) -> impl Iterator<Item = &ProcessFacts> {
    let holders = tick.cards.iter().flat_map(|card| card.holders.iter());
    holders.filter_map(|holder| match &holder.process {
        Presence::Here(facts) => Some(&**facts),
        Presence::Gone | Presence::Foreign | Presence::Hidden(_) => None,
    })
}

/// Who started whom, read once a process.
#[derive(Debug)]
struct Kindred {
    host: Host,
    known: HashMap<(u32, u64), Arc<[Kin]>>,
}

/// A longer line of parents makes no sense.
const GENERATIONS: usize = 40;

impl Kindred {
    fn of(&mut self, facts: &ProcessFacts) -> Arc<[Kin]> {
        const FIRST_PROCESS: u32 = 1;
        if let Some(kin) = self.known.get(&(facts.pid, facts.start_ticks)) {
            return Arc::clone(kin);
        }
        let mut kin = Vec::new();
        let mut parent = facts.parent;
        while parent > FIRST_PROCESS && kin.len() < GENERATIONS {
            let Presence::Here(facts) = self.host.process(parent) else { break };
            kin.push(of_facts(&facts));
            parent = facts.parent;
        }
        let kin: Arc<[Kin]> = kin.into();
        self.known.insert((facts.pid, facts.start_ticks), Arc::clone(&kin));
        kin
    }

    fn keep_only(&mut self, processes: &HashMap<u32, Process>) {
        self.known.retain(|(pid, start), _| {
            processes.get(pid).is_some_and(|process| process.start_ticks == *start)
        });
        // Parents are asked only once, so nothing of them is held.
        self.host.keep_only(|_| false);
    }
}

fn of_facts(facts: &ProcessFacts) -> Kin {
    let user = facts.user.clone().known().flatten();
    Kin { pid: facts.pid, program: safe(&facts.program), user: user.map(|user| safe(&user)) }
}

/// A machine that does not exist: something that makes a tick of any moment.
pub struct Played {
    play: Box<dyn FnMut(UnixMillis) -> Result<Tick, Failure> + Send>,
    pick: Pick,
    host_name: String,
    thresholds: Thresholds,
}

impl fmt::Debug for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Played").field("host_name", &self.host_name).finish_non_exhaustive()
    }
}

impl Played {
    pub fn new(
        play: impl FnMut(UnixMillis) -> Result<Tick, Failure> + Send + 'static,
        host_name: String,
        pick: Pick,
        thresholds: Thresholds,
    ) -> Self {
        Self { play: Box::new(play), pick, host_name, thresholds }
    }
}

impl Source for Played {
    fn look(&mut self) -> Result<Look, Failure> {
        let tick = (self.play)(UnixMillis::from(SystemTime::now()))?;
        Ok(pretended(&(self.pick)(tick)?, &self.host_name, &self.thresholds))
    }
}

/// A look of a pretend tick: its processes take nothing of this host.
#[must_use]
pub fn pretended(tick: &Tick, host_name: &str, thresholds: &Thresholds) -> Look {
    let (cpu, ram): (Reading<Percent>, Reading<Bytes>) =
        (Reading::Unknown(Why::NotSupported), Reading::Unknown(Why::NotSupported));
    let process = |facts: &ProcessFacts| {
        let kin = Arc::from([]);
        (facts.pid, Process { start_ticks: facts.start_ticks, cpu, ram, kin })
    };
    let now = now::now(tick, Some(host_name), thresholds);
    Look { now, processes: here(tick).map(process).collect() }
}
