//! Adds up spans one by one: what it keeps does not grow with their number.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;

use super::coverage::Coverage;
use super::hours::{HourOfWeek, LocalHours};
use super::people::People;
use super::times::Times;
use crate::classify::{State, Thresholds};
use crate::ledger::Period;
use crate::store::{OwnerKey, Sample, Span};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Question {
    pub window: Period,
    pub tz: TimeZone,
    pub tz_name: String,
    pub thresholds: Thresholds,
}

/// What was added so far.
#[derive(Debug)]
pub struct Tally {
    pub(super) question: Question,
    pub(super) cards: BTreeMap<i64, Times>,
    pub(super) people: People,
    pub(super) week: Vec<Cell>,
    /// The time that samples spoke for, where they were judged again.
    pub(super) judged: Coverage,
    pub(super) is_judged_again: bool,
    hours: LocalHours,
}

/// Card time in one hour of the week, in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    pub active: i64,
    pub all: i64,
}

impl Tally {
    /// Nothing added yet. `identities` tells who is behind the numbers of owners.
    #[must_use]
    pub fn new(
        question: Question,
        identities: &std::collections::HashMap<i64, crate::ledger::Identity>,
    ) -> Self {
        Self {
            hours: LocalHours::new(question.tz.clone()),
            cards: BTreeMap::new(),
            people: People::new(identities),
            week: vec![Cell::default(); HourOfWeek::COUNT],
            judged: Coverage::default(),
            is_judged_again: false,
            question,
        }
    }

    /// Adds the part of a card's span that lies in the window.
    pub fn add_card(&mut self, span: &Span<i64>) {
        let period = span.period.overlap(&self.question.window);
        if period.is_empty() {
            return;
        }
        let count = |part| span.period.counted(span.counts, part);
        self.cards.entry(span.key).or_default().add(span.state, count(period));
        let week = &mut self.week;
        self.hours.parts(period, |part, hour| {
            if let Some(cell) = week.get_mut(hour.place()) {
                let counts = count(part);
                cell.all += counts;
                if span.state == State::Active {
                    cell.active += counts;
                }
            }
        });
    }

    /// Adds the part of somebody's span that lies in the window.
    pub fn add_owner(&mut self, span: &Span<OwnerKey>) {
        let period = span.period.overlap(&self.question.window);
        if !period.is_empty() {
            let counts = span.period.counted(span.counts, period);
            self.people.add(Span { period, counts, ..*span });
        }
    }

    /// Judges a sample by the thresholds of the question, and adds it.
    pub fn add_sample(&mut self, sample: &Sample) {
        let Sample { card, period, evidence, counts } = *sample;
        self.judged.add(period.overlap(&self.question.window));
        let state = evidence.state(&self.question.thresholds);
        self.add_card(&Span { key: card, period, state, counts });
    }

    /// Says that samples are added instead of spans, and no owners.
    pub const fn judge_again(&mut self) {
        self.is_judged_again = true;
    }
}
