//! Polls and ticks of the recorder into steps and signs (pure).
//!
//! Idle time counts once it is final. Work counts at once: [`Advance::working`] has the processes with
//! a sample of work after the last step, which may be final some seconds later.

use std::collections::HashMap;
use std::sync::Arc;

use gua_core::card::CardFacts;
use gua_core::poll::{Poll, ProcessPoll};
use gua_core::process::ProcessId;
use gua_core::sign::{Sign as StoredSign, SignSpan};
use gua_core::span::{HolderId, Span, Work};
use gua_core::units::UnixMillis;
use gua_core::{Period, Thresholds};
use gua_store::Tick;

use super::samples::{VideoEngines, WorkSample, WorkSamples};
use super::sign_book::SignBook;
use super::sign_time::SignTime;
use super::timeline::{CardTime, Cell, Timeline};
use crate::policy::subject::{Card, Subject};

/// Time after work within which a sample belongs to it: work ends within its last sample.
const SAMPLE_REACH_MS: i64 = 2000;

/// What the recorder has said so far, as far as it is needed.
#[derive(Debug, Clone)]
pub struct LiveInput {
    /// Length of a step.
    step_ms: i64,
    /// Thresholds of the rules.
    thresholds: Thresholds,
    samples: WorkSamples,
    timeline: Timeline,
    book: SignBook,
    /// Cards, and the time of each that was taken from spans.
    cards: Vec<(Arc<CardFacts>, UnixMillis)>,
    processes: HashMap<Subject, ProcessId>,
    worked_until: HashMap<Subject, UnixMillis>,
    /// Time of the last tick, or of the first poll.
    last: Option<UnixMillis>,
    /// Earlier time does not count.
    begin: UnixMillis,
    newest_poll: Option<UnixMillis>,
    /// Processes with samples of before the clock was set back. Their times cannot be compared.
    worked_before_set: Vec<Subject>,
    /// True from when the clock was set back to the next step.
    is_set_back: bool,
}

/// What a tick adds.
#[derive(Debug, Clone, Default)]
pub struct Advance {
    /// Steps that have become final.
    pub cells: Vec<Cell>,
    /// Rows to store.
    pub signs: Vec<SignSpan>,
    /// Processes that work after the last step.
    pub working: Vec<Subject>,
    /// True if the wall clock was set back before the first of the steps.
    pub was_set_back: bool,
}

impl LiveInput {
    /// Returns an input that counts time from `begin` on.
    #[must_use]
    pub fn new(step_ms: i64, thresholds: Thresholds, begin: UnixMillis) -> Self {
        Self {
            step_ms,
            thresholds,
            samples: WorkSamples::default(),
            timeline: Timeline::default(),
            book: SignBook::default(),
            cards: Vec::new(),
            processes: HashMap::new(),
            worked_until: HashMap::new(),
            last: None,
            begin,
            newest_poll: None,
            worked_before_set: Vec::new(),
            is_set_back: false,
        }
    }

    pub fn polled(&mut self, poll: &Poll) {
        self.last.get_or_insert(poll.clocks.wall);
        if self.newest_poll.replace(poll.clocks.wall) > Some(poll.clocks.wall) {
            self.worked_before_set.extend(self.samples.working_since(UnixMillis(i64::MIN)));
            self.samples.forget_times();
        }
        for card in poll.cards.iter().flatten() {
            let ids = card.processes.iter().map(|process| process.id);
            self.processes.extend(ids.map(|id| (Subject::from(id), id)));
        }
        self.samples.add_poll(poll, &self.thresholds);
    }

    pub fn sampled(&mut self, poll: &ProcessPoll) {
        self.samples.add_process_poll(poll, &self.thresholds);
    }

    /// Returns true if a process has a sample of work since the last tick.
    #[must_use]
    pub fn has_worked(&self, subject: Subject) -> bool {
        let last = self.last.unwrap_or(UnixMillis(i64::MIN));
        self.samples.working_since(last).any(|it| it == subject)
    }

    /// Returns the video engines of a process since the last tick.
    pub(in crate::policy) fn engines(&self, subject: Subject) -> VideoEngines {
        self.samples.engines(subject)
    }

    /// Returns the card at a place.
    #[must_use]
    pub fn card(&self, place: usize) -> Option<Card> {
        self.cards.get(place).map(|(facts, _)| Card::from(&**facts))
    }

    /// Adds a tick. `read` is what was read of each process of the newest poll since the last tick.
    pub fn advance(&mut self, tick: &Tick<'_>, read: &[(Subject, Option<StoredSign>)]) -> Advance {
        let goes_back = self.last.is_some_and(|last| tick.at < last)
            || self.timeline.done().is_some_and(|done| tick.until < done);
        if goes_back {
            self.begin_again();
        }
        let work = self.add_spans(tick);
        let lone = self.lone_samples(tick.until, &work);
        let mut rows = self.book.add_samples(&lone, self.step_ms);
        self.note_work(&work);
        let period = Period::new(self.last.unwrap_or(tick.at).min(tick.at), tick.at);
        rows.extend(self.book.add_read(read, period));
        let cells = self.timeline.take(tick.until, self.step_ms, false, &self.book.times());
        self.last = Some(tick.at);
        let was_set_back = self.is_set_back && !cells.is_empty();
        self.is_set_back &= cells.is_empty();
        let working = self.working();
        let advance = Advance { cells, signs: self.rows(&rows), working, was_set_back };
        self.forget();
        advance
    }

