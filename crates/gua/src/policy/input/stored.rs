//! Rows of a database into steps: the same rules, tried on history.

use std::collections::HashMap;
use std::sync::Arc;

use gua_core::identity::Who;
use gua_core::period::HOUR;
use gua_core::units::{Bytes, UnixMillis};
use gua_core::{Period, Reading, Reason, Thresholds};
use gua_store::{
    Database, Precision, ReplayCard, StoreError, StoredCard, StoredHolder, StoredProcess, StoredRun,
};
use probe::proc::status::Uids;

use super::sign_time::SignTime;
use super::timeline::{CardTime, Cell, ExactTimes, Timeline, step_ms};
use crate::config::policy::Policy;
use crate::policy::company::together;
use crate::policy::decision::{Step, time_of_day};
use crate::policy::guard::nature;
use crate::policy::subject::{Activity, Card, Facts, Groups, Holding, Person, Signs, Subject};

/// Returns the groups of a user.
pub type UserGroups<'a> = &'a dyn Fn(&str) -> Groups;

/// What a replay rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayBasis {
    /// Time that the steps cover.
    pub observed_ms: i64,
    /// Idle time for which nothing says whether CPU, encoder or decoder worked; they are taken to have
    /// been quiet.
    pub assumed_ms: i64,
    /// How exactly the rows of holders say when something happened, at worst. What is decided may be
    /// off by its [`Precision::millis`].
    pub precision: Precision,
}

impl ReplayBasis {
    const fn new() -> Self {
        Self { observed_ms: 0, assumed_ms: 0, precision: Precision::Exact }
    }
}

/// History on its way through the rules.
#[derive(Debug)]
pub struct StoredInput {
    window: Period,
    runs: Vec<StoredRun>,
    /// In order of time.
    signs: Vec<SignTime>,
    cards: HashMap<i64, Card>,
    /// Ids of cards; the timeline knows them by their place.
    places: Vec<i64>,
    holders: HashMap<i64, Option<(Subject, Arc<Facts>)>>,
    processes: HashMap<Subject, Arc<Facts>>,
    exact: ExactTimes,
    timeline: Timeline,
    needs_groups: bool,
}

