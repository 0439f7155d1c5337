//! Counters of a host since they began at 0, and the targets that have them.
//!
//! A host may have several targets: it is scraped under a new name from some day on, or it pushes as well.
//! What counts since the same time on one host is the same, whichever target has it. And one target has
//! several epochs if its counters began again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gua_core::Period;
use gua_core::units::UnixMillis;

use super::edge::FinalTimes;
use crate::target::{Target, TargetId, Targets, millis};

/// Number of an epoch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct EpochId(usize);

/// Time in which a host's counters did not begin again.
#[derive(Debug, Clone)]
pub(super) struct Epoch {
    /// Place of the host.
    pub host: usize,
    /// Time at which the counters began at 0; `None` if it is not known.
    since: Option<i64>,
    /// Targets that have it first, and last.
    pub first: TargetId,
    pub last: TargetId,
    pub beginning: Beginning,
    /// Part of the window that it covers.
    pub covers: Period,
}

/// Values of counters where an epoch begins to cover the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// They are 0: the epoch began within the window.
    AtZero,
    /// Samples around the begin of the window have them.
    Sampled,
    /// They are not known: the host was not seen then.
    NotSampled,
}

/// Targets of one host.
#[derive(Debug, Default)]
pub(super) struct HostTargets {
    pub targets: Vec<TargetId>,
    /// True if counters of one of them began again within the window.
    pub has_reset: bool,
}

/// All hosts and the epochs of their counters.
#[derive(Debug, Default)]
pub(super) struct Epochs {
    pub hosts: Vec<HostTargets>,
    all: Vec<Epoch>,
    /// Epochs of targets that have only one.
    only: HashMap<TargetId, EpochId>,
    /// Epochs of targets that have several, with the time of their first sample.
    several: HashMap<TargetId, Vec<(i64, EpochId)>>,
}

impl Epoch {
    /// Returns true if both cover some time.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.covers.from < other.covers.to && other.covers.from < self.covers.to
    }
}

impl Epochs {
    pub fn new(targets: &Targets, at_begin: &FinalTimes, window: Period) -> Self {
        let mut epochs = Self { hosts: hosts(targets), ..Self::default() };
        for place in 0..epochs.hosts.len() {
            epochs.find(place, targets, at_begin, window);
        }
        epochs
    }

    /// Finds the epochs of a host. If its counters began again, all samples are needed for that.
    fn find(&mut self, place: usize, targets: &Targets, at_begin: &FinalTimes, window: Period) {
        let Some(host) = self.hosts.get_mut(place) else { return };
        let mut by_since: BTreeMap<Option<i64>, Vec<(TargetId, &Target)>> = BTreeMap::new();
        for id in &host.targets {
            let Some(target) = targets.get(*id).filter(|it| is_in(it, window)) else { continue };
            host.has_reset |= has_reset(target);
            by_since.entry(target.counting_since).or_default().push((*id, target));
        }
        if host.has_reset {
            return;
        }
        for (since, targets) in by_since {
            let Some(epoch) = epoch(place, since, &targets, at_begin, window) else { continue };
            let id = self.add(epoch);
            self.only.extend(targets.iter().map(|(target, _)| (*target, id)));
        }
    }

    fn add(&mut self, epoch: Epoch) -> EpochId {
        self.all.push(epoch);
        EpochId(self.all.len() - 1)
    }

    /// Adds the times since which a target of a host that began again counted, at all samples.
    pub fn add_since(
        &mut self,
        target: TargetId,
        points: &[(i64, f64)],
        seen_at_begin: bool,
        window: Period,
    ) {
        let is_it = |host: &HostTargets| host.has_reset && host.targets.contains(&target);
        let Some(host) = self.hosts.iter().position(is_it) else { return };
        let mut known: Option<(f64, EpochId)> = None;
        for (at, since) in points {
            let id = match known {
                Some((before, id)) if before.total_cmp(since).is_eq() => id,
                _ => {
                    let is_first = known.is_none() && seen_at_begin;
                    let first = if is_first { window.from.0 } else { *at };
                    let id = self.epoch_since(host, *since, (target, first), window);
                    self.several.entry(target).or_default().push((*at, id));
                    id
                }
            };
            if let Some(epoch) = self.all.get_mut(id.0).filter(|it| it.covers.to.0 <= *at) {
                (epoch.covers.to, epoch.last) = (UnixMillis(*at), target);
            }
            known = Some((*since, id));
        }
    }