    /// Ends the run: takes the last step, which may be shorter than others, and ends all signs.
    pub fn finish(&mut self, until: UnixMillis) -> Advance {
        let cells = self.timeline.take(until, self.step_ms, true, &self.book.times());
        let rows = self.book.end_all(self.last.unwrap_or(until).max(until));
        Advance { cells, signs: self.rows(&rows), ..Advance::default() }
    }

    /// Times of before the clock was set back cannot be compared.
    fn begin_again(&mut self) {
        self.timeline = Timeline::default();
        self.book = SignBook::default();
        self.is_set_back = true;
        self.cards.iter_mut().for_each(|(_, until)| *until = UnixMillis(i64::MIN));
        self.worked_until.clear();
        self.begin = UnixMillis(i64::MIN);
        self.last = None;
    }

    /// Adds what is new in the spans of a tick. Returns the work in it.
    fn add_spans(&mut self, tick: &Tick<'_>) -> Vec<(Subject, Period)> {
        let mut work = Vec::new();
        for span in tick.closed.iter().chain(tick.open) {
            let place = self.place_of(&span.card);
            let Some((_, until)) = self.cards.get_mut(place) else { continue };
            let from = span.period.from.max(*until).max(self.begin);
            let part = Period::new(from, span.period.to);
            if part.is_empty() {
                continue;
            }
            *until = part.to;
            self.timeline.push(CardTime::from_span(span, place, part, self.thresholds.held));
            work.extend(workers(span).map(|id| (Subject::from(id), part)));
            let ids = span.holders.iter().filter_map(|holder| match holder.holder {
                HolderId::Process(id) => Some((Subject::from(id), id)),
                HolderId::Unlisted => None,
            });
            self.processes.extend(ids);
        }
        work
    }

    fn place_of(&mut self, card: &Arc<CardFacts>) -> usize {
        let is_it = |(known, _): &(Arc<CardFacts>, UnixMillis)| known.is_same_card(card);
        self.cards.iter().position(is_it).unwrap_or_else(|| {
            self.cards.push((Arc::clone(card), UnixMillis(i64::MIN)));
            self.cards.len() - 1
        })
    }

    /// Takes the samples before a time. Returns those that are in no work of the record.
    fn lone_samples(&mut self, until: UnixMillis, work: &[(Subject, Period)]) -> Vec<WorkSample> {
        let mut samples = self.samples.take_before(until);
        samples.retain(|WorkSample { subject, at }| {
            let reach = at.0 - SAMPLE_REACH_MS;
            let is_in = |(worker, time): &(Subject, Period)| {
                worker == subject && time.from <= *at && time.to.0 >= reach
            };
            let before = self.worked_until.get(subject).is_some_and(|until| until.0 >= reach);
            *at >= self.begin && !before && !work.iter().any(is_in)
        });
        samples
    }

    fn note_work(&mut self, work: &[(Subject, Period)]) {
        for (subject, time) in work {
            let until = self.worked_until.entry(*subject).or_insert(time.to);
            *until = time.to.max(*until);
        }
    }

    fn working(&mut self) -> Vec<Subject> {
        let from = self.timeline.done().unwrap_or(UnixMillis(i64::MIN));
        let mut working = std::mem::take(&mut self.worked_before_set);
        working.extend(self.samples.working_since(from));
        working.sort_unstable();
        working.dedup();
        working
    }

    fn rows(&self, rows: &[SignTime]) -> Vec<SignSpan> {
        let row = |time: &SignTime| {
            // Without a start, one process cannot be told from the next with its pid.
            time.subject.start_ticks?;
            let process = *self.processes.get(&time.subject)?;
            Some(SignSpan { process, sign: time.sign, from: time.from, to: time.to })
        };
        rows.iter().filter_map(row).collect()
    }

    fn forget(&mut self) {
        let done = self.timeline.done().unwrap_or(UnixMillis(i64::MIN));
        self.book.forget_before(done);
        let age = UnixMillis(done.0.saturating_sub(600_000));
        let recent: Vec<Subject> = self.samples.working_since(age).collect();
        self.samples.keep(|subject| recent.contains(&subject));
        self.worked_until.retain(|_, until| *until >= age);
        let known: Vec<Subject> = self.book.times().iter().map(|sign| sign.subject).collect();
        let is_known = |subject: &Subject| known.contains(subject) || recent.contains(subject);
        self.processes.retain(|subject, _| is_known(subject));
    }
}

fn workers(span: &Span) -> impl Iterator<Item = ProcessId> {
    span.holders.iter().filter_map(|holder| match (holder.holder, holder.work) {
        (HolderId::Process(id), Work::Working) => Some(id),
        _ => None,
    })
}

impl From<&CardFacts> for Card {
    fn from(facts: &CardFacts) -> Self {
        let text = |text: Option<&String>| text.map(|text| Arc::from(text.as_str()));
        Self {
            number: facts.index,
            slot: facts.slot(),
            uuid: text(facts.uuid.as_ref().known()),
            model: text(facts.name.as_ref().known()),
        }
    }
}
