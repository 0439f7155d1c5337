//! Whose series they are: what the engine calls a target is one recorder on one host.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::tally::name;
use crate::config::OUR_LABELS;
use crate::engine::Series;

/// What a label of ours is called where the target has one of the same name.
const RENAMED: &str = "exported_";

/// A series that has no label of ours.
const TICK: &str = "gua_last_tick_timestamp_seconds";

/// What engines call where a target is.
const INSTANCE: &str = "instance";

/// A target by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetId(pub usize);

/// One recorder, as the engine knows it.
#[derive(Debug, Clone, Default)]
pub struct Target {
    pub labels: BTreeMap<String, String>,
    pub hostname: String,
    pub version: String,
    /// In milliseconds since 1970.
    pub last_tick: Option<i64>,
    pub counting_since: Option<i64>,
    /// From tick to tick.
    pub interval: Option<i64>,
    /// The first tick of the window, and since when was counted then.
    pub first_tick: Option<i64>,
    pub counted_at_first: Option<i64>,
    pub cards: BTreeMap<String, Card>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Card {
    /// `0`, or `0:1` for a MIG instance.
    pub gpu: Option<String>,
    pub model: Option<String>,
    pub driver_version: Option<String>,
}

/// A host that was not heard of for so long is silent, and longer where its ticks are rare.
const SILENT_MILLIS: i64 = 5 * 60_000;
const SILENT_TICKS: i64 = 3;

impl Target {
    /// How long nothing is heard of it before it is silent.
    #[must_use]
    pub fn silent_after(&self) -> i64 {
        let interval = self.interval.unwrap_or(0);
        SILENT_MILLIS.max(interval.saturating_mul(SILENT_TICKS))
    }

    /// Whether they tell of one host: by its name and a card.
    pub(super) fn is_same_host(&self, other: &Self) -> bool {
        let has_none = self.cards.is_empty() || other.cards.is_empty();
        let mut cards = self.cards.keys();
        self.hostname == other.hostname
            && (has_none || cards.any(|uuid| other.cards.contains_key(uuid)))
    }
}

/// All targets that are asked about.
#[derive(Debug, Default)]
pub struct Targets {
    /// The names of the labels that tell them apart.
    names: BTreeSet<String>,
    by_labels: HashMap<String, TargetId>,
    all: Vec<Target>,
}

impl Targets {
    /// Hosts that say their names, with what tells of their ticks.
    ///
    /// A target's own labels are on all of its series, and what relabelling adds is on some. So
    /// those count that both of these have.
    #[must_use]
    pub fn new(hosts: &[Series], ticks: &[Series]) -> Self {
        let names = |series: &mut dyn Iterator<Item = &Series>| -> BTreeSet<String> {
            series.flat_map(|it| &it.metric.0).map(|(label, _)| label.clone()).collect()
        };
        let of_ticks = names(&mut ticks.iter().filter(|it| name(it) == TICK));
        let mut of_both = names(&mut hosts.iter());
        of_both.retain(|label| of_ticks.contains(label) && !is_ours(label));
        let mut targets = Self { names: of_both, ..Self::default() };
        hosts.iter().for_each(|host| targets.add_host(host));
        ticks.iter().for_each(|tick| targets.add_time(tick));
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
            own(series, "hostname").clone_into(&mut target.hostname);
            own(series, "version").clone_into(&mut target.version);
        }
    }

    pub fn add_card(&mut self, series: &Series) {
        let known =
            |label: &str| Some(label.to_owned()).filter(|it| !it.is_empty() && it != "unknown");
        let card = Card {
            gpu: Some(own(series, "gpu").to_owned()).filter(|gpu| !gpu.is_empty()),
            model: known(own(series, "model_name")),
            driver_version: known(own(series, "driver_version")),
        };
        let uuid = own(series, "UUID").to_owned();
        if let Some(target) = self.of_mut(series) {
            target.cards.insert(uuid, card);
        }
    }

    /// The last tick, how far apart they are, or since when is counted.
    fn add_time(&mut self, series: &Series) {
        let Some(millis) = time(series) else { return };
        let Some(target) = self.of_mut(series) else { return };
        match name(series) {
            TICK => target.last_tick = Some(millis),
            "gua_interval_seconds" => target.interval = Some(millis),
            _ => target.counting_since = Some(millis),
        }
    }

    /// The same at the beginning of the window.
    pub fn add_first(&mut self, series: &Series) {
        let Some(millis) = time(series) else { return };
        let Some(target) = self.of_mut(series) else { return };
        match name(series) {
            TICK => target.first_tick = Some(millis),
            _ => target.counted_at_first = Some(millis),
        }
    }

