//! The queries in PromQL. How many there are does not depend on the number of hosts.

use std::collections::BTreeSet;
use std::time::Duration;

use gua_core::Period;
use gua_core::period::HOUR;
use gua_core::units::UnixMillis;

use super::tally::REPORT_FAMILIES;
use crate::engine::QueryRange;
use crate::family::{self, Family};
use crate::selection::Selection;
use crate::target::{KEPT_NAME, Target, TargetId, Targets};

/// Time for which hosts that have gone silent are looked for, at least.
const LOOK_BACK_MS: i64 = 24 * HOUR;

/// Time in which samples are counted to find their distance.
const COUNTED_SECONDS: i64 = 600;

/// Samples are looked for within this many distances of a moment.
const DISTANCES: i64 = 3;
const NARROWEST_MS: i64 = 60_000;
const WIDEST_MS: i64 = 600_000;

/// Ticks may be rarer than samples: they are looked for within this many intervals.
const INTERVALS: i64 = 2;

/// Time by which what is final lags behind the tick, at most.
const LONGEST_LAG_MS: i64 = 20_000;

/// Samples in one response, about, at most.
const MOST_SAMPLES: i64 = 10_000_000;

/// Series of a card with its users, about.
const SERIES_PER_CARD: i64 = 40;

/// Points of a range query, at most. Engines limit them to 11,000.
const MOST_POINTS: i64 = 10_000;

/// Queries about one window.
#[derive(Debug, Clone)]
pub(super) struct Queries {
    pub selection: Selection,
    pub window: Period,
    pub now: UnixMillis,
}

/// Which samples around a moment are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    FinalTimes,
    Counters,
}

/// Targets, and how far from a moment their samples are looked for.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    pub millis: i64,
    pub targets: BTreeSet<TargetId>,
}

/// Returns the distance of samples in milliseconds, from their number in the time in which they are
/// counted.
pub(super) fn sample_distance(count: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds of ten minutes")]
    let distance = (COUNTED_SECONDS as f64 * 1000.0 / count.max(1.0)) as i64;
    distance.max(1)
}

impl Queries {
    /// Hosts that were seen, also those that are silent by now.
    pub fn hosts(&self) -> String {
        self.last(&[&family::BUILD_INFO], self.selection.host_matcher().as_deref())
    }

    /// Cards of the hosts.
    pub fn cards(&self, among: Option<&str>) -> String {
        self.last(&[&family::GPU_INFO], among)
    }

    /// Times of the recorders, as they were last.
    pub fn last_times(&self, among: Option<&str>) -> String {
        let families =
            [&family::LAST_TICK, &family::FINAL_UNTIL, &family::INTERVAL, &family::COUNTING_SINCE];
        self.last(&families, among)
    }

    /// Times of the recorders, as they were first in the window. Another time since which they count than
    /// the last one means that counters began again.
    pub fn first_times(&self, among: Option<&str>) -> String {
        self.extreme("min_over_time", &[&family::FINAL_UNTIL, &family::COUNTING_SINCE], among)
    }

    /// Numbers of samples lately.
    pub fn sample_counts(&self, among: Option<&str>) -> String {
        let times = self.selector(&[&family::FINAL_UNTIL], among);
        format!("count_over_time({times}[{COUNTED_SECONDS}s])")
    }

    /// Samples around a moment as they are, and the time of the query.
    pub fn around(
        &self,
        moment: UnixMillis,
        reach_ms: i64,
        what: Around,
        among: Option<&str>,
    ) -> (String, UnixMillis) {
        let series = match what {
            Around::FinalTimes => self.selector(&[&family::FINAL_UNTIL], among),
            Around::Counters => self.selector(&REPORT_FAMILIES, among),
        };
        let at = UnixMillis(moment.0.saturating_add(reach_ms).min(self.now.0.max(moment.0)));
        let length = reach_ms + (at.0 - moment.0);
        (format!("{series}[{}]", range(length)), at)
    }

