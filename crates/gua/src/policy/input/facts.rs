//! Who holds a card, as the host says now.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gua_core::process::{Kinds, ProcessFacts};
use gua_core::sign::Sign as StoredSign;
use gua_core::units::{Bytes, Percent, UnixMillis};
use gua_core::{Reading, Reason, Thresholds};
use gua_store::ProcessEntry;

use super::samples::VideoEngines;
use crate::config::policy::Policy;
use crate::policy::groups::GroupBook;
use crate::policy::guard::nature;
use crate::policy::meter::Meter;
use crate::policy::own;
use crate::policy::present::{Found, Present};
use crate::policy::snooze::{Sleeper, SnoozeError, SnoozePlace, Snoozes};
use crate::policy::subject::{Activity, Card, Facts, Holding, Nature, Person, Signs, Subject};

/// Time that a tick waits for the host's directory of users, and that a single look does.
const TICK_PATIENCE: Duration = Duration::from_millis(100);
const LOOK_PATIENCE: Duration = Duration::from_secs(10);

/// Reads what the host says of holders, and remembers what is slow to read.
#[derive(Debug)]
pub struct LiveFacts {
    root: PathBuf,
    place: SnoozePlace,
    /// Known without a value if nobody has ever snoozed.
    snoozes: Reading<Option<Snoozes>>,
    groups: GroupBook,
    present: Present,
    meter: Meter,
    reads_cpu: bool,
    lineage: Vec<u32>,
    known: HashMap<Subject, Arc<Facts>>,
}

/// A process on its cards.
#[derive(Debug)]
pub struct Held<'a> {
    pub subject: Subject,
    pub entry: Option<&'a ProcessEntry>,
    pub kinds: Kinds,
    pub cards: Vec<Card>,
    pub memory: Reading<Bytes>,
    pub activity: Activity,
    pub signs: Signs,
}

impl LiveFacts {
    /// Returns the facts of the host below a root.
    #[must_use]
    pub fn new(root: PathBuf, place: SnoozePlace) -> Self {
        Self {
            groups: GroupBook::new(root.clone(), TICK_PATIENCE),
            present: Present::new(root.clone()),
            root,
            place,
            snoozes: Reading::Unknown(Reason::NotAsked),
            meter: Meter::default(),
            reads_cpu: true,
            lineage: own::lineage(),
            known: HashMap::new(),
        }
    }

    /// Returns facts for a single look: CPU use needs two, and the recorder watches it.
    #[must_use]
    pub fn for_one_look(mut self) -> Self {
        self.reads_cpu = false;
        self.groups = GroupBook::new(self.root.clone(), LOOK_PATIENCE);
        self
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Creates the folder of snoozes if there is none: whoever creates it could delete what others
    /// leave in it.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn make_snoozes(&self) -> Result<(), SnoozeError> {
        Snoozes::make(&self.place.folder).map(drop)
    }

    /// Asks the host's directory for all groups again.
    pub fn forget_groups(&mut self) {
        self.groups.forget();
    }