    /// Whose series it is; `None` for one that is not asked about.
    #[must_use]
    pub fn of(&self, series: &Series) -> Option<TargetId> {
        self.by_labels.get(&self.key(series)).copied()
    }

    /// The labels that tell a target, as one text.
    fn key(&self, series: &Series) -> String {
        self.names.iter().fold(String::new(), |key, name| key + series.label(name) + "\u{1}")
    }

    fn of_mut(&mut self, series: &Series) -> Option<&mut Target> {
        let id = self.of(series)?;
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

    /// A matcher for these targets: by the label that tells them apart, where there is one.
    #[must_use]
    pub fn matcher<'a>(&self, ids: impl IntoIterator<Item = &'a TargetId>) -> Option<String> {
        let value = |id: &TargetId| Some(self.get(*id)?.labels.get(INSTANCE)?.as_str());
        matcher(ids.into_iter().map(value))
    }

    /// The same for hosts that say their names.
    #[must_use]
    pub fn matcher_of(hosts: &[Series]) -> Option<String> {
        let value = |host| Some(Series::label(host, INSTANCE)).filter(|value| !value.is_empty());
        matcher(hosts.iter().map(value))
    }
}

fn matcher<'a>(values: impl Iterator<Item = Option<&'a str>>) -> Option<String> {
    let values: BTreeSet<&str> = values.collect::<Option<_>>()?;
    let values: Vec<_> = values.into_iter().collect();
    (!values.is_empty()).then(|| super::questions::one_of(INSTANCE, &values))
}

/// A label of our own, whatever it is called.
pub(super) fn own<'a>(series: &'a Series, label: &str) -> &'a str {
    let mut labels = series.metric.0.iter();
    let renamed = labels.find(|(known, _)| known.strip_prefix(RENAMED) == Some(label));
    renamed.map_or_else(|| series.label(label), |(_, value)| value)
}

/// All labels of our own, whatever they are called.
pub(super) fn own_labels(series: &Series) -> impl Iterator<Item = (&str, &str)> {
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

#[expect(clippy::cast_possible_truncation, reason = "milliseconds of a calendar")]
fn time(series: &Series) -> Option<i64> {
    series.points().last().map(|(_, seconds)| (seconds * 1000.0).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Labels, Points};

    fn series(name: &str, labels: &[(&str, &str)]) -> Series {
        let label = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut all: Vec<_> = labels.iter().map(label).collect();
        all.push(("__name__".to_owned(), name.to_owned()));
        Series { metric: Labels(all), values: Points(vec![(0, 5.0)]) }
    }

    #[test]
    fn labels_that_only_some_series_have_tell_no_target() {
        let hosts = [
            series("gua_build_info", &[("instance", "a"), ("hostname", "a"), ("version", "1")]),
            series("gua_build_info", &[("instance", "b"), ("hostname", "b"), ("copied", "1")]),
        ];
        let ticks = [series(TICK, &[("instance", "a"), ("added", "x")])];
        let targets = Targets::new(&hosts, &ticks);
        let card = series("gua_gpu_info", &[("instance", "a"), ("modelName", "A100")]);
        assert_eq!(targets.of(&card), Some(TargetId(0)));
        let of_a = targets.get(TargetId(0)).unwrap();
        assert_eq!((of_a.last_tick, of_a.labels.len()), (Some(5000), 1));
        let counter = series("gua_observed_seconds_total", &[("instance", "b")]);
        assert_eq!(targets.of(&counter), Some(TargetId(1)));
        assert_eq!(targets.of(&series("x", &[("instance", "c")])), None);
    }

    /// A target may have a label of our name: it is on all of its series, and ours is renamed.
    #[test]
    fn labels_of_targets_do_not_take_the_place_of_ours() {
        let target = [("instance", "a"), ("hostname", "node"), ("state", "bavaria")];
        let more = |more: &[(&'static str, &'static str)]| [&target[..], more].concat();
        let host = series("gua_build_info", &more(&[("exported_hostname", "a1")]));
        let targets = Targets::new(&[host], &[series(TICK, &target)]);
        let counter = series("gua_gpu_state_seconds_total", &more(&[("exported_state", "active")]));
        let found = targets.get(targets.of(&counter).unwrap()).unwrap();
        assert_eq!((found.hostname.as_str(), found.last_tick), ("a1", Some(5000)));
        assert_eq!(own(&counter, "state"), "active");
        assert_eq!(own(&series("x", &[("state", "active")]), "state"), "active");
    }
}
