//! Which counters there are of a host.
//!
//! A host may be known in several ways: it is scraped by another name from now on, or pushes as
//! well. What counts since the same moment is one counter, whoever tells of it. And one way tells
//! of several where they began anew.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use probe::units::UnixMillis;

use super::edge::TickTimes;
use super::target::{Target, TargetId, Targets};
use crate::ledger::Period;

/// A counter by its number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CounterId(usize);

/// What a host counted since one moment.
#[derive(Debug, Clone)]
pub(super) struct Counter {
    /// The place of its host.
    pub host: usize,
    /// Since when is counted, as far as that is told.
    since: Option<i64>,
    /// Who tells of it first, and who last.
    pub first: TargetId,
    pub last: TargetId,
    pub began: Began,
    /// What it speaks for within the window.
    pub covers: Period,
}

impl Counter {
    /// Whether both tell of a time.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.covers.from < other.covers.to && other.covers.from < self.covers.to
    }
}

/// What a counter was at the beginning of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Began {
    /// 0, as it began within the window.
    AtZero,
    /// What samples around the window's beginning say.
    Seen,
    /// Not known: its host was not seen then.
    Unseen,
}

/// A host, by all ways in which it is known.
#[derive(Debug, Default)]
pub(super) struct Host {
    pub ways: Vec<TargetId>,
    /// One of them began anew within the window.
    pub is_anew: bool,
}

/// All hosts and their counters.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub hosts: Vec<Host>,
    all: Vec<Counter>,
    /// The counter of a way that has only one.
    of_way: HashMap<TargetId, CounterId>,
    /// The counters of a way that began anew, with the sample from which on they are told.
    anew: HashMap<TargetId, Vec<(i64, CounterId)>>,
}

impl Counters {
    pub fn new(targets: &Targets, ticks_at_begin: &TickTimes, window: Period) -> Self {
        let mut counters = Self { hosts: hosts(targets), ..Self::default() };
        for place in 0..counters.hosts.len() {
            counters.find(place, targets, ticks_at_begin, window);
        }
        counters
    }

    /// The counters of a host, unless one of its ways began anew: then samples have to tell.
    fn find(&mut self, place: usize, targets: &Targets, ticks: &TickTimes, window: Period) {
        let Some(host) = self.hosts.get_mut(place) else { return };
        let mut by_since: BTreeMap<Option<i64>, Vec<(TargetId, &Target)>> = BTreeMap::new();
        for id in &host.ways {
            let Some(target) = targets.get(*id).filter(|it| is_in(it, window)) else { continue };
            host.is_anew |= began_anew(target);
            by_since.entry(target.counting_since).or_default().push((*id, target));
        }
        if host.is_anew {
            return;
        }
        for (since, ways) in by_since {
            let Some(counter) = counter(place, since, &ways, ticks, window) else { continue };
            let id = self.add(counter);
            self.of_way.extend(ways.iter().map(|(way, _)| (*way, id)));
        }
    }

    fn add(&mut self, counter: Counter) -> CounterId {
        self.all.push(counter);
        CounterId(self.all.len() - 1)
    }

    /// Since when a way counted at its samples, where its host began anew; and whether it was
    /// seen at the beginning of the window.
    pub fn add_anew(&mut self, way: TargetId, points: &[(i64, f64)], seen: bool, window: Period) {
        let is_it = |host: &Host| host.is_anew && host.ways.contains(&way);
        let Some(host) = self.hosts.iter().position(is_it) else { return };
        let mut known: Option<(f64, CounterId)> = None;
        for (at, since) in points {
            let id = match known {
                Some((before, id)) if before.total_cmp(since).is_eq() => id,
                _ => {
                    let first = if known.is_none() && seen { window.from.0 } else { *at };
                    let id = self.since(host, *since, (way, first), window);
                    self.anew.entry(way).or_default().push((*at, id));
                    id
                }
            };
            if let Some(counter) = self.all.get_mut(id.0).filter(|it| it.covers.to.0 <= *at) {
                (counter.covers.to, counter.last) = (UnixMillis(*at), way);
            }
            known = Some((*since, id));
        }
    }

