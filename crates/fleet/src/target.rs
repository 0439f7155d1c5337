//! Recorders as an engine knows them: what it calls a target is one recorder, scraped or pushing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::engine::Series;
use crate::family;
use crate::labels::OUR_LABELS;
use crate::selection::one_of;

/// Prefix of our label if the target has one of the same name.
const RENAMED: &str = "exported_";

/// Label in which engines keep the address of a target.
const INSTANCE: &str = "instance";

/// Label that keeps the name of a series where a function would lose it.
pub(crate) const KEPT_NAME: &str = "gua_series";

/// Time after which a host that is not heard of is silent. It is longer for rare ticks.
const SILENT_MS: i64 = 5 * 60_000;
const SILENT_TICKS: i64 = 3;

/// Number of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetId(pub usize);

/// One recorder as the engine knows it. Times are in milliseconds since 1970.
#[derive(Debug, Clone, Default)]
pub struct Target {
    pub labels: BTreeMap<String, String>,
    pub hostname: String,
    pub version: String,
    pub last_tick: Option<i64>,
    /// Time up to which the last counters are final.
    pub final_until: Option<i64>,
    /// Time at which the last counters began at 0.
    pub counting_since: Option<i64>,
    /// Time between ticks.
    pub interval_ms: Option<i64>,
    /// Time up to which the first counters of a window are final.
    pub first_final: Option<i64>,
    /// Time at which the first counters of a window began at 0.
    pub first_since: Option<i64>,
    /// By UUID.
    pub cards: BTreeMap<String, TargetCard>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetCard {
    /// `0`, or `0:1` for a MIG instance.
    pub gpu: Option<String>,
    pub model: Option<String>,
    pub driver_version: Option<String>,
}

impl Target {
    /// Returns the time in milliseconds after which it is silent.
    #[must_use]
    pub fn silent_after(&self) -> i64 {
        let interval = self.interval_ms.unwrap_or(0);
        SILENT_MS.max(interval.saturating_mul(SILENT_TICKS))
    }

    /// Returns true if both are of one host: they have one name, and a card in common.
    pub(crate) fn is_same_host(&self, other: &Self) -> bool {
        let has_none = self.cards.is_empty() || other.cards.is_empty();
        let mut cards = self.cards.keys();
        self.hostname == other.hostname
            && (has_none || cards.any(|uuid| other.cards.contains_key(uuid)))
    }
}

/// All targets of a selection.
#[derive(Debug, Default)]
pub struct Targets {
    /// Names of the labels that tell them apart.
    names: BTreeSet<String>,
    by_labels: HashMap<String, TargetId>,
    all: Vec<Target>,
}

/// Label of what is left of a partitioned GPU, behind its index.
pub const UNPARTITIONED: &str = "rest";

impl TargetCard {
    /// Returns true if it is what is left of a GPU beside its MIG instances.
    pub fn is_unpartitioned(&self) -> bool {
        let label = self.gpu.as_ref().and_then(|gpu| gpu.split_once(':'));
        label.is_some_and(|(_, slot)| slot == UNPARTITIONED)
    }
}

impl Targets {
    /// Returns the targets of `gua_build_info` and of times of the recorders.
    ///
    /// A target's own labels are on all of its series, and what relabelling adds is on some. So the labels
    /// that both kinds of series have tell targets apart.
    #[must_use]
    pub fn new(hosts: &[Series], times: &[Series]) -> Self {
        let names = |series: &mut dyn Iterator<Item = &Series>| -> BTreeSet<String> {
            series.flat_map(|it| &it.metric.0).map(|(label, _)| label.clone()).collect()
        };
        let is_tick = |it: &&Series| series_name(it) == family::LAST_TICK.name;
        let of_ticks = names(&mut times.iter().filter(is_tick));
        let mut of_both = names(&mut hosts.iter());
        of_both.retain(|label| of_ticks.contains(label) && !is_ours(label));
        let mut targets = Self { names: of_both, ..Self::default() };
        hosts.iter().for_each(|host| targets.add_host(host));
        times.iter().for_each(|time| targets.add_time(time));
        targets
    }

