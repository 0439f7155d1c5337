//! Adds up spans one by one: what it keeps does not grow with their number.

use std::collections::{BTreeMap, HashMap};

use jiff::tz::TimeZone;
use probe::units::Bytes;

use super::coverage::Coverage;
use super::hours::{HourOfWeek, LocalHours};
use super::people::People;
use super::times::Times;
use crate::classify::{State, Thresholds};
use crate::config::{self, Cost};
use crate::ledger::{Identity, Period};
use crate::report::accounts::By;
use crate::store::{OwnerKey, Sample, Span};

/// What is asked.
#[derive(Debug, Clone)]
pub struct Question {
    pub window: Period,
    pub tz: TimeZone,
    pub tz_name: String,
    pub thresholds: Thresholds,
    /// What accounts to tell.
    pub bys: Vec<By>,
    /// Whom alone to tell of, by name or uid.
    pub user: Option<String>,
    pub cost: Cost,
    /// Whether to tell each identity's time by what their cards did.
    pub identities: bool,
    /// How many sessions a page shows of each standing; `None`: all.
    pub page_sessions: Option<usize>,
    /// Who holds no more than this has only the bare context of CUDA.
    pub context: Bytes,
}

impl Question {
    /// What the cards did, and which people held them.
    #[must_use]
    pub fn new(window: Period, tz: TimeZone, tz_name: String, thresholds: Thresholds) -> Self {
        Self {
            window,
            tz,
            tz_name,
            thresholds,
            bys: vec![By::User],
            user: None,
            cost: Cost::default(),
            identities: true,
            page_sessions: None,
            context: config::Thresholds::default().context,
        }
    }

    /// Whether somebody is one of those whom it is about.
    #[must_use]
    pub fn is_about(&self, identity: &Identity) -> bool {
        self.user.as_deref().is_none_or(|user| identity.is_called(user))
    }
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
pub(in crate::report) struct Cell {
    pub active: i64,
    pub all: i64,
}

impl Tally {
    /// Nothing added yet. `identities` tells who is behind the numbers of owners.
    #[must_use]
    pub fn new(question: Question, identities: &HashMap<i64, Identity>) -> Self {
        let mut asked = identities.clone();
        asked.retain(|_, identity| question.is_about(identity));
        Self {
            hours: LocalHours::new(question.tz.clone()),
            cards: BTreeMap::new(),
            people: People::new(&asked),
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