    /// What a host counts since a moment, told by a way at a time.
    fn since(
        &mut self,
        host: usize,
        seconds: f64,
        (way, at): (TargetId, i64),
        window: Period,
    ) -> CounterId {
        #[expect(clippy::cast_possible_truncation, reason = "milliseconds of a calendar")]
        let since = (seconds * 1000.0).round() as i64;
        let is_within = since >= window.from.0;
        let (began, from) = if is_within { (Began::AtZero, since) } else { (Began::Seen, at) };
        let is_it = |it: &Counter| it.host == host && it.since == Some(since);
        if let Some(found) = self.all.iter().position(is_it) {
            if let Some(counter) = self.all.get_mut(found).filter(|it| from < it.covers.from.0) {
                (counter.covers.from, counter.first) = (UnixMillis(from), way);
            }
            return CounterId(found);
        }
        let covers = Period::new(UnixMillis(from), UnixMillis(at.max(from)));
        self.add(Counter { host, since: Some(since), first: way, last: way, began, covers })
    }

    pub fn get(&self, id: CounterId) -> Option<&Counter> {
        self.all.get(id.0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (CounterId, &Counter)> {
        self.all.iter().enumerate().map(|(place, counter)| (CounterId(place), counter))
    }

    /// The only counter of a way; `None` where there are several, or none.
    pub fn of(&self, way: TargetId) -> Option<(CounterId, &Counter)> {
        let id = *self.of_way.get(&way)?;
        Some((id, self.get(id)?))
    }

    /// The counter that a way told of at a time.
    pub fn at(&self, way: TargetId, at: i64) -> Option<CounterId> {
        let Some(told) = self.anew.get(&way) else { return self.of_way.get(&way).copied() };
        let before = told.iter().rev().find(|(from, _)| *from <= at);
        before.or_else(|| told.first()).map(|(_, id)| *id)
    }

    /// Whether nobody else tells of the counter of a way.
    pub fn is_only(&self, way: TargetId) -> bool {
        let ways = |it: &Counter| self.hosts.get(it.host).map_or(0, |host| host.ways.len());
        self.of(way).is_some_and(|(_, counter)| ways(counter) == 1)
    }

    /// All ways of hosts that began anew.
    pub fn anew(&self) -> BTreeSet<TargetId> {
        let hosts = self.hosts.iter().filter(|host| host.is_anew);
        hosts.flat_map(|host| host.ways.iter().copied()).collect()
    }
}

/// Every host with its ways.
fn hosts(targets: &Targets) -> Vec<Host> {
    let mut names: BTreeMap<&str, Vec<Vec<(TargetId, &Target)>>> = BTreeMap::new();
    for (id, target) in targets.iter() {
        let hosts = names.entry(&target.hostname).or_default();
        let is_it = |ways: &&mut Vec<(TargetId, &Target)>| {
            ways.iter().any(|(_, known)| known.is_same_host(target))
        };
        match hosts.iter_mut().find(is_it) {
            Some(ways) => ways.push((id, target)),
            None => hosts.push(vec![(id, target)]),
        }
    }
    let ids = |ways: Vec<(TargetId, &Target)>| ways.into_iter().map(|(id, _)| id).collect();
    let hosts = names.into_values().flatten();
    hosts.map(|ways| Host { ways: ids(ways), is_anew: false }).collect()
}

/// Whether anything was heard of it within the window.
fn is_in(target: &Target, window: Period) -> bool {
    target.last_tick.is_some_and(|tick| tick > window.from.0)
}

fn began_anew(target: &Target) -> bool {
    target.counted_at_first.or(target.counting_since) != target.counting_since
}

/// What the ways tell that count since one moment.
fn counter(
    host: usize,
    since: Option<i64>,
    ways: &[(TargetId, &Target)],
    ticks: &TickTimes,
    window: Period,
) -> Option<Counter> {
    let seen = |(id, target): &&(TargetId, &Target)| {
        ticks.first(*id).or(target.first_tick).unwrap_or(i64::MAX)
    };
    let (first, begin) = ways.iter().min_by_key(seen)?;
    let (last, end) = ways.iter().max_by_key(|(_, target)| target.last_tick)?;
    let (began, from) = match since.filter(|since| *since >= window.from.0) {
        Some(since) => (Began::AtZero, since),
        None if ticks.has(*first) => (Began::Seen, window.from.0),
        None => (Began::Unseen, begin.first_tick.unwrap_or(window.from.0).max(window.from.0)),
    };
    let to = end.last_tick.unwrap_or(window.to.0).min(window.to.0).max(from);
    let covers = Period::new(UnixMillis(from), UnixMillis(to));
    Some(Counter { host, since, first: *first, last: *last, began, covers })
}
