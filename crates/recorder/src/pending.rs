//! A run as far as it is not stored.

use gua_core::span::{Gap, GapReason};
use gua_core::units::UnixMillis;
use gua_core::{Classifier, Period, Poll, Span};
use gua_store::Event;

use crate::notices::describe_gap;
use crate::recording::DriverNow;

/// Classified time that is kept while nothing can be stored.
const MOST_KEPT_MS: i64 = 3_600_000;

/// Spans do not cross the quarter hours of UTC.
const QUARTER_HOUR_MS: i64 = 900_000;

/// Events that are kept while nothing can be stored.
const MOST_EVENTS: usize = 1000;

/// A run, and what of it is not stored yet.
#[derive(Debug)]
pub(crate) struct PendingRun {
    pub started: UnixMillis,
    pub driver: Option<String>,
    pub closed: Vec<Span>,
    pub gaps: Vec<Gap>,
    pub events: Vec<Event>,
    /// Time up to which everything is final.
    pub until: UnixMillis,
    /// End of what is stored.
    pub stored_until: UnixMillis,
    /// Time whose spans were dropped because they could not be stored.
    dropped: Option<Period>,
    pub newest: Poll,
    pub polls: i64,
    /// Calls of the driver before it began, and until now.
    calls_before: u64,
    calls_until: u64,
    /// True once the wall clock was set back behind its end.
    pub is_over: bool,
}

impl PendingRun {
    /// Begins a run with its first poll, which covers no time.
    pub fn new(poll: Poll, driver: DriverNow<'_>) -> Self {
        let started = poll.clocks.wall;
        Self {
            started,
            driver: driver.version().map(str::to_owned),
            closed: Vec::new(),
            gaps: Vec::new(),
            events: Vec::new(),
            until: started,
            stored_until: started,
            dropped: None,
            newest: poll,
            polls: 1,
            calls_before: driver.calls,
            calls_until: driver.calls,
            is_over: false,
        }
    }

    /// Adds a poll after the first one.
    pub fn add_poll(&mut self, poll: Poll, driver: DriverNow<'_>) {
        self.newest = poll;
        self.polls += 1;
        self.calls_until = driver.calls;
        if self.driver.is_none() {
            self.driver = driver.version().map(str::to_owned);
        }
    }

    /// Ends the run at its newest poll, because the wall clock was set back behind it.
    pub const fn end(&mut self) {
        self.until = self.newest.clocks.wall;
        self.is_over = true;
    }

    /// Sets the time up to which the run is final. It never goes back.
    pub fn set_until(&mut self, until: Option<UnixMillis>) {
        self.until = self.until.max(until.unwrap_or(self.started));
    }

    /// Returns the number of calls of the driver since the run began.
    pub fn calls(&self) -> i64 {
        i64::try_from(self.calls_until.saturating_sub(self.calls_before)).unwrap_or(i64::MAX)
    }

    /// Begins the rest of a run that goes on in another file. What the first file has is not stored again.
    pub fn begin_again(&mut self) {
        self.started = self.stored_until;
        self.closed = std::mem::take(&mut self.closed)
            .into_iter()
            .filter_map(|span| span.since(self.started))
            .collect();
        self.polls = 1;
        self.calls_before = self.calls_until;
    }

    /// Takes what was classified. Returns lines for the log.
    pub fn take_classified(&mut self, classifier: &mut Classifier) -> Vec<String> {
        let spans = classifier.take_spans().into_iter();
        self.closed.extend(spans.filter_map(|span| span.since(self.started)));
        let gaps = classifier.take_gaps();
        let lines = gaps.iter().filter_map(describe_gap).collect();
        self.gaps.extend(gaps);
        lines
    }

    pub fn add_event(&mut self, event: Event) {
        if self.events.len() < MOST_EVENTS {
            self.events.push(event);
        }
    }

    /// Drops spans that nobody could store for too long, and returns them. A gap takes their place.
    pub fn drop_old(&mut self) -> Vec<Span> {
        let oldest = self.until.0.saturating_sub(MOST_KEPT_MS);
        let cut = UnixMillis(oldest - oldest.rem_euclid(QUARTER_HOUR_MS));
        let dropped: Vec<Span> = self.closed.extract_if(.., |span| span.period.to <= cut).collect();
        let from = match (self.dropped, dropped.iter().map(|span| span.period.from).min()) {
            (Some(before), _) => before.from,
            (None, Some(first)) => first.max(self.stored_until),
            (None, None) => return dropped,
        };
        self.dropped = Some(Period::new(from, cut));
        self.gaps.retain(|gap| gap.period.to > cut);
        for gap in &mut self.gaps {
            gap.period.from = gap.period.from.max(cut);
        }
        dropped
    }

    /// Returns the gaps to store.
    pub fn all_gaps(&self) -> Vec<Gap> {
        let dropped = self.dropped.filter(|period| !period.is_empty());
        let dropped = dropped.map(|period| Gap { period, reason: GapReason::Storage });
        dropped.into_iter().chain(self.gaps.iter().copied()).collect()
    }

    /// Returns the time that was lost, in milliseconds.
    pub fn lost_ms(&self) -> i64 {
        self.dropped.map_or(0, |period| period.millis())
    }

    /// Forgets what was stored.
    pub fn stored(&mut self) {
        self.closed.clear();
        self.gaps.clear();
        self.events.clear();
        self.dropped = None;
        self.stored_until = self.until;
    }
}
