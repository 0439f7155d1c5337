//! What is asked of the engine, in its language.

use std::collections::BTreeSet;
use std::time::Duration;

use probe::units::UnixMillis;

use super::target::{Target, TargetId, Targets};
use crate::ledger::Period;

/// The counters that a report rests on.
const COUNTERS: &str = "gua_gpu_state_seconds_total|gua_observed_seconds_total|\
    gua_user_gpu_seconds_total|gua_user_gpu_present_seconds_total";

/// The label that keeps a name where a function would lose it.
pub(super) const NAME: &str = "gua_series";

/// How far back hosts are looked for that have gone silent, at least.
const LOOK_BACK_MILLIS: i64 = 24 * 3_600_000;

/// The time in which the distance of samples is counted.
const COUNTED_SECONDS: i64 = 600;

/// Samples are looked for this many of their distances around a moment.
const DISTANCES: i64 = 3;
const NARROWEST_MILLIS: i64 = 60_000;
const WIDEST_MILLIS: i64 = 600_000;

/// Ticks may be rarer than samples: so many of their distances.
const TICKS: i64 = 2;

/// No more samples than that are asked for at once, about.
const MOST_SAMPLES: i64 = 10_000_000;

/// What a card and its people may have for counters, about.
const SERIES_PER_CARD: i64 = 16;

/// More points than that no engine gives at once.
const MOST_POINTS: i64 = 10_000;

/// Which series are meant.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// As typed, such as `cluster="a"`.
    pub matching: Option<String>,
    /// A regular expression for the names of hosts.
    pub host: Option<String>,
}

/// The questions about one window.
#[derive(Debug, Clone)]
pub struct Questions {
    pub selection: Selection,
    pub window: Period,
    pub now: UnixMillis,
}

impl Questions {
    /// Who there is: every host that was seen, also those that are silent by now.
    #[must_use]
    pub fn hosts(&self) -> String {
        let host = self.selection.of_hosts();
        let names = self.selector("__name__=\"gua_build_info\"", host.as_deref());
        format!("last_over_time({names}[{}])", millis(self.look_back()))
    }

    /// Which cards they have.
    #[must_use]
    pub fn cards(&self, among: Option<&str>) -> String {
        let cards = self.selector("__name__=\"gua_gpu_info\"", among);
        format!("last_over_time({cards}[{}])", millis(self.look_back()))
    }

    /// Their last ticks, and since when they count.
    #[must_use]
    pub fn last_ticks(&self, among: Option<&str>) -> String {
        let names = "__name__=~\"gua_last_tick_timestamp_seconds|gua_interval_seconds|\
                     gua_counting_since_timestamp_seconds\"";
        format!("last_over_time({}[{}])", self.selector(names, among), millis(self.look_back()))
    }

    /// Their first ticks in the window, and since when they counted then: another time than at
    /// last where they began anew.
    #[must_use]
    pub fn first_ticks(&self, among: Option<&str>) -> String {
        const FIRST: &str = "gua_last_tick_timestamp_seconds|gua_counting_since_timestamp_seconds";
        self.extreme("min_over_time", FIRST, among)
    }

    /// How many samples there are of a host lately.
    #[must_use]
    pub fn samples(&self, among: Option<&str>) -> String {
        let ticks = self.selector("__name__=\"gua_last_tick_timestamp_seconds\"", among);
        format!("count_over_time({ticks}[{COUNTED_SECONDS}s])")
    }

    /// The distance of samples, where so many were counted.
    #[must_use]
    pub fn distance(count: f64) -> i64 {
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds of ten minutes")]
        let distance = (COUNTED_SECONDS as f64 * 1000.0 / count.max(1.0)) as i64;
        distance.max(1)
    }

    /// The samples around a moment, as they are: the question, and when to ask it.
    #[must_use]
    pub fn around(
        &self,
        moment: UnixMillis,
        side: i64,
        what: Around,
        among: Option<&str>,
    ) -> (String, UnixMillis) {
        let names = match what {
            Around::Ticks => "__name__=\"gua_last_tick_timestamp_seconds\"".to_owned(),
            Around::Counters => format!("__name__=~\"{COUNTERS}\""),
        };
        let at = UnixMillis(moment.0.saturating_add(side).min(self.now.0.max(moment.0)));
        let length = side + (at.0 - moment.0);
        (format!("{}[{}]", self.selector(&names, among), millis(length)), at)
    }

    /// How far around a moment it is looked for samples, and of whom: further for those whose
    /// ticks are rare.
    #[must_use]
    pub fn sides(distance: i64, targets: &Targets) -> Vec<Side> {
        let usual = (distance * DISTANCES).clamp(NARROWEST_MILLIS, WIDEST_MILLIS);
        let needed = |target: &Target| target.interval.unwrap_or(0).saturating_mul(TICKS);
        let (rare, often): (Vec<_>, Vec<_>) =
            targets.iter().partition(|(_, target)| needed(target) > usual);
        let widest = rare.iter().map(|(_, target)| needed(target)).max().unwrap_or(usual);
        let side = |of: Vec<(TargetId, &Target)>, millis| {
            let of: BTreeSet<_> = of.into_iter().map(|(id, _)| id).collect();
            (!of.is_empty()).then_some(Side { millis, of })
        };
        [side(often, usual), side(rare, widest)].into_iter().flatten().collect()
    }

