//! Whose series they are: what the engine calls a target is one recorder on one host.

use std::collections::{BTreeMap, HashMap};

use crate::engine::Series;

/// The labels of our own; what else a series has tells its target.
const OURS: [&str; 18] = [
    "__name__",
    super::questions::NAME,
    "UUID",
    "gpu",
    "model_name",
    "driver_version",
    "state",
    "user",
    "kind",
    "le",
    "reason",
    "version",
    "hostname",
    "slurm_job",
    "container",
    "k8s_pod",
    "notebook",
    "quantile",
];

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
    /// The same at the first sample of the window.
    pub counted_at_first: Option<i64>,
    pub cards: BTreeMap<String, Card>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Card {
    pub gpu: String,
    pub model: Option<String>,
    pub driver_version: Option<String>,
}

/// All targets that are asked about.
#[derive(Debug, Default)]
pub struct Targets {
    by_labels: HashMap<String, TargetId>,
    all: Vec<Target>,
}

impl Targets {
    /// A host says its name.
    pub fn add_host(&mut self, series: &Series) {
        let (key, labels) = key(series);
        let next = TargetId(self.all.len());
        let id = *self.by_labels.entry(key).or_insert(next);
        if id == next {
            self.all.push(Target { labels, ..Target::default() });
        }
        if let Some(target) = self.all.get_mut(id.0) {
            target.hostname = series.label("hostname").to_owned();
            target.version = series.label("version").to_owned();
        }
    }

    pub fn add_card(&mut self, series: &Series) {
        let known = |label: &str| Some(label.to_owned()).filter(|it| it != "unknown");
        let card = Card {
            gpu: series.label("gpu").to_owned(),
            model: known(series.label("model_name")),
            driver_version: known(series.label("driver_version")),
        };
        let uuid = series.label("UUID").to_owned();
        if let Some(target) = self.of_mut(series) {
            target.cards.insert(uuid, card);
        }
    }

    /// A tick, or since when it counts.
    pub fn add_time(&mut self, series: &Series, at_first: bool) {
        let Some((_, seconds)) = series.points().last().copied() else { return };
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds of a calendar")]
        let millis = (seconds * 1000.0).round() as i64;
        let is_tick = series.label("__name__") == "gua_last_tick_timestamp_seconds";
        let Some(target) = self.of_mut(series) else { return };
        let place = match (at_first, is_tick) {
            (true, _) => &mut target.counted_at_first,
            (false, true) => &mut target.last_tick,
            (false, false) => &mut target.counting_since,
        };
        *place = Some(millis);
    }

    /// Whose series it is; `None` for one that is not asked about.
    #[must_use]
    pub fn of(&self, series: &Series) -> Option<TargetId> {
        self.by_labels.get(&key(series).0).copied()
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
    pub fn matcher(&self, ids: &[TargetId]) -> Option<String> {
        let label = "instance";
        let values: Option<Vec<&str>> =
            ids.iter().map(|id| self.get(*id)?.labels.get(label).map(String::as_str)).collect();
        let mut values = values.filter(|values| !values.is_empty())?;
        values.sort_unstable();
        values.dedup();
        Some(super::questions::one_of(label, &values))
    }
}

/// The labels that tell a target, also as one text.
fn key(series: &Series) -> (String, BTreeMap<String, String>) {
    let labels: BTreeMap<String, String> = series
        .metric
        .0
        .iter()
        .filter(|(name, _)| !OURS.contains(&name.as_str()))
        .cloned()
        .collect();
    let key = labels
        .iter()
        .fold(String::new(), |key, (name, value)| key + name + "\u{1}" + value + "\u{2}");
    (key, labels)
}
