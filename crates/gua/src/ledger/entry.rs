//! One tick, judged: what the history keeps of it.

use std::sync::Arc;
use std::time::Duration;

use probe::card::{Basis, CardFacts, Vitals};
use probe::process::{Kinds, ProcessFacts};
use probe::units::{Bytes, UnixMillis};
use probe::who::{Source, Told, User, Who};

use super::period::Period;
use crate::classify::{Evidence, Holds, Kib, State, Work};

/// All cards over the time that one tick speaks for.
#[derive(Debug, Clone)]
pub struct Entry {
    pub at: UnixMillis,
    /// Ends at `at`; empty where the tick speaks for no time.
    pub covers: Period,
    /// How long after its time it came.
    pub late: Option<Duration>,
    pub cards: Vec<CardEntry>,
}

#[derive(Debug, Clone)]
pub struct CardEntry {
    pub facts: Arc<CardFacts>,
    pub state: State,
    pub evidence: Evidence,
    /// Held by somebody who is not listed, where it is enough to count.
    pub unseen: Option<Kib>,
    pub measures: Measures,
    /// The same one as at the last tick where nothing about them has changed.
    pub crew: Arc<Crew>,
}

/// Everybody on a card.
#[derive(Debug, Clone, Default)]
pub struct Crew {
    pub holders: Vec<HolderEntry>,
    pub owners: Vec<OwnerEntry>,
}

/// What else is kept of a card, for plots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measures {
    /// What the utilization rests on, where there is one.
    pub basis: Option<Basis>,
    pub used: Option<Bytes>,
    pub total: Option<Bytes>,
    pub power_milliwatts: Option<u32>,
    /// Since the driver was loaded.
    pub energy_millijoules: Option<u64>,
    pub temperature_celsius: Option<u32>,
}

/// One process on the card.
#[derive(Debug, Clone)]
pub struct HolderEntry {
    pub process: ProcessKey,
    pub identity: Identity,
    pub program: Option<Arc<str>>,
    pub started: Option<UnixMillis>,
    /// What it runs for; `None` where that is not known.
    pub workload: Option<Arc<Who>>,
    /// What it was started with, its secrets masked; `None` where that is not to be kept.
    pub command: Option<Arc<str>>,
    pub kinds: Kinds,
    pub memory: Option<Bytes>,
    pub holds: Holds,
    pub work: Work,
}

/// What a process is known by during one boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessKey {
    pub pid: u32,
    /// `None` where the host does not show the process.
    pub start_ticks: Option<u64>,
}

/// Who is behind a process; nobody known where there is neither a name nor a uid.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Identity {
    pub user: Option<Arc<str>>,
    pub uid: Option<u32>,
    /// Where it is known from, where that was written down.
    pub source: Option<Source>,
}

impl Identity {
    /// Whether somebody who typed a name or a uid means this one.
    #[must_use]
    pub fn is_called(&self, typed: &str) -> bool {
        self.user.as_deref() == Some(typed) || self.uid.is_some_and(|uid| typed == uid.to_string())
    }

    /// Whoever was found to be behind it, else its owner. Where it was looked for and nobody was
    /// found, it is nobody's: the owner of a process in a container may be anybody's root.
    #[must_use]
    pub fn of(facts: &ProcessFacts) -> Self {
        match facts.who.as_ref().known() {
            Some(who) => who.user.as_ref().map_or_else(Self::default, Self::told),
            None => Self::owner(facts),
        }
    }

    fn told(Told { value: User { uid, name }, source }: &Told<User>) -> Self {
        Self { user: name.clone(), uid: Some(*uid), source: Some(*source) }
    }

    fn owner(facts: &ProcessFacts) -> Self {
        let uid = facts.uid.known();
        Self {
            user: facts.user.as_ref().known().and_then(Clone::clone),
            uid,
            source: uid.map(|_| Source::Uid),
        }
    }
}

/// One identity on the card, with all of its processes there.
#[derive(Debug, Clone)]
pub struct OwnerEntry {
    pub identity: Identity,
    pub holds: Holds,
}

impl Measures {
    pub(super) fn of(vitals: &Vitals) -> Self {
        let memory = vitals.memory.known();
        Self {
            basis: vitals.utilization.known().map(|work| work.basis),
            used: memory.map(|memory| memory.used),
            total: memory.map(|memory| memory.total),
            power_milliwatts: vitals.power.known().map(|power| power.0),
            energy_millijoules: vitals.energy.known().map(|energy| energy.0),
            temperature_celsius: vitals.temperature.known().map(|temperature| temperature.0),
        }
    }
}
