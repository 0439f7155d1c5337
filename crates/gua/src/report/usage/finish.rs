//! From sums to the answer.

use std::collections::BTreeMap;

use probe::units::UnixMillis;

use super::account::Beside;
use super::answer::{Card, Equivalent, HeatCell, Host, JudgedAgain, Lines, Stretch, Usage, Window};
use super::coverage::{self, Coverage};
use super::gaps::{self, Record};
use super::holdings::{Holdings, Told};
use super::hours::HourOfWeek;
use super::judged_by::{self, AsRecorded, as_recorded};
use super::money::Prices;
use super::tally::{Cell, Question, Tally};
use super::times::{Times, seconds, share};
use super::verdict::{self, Basis, Verdict};
use crate::calendar::nearest;
use crate::ledger::{Event, Period};
use crate::store::{CardRow, RunRow, Span};

/// What else the answer needs besides the spans.
#[derive(Debug)]
pub struct Facts {
    pub runs: Vec<RunRow>,
    pub cards: Vec<CardRow>,
    /// The times of the window in which somebody recorded.
    pub observed: Vec<Span<i64>>,
    pub events: Vec<Event>,
    /// From the first to the last recorded moment.
    pub extent: Option<Period>,
    pub newest_tick: Option<UnixMillis>,
    /// Whether a recorder has the database now; `None` where that cannot be told.
    pub is_recorded: Option<bool>,
    pub now: UnixMillis,
    /// As it was recorded; `None` where nobody looked for it.
    pub holdings: Option<Holdings>,
}

impl Facts {
    fn record(&self) -> Record<'_> {
        Record {
            runs: &self.runs,
            events: &self.events,
            extent: self.extent,
            newest_tick: self.newest_tick,
            is_recorded: self.is_recorded,
            now: self.now,
        }
    }
}

impl Tally {
    /// The answer.
    #[must_use]
    pub fn finish(self, facts: &Facts) -> Usage {
        let Self { question, cards, people, week, judged, is_judged_again, .. } = self;
        let window = question.window;
        let observed = coverage::observed(&facts.observed);
        let counted: i64 = facts.observed.iter().map(|span| span.counts).sum();
        let judged_again = is_judged_again.then(|| judged_again(judged, &observed));
        let times: Times = cards.values().copied().sum();
        let basis = basis(window, &observed, judged_again.as_ref());
        let prices = Prices::new(&question.cost, &facts.cards);
        let holdings = facts.holdings.as_ref();
        // Accounts are as they were recorded, and so is what they are shares of.
        let recorded = holdings.and_then(|holdings| holdings.idle_held).filter(|_| is_judged_again);
        let idle_held = recorded.unwrap_or(times.idle_held);
        let beside = Beside { cards: &facts.cards, prices: &prices, idle_held };
        let Told { accounts, sessions, person, culprits } =
            holdings.map(|holdings| holdings.told(&question, &beside)).unwrap_or_default();
        Usage {
            schema: "gua.report/1",
            host: host(&facts.runs, window, facts.now),
            window: told(&question, counted),
            data: facts.extent.map(stretch),
            thresholds: Some(lines(&question)),
            states: times.into(),
            equivalent_gpus: equivalent(times, judged_again.as_ref(), counted),
            cards: told_cards(&question, facts, &cards),
            identities: question.identities.then(|| people.finish()),
            accounts_by: question.bys.clone(),
            accounts,
            sessions,
            sessions_left_out: holdings.map_or(0, |holdings| holdings.sessions_left_out),
            accounts_judged_by: accounts_judged_by(&question, facts, idle_held),
            money: prices.money(&cards, millis(basis.seconds)),
            person,
            compared: None,
            heatmap: heatmap(&week),
            // What they make up is idle-held as recorded, and not what is judged here.
            verdict: Verdict {
                culprits: culprits.filter(|_| !is_judged_again),
                ..verdict::verdict(times, basis)
            },
            gaps: gaps::gaps(window, &observed, &facts.record()),
            judged_again,
        }
    }
}

