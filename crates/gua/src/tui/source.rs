//! Where the looks come from: the driver, or a machine that does not exist.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use gua_core::process::{Presence, ProcessFacts};
use gua_core::snapshot::Snapshot;
use gua_core::units::{Percent, UnixMillis};
use gua_core::{Reading, Reason};
use gua_query::snapshot::{CardSelection, IdleWatch, LiveSource};
use probe::proc::Host;

use super::look::{Kin, Look, Process};
use crate::failure::Failure;
use crate::safe::safe;

/// Looks at a machine, again and again.
pub trait Source: Send {
    /// Looks once.
    ///
    /// # Errors
    /// When what was asked for is not there.
    fn look(&mut self) -> Result<Look, Failure>;
}

/// Adds to a snapshot since when holders are idle, from the record.
pub type AddRecord = Box<dyn FnMut(&mut Snapshot) + Send>;

/// What is made of every snapshot: the cards that were asked for, with idle times.
pub struct Completion {
    selection: CardSelection,
    record: AddRecord,
    watch: IdleWatch,
}

impl fmt::Debug for Completion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Completion").field("selection", &self.selection).finish_non_exhaustive()
    }
}

impl Completion {
    #[must_use]
    pub fn new(selection: CardSelection, record: AddRecord) -> Self {
        Self { selection, record, watch: IdleWatch::default() }
    }

    fn complete(&mut self, snapshot: Snapshot) -> Result<Snapshot, Failure> {
        let mut snapshot = self.selection.apply(snapshot)?;
        (self.record)(&mut snapshot);
        self.watch.add(&mut snapshot);
        Ok(snapshot)
    }
}

/// The driver and the host of this machine.
#[derive(Debug)]
pub struct Machine {
    source: LiveSource,
    completion: Completion,
    kin: Kindred,
    before: HashMap<u32, Before>,
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
    pub fn new(source: LiveSource, host: Host, completion: Completion) -> Self {
        let kin = Kindred { host, known: HashMap::new() };
        Self { source, completion, kin, before: HashMap::new() }
    }

    fn process(&mut self, facts: &ProcessFacts) -> Process {
        let at = Instant::now();
        let (cpu, ram) = match self.source.host().usage(facts) {
            Reading::Known(usage) => {
                let now = Before { start_ticks: facts.start_ticks, cpu: usage.cpu, at };
                let before = self.before.insert(facts.pid, now);
                (load(before, now), Reading::Known(usage.resident))
            }
            Reading::Unknown(why) => (Reading::Unknown(why), Reading::Unknown(why)),
        };
        Process { cpu, ram, kin: self.kin.of(facts) }
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
        None => Reading::Unknown(Reason::FirstLook),
    }
}

impl Source for Machine {
    fn look(&mut self) -> Result<Look, Failure> {
        let snapshot = self.source.snapshot();
        let now = self.completion.complete(snapshot)?;
        let mut processes = HashMap::new();
        let mut starts = HashMap::new();
        for holder in now.cards.iter().flat_map(|card| &card.holders) {
            let Some(process) = self.source.process(holder.pid) else { continue };
            let Presence::Here(facts) = &process.presence else { continue };
            let facts = Arc::clone(facts);
            starts.insert(facts.pid, facts.start_ticks);
            processes.entry(facts.pid).or_insert_with(|| self.process(&facts));
        }
        self.before.retain(|pid, _| processes.contains_key(pid));
        self.kin.keep_only(&starts);
        Ok(Look { now, processes })
    }
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

    /// Forgets the parents of all processes but those with these pids and starts.
    fn keep_only(&mut self, starts: &HashMap<u32, u64>) {
        self.known.retain(|(pid, start), _| starts.get(pid) == Some(start));
        // Parents are asked only once, so nothing of them is held.
        self.host.keep_only(|_| false);
    }
}

fn of_facts(facts: &ProcessFacts) -> Kin {
    let user = facts.user.clone().known().flatten();
    Kin { pid: facts.pid, program: safe(&facts.program), user: user.map(|user| safe(&user)) }
}

/// A simulated machine: something that makes a snapshot of any moment.
pub struct Played {
    play: Box<dyn FnMut(UnixMillis) -> Snapshot + Send>,
    completion: Completion,
}

impl fmt::Debug for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Played").field("completion", &self.completion).finish_non_exhaustive()
    }
}

impl Played {
    pub fn new(
        play: impl FnMut(UnixMillis) -> Snapshot + Send + 'static,
        completion: Completion,
    ) -> Self {
        Self { play: Box::new(play), completion }
    }

    /// Looks at a time.
    ///
    /// # Errors
    /// When what was asked for is not there.
    pub fn look_at(&mut self, at: UnixMillis) -> Result<Look, Failure> {
        let now = self.completion.complete((self.play)(at))?;
        let holders = now.cards.iter().flat_map(|card| &card.holders);
        let here = holders.filter(|holder| holder.start_ticks.is_some());
        // Its processes take nothing of this host.
        let process = || Process {
            cpu: Reading::Unknown(Reason::NotSupported),
            ram: Reading::Unknown(Reason::NotSupported),
            kin: Arc::from([]),
        };
        let processes = here.map(|holder| (holder.pid, process())).collect();
        Ok(Look { now, processes })
    }
}

impl Source for Played {
    fn look(&mut self) -> Result<Look, Failure> {
        self.look_at(UnixMillis::from(SystemTime::now()))
    }
}
