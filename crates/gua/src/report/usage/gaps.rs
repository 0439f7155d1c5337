//! The time that nobody observed, and why.

use jiff::Timestamp;
use probe::units::UnixMillis;
use serde::{Serialize, Serializer};

use crate::calendar::nearest;
use crate::ledger::{Event, Kind, Period, Trouble};
use crate::store::{DEFAULT_INTERVAL_MILLIS, Ending, RunRow};

/// Shorter pieces, between the end of one reason and the beginning of the next, are part
/// of their neighbours: two clocks were not read at the same moment.
const SLIVER_MILLIS: i64 = 1_000;

/// Time without a tick.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    pub from: Timestamp,
    pub to: Timestamp,
    pub reason: Reason,
}

/// Why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The recorder ran, and wrote down what kept it from looking.
    Trouble(Trouble),
    /// The recorder had ended, in this way.
    Ended(Ending),
    /// There was no recorder, or it left no word.
    NotRecorded,
    /// It was recorded once, and is older than what is kept.
    NotKept,
    /// The recorder lives, but has stored nothing since; it has not said why yet.
    Stalled,
    /// It lies ahead, or the recorder's next tick will speak for it.
    NotYet,
}

impl Reason {
    /// A stable word for machine-readable output.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Trouble(trouble) => trouble.slug(),
            Self::Ended(ending) => ending.slug(),
            Self::NotRecorded => "not_recorded",
            Self::NotKept => "not_kept",
            Self::Stalled => "stalled",
            Self::NotYet => "not_yet",
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.slug())
    }
}

/// What tells why time is missing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub runs: &'a [RunRow],
    pub events: &'a [Event],
    /// From the first recorded moment to the last.
    pub extent: Option<Period>,
    pub newest_tick: Option<UnixMillis>,
    /// Whether a recorder has the database now; `None` where that cannot be told.
    pub is_recorded: Option<bool>,
    pub now: UnixMillis,
}

/// The gaps of a window, of which these parts were observed.
pub(super) fn gaps(window: Period, observed: &[Period], record: &Record<'_>) -> Vec<Gap> {
    let ends = record.ends();
    let missing = window.without(observed);
    missing.into_iter().flat_map(|missing| pieces(missing, record, &ends)).collect()
}

/// One stretch of missing time, cut where the reason changes.
fn pieces(missing: Period, record: &Record<'_>, ends: &[(UnixMillis, Ending)]) -> Vec<Gap> {
    let mut cuts = record.cuts(ends);
    cuts.retain(|cut| missing.from < *cut && *cut < missing.to);
    cuts.extend([missing.from, missing.to]);
    cuts.sort();
    cuts.dedup();
    let mut pieces: Vec<(Period, Reason)> = Vec::new();
    for pair in cuts.windows(2) {
        let [from, to] = *pair else { continue };
        let reason = record.reason(from, missing, ends);
        match pieces.last_mut() {
            Some((last, _)) if to.0 - from.0 < SLIVER_MILLIS => last.to = to,
            Some((last, why)) if *why == reason => last.to = to,
            // A sliver at the beginning takes the reason of what follows.
            Some((last, why)) if last.millis() < SLIVER_MILLIS => {
                last.to = to;
                *why = reason;
            }
            _ => pieces.push((Period::new(from, to), reason)),
        }
    }
    let gap = |(period, reason): (Period, Reason)| Gap {
        from: nearest(period.from),
        to: nearest(period.to),
        reason,
    };
    pieces.into_iter().map(gap).collect()
}

impl Record<'_> {
    /// When each run ended, and how. One that left no word and is not the newest was killed.
    fn ends(&self) -> Vec<(UnixMillis, Ending)> {
        let newest = self.runs.last().map(|run| run.id);
        let end = |run: &RunRow| match run.ended {
            Some(ended) => Some((ended, run.ending.unwrap_or(Ending::Crashed))),
            None if Some(run.id) == newest => None,
            // When is not known: from its start on, what is missing is missing for that.
            None => Some((run.started, Ending::Crashed)),
        };
        let mut ends: Vec<_> = self.runs.iter().filter_map(end).collect();
        ends.sort_by_key(|(ended, _)| *ended);
        ends
    }

    /// Every moment at which the reason may change.
    fn cuts(&self, ends: &[(UnixMillis, Ending)]) -> Vec<UnixMillis> {
        let mut cuts: Vec<_> = ends.iter().map(|(ended, _)| *ended).collect();
        cuts.extend(self.runs.iter().map(|run| run.started));
        cuts.extend(self.troubles().flat_map(|(period, _)| [period.from, period.to]));
        cuts.extend(self.extent.map(|extent| extent.from));
        cuts.extend(self.newest_tick);
        cuts.push(self.now);
        cuts
    }

    fn troubles(&self) -> impl Iterator<Item = (Period, Trouble)> {
        self.events.iter().filter_map(|event| match event.kind {
            Kind::Gap(trouble) => {
                Some((Period::new(event.at, event.until.unwrap_or(event.at)), trouble))
            }
            Kind::Card | Kind::Driver | Kind::Import => None,
        })
    }

    /// Why nothing speaks for the time from here on, which is part of a missing stretch.
    fn reason(&self, at: UnixMillis, missing: Period, ends: &[(UnixMillis, Ending)]) -> Reason {
        if at >= self.now {
            return Reason::NotYet;
        }
        if let Some((_, trouble)) = self.troubles().find(|(p, _)| p.from <= at && at < p.to) {
            return Reason::Trouble(trouble);
        }
        if self.extent.is_none_or(|extent| at < extent.from) {
            let was_recorded = self.runs.iter().any(|run| run.started <= at);
            return if was_recorded { Reason::NotKept } else { Reason::NotRecorded };
        }
        let ended = ends.iter().rev().find(|(ended, _)| *ended <= at);
        let began = self.runs.iter().filter(|run| run.started <= at).map(|run| run.started).max();
        match ended {
            Some((ended, ending)) if began.is_none_or(|began| began <= *ended) => match ending {
                // What another program recorded goes as far as it goes.
                Ending::Complete => Reason::NotRecorded,
                ending => Reason::Ended(*ending),
            },
            _ => self.reason_within_a_run(at, missing),
        }
    }

    fn reason_within_a_run(&self, at: UnixMillis, missing: Period) -> Reason {
        if let Some(newest) = self.runs.last().filter(|run| run.ended.is_none())
            && let Some(tick) = self.newest_tick.filter(|tick| *tick <= at)
        {
            let interval = newest.interval_millis.unwrap_or(DEFAULT_INTERVAL_MILLIS);
            let is_due = self.now.0.saturating_sub(tick.0) <= interval.saturating_mul(3) / 2;
            return match (is_due, self.is_recorded) {
                (true, _) => Reason::NotYet,
                (false, Some(true)) => Reason::Stalled,
                (false, Some(false)) => Reason::Ended(Ending::Crashed),
                (false, None) => Reason::NotRecorded,
            };
        }
        // What happened at one moment explains all of the stretch that it touches.
        let touches = |period: &Period| missing.from <= period.to && period.from <= missing.to;
        let trouble = self.troubles().find(|(period, _)| touches(period));
        trouble.map_or(Reason::NotRecorded, |(_, trouble)| Reason::Trouble(trouble))
    }
}