fn judged_again(judged: Coverage, observed: &[Period]) -> JudgedAgain {
    let judged = judged.finish();
    let covers = coverage::millis(&judged);
    JudgedAgain {
        from: judged.first().map(|first| nearest(first.from)),
        to: judged.last().map(|last| nearest(last.to)),
        covers_seconds: seconds(covers),
        share_of_observed: share(covers, coverage::millis(observed)),
    }
}

fn basis(window: Period, observed: &[Period], judged_again: Option<&JudgedAgain>) -> Basis {
    let millis = coverage::millis(observed);
    let all = Basis { seconds: seconds(millis), coverage: share(millis, window.millis()) };
    judged_again.map_or(all, |judged| Basis {
        seconds: judged.covers_seconds,
        coverage: (!window.is_empty()).then(|| judged.covers_seconds / window.seconds()),
    })
}

/// The host of the newest run that overlaps the window, else of the newest.
fn host(runs: &[RunRow], window: Period, now: UnixMillis) -> Option<Host> {
    let overlaps = |run: &&RunRow| {
        let lasted = Period::new(run.started, run.ended.unwrap_or(now));
        !lasted.overlap(&window).is_empty()
    };
    let newest = |run: &&RunRow| (run.started, run.id);
    let run = runs.iter().filter(overlaps).max_by_key(newest);
    let run = run.or_else(|| runs.iter().max_by_key(newest))?;
    Some(Host { name: run.host.clone(), driver_version: run.driver.clone() })
}

fn told(question: &Question, counted: i64) -> Window {
    let Stretch { from, to } = stretch(question.window);
    Window {
        from,
        to,
        tz: question.tz_name.clone(),
        seconds: question.window.seconds(),
        observed_seconds: seconds(counted),
        coverage: share(counted.min(question.window.millis()), question.window.millis()),
    }
}

pub(in crate::report) fn stretch(period: Period) -> Stretch {
    Stretch { from: nearest(period.from), to: nearest(period.to) }
}

const fn lines(question: &Question) -> Lines {
    let Question { thresholds, context, .. } = question;
    Lines {
        active_percent: thresholds.active.0,
        held_mb: thresholds.held.0 >> 20,
        worked_percent: thresholds.worked.0,
        context_mb: context.0 >> 20,
    }
}

fn equivalent(times: Times, judged_again: Option<&JudgedAgain>, counted: i64) -> Equivalent {
    let all = judged_again.map_or(counted, |judged| millis(judged.covers_seconds));
    Equivalent { idle_held: share(times.idle_held, all), truly_idle: share(times.truly_idle, all) }
}

#[expect(clippy::cast_possible_truncation, reason = "milliseconds of a window")]
fn millis(seconds: f64) -> i64 {
    (seconds * 1000.0) as i64
}

/// What accounts rest on, where any of it is judged by other lines than those of the question.
fn accounts_judged_by(question: &Question, facts: &Facts, idle_held: i64) -> Option<AsRecorded> {
    let recorded = judged_by::recorded(&facts.observed, &facts.runs);
    as_recorded(&recorded, (&question.thresholds).into(), idle_held)
}

/// The cards that were seen in the window, in the order of their places; where one person is asked
/// for, those that they were on.
fn told_cards(question: &Question, facts: &Facts, times: &BTreeMap<i64, Times>) -> Vec<Card> {
    let of_one = facts.holdings.as_ref().filter(|_| question.user.is_some());
    let is_asked_for = |row: &&CardRow| of_one.is_none_or(|holdings| holdings.is_on(row.id));
    let card = |row: &CardRow| {
        Some(Card {
            uuid: row.uuid.clone(),
            index: Some(row.number),
            slot: row.slot,
            name: row.name.clone(),
            states: (*times.get(&row.id)?).into(),
        })
    };
    facts.cards.iter().filter(is_asked_for).filter_map(card).collect()
}

pub(in crate::report) fn heatmap(week: &[Cell]) -> Vec<HeatCell> {
    let cell = |(HourOfWeek { weekday, hour }, cell): (HourOfWeek, &Cell)| {
        let active_share = share(cell.active, cell.all)?;
        Some(HeatCell { weekday, hour, active_share, observed_seconds: seconds(cell.all) })
    };
    HourOfWeek::all().zip(week).filter_map(cell).collect()
}