    fn add_host(&mut self, series: &Series) {
        let next = TargetId(self.all.len());
        let id = *self.by_labels.entry(self.key(series)).or_insert(next);
        if id == next {
            let label = |name: &String| (name.clone(), series.label(name).to_owned());
            let labels = self.names.iter().map(label).filter(|(_, value)| !value.is_empty());
            self.all.push(Target { labels: labels.collect(), ..Target::default() });
        }
        if let Some(target) = self.all.get_mut(id.0) {
            own_label(series, "hostname").clone_into(&mut target.hostname);
            own_label(series, "version").clone_into(&mut target.version);
        }
    }

    /// Adds a card of `gua_gpu_info`.
    pub fn add_card(&mut self, series: &Series) {
        let known =
            |label: &str| Some(label.to_owned()).filter(|it| !it.is_empty() && it != "unknown");
        let card = TargetCard {
            gpu: Some(own_label(series, "gpu").to_owned()).filter(|gpu| !gpu.is_empty()),
            model: known(own_label(series, "model_name")),
            driver_version: known(own_label(series, "driver_version")),
        };
        let uuid = own_label(series, "UUID").to_owned();
        if let Some(target) = self.find_mut(series) {
            target.cards.insert(uuid, card);
        }
    }

    /// Adds a time of a recorder, as it was last.
    fn add_time(&mut self, series: &Series) {
        let Some(millis) = last_time(series) else { return };
        let Some(target) = self.find_mut(series) else { return };
        let time = match series_name(series) {
            name if name == family::LAST_TICK.name => &mut target.last_tick,
            name if name == family::FINAL_UNTIL.name => &mut target.final_until,
            name if name == family::INTERVAL.name => &mut target.interval_ms,
            name if name == family::COUNTING_SINCE.name => &mut target.counting_since,
            _ => return,
        };
        *time = Some(millis);
    }

    /// Adds a time of a recorder, as it was first in a window.
    pub fn add_first_time(&mut self, series: &Series) {
        let Some(millis) = last_time(series) else { return };
        let Some(target) = self.find_mut(series) else { return };
        match series_name(series) {
            name if name == family::FINAL_UNTIL.name => target.first_final = Some(millis),
            _ => target.first_since = Some(millis),
        }
    }

    /// Sets the time up to which a target's counters are final, if it is later than the known one.
    pub(crate) fn raise_final_until(&mut self, id: TargetId, until: i64) {
        if let Some(target) = self.all.get_mut(id.0) {
            target.final_until = target.final_until.max(Some(until));
        }
    }

    /// Returns the target of a series; `None` if it is of no target in the selection.
    #[must_use]
    pub fn find(&self, series: &Series) -> Option<TargetId> {
        self.by_labels.get(&self.key(series)).copied()
    }

    /// Returns the labels that tell targets apart as one text.
    fn key(&self, series: &Series) -> String {
        self.names.iter().fold(String::new(), |key, name| key + series.label(name) + "\u{1}")
    }

    fn find_mut(&mut self, series: &Series) -> Option<&mut Target> {
        let id = self.find(series)?;
        self.all.get_mut(id.0)
    }

    #[must_use]
    pub fn get(&self, id: TargetId) -> Option<&Target> {
        self.all.get(id.0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (TargetId, &Target)> {
        self.all.iter().enumerate().map(|(place, target)| (TargetId(place), target))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns a matcher for some targets; `None` if one of them has no address.
    #[must_use]
    pub fn matcher<'a>(&self, ids: impl IntoIterator<Item = &'a TargetId>) -> Option<String> {
        let value = |id: &TargetId| Some(self.get(*id)?.labels.get(INSTANCE)?.as_str());
        matcher(ids.into_iter().map(value))
    }

    /// Returns a matcher for the targets of series; `None` if one of them has no address.
    #[must_use]
    pub fn matcher_of_series(hosts: &[Series]) -> Option<String> {
        let value = |host| Some(Series::label(host, INSTANCE)).filter(|value| !value.is_empty());
        matcher(hosts.iter().map(value))
    }
}

fn matcher<'a>(values: impl Iterator<Item = Option<&'a str>>) -> Option<String> {
    let values: BTreeSet<&str> = values.collect::<Option<_>>()?;
    let values: Vec<_> = values.into_iter().collect();
    (!values.is_empty()).then(|| one_of(INSTANCE, &values))
}

/// Returns the name of a series. Some queries make a label of it.
pub(crate) fn series_name(series: &Series) -> &str {
    match series.label("__name__") {
        "" => series.label(KEPT_NAME),
        name => name,
    }
}

/// Returns the value of one of our labels, under whatever name the engine has it.
pub(crate) fn own_label<'a>(series: &'a Series, label: &str) -> &'a str {
    let mut labels = series.metric.0.iter();
    let renamed = labels.find(|(known, _)| known.strip_prefix(RENAMED) == Some(label));
    renamed.map_or_else(|| series.label(label), |(_, value)| value)
}

