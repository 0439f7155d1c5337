//! What was recorded, made into what the rules judge: the same rules, fed by another source.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use probe::proc::status::Uids;
use probe::units::{Bytes, Percent, UnixMillis};
use probe::who::Who;
use probe::{Kinds, Reading, Why};

use super::activity::{OnCard, on_cards, with_sign};
use super::company::together;
use super::decision::{Step, time_of_day};
use super::guard::nature;
use super::observed::{both, person};
use super::subject::{Activity, Card, Facts, Groups, Holding, Signs, Subject};
use crate::config::policy::Policy;
use crate::ledger::{Identity, Period};
use crate::store::{CardAt, HeldSpan, History, HolderRow, SignCode, SignRow, StoreError, TickRow};

/// The groups of a user, by name.
pub type GroupsOf<'a> = &'a dyn Fn(&str) -> Groups;

/// A history on its way through the rules.
#[derive(Debug)]
pub struct Replay {
    worked: Percent,
    holders: HashMap<i64, Arc<Past>>,
    spans: Upcoming<HeldSpan>,
    signs: Upcoming<SignRow>,
    /// What stands in each run at the tick that is replayed.
    held: Vec<HeldSpan>,
    standing: HashMap<(i64, Subject), SignCode>,
}

/// One tick of it.
#[derive(Debug)]
pub struct Replayed {
    pub step: Step,
    /// Idle time for which nobody has written down whether it worked by other signs; they are
    /// taken to be quiet.
    pub assumed_millis: i64,
}

/// A holder as it was written down.
#[derive(Debug)]
struct Past {
    subject: Subject,
    card: i64,
    facts: Facts,
}

/// Rows in the order of time, by run, as far as they have come.
#[derive(Debug)]
struct Upcoming<T>(HashMap<i64, std::iter::Peekable<std::vec::IntoIter<T>>>);

impl<T> Upcoming<T> {
    fn new(rows: Vec<T>, run: impl Fn(&T) -> i64) -> Self {
        let mut by_run: HashMap<i64, Vec<T>> = HashMap::new();
        for row in rows {
            by_run.entry(run(&row)).or_default().push(row);
        }
        Self(by_run.into_iter().map(|(run, rows)| (run, rows.into_iter().peekable())).collect())
    }

    /// Those of a run that have begun.
    fn until(&mut self, run: i64, has_begun: impl Fn(&T) -> bool) -> Vec<T> {
        let Some(rows) = self.0.get_mut(&run) else { return Vec::new() };
        std::iter::from_fn(|| rows.next_if(|row| has_begun(row))).collect()
    }
}

