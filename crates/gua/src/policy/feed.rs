//! What the recorder sees of holders, made into what the rules judge.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use probe::units::{Percent, UnixMillis};
use probe::{Reading, Why};

use super::activity::{on_cards, sign, with_sign};
use super::company::together;
use super::decision::Step;
use super::guard::nature;
use super::meter::Meter;
use super::observed::{Observed, is_whole, observed};
use super::own;
use super::snooze::{Sleeper, SnoozeError, Snoozes};
use super::subject::{Activity, Facts, Groups, Holding, Nature, Signs, Subject};
use crate::config::policy::Policy;
use crate::ledger::Entry;
use crate::sampler::Tick;
use crate::store::SignCode;

/// Remembers what costs to find out.
#[derive(Debug)]
pub struct Feed {
    root: PathBuf,
    snoozes: PathBuf,
    worked: Percent,
    reads_cpu: bool,
    meter: Meter,
    lineage: Vec<u32>,
    groups: HashMap<Arc<str>, Groups>,
    cgroups: HashMap<Subject, Reading<Arc<str>>>,
}

/// A tick for the rules, and what else told of each process.
#[derive(Debug)]
pub struct Fed {
    pub step: Step,
    pub signs: Vec<(Subject, SignCode)>,
    /// Why nobody's snooze counts, where that is so.
    pub unread_snoozes: Option<SnoozeError>,
}

impl Feed {
    /// Of the host below this root. From `worked` on a holder works.
    #[must_use]
    pub fn new(root: PathBuf, snoozes: PathBuf, worked: Percent) -> Self {
        Self {
            root,
            snoozes,
            worked,
            reads_cpu: true,
            meter: Meter::default(),
            lineage: own::lineage(),
            groups: HashMap::new(),
            cgroups: HashMap::new(),
        }
    }

    /// For who looks once: what the processors did needs two looks, and the recorder watches it.
    #[must_use]
    pub const fn without_cpu(mut self) -> Self {
        self.reads_cpu = false;
        self
    }

    /// Where the host's files begin.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What a tick says.
    pub fn feed(&mut self, policy: &Policy, tick: &Tick, entry: &Entry, is_on: bool) -> Fed {
        let all = observed(tick, entry);
        let is_here = |subject: &Subject| all.iter().any(|one| one.subject == *subject);
        self.meter.keep(is_here);
        self.cgroups.retain(|subject, _| is_here(subject));
        let (snoozes, unread_snoozes) = match Snoozes::look(&self.snoozes) {
            Ok(snoozes) => (snoozes, None),
            Err(error) => (None, Some(error)),
        };
        let mut signs = Vec::new();
        let mut holdings = Vec::new();
        for one in &all {
            let (holding, sign) = self.holding(policy, one, snoozes.as_ref(), entry.at);
            signs.push((one.subject, sign));
            holdings.push(holding);
        }
        together(&mut holdings);
        let step = Step {
            covers: entry.covers,
            time_of_day: time_of_day(entry.at),
            holdings,
            is_whole: is_whole(tick, entry),
            is_on,
        };
        Fed { step, signs, unread_snoozes }
    }

    fn holding(
        &mut self,
        policy: &Policy,
        one: &Observed,
        snoozes: Option<&Snoozes>,
        now: UnixMillis,
    ) -> (Holding, SignCode) {
        let on_cards = on_cards(&one.on_cards, self.worked);
        // Only of who may be idle: it costs more than all else.
        let cpu = match on_cards {
            // A look alone can only take the recorder's word for it.
            Activity::Idle if !self.reads_cpu => Reading::Known(Percent(0.0)),
            Activity::Idle => self.meter.read(&self.root, one.subject, Instant::now()),
            _ => Reading::Unknown(Why::NotAsked),
        };
        let code = sign(one.encoder, one.decoder, cpu, self.worked, policy.busy_cpu);
        let holding = Holding {
            subject: one.subject,
            facts: Arc::new(self.facts(policy, one)),
            memory: one.memory,
            activity: with_sign(on_cards, code),
            signs: Signs { sm: one.sm, encoder: one.encoder, decoder: one.decoder, cpu },
            snoozed: snoozes.and_then(|all| all.until(sleeper(one)?, policy.snooze_most, now)),
            company: Vec::new(),
        };
        (holding, code)
    }

    fn facts(&mut self, policy: &Policy, one: &Observed) -> Facts {
        let person = one.person();
        let name = person.as_ref().and_then(|person| person.name.clone());
        let groups = match name.filter(|_| policy.needs_groups()) {
            Some(name) => self.groups_of(&name),
            None => Reading::Unknown(Why::NotAsked),
        };
        let nature = if self.lineage.contains(&one.subject.pid) {
            Nature::Ourselves
        } else {
            nature(one.program.as_deref(), one.kinds)
        };
        let process = one.process.as_ref();
        let unknown = Reading::Unknown(Why::Gone);
        Facts {
            person,
            owner: process.map_or(unknown, |facts| facts.uid),
            groups,
            program: one.program.clone(),
            who: process.map_or(Reading::Unknown(Why::Gone), |facts| facts.who.clone()),
            cards: one.cards.clone(),
            nature,
            cgroup: self.cgroup_of(one.subject),
        }
    }

    fn groups_of(&mut self, name: &Arc<str>) -> Groups {
        let root = &self.root;
        let find = || probe::proc::groups(root, name);
        self.groups.entry(Arc::clone(name)).or_insert_with(find).clone()
    }

    /// As it was when it was first seen.
    fn cgroup_of(&mut self, subject: Subject) -> Reading<Arc<str>> {
        let path = self.root.join(format!("proc/{}/cgroup", subject.pid));
        let read = || match fs::read(path) {
            Ok(bytes) => Reading::Known(Arc::from(String::from_utf8_lossy(&bytes))),
            Err(_) => Reading::Unknown(Why::Gone),
        };
        self.cgroups.entry(subject).or_insert_with(read).clone()
    }
}

fn sleeper(one: &Observed) -> Option<Sleeper> {
    let facts = one.process.as_ref()?;
    Some(Sleeper {
        pid: facts.pid,
        start_ticks: facts.start_ticks,
        started: facts.started.known(),
        owner: facts.uid.known()?,
    })
}

/// On the host's own clock.
#[must_use]
pub fn time_of_day(at: UnixMillis) -> Time {
    let at = Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.to_zoned(TimeZone::system()).time()
}