    /// Begins a tick: reads the snoozes, and forgets all processes but those that are wanted.
    ///
    /// # Errors
    /// When the snoozes cannot be read. Then no process counts as not snoozed.
    pub fn begin(&mut self, is_wanted: impl Fn(&Subject) -> bool) -> Result<(), SnoozeError> {
        self.meter.keep(&is_wanted);
        self.present.keep(&is_wanted);
        self.known.retain(|subject, _| is_wanted(subject));
        match Snoozes::look(&self.place.folder, self.place.keeper) {
            Ok(snoozes) => self.snoozes = Reading::Known(snoozes),
            Err(error) => {
                self.snoozes = Reading::Unknown(Reason::NotTold);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns the use of the CPU by a process and all below it since it was last read.
    pub fn cpu(&mut self, subject: Subject) -> Reading<Percent> {
        if !self.reads_cpu {
            // The recorder watches it.
            return Reading::Known(Percent(0.0));
        }
        self.meter.read(&self.root, subject, Instant::now())
    }

    /// Returns a process as the rules judge it.
    pub fn holding(&mut self, policy: &Policy, now: UnixMillis, held: &Held<'_>) -> Holding {
        let subject = held.subject;
        let found = match subject.start_ticks {
            Some(_) => self.present.of(subject),
            None => Reading::Unknown(Reason::Gone),
        };
        let mut activity = held.activity;
        if let (Reading::Unknown(reason), Some(_)) = (&found, subject.start_ticks) {
            // It has ended.
            activity = Activity::Unknown(*reason);
        }
        let snoozed = self.snoozed(policy, now, found.as_ref().known());
        let facts = self.facts(policy, held, found.known());
        let Held { memory, signs, .. } = *held;
        Holding { subject, facts, memory, activity, signs, snoozed, company: Vec::new() }
    }

    /// Returns until when a process is left alone. What cannot be read is not taken for a no.
    fn snoozed(
        &self,
        policy: &Policy,
        now: UnixMillis,
        found: Option<&Found>,
    ) -> Reading<Option<UnixMillis>> {
        let snoozes = match &self.snoozes {
            Reading::Known(None) => return Reading::Known(None),
            Reading::Known(Some(snoozes)) => snoozes,
            Reading::Unknown(reason) => return Reading::Unknown(*reason),
        };
        match found.and_then(|found| sleeper(&found.facts)) {
            Some(sleeper) => snoozes.until(sleeper, policy.snooze_most, now),
            // Nobody could snooze it.
            None => Reading::Known(None),
        }
    }

    fn facts(&mut self, policy: &Policy, held: &Held<'_>, found: Option<Found>) -> Arc<Facts> {
        if found.is_none()
            && let Some(known) = self.known.get(&held.subject)
        {
            return Arc::clone(known);
        }
        let facts = Arc::new(self.read_facts(policy, held, found));
        self.known.insert(held.subject, Arc::clone(&facts));
        facts
    }

    fn read_facts(&mut self, policy: &Policy, held: &Held<'_>, found: Option<Found>) -> Facts {
        let process = found.as_ref().map(|found| &*found.facts);
        let person = match (process, held.entry) {
            (Some(facts), _) => Person::new(&facts.person()),
            (None, Some(entry)) => Person::new(&entry.person),
            (None, None) => None,
        };
        let name = person.as_ref().and_then(|person| person.name.clone());
        let groups = match name.filter(|_| policy.needs_groups()) {
            Some(name) => self.groups.of(&name, Instant::now()),
            None => Reading::Unknown(Reason::NotAsked),
        };
        let program = process.map(|facts| Arc::clone(&facts.program));
        let program = program.or_else(|| held.entry.and_then(|entry| entry.program.clone()));
        let nature = if self.lineage.contains(&held.subject.pid) {
            Nature::Ourselves
        } else {
            nature(program.as_deref(), held.kinds)
        };
        let gone = Reason::Gone;
        Facts {
            person,
            groups,
            program,
            who: process.map_or(Reading::Unknown(gone), |facts| facts.who.clone()),
            owner: found.as_ref().map_or(Reading::Unknown(gone), |found| found.owner),
            cards: held.cards.clone(),
            nature,
            cgroup: found.map_or(Reading::Unknown(gone), |found| found.cgroup),
        }
    }
}

impl Person {
    /// Returns a person who can be told; `None` where nobody is known.
    #[must_use]
    pub fn new(person: &gua_core::identity::Person) -> Option<Self> {
        Some(Self { uid: person.uid?, name: person.user.clone(), source: person.source? })
    }
}

fn sleeper(facts: &ProcessFacts) -> Option<Sleeper> {
    Some(Sleeper {
        pid: facts.pid,
        start_ticks: facts.start_ticks,
        started: facts.started.known(),
        owner: facts.uid.known()?,
    })
}

/// Returns the sign of what was read: below its threshold everything is quiet.
pub fn sign(
    engines: VideoEngines,
    cpu: Reading<Percent>,
    thresholds: &Thresholds,
    busy_cpu: Percent,
) -> StoredSign {
    let engine = |use_: Reading<Percent>, busy| match use_ {
        Reading::Known(percent) if percent >= thresholds.worked => busy,
        // A card without such an engine does nothing with it.
        Reading::Known(_) | Reading::Unknown(Reason::NotSupported) => StoredSign::Quiet,
        Reading::Unknown(_) => StoredSign::Unknown,
    };
    let cpu = match cpu {
        Reading::Known(percent) if percent >= busy_cpu => StoredSign::Cpu,
        Reading::Known(_) => StoredSign::Quiet,
        Reading::Unknown(_) => StoredSign::Unknown,
    };
    let encoder = engine(engines.encoder, StoredSign::Encoder);
    let decoder = engine(engines.decoder, StoredSign::Decoder);
    let signs = [encoder, decoder, cpu];
    signs
        .into_iter()
        .min_by_key(|sign| super::sign_time::rank(*sign))
        .unwrap_or(StoredSign::Unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sign_is_compared_with_its_threshold() {
        let (low, high) = (Reading::Known(Percent(0.0)), Reading::Known(Percent(60.0)));
        let none = Reading::Unknown(Reason::NotSupported);
        let late = Reading::Unknown(Reason::TimedOut);
        let sign = |encoder, decoder, cpu| {
            let thresholds = Thresholds::default();
            sign(VideoEngines { encoder, decoder }, cpu, &thresholds, Percent(10.0))
        };
        assert_eq!(sign(low, low, low), StoredSign::Quiet);
        assert_eq!(sign(none, none, low), StoredSign::Quiet);
        assert_eq!(sign(high, low, low), StoredSign::Encoder);
        assert_eq!(sign(late, high, low), StoredSign::Decoder);
        assert_eq!(sign(low, late, high), StoredSign::Cpu);
        assert_eq!(sign(low, low, none), StoredSign::Unknown);
        assert_eq!(sign(low, late, low), StoredSign::Unknown);
    }
}