    /// Since when hosts counted, at every sample of the window.
    #[must_use]
    pub fn since(&self, among: Option<&str>) -> String {
        let since = self.selector("__name__=\"gua_counting_since_timestamp_seconds\"", among);
        format!("{since}[{}]", millis(self.window.millis()))
    }

    /// How many hosts of so many cards at most are asked for every sample at once.
    #[must_use]
    pub fn at_once(&self, distance: i64, cards: usize) -> usize {
        let samples = self.window.millis() / distance.max(1) + 1;
        let series =
            i64::try_from(cards.max(1)).unwrap_or(i64::MAX).saturating_mul(SERIES_PER_CARD);
        let most = MOST_SAMPLES / samples.saturating_mul(series).max(1);
        usize::try_from(most).unwrap_or(0).max(1)
    }

    /// How long hosts were observed, at full hours.
    #[must_use]
    pub fn observed_hours(&self, among: Option<&str>) -> String {
        self.selector("__name__=\"gua_observed_seconds_total\"", among)
    }

    /// The counters at full hours.
    #[must_use]
    pub fn hours(&self, among: Option<&str>) -> String {
        self.selector("__name__=\"gua_gpu_state_seconds_total\"", among)
    }

    /// The hours of a clock that begin within the window, and how far apart they are asked for.
    #[must_use]
    pub fn grid(&self, offset_seconds: i32) -> Option<(Period, Duration)> {
        let hour = crate::ledger::HOUR;
        let offset = i64::from(offset_seconds) * 1000;
        let up = |at: i64| (at + offset).div_euclid(hour) * hour - offset;
        let (first, last) = (up(self.window.from.0) + hour, up(self.window.to.0 - 1));
        let hours = (last - first) / hour + 1;
        let step = hour * (hours / MOST_POINTS + 1);
        let period = Period::new(UnixMillis(first), UnixMillis(last));
        (first <= last).then(|| (period, Duration::from_millis(step.unsigned_abs())))
    }

    /// The least and the most of the counters over the window: where they began and ended, as
    /// long as they did not begin anew.
    #[must_use]
    pub fn extremes(&self, among: Option<&str>) -> [String; 2] {
        ["min_over_time", "max_over_time"].map(|function| self.extreme(function, COUNTERS, among))
    }

    /// These functions take the name away, so it becomes a label.
    fn extreme(&self, function: &str, names: &str, among: Option<&str>) -> String {
        let window = millis(self.window.millis());
        let one = |name: &str| {
            let series = self.selector(&format!("__name__=\"{name}\""), among);
            format!(
                "label_replace({function}({series}[{window}]), \"{NAME}\", \"{name}\", \
                 \"__name__\", \".*\")"
            )
        };
        let all: Vec<_> = names.split('|').map(one).collect();
        all.join(" or ")
    }

    /// Every sample of the window.
    #[must_use]
    pub fn everything(&self, among: Option<&str>) -> String {
        let names = self.selector(&format!("__name__=~\"{COUNTERS}\""), among);
        format!("{names}[{}]", millis(self.window.millis()))
    }

    fn look_back(&self) -> i64 {
        self.window.millis().max(LOOK_BACK_MILLIS)
    }

    fn selector(&self, names: &str, more: Option<&str>) -> String {
        self.selection.selector(names, more)
    }
}

impl Selection {
    /// Series of these names, among those that are meant.
    pub(super) fn selector(&self, names: &str, more: Option<&str>) -> String {
        let parts = [Some(names), self.matching.as_deref(), more];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        format!("{{{}}}", parts.join(","))
    }

    /// What the names of hosts are to match.
    pub(super) fn of_hosts(&self) -> Option<String> {
        self.host.as_deref().map(|host| format!("hostname=~{}", quoted(host)))
    }
}

/// How far around a moment it is looked for samples, and of whom.
#[derive(Debug, Clone)]
pub struct Side {
    pub millis: i64,
    pub of: BTreeSet<TargetId>,
}

/// Which samples around a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Around {
    Ticks,
    Counters,
}

/// A matcher for one of several values of a label.
#[must_use]
pub fn one_of(label: &str, values: &[&str]) -> String {
    let values: Vec<_> = values.iter().map(|value| escaped(value)).collect();
    format!("{label}=~{}", quoted(&values.join("|")))
}

fn millis(length: i64) -> String {
    format!("{}ms", length.max(1))
}

/// A string of the language.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// A text as a regular expression for itself.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, c| {
        if "\\.+*?()|[]{}^$".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
        escaped
    })
}