impl StoredInput {
    /// Reads what is needed for a window.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn new(database: &Database, window: Period, policy: &Policy) -> Result<Self, StoreError> {
        let runs = database.runs()?;
        let cards = database.cards()?.into_iter().map(|(id, stored)| (id, card(&stored)));
        let mut signs = Vec::new();
        for span in database.signs(window)? {
            let (subject, from) = (Subject::from(span.process), span.from);
            // One that lasts ended with its run.
            let to = span.to.unwrap_or_else(|| run_at(&runs, from).map_or(from, |run| run.until));
            signs.push(SignTime { subject, sign: span.sign, from, to: Some(to.max(from)) });
        }
        signs.sort_by_key(|sign| sign.from);
        let observed = database.observed(window)?;
        let mut exact = ExactTimes { observed, ..ExactTimes::default() };
        // Rows at its edges are cut only after they were spread over their hour.
        let around = Period::new(
            UnixMillis(window.from.0.saturating_sub(HOUR)),
            UnixMillis(window.to.0.saturating_add(HOUR)),
        );
        for session in database.sessions(around)? {
            exact.sessions.entry(session.holder).or_default().push(session.period);
        }
        Ok(Self {
            window,
            exact,
            signs,
            cards: cards.collect(),
            places: Vec::new(),
            holders: HashMap::new(),
            processes: HashMap::new(),
            timeline: Timeline::default(),
            needs_groups: policy.needs_groups(),
            runs,
        })
    }

    /// Calls `each` with the steps of the window, in order of time. Returns what they rest on.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn replay(
        mut self,
        database: &Database,
        groups: UserGroups<'_>,
        mut each: impl FnMut(Step),
    ) -> Result<ReplayBasis, StoreError> {
        let mut basis = ReplayBasis::new();
        let mut failed = None;
        let mut newest: Option<(UnixMillis, i64)> = None;
        database.replay(self.window, |rows| {
            if failed.is_some() {
                return;
            }
            match self.add_hour(database, &rows, groups) {
                Ok((until, length)) => {
                    newest = Some((rows_until(&rows), length));
                    self.steps(until, (length, false), &rows, &mut basis, &mut each);
                }
                Err(error) => failed = Some(error),
            }
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        if let Some((until, length)) = newest {
            self.steps(until, (length, true), &[], &mut basis, &mut each);
        }
        Ok(basis)
    }

    /// Adds the rows of an hour. Returns its end and the length of its steps.
    fn add_hour(
        &mut self,
        database: &Database,
        rows: &[ReplayCard],
        groups: UserGroups<'_>,
    ) -> Result<(UnixMillis, i64), StoreError> {
        let Some(first) = rows.first() else { return Ok((UnixMillis(i64::MIN), HOUR)) };
        let begin = first.period.from;
        let run = run_at(&self.runs, begin);
        let held = run.map_or(Thresholds::default().held, |run| run.run.thresholds.held);
        let interval = run.and_then(|run| run.run.interval_ms);
        let length = step_ms(interval);
        for row in rows {
            for holder in &row.holders {
                self.read_holder(database, holder.holder, groups)?;
            }
            self.add_row(row, held);
        }
        Ok((UnixMillis((begin.0.div_euclid(HOUR) + 1) * HOUR), length))
    }

    fn add_row(&mut self, row: &ReplayCard, held: Bytes) {
        let place = self.places.iter().position(|card| *card == row.card).unwrap_or_else(|| {
            self.places.push(row.card);
            self.places.len() - 1
        });
        let Self { window, holders, exact, timeline, .. } = self;
        let subject = |holder: i64| Some(holders.get(&holder)?.as_ref()?.0);
        let times = CardTime::from_row(row, place, held, exact, subject);
        times.into_iter().for_each(|time| timeline.push_within(*window, time));
    }

    fn read_holder(
        &mut self,
        database: &Database,
        id: i64,
        groups: UserGroups<'_>,
    ) -> Result<(), StoreError> {
        if self.holders.contains_key(&id) {
            return Ok(());
        }
        let found = database.holder(id)?.and_then(|holder| {
            let process = holder.process.as_ref()?;
            let subject = Subject { pid: process.pid, start_ticks: process.start_ticks };
            let groups = |name: &str| match self.needs_groups {
                true => groups(name),
                false => Reading::Unknown(Reason::NotAsked),
            };
            Some((subject, Arc::new(facts(&holder, process, groups))))
        });
        if let Some((subject, facts)) = &found {
            self.processes.insert(*subject, Arc::clone(facts));
        }
        self.holders.insert(id, found);
        Ok(())
    }

    fn steps(
        &mut self,
        until: UnixMillis,
        (length, is_end): (i64, bool),
        rows: &[ReplayCard],
        basis: &mut ReplayBasis,
        each: &mut impl FnMut(Step),
    ) {
        // No sign lasts much longer than an hour.
        let first = self.signs.partition_point(|sign| sign.from.0 < until.0 - 3 * HOUR);
        let last = self.signs.partition_point(|sign| sign.from < until);
        let signs = self.signs.get(first..last).unwrap_or(&[]);
        for cell in self.timeline.take(until, length, is_end, signs) {
            let precision = |covers: Period| {
                let rows = rows.iter().filter(|row| !row.holders.is_empty());
                let rows = rows.filter(|row| !row.period.overlap(&covers).is_empty());
                rows.map(|row| row.precision).max().unwrap_or(Precision::Exact)
            };
            basis.precision = basis.precision.max(precision(cell.covers));
            basis.observed_ms += cell.covers.millis();
            basis.assumed_ms += assumed_ms(&cell);
            each(self.step(cell));
        }
    }

    fn step(&self, cell: Cell) -> Step {
        let mut holdings = Vec::new();
        for (subject, holder) in cell.holders {
            let Some(facts) = self.processes.get(&subject) else { continue };
            let places = holder.cards.iter().filter_map(|place| self.places.get(*place));
            let cards = places.filter_map(|card| self.cards.get(card).cloned()).collect();
            holdings.push(Holding {
                subject,
                facts: Arc::new(Facts { cards, ..Facts::clone(facts) }),
                memory: holder.memory,
                activity: holder.activity,
                signs: Signs::unknown(Reason::NotAsked),
                snoozed: Reading::Known(None),
                company: Vec::new(),
            });
        }
        together(&mut holdings);
        Step {
            covers: cell.covers,
            since_last: None,
            time_of_day: time_of_day(cell.covers.to),
            holdings,
            is_whole: cell.is_whole,
            is_on: true,
        }
    }
}

fn assumed_ms(cell: &Cell) -> i64 {
    let is_assumed = |holder: &&super::timeline::CellHolder| {
        holder.is_quiet_assumed && holder.activity == Activity::Idle
    };
    let assumed = cell.holders.values().filter(is_assumed).count();
    cell.covers.millis().saturating_mul(i64::try_from(assumed).unwrap_or(i64::MAX))
}

fn rows_until(rows: &[ReplayCard]) -> UnixMillis {
    rows.iter().map(|row| row.period.to).max().unwrap_or(UnixMillis(i64::MIN))
}

/// Returns the newest run that a time lies in.
fn run_at(runs: &[StoredRun], at: UnixMillis) -> Option<&StoredRun> {
    runs.iter().rev().find(|run| run.run.started <= at && at <= run.until)
}

fn card(stored: &StoredCard) -> Card {
    Card {
        number: stored.index,
        slot: stored.slot,
        uuid: stored.uuid.as_deref().map(Arc::from),
        model: stored.name.as_deref().map(Arc::from),
    }
}

fn facts(holder: &StoredHolder, process: &StoredProcess, groups: impl Fn(&str) -> Groups) -> Facts {
    let StoredProcess { person, program, workload, .. } = process;
    let untold = Reason::NotTold;
    let who = workload.as_ref().map_or_else(Who::default, |workload| workload.who.clone());
    Facts {
        // The person is all that is stored.
        owner: person.uid.map_or(Reading::Unknown(untold), |uid| Reading::Known(Uids::all(uid))),
        groups: person.user.as_deref().map_or(Reading::Unknown(untold), groups),
        nature: nature(program.as_deref(), holder.kinds),
        program: program.as_deref().map(Arc::from),
        who: Reading::Known(Arc::new(who)),
        cards: Vec::new(),
        person: Person::new(person),
        cgroup: Reading::Unknown(Reason::NotAsked),
    }
}