/// Returns all of our labels, under whatever names the engine has them.
pub(crate) fn own_labels(series: &Series) -> impl Iterator<Item = (&str, &str)> {
    let labels = &series.metric.0;
    let is_renamed =
        |label: &str| labels.iter().any(|(known, _)| known.strip_prefix(RENAMED) == Some(label));
    labels.iter().filter_map(move |(label, value)| match label.strip_prefix(RENAMED) {
        Some(bare) => Some((bare, value.as_str())).filter(|_| OUR_LABELS.contains(&bare)),
        None if OUR_LABELS.contains(&label.as_str()) && !is_renamed(label) => {
            Some((label.as_str(), value.as_str()))
        }
        None => None,
    })
}

fn is_ours(label: &str) -> bool {
    label.starts_with("__") || label.starts_with(RENAMED) || OUR_LABELS.contains(&label)
}

fn last_time(series: &Series) -> Option<i64> {
    let (_, seconds) = series.points().last()?;
    // Not a number is no time, either.
    (*seconds >= 0.0).then(|| millis(*seconds))
}

/// Returns seconds in milliseconds.
#[expect(clippy::cast_possible_truncation, reason = "milliseconds of a calendar")]
pub(crate) fn millis(seconds: f64) -> i64 {
    (seconds * 1000.0).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Points, SeriesLabels};

    fn series(name: &str, labels: &[(&str, &str)]) -> Series {
        let label = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut all: Vec<_> = labels.iter().map(label).collect();
        all.push(("__name__".to_owned(), name.to_owned()));
        Series { metric: SeriesLabels(all), values: Points(vec![(0, 5.0)]) }
    }

    #[test]
    fn labels_of_some_series_do_not_tell_targets_apart() {
        let tick = family::LAST_TICK.name;
        let hosts = [
            series("gua_build_info", &[("instance", "a"), ("hostname", "a"), ("version", "1")]),
            series("gua_build_info", &[("instance", "b"), ("hostname", "b"), ("copied", "1")]),
        ];
        let times = [
            series(tick, &[("instance", "a"), ("added", "x")]),
            series(family::FINAL_UNTIL.name, &[("instance", "a")]),
        ];
        let targets = Targets::new(&hosts, &times);
        let card = series("gua_gpu_info", &[("instance", "a"), ("modelName", "A100")]);
        assert_eq!(targets.find(&card), Some(TargetId(0)));
        let of_a = targets.get(TargetId(0)).unwrap();
        assert_eq!([of_a.last_tick, of_a.final_until], [Some(5000); 2]);
        assert_eq!(of_a.labels.len(), 1);
        let counter = series("gua_observed_seconds_total", &[("instance", "b")]);
        assert_eq!(targets.find(&counter), Some(TargetId(1)));
        assert_eq!(targets.find(&series("x", &[("instance", "c")])), None);
    }

    /// A target may have a label with the name of ours: it is on all of its series, and ours is renamed.
    #[test]
    fn label_of_a_target_does_not_replace_ours() {
        let target = [("instance", "a"), ("hostname", "node"), ("state", "bavaria")];
        let more = |more: &[(&'static str, &'static str)]| [&target[..], more].concat();
        let host = series("gua_build_info", &more(&[("exported_hostname", "a1")]));
        let targets = Targets::new(&[host], &[series(family::LAST_TICK.name, &target)]);
        let counter = series("gua_gpu_state_seconds_total", &more(&[("exported_state", "active")]));
        let found = targets.get(targets.find(&counter).unwrap()).unwrap();
        assert_eq!((found.hostname.as_str(), found.last_tick), ("a1", Some(5000)));
        assert_eq!(own_label(&counter, "state"), "active");
        assert_eq!(own_label(&series("x", &[("state", "active")]), "state"), "active");
    }
}