    /// Returns how far from a moment samples are looked for: farther for targets with rare ticks.
    pub fn reaches(distance_ms: i64, targets: &Targets) -> Vec<Reach> {
        let usual = (distance_ms * DISTANCES).clamp(NARROWEST_MS, WIDEST_MS) + LONGEST_LAG_MS;
        let needed = |target: &Target| {
            let interval = target.interval_ms.unwrap_or(0);
            interval.saturating_mul(INTERVALS).saturating_add(LONGEST_LAG_MS)
        };
        let (rare, often): (Vec<_>, Vec<_>) =
            targets.iter().partition(|(_, target)| needed(target) > usual);
        let widest = rare.iter().map(|(_, target)| needed(target)).max().unwrap_or(usual);
        let reach = |targets: Vec<(TargetId, &Target)>, millis| {
            let targets: BTreeSet<_> = targets.into_iter().map(|(id, _)| id).collect();
            (!targets.is_empty()).then_some(Reach { millis, targets })
        };
        [reach(often, usual), reach(rare, widest)].into_iter().flatten().collect()
    }

    /// Times since which hosts counted, at all samples of the window.
    pub fn since(&self, among: Option<&str>) -> String {
        format!("{}[{}]", self.selector(&[&family::COUNTING_SINCE], among), self.window_range())
    }

    /// All samples of the window.
    pub fn all_samples(&self, among: Option<&str>) -> String {
        format!("{}[{}]", self.selector(&REPORT_FAMILIES, among), self.window_range())
    }

    /// Returns for how many targets with so many cards all samples are read at once.
    pub fn targets_at_once(&self, distance_ms: i64, cards: usize) -> usize {
        let samples = self.window.millis() / distance_ms.max(1) + 1;
        let series =
            i64::try_from(cards.max(1)).unwrap_or(i64::MAX).saturating_mul(SERIES_PER_CARD);
        let most = MOST_SAMPLES / samples.saturating_mul(series).max(1);
        usize::try_from(most).unwrap_or(0).max(1)
    }

    /// Time for which hosts were observed, for full hours.
    pub fn observed_hours(&self, among: Option<&str>) -> String {
        self.selector(&[&family::OBSERVED_SECONDS], among)
    }

    /// Time of cards, for full hours.
    pub fn card_hours(&self, among: Option<&str>) -> String {
        self.selector(&[&family::GPU_STATE_SECONDS], among)
    }

    /// Returns the full hours of a clock within the window; `None` if there are none.
    pub fn full_hours(&self, offset_seconds: i32) -> Option<QueryRange> {
        let offset = i64::from(offset_seconds) * 1000;
        let up = |at: i64| (at + offset).div_euclid(HOUR) * HOUR - offset;
        let (first, last) = (up(self.window.from.0) + HOUR, up(self.window.to.0 - 1));
        let hours = (last - first) / HOUR + 1;
        let step = HOUR * (hours / MOST_POINTS + 1);
        (first <= last).then(|| QueryRange {
            from: UnixMillis(first),
            to: UnixMillis(last),
            step: Duration::from_millis(step.unsigned_abs()),
        })
    }

    /// The least and the largest values of counters in the window: where they began and ended, if they did
    /// not begin again.
    pub fn extremes(&self, among: Option<&str>) -> [String; 2] {
        ["min_over_time", "max_over_time"]
            .map(|function| self.extreme(function, &REPORT_FAMILIES, among))
    }

    /// Applies a function that drops the name of a series, and keeps it as a label.
    fn extreme(&self, function: &str, families: &[&Family], among: Option<&str>) -> String {
        let window = self.window_range();
        let one = |family: &&Family| {
            let series = self.selector(&[family], among);
            format!(
                "label_replace({function}({series}[{window}]), \"{KEPT_NAME}\", \"{}\", \
                 \"__name__\", \".*\")",
                family.name
            )
        };
        families.iter().map(one).collect::<Vec<_>>().join(" or ")
    }

    /// The last values of series, also of those that ended.
    fn last(&self, families: &[&Family], among: Option<&str>) -> String {
        let look_back = range(self.window.millis().max(LOOK_BACK_MS));
        format!("last_over_time({}[{look_back}])", self.selector(families, among))
    }

    fn selector(&self, families: &[&Family], among: Option<&str>) -> String {
        self.selection.selector(&name_matcher(families), among)
    }

    fn window_range(&self) -> String {
        range(self.window.millis())
    }
}

/// Returns the matcher for the names of families.
pub(crate) fn name_matcher(families: &[&Family]) -> String {
    match families {
        [only] => format!("__name__=\"{}\"", only.name),
        several => {
            let names: Vec<_> = several.iter().map(|family| family.name).collect();
            format!("__name__=~\"{}\"", names.join("|"))
        }
    }
}

fn range(millis: i64) -> String {
    format!("{}ms", millis.max(1))
}
