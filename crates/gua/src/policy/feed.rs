//! What the recorder sees of holders, made into what the rules judge.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use probe::process::ProcessFacts;
use probe::units::{Percent, UnixMillis};
use probe::{Reading, Why};

use super::activity::{on_cards, sign, with_sign};
use super::company::together;
use super::decision::{Step, time_of_day};
use super::groups::GroupBook;
use super::guard::nature;
use super::meter::Meter;
use super::observed::{Observed, is_whole, observed, person};
use super::own;
use super::present::{Found, Present};
use super::settled::Settled;
use super::snooze::{Sleeper, SnoozeError, SnoozePlace, Snoozes};
use super::subject::{Activity, Facts, Holding, Nature, Signs, Subject};
use crate::classify::Thresholds;
use crate::config::policy::Policy;
use crate::ledger::{Entry, Identity, Judge};
use crate::sampler::Tick;
use crate::store::SignCode;

/// How long a tick waits for the host's directory of users.
const DIRECTORY_PATIENCE: Duration = Duration::from_millis(100);
const LONG_PATIENCE: Duration = Duration::from_secs(10);

/// Remembers what costs to find out.
#[derive(Debug)]
pub struct Feed {
    root: PathBuf,
    snoozes: SnoozePlace,
    /// What entries are judged by that come in, and whoever judges them anew where the rules go
    /// by others.
    recorded_by: Thresholds,
    judge: Option<(Thresholds, Judge)>,
    reads_cpu: bool,
    meter: Meter,
    lineage: Vec<u32>,
    groups: GroupBook,
    present: Present,
}

/// A tick for the rules, and what else told of each process.
#[derive(Debug)]
pub struct Fed {
    pub step: Step,
    pub signs: Vec<(Subject, SignCode)>,
    /// Why it cannot be told who is snoozed, where that is so.
    pub unread_snoozes: Option<SnoozeError>,
}

/// What a tick is judged with.
struct Now<'a> {
    policy: &'a Policy,
    worked: Percent,
    /// `None` where nobody has ever snoozed.
    snoozes: Reading<Option<&'a Snoozes>>,
    at: UnixMillis,
}

impl Feed {
    /// Of the host below this root. Entries that come in are judged by these thresholds.
    #[must_use]
    pub fn new(root: PathBuf, snoozes: SnoozePlace, recorded_by: Thresholds) -> Self {
        Self {
            groups: GroupBook::new(root.clone(), DIRECTORY_PATIENCE),
            present: Present::new(root.clone()),
            root,
            snoozes,
            recorded_by,
            judge: None,
            reads_cpu: true,
            meter: Meter::default(),
            lineage: own::lineage(),
        }
    }

    /// For who looks once: what the processors did needs two looks, and the recorder watches it.
    /// Nobody waits for it but who asked.
    #[must_use]
    pub fn without_cpu(mut self) -> Self {
        self.reads_cpu = false;
        self.groups = GroupBook::new(self.root.clone(), LONG_PATIENCE);
        self
    }