impl Replay {
    /// Of a window of a history.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn new(
        history: &History,
        window: Period,
        policy: &Policy,
        worked: Percent,
        groups: GroupsOf<'_>,
    ) -> Result<Self, StoreError> {
        let kinds = history.holder_kinds()?;
        let cards: HashMap<i64, Card> =
            history.cards()?.into_iter().map(|row| (row.id, card(&row))).collect();
        let groups = |name: &str| {
            if policy.needs_groups() { groups(name) } else { Reading::Unknown(Why::NotAsked) }
        };
        let held = history.held(window)?;
        let mut holders = HashMap::new();
        for id in held.iter().map(|span| span.holder).collect::<BTreeSet<_>>() {
            let Some(row) = history.holder(id)? else { continue };
            let kinds = kinds.get(&id).copied().unwrap_or_default();
            holders.insert(id, Arc::new(past(&row, kinds, cards.get(&row.card), &groups)));
        }
        Ok(Self {
            worked,
            holders,
            spans: Upcoming::new(held, |span| span.run),
            signs: Upcoming::new(history.signs(window)?, |sign| sign.run),
            held: Vec::new(),
            standing: HashMap::new(),
        })
    }

    /// What the rules see of a tick. Ticks come in the order in which they were recorded.
    pub fn step(&mut self, tick: &TickRow) -> Replayed {
        let (run, at) = (tick.run, tick.covers.to);
        let begun = self.spans.until(run, |span| span.period.from < at);
        self.held.extend(begun);
        self.held.retain(|span| span.run == run && span.period.to >= at);
        for sign in self.signs.until(run, |sign| sign.at <= at) {
            let subject = Subject { pid: sign.pid, start_ticks: sign.start_ticks };
            self.standing.insert((run, subject), sign.sign);
        }
        let mut assumed_millis = 0;
        let holdings = self.holdings(tick, &mut assumed_millis);
        let step = Step {
            covers: tick.covers,
            since_last: None,
            time_of_day: time_of_day(at),
            holdings,
            is_whole: tick.cards.iter().all(|card| card.hidden.is_none()),
            is_on: true,
        };
        Replayed { step, assumed_millis }
    }

    fn holdings(&self, tick: &TickRow, assumed_millis: &mut i64) -> Vec<Holding> {
        let mut all: BTreeMap<Subject, Found<'_>> = BTreeMap::new();
        for span in &self.held {
            let Some(past) = self.holders.get(&span.holder) else { continue };
            let Some(at) = tick.cards.iter().find(|card| card.card == past.card) else { continue };
            all.entry(past.subject).or_insert_with(|| Found::new(past)).add(past, span, at);
        }
        let mut holdings = Vec::new();
        for (subject, found) in all {
            let on_cards = on_cards(&found.on_cards, self.worked);
            let known = self.standing.get(&(tick.run, subject)).copied();
            if known.is_none() && on_cards == Activity::Idle {
                *assumed_millis += tick.covers.millis();
            }
            holdings.push(Holding {
                subject,
                facts: Arc::new(Facts { cards: found.cards, ..found.past.facts.clone() }),
                memory: found.memory,
                activity: with_sign(on_cards, known.unwrap_or(SignCode::Quiet)),
                signs: Signs::unknown(Why::NotAsked),
                snoozed: Reading::Known(None),
                company: Vec::new(),
            });
        }
        together(&mut holdings);
        holdings
    }
}

/// One process on all of its cards at a tick.
struct Found<'a> {
    past: &'a Past,
    cards: Vec<Card>,
    on_cards: Vec<OnCard>,
    memory: Reading<Bytes>,
}

impl<'a> Found<'a> {
    const fn new(past: &'a Past) -> Self {
        let memory = Reading::Known(Bytes(0));
        Self { past, cards: Vec::new(), on_cards: Vec::new(), memory }
    }

    fn add(&mut self, past: &Past, span: &HeldSpan, at: &CardAt) {
        self.cards.extend(past.facts.cards.iter().cloned());
        self.on_cards.push(OnCard {
            card: span.judged.unwrap_or(at.state),
            utilization: at.utilization,
            holds: span.holds,
            work: span.work,
        });
        self.memory = both(self.memory, span.memory, |one, other| one + other);
    }
}

fn card(row: &crate::store::CardRow) -> Card {
    Card {
        number: row.number,
        slot: row.slot,
        uuid: row.uuid.as_deref().map(Arc::from),
        model: row.name.as_deref().map(Arc::from),
    }
}

fn past(row: &HolderRow, kinds: Kinds, card: Option<&Card>, groups: GroupsOf<'_>) -> Past {
    let Identity { user, uid, .. } = &row.identity;
    let who = row.workload.as_ref().map(|workload| Arc::new(workload.who.clone()));
    let program: Option<Arc<str>> = row.program.as_deref().map(Arc::from);
    Past {
        subject: Subject { pid: row.pid, start_ticks: row.start_ticks },
        card: row.card,
        facts: Facts {
            // Whose it was is all that is written down.
            owner: uid.map_or(Reading::Unknown(Why::NotTold), |uid| Reading::Known(Uids::all(uid))),
            groups: user.as_deref().map_or(Reading::Unknown(Why::NotTold), groups),
            nature: nature(program.as_deref(), kinds),
            program,
            who: Reading::Known(who.unwrap_or_else(|| Arc::new(Who::default()))),
            cards: card.cloned().into_iter().collect(),
            person: person(&row.identity),
            cgroup: Reading::Unknown(Why::NotAsked),
        },
    }
}

/// What the rules would have come to over a history.
pub fn all(
    history: &History,
    window: Period,
    mut replay: Replay,
    mut each: impl FnMut(UnixMillis, Replayed),
) -> Result<(), StoreError> {
    history.ticks(window, |tick| {
        let replayed = replay.step(&tick);
        each(tick.covers.to, replayed);
    })
}
