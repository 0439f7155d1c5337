//! Time that was not observed, and why; and where a window ends that reaches up to now.

use gua_core::span::GapReason;
use gua_core::units::UnixMillis;
use gua_core::{Period, Reason};
use gua_store::{StoredRun, WindowGap};
use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::request::UsageRequest;
use super::states::float;

/// Interval of a run that does not name one.
const DEFAULT_INTERVAL_MS: i64 = 30_000;

/// Time by which the record may lag behind the last tick.
const LAG_MS: i64 = 20_000;

/// Time that was not observed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gap {
    pub from: Timestamp,
    pub to: Timestamp,
    pub seconds: f64,
    pub reason: GapCause,
}

/// Reason why time was not observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapCause {
    /// The recorder ran, and noted what kept it from observing.
    Recorded(GapReason),
    Stopped,
    Crashed,
    ClockSetBack,
    Failed,
    /// There was no recorder.
    NotRecorded,
    /// It was recorded once, and is older than what is kept.
    NotKept,
    /// The recorder runs, but has stored nothing for a while.
    Stalled,
}

impl Gap {
    #[must_use]
    pub fn new(period: Period, reason: GapCause) -> Self {
        Self {
            from: period.from.into(),
            to: period.to.into(),
            seconds: float(period.millis()) / 1000.0,
            reason,
        }
    }
}

impl GapCause {
    /// Returns a stable word.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Recorded(GapReason::ClockSet) => "clock_set",
            Self::Recorded(GapReason::Suspended) => "suspended",
            Self::Recorded(GapReason::Late) => "late",
            Self::Recorded(GapReason::Storage) => "storage",
            Self::Recorded(GapReason::Driver(Reason::DriverGone)) => "driver_gone",
            Self::Recorded(GapReason::Driver(reason)) => reason.slug(),
            Self::Stopped => "stopped",
            Self::Crashed => "crashed",
            Self::ClockSetBack => "clock_set_back",
            Self::Failed => "failed",
            Self::NotRecorded => "not_recorded",
            Self::NotKept => "not_kept",
            Self::Stalled => "stalled",
        }
    }

    /// Returns why nothing was recorded after a run.
    fn after(run: &StoredRun) -> Self {
        match run.ending.as_deref() {
            // What another program recorded ends where it ends.
            _ if run.is_imported => Self::NotRecorded,
            None | Some("crashed") => Self::Crashed,
            Some("clock_set_back") => Self::ClockSetBack,
            Some("failed") => Self::Failed,
            Some(_) => Self::Stopped,
        }
    }
}

impl Serialize for GapCause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.slug())
    }
}

/// Where the record ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordEnd {
    /// Time up to which the record is final; `None` without any.
    final_until: Option<UnixMillis>,
    /// Why nothing follows; `None` if the recorder goes on.
    cause: Option<GapCause>,
}

impl RecordEnd {
    pub fn new(runs: &[StoredRun], request: &UsageRequest) -> Self {
        // An import may end later: "now" belongs to the run that goes on.
        let newest = runs.iter().rfind(|run| !run.is_imported).or_else(|| runs.last());
        let cause = newest.map_or(Some(GapCause::NotRecorded), |run| {
            // A simulated history is complete, and goes on if the request says so.
            let goes_on = request.is_recording == Some(true);
            let is_end = |ending: &str| ending != "complete" || !goes_on;
            let is_ended = run.is_imported || run.ending.as_deref().is_some_and(is_end);
            let interval = run.run.interval_ms.unwrap_or(DEFAULT_INTERVAL_MS).max(0);
            let due = run.last_tick.0.saturating_add(interval.saturating_mul(3) / 2 + LAG_MS);
            match request.is_recording {
                _ if is_ended => Some(GapCause::after(run)),
                Some(false) => Some(GapCause::Crashed),
                _ if request.now.0 <= due => None,
                Some(true) => Some(GapCause::Stalled),
                None => Some(GapCause::NotRecorded),
            }
        });
        Self { final_until: newest.map(|run| run.until), cause }
    }

    /// Returns true if the record goes on up to now, and a window ends there.
    pub fn is_now(&self, window: Period) -> bool {
        self.cause.is_none() && self.final_until.is_some_and(|until| window.to >= until)
    }

    /// Ends a window where the record is final. If the recorder does not go on, the time up to now is a gap.
    pub fn end_window(&self, requested: Period, now: UnixMillis) -> Period {
        let until = self.final_until.unwrap_or(requested.from);
        let end = if self.cause.is_some() { until.max(now) } else { until };
        Period::new(requested.from, requested.to.min(end).max(requested.from))
    }
}

/// Returns the gaps of a window, which the record tells up to where it is final. `data` is the time of
/// which anything is kept, and `first` when recording began.
pub(super) fn gaps(
    window: Period,
    recorded: &[WindowGap],
    data: Option<Period>,
    first: Option<UnixMillis>,
    runs: &[StoredRun],
    end: &RecordEnd,
) -> Vec<(Period, GapCause)> {
    let final_until = end.final_until.unwrap_or(window.from).clamp(window.from, window.to);
    // Recorded once and not kept any more: neither rows nor, perhaps, runs are left of it.
    let kept_from = data.map_or(final_until, |data| data.from).clamp(window.from, final_until);
    let recorded_from = first.unwrap_or(kept_from).clamp(window.from, kept_from);
    let lost = Period::new(recorded_from, kept_from);
    let (known, without_run): (Vec<&WindowGap>, Vec<&WindowGap>) =
        recorded.iter().partition(|gap| gap.reason.is_some());
    let recorded = |gap: &&WindowGap| Some((gap.period, GapCause::Recorded(gap.reason?)));
    let mut gaps: Vec<_> = known.iter().filter_map(recorded).collect();
    let known: Vec<_> = known.iter().map(|gap| gap.period).collect();
    gaps.extend(lost.without(&known).into_iter().map(|period| (period, GapCause::NotKept)));
    for gap in without_run {
        let rest = gap.period.without(&[lost]).into_iter();
        let parts = rest.flat_map(|period| between_starts(period, runs));
        gaps.extend(parts.map(|period| (period, cause(period, runs))));
    }
    let tail = Period::new(final_until, window.to);
    gaps.extend(end.cause.map(|cause| (tail, cause)));
    gaps.retain(|(period, _)| !period.is_empty());
    gaps.sort_by_key(|(period, _)| *period);
    join(gaps)
}

/// Cuts a gap where runs began that ended before anything of them was final.
fn between_starts(gap: Period, runs: &[StoredRun]) -> Vec<Period> {
    let starts = runs.iter().filter(|run| run.period().is_empty()).map(|run| run.run.started);
    let mut cuts: Vec<_> = starts.filter(|at| gap.from < *at && *at < gap.to).collect();
    cuts.extend([gap.from, gap.to]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| Period::new(pair[0], pair[1])).collect()
}

/// Returns why there was no run.
fn cause(gap: Period, runs: &[StoredRun]) -> GapCause {
    let before = runs.iter().filter(|run| run.until <= gap.from);
    before.max_by_key(|run| run.until).map_or(GapCause::NotRecorded, GapCause::after)
}

/// Joins gaps of one reason that touch.
fn join(gaps: Vec<(Period, GapCause)>) -> Vec<(Period, GapCause)> {
    let mut joined: Vec<(Period, GapCause)> = Vec::with_capacity(gaps.len());
    for (period, cause) in gaps {
        match joined.last_mut() {
            Some((last, known)) if *known == cause && last.to == period.from => last.to = period.to,
            _ => joined.push((period, cause)),
        }
    }
    joined
}