    /// Where the host's files begin.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes the folder of snoozes where there is none: whoever makes it could take away what
    /// others leave in it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make_snoozes(&self) -> Result<(), SnoozeError> {
        Snoozes::make(&self.snoozes.folder).map(drop)
    }

    /// Takes nothing for granted that was asked of the host's directory before.
    pub fn ask_anew(&mut self) {
        self.groups.forget();
    }

    /// What a tick says.
    pub fn feed(&mut self, settled: &Settled, tick: &Tick, entry: &Entry, is_on: bool) -> Fed {
        let judged = self.judged_anew(settled.thresholds, tick, entry);
        let entry = judged.as_ref().unwrap_or(entry);
        let all = observed(tick, entry);
        let is_here = |subject: &Subject| all.iter().any(|one| one.subject == *subject);
        self.meter.keep(is_here);
        self.present.keep(is_here);
        let (snoozes, unread_snoozes) =
            match Snoozes::look(&self.snoozes.folder, self.snoozes.keeper) {
                Ok(snoozes) => (Reading::Known(snoozes), None),
                Err(error) => (Reading::Unknown(Why::NotTold), Some(error)),
            };
        let now = Now {
            policy: &settled.policy,
            worked: settled.thresholds.worked,
            snoozes: snoozes.as_ref().map(Option::as_ref),
            at: entry.at,
        };
        let (mut holdings, signs): (Vec<_>, Vec<_>) = all
            .iter()
            .map(|one| {
                let (holding, sign) = self.holding(&now, one);
                (holding, (one.subject, sign))
            })
            .unzip();
        together(&mut holdings);
        let step = Step {
            covers: entry.covers,
            since_last: None,
            time_of_day: time_of_day(entry.at),
            holdings,
            is_whole: is_whole(tick, entry),
            is_on,
        };
        Fed { step, signs, unread_snoozes }
    }

    /// Where the rules go by other thresholds than the recorder, which keeps its own to its end.
    fn judged_anew(&mut self, by: Thresholds, tick: &Tick, entry: &Entry) -> Option<Entry> {
        if by == self.recorded_by {
            self.judge = None;
            return None;
        }
        let judge = match self.judge.take() {
            Some((thresholds, judge)) if thresholds == by => judge,
            _ => Judge::new(by),
        };
        let (_, judge) = self.judge.insert((by, judge));
        Some(judge.entry(tick, entry.covers, entry.late))
    }

    fn holding(&mut self, now: &Now<'_>, one: &Observed) -> (Holding, SignCode) {
        let found = match &one.process {
            Some(_) => self.present.of(one.subject),
            None => Reading::Unknown(Why::Gone),
        };
        let on_cards = match (&one.process, &found) {
            // It has ended, though the driver still lists it.
            (Some(_), Reading::Unknown(why)) => Activity::Unknown(*why),
            _ => on_cards(&one.on_cards, now.worked),
        };
        // Only of who may be idle: it costs more than all else.
        let cpu = match on_cards {
            // A look alone can only take the recorder's word for it.
            Activity::Idle if !self.reads_cpu => Reading::Known(Percent(0.0)),
            Activity::Idle => self.meter.read(&self.root, one.subject, Instant::now()),
            _ => Reading::Unknown(Why::NotAsked),
        };
        let code = sign(one.encoder, one.decoder, cpu, now.worked, now.policy.busy_cpu);
        let found = found.known();
        let holding = Holding {
            subject: one.subject,
            snoozed: snoozed(now, found.as_ref()),
            facts: Arc::new(self.facts(now.policy, one, found)),
            memory: one.memory,
            activity: with_sign(on_cards, code),
            signs: Signs { sm: one.sm, encoder: one.encoder, decoder: one.decoder, cpu },
            company: Vec::new(),
        };
        (holding, code)
    }

    fn facts(&mut self, policy: &Policy, one: &Observed, found: Option<Found>) -> Facts {
        let process = found.as_ref().map(|found| &*found.facts);
        let person = process.map_or_else(|| one.person(), |facts| person(&Identity::of(facts)));
        let name = person.as_ref().and_then(|person| person.name.clone());
        let groups = match name.filter(|_| policy.needs_groups()) {
            Some(name) => self.groups.of(&name, Instant::now()),
            None => Reading::Unknown(Why::NotAsked),
        };
        let program = process.map(|facts| Arc::clone(&facts.program));
        let program = program.or_else(|| one.program.clone());
        let nature = if self.lineage.contains(&one.subject.pid) {
            Nature::Ourselves
        } else {
            nature(program.as_deref(), one.kinds)
        };
        Facts {
            person,
            groups,
            program,
            who: process.map_or(Reading::Unknown(Why::Gone), |facts| facts.who.clone()),
            owner: found.as_ref().map_or(Reading::Unknown(Why::Gone), |found| found.owner),
            cards: one.cards.clone(),
            nature,
            cgroup: found.map_or(Reading::Unknown(Why::Gone), |found| found.cgroup),
        }
    }
}

/// Until when it is left alone. What cannot be told is not taken for a no.
fn snoozed(now: &Now<'_>, found: Option<&Found>) -> Reading<Option<UnixMillis>> {
    let snoozes = match now.snoozes {
        Reading::Known(None) => return Reading::Known(None),
        Reading::Known(Some(snoozes)) => snoozes,
        Reading::Unknown(why) => return Reading::Unknown(why),
    };
    match found.and_then(|found| sleeper(&found.facts)) {
        Some(sleeper) => snoozes.until(sleeper, now.policy.snooze_most, now.at),
        // Nobody could say so of it.
        None => Reading::Known(None),
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