    /// Returns the epoch of a host since a time, which a target has at `at`.
    fn epoch_since(
        &mut self,
        host: usize,
        seconds: f64,
        (target, at): (TargetId, i64),
        window: Period,
    ) -> EpochId {
        let since = millis(seconds);
        let is_within = since >= window.from.0;
        let (beginning, from) =
            if is_within { (Beginning::AtZero, since) } else { (Beginning::Sampled, at) };
        let is_it = |it: &Epoch| it.host == host && it.since == Some(since);
        if let Some(found) = self.all.iter().position(is_it) {
            if let Some(epoch) = self.all.get_mut(found).filter(|it| from < it.covers.from.0) {
                (epoch.covers.from, epoch.first) = (UnixMillis(from), target);
            }
            return EpochId(found);
        }
        let covers = Period::new(UnixMillis(from), UnixMillis(at.max(from)));
        let since = Some(since);
        self.add(Epoch { host, since, first: target, last: target, beginning, covers })
    }

    pub fn get(&self, id: EpochId) -> Option<&Epoch> {
        self.all.get(id.0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (EpochId, &Epoch)> {
        self.all.iter().enumerate().map(|(place, epoch)| (EpochId(place), epoch))
    }

    /// Returns the only epoch of a target; `None` if it has several, or none.
    pub fn only(&self, target: TargetId) -> Option<(EpochId, &Epoch)> {
        let id = *self.only.get(&target)?;
        Some((id, self.get(id)?))
    }

    /// Returns the epoch that a target has at a time.
    pub fn at(&self, target: TargetId, at: i64) -> Option<EpochId> {
        let Some(epochs) = self.several.get(&target) else {
            return self.only.get(&target).copied();
        };
        let before = epochs.iter().rev().find(|(from, _)| *from <= at);
        before.or_else(|| epochs.first()).map(|(_, id)| *id)
    }

    /// Returns true if no other target has the epoch of a target.
    pub fn is_alone(&self, target: TargetId) -> bool {
        let targets = |it: &Epoch| self.hosts.get(it.host).map_or(0, |host| host.targets.len());
        self.only(target).is_some_and(|(_, epoch)| targets(epoch) == 1)
    }

    /// Returns all targets of hosts whose counters began again.
    pub fn with_resets(&self) -> BTreeSet<TargetId> {
        let hosts = self.hosts.iter().filter(|host| host.has_reset);
        hosts.flat_map(|host| host.targets.iter().copied()).collect()
    }
}

/// Returns every host with its targets.
fn hosts(targets: &Targets) -> Vec<HostTargets> {
    let mut names: BTreeMap<&str, Vec<Vec<(TargetId, &Target)>>> = BTreeMap::new();
    for (id, target) in targets.iter() {
        let hosts = names.entry(&target.hostname).or_default();
        let is_it = |known: &&mut Vec<(TargetId, &Target)>| {
            known.iter().any(|(_, known)| known.is_same_host(target))
        };
        match hosts.iter_mut().find(is_it) {
            Some(known) => known.push((id, target)),
            None => hosts.push(vec![(id, target)]),
        }
    }
    let ids = |all: Vec<(TargetId, &Target)>| all.into_iter().map(|(id, _)| id).collect();
    let hosts = names.into_values().flatten();
    hosts.map(|all| HostTargets { targets: ids(all), has_reset: false }).collect()
}

/// Returns true if a target has anything within the window.
fn is_in(target: &Target, window: Period) -> bool {
    target.final_until.is_some_and(|until| until > window.from.0)
}

fn has_reset(target: &Target) -> bool {
    target.first_since.or(target.counting_since) != target.counting_since
}

/// Returns the epoch of targets that count since the same time.
fn epoch(
    host: usize,
    since: Option<i64>,
    targets: &[(TargetId, &Target)],
    at_begin: &FinalTimes,
    window: Period,
) -> Option<Epoch> {
    let seen = |(id, target): &&(TargetId, &Target)| {
        at_begin.first(*id).or(target.first_final).unwrap_or(i64::MAX)
    };
    let (first, begin) = targets.iter().min_by_key(seen)?;
    let (last, end) = targets.iter().max_by_key(|(_, target)| target.final_until)?;
    let (beginning, from) = match since.filter(|since| *since >= window.from.0) {
        Some(since) => (Beginning::AtZero, since),
        None if at_begin.has(*first) => (Beginning::Sampled, window.from.0),
        None => {
            let first = begin.first_final.unwrap_or(window.from.0);
            (Beginning::NotSampled, first.max(window.from.0))
        }
    };
    let to = end.final_until.unwrap_or(window.to.0).min(window.to.0).max(from);
    let covers = Period::new(UnixMillis(from), UnixMillis(to));
    Some(Epoch { host, since, first: *first, last: *last, beginning, covers })
}
