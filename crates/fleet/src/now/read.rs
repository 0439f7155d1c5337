//! Reads the series of now: two queries, and one more if hosts are selected by name.

use std::collections::{BTreeMap, BTreeSet};

use gua_core::Period;
use gua_core::units::UnixMillis;
use jiff::Timestamp;

use super::answer::{
    FleetCard, FleetHolder, FleetNow, FleetState, HostCards, LongestIdle, StateCounts,
};
use crate::engine::{Client, EngineError, Series};
use crate::family;
use crate::labels::UNATTRIBUTED;
use crate::report::name_matcher;
use crate::selection::Selection;
use crate::target::{Target, TargetId, Targets, millis, own_label};

/// Time for which hosts are looked for that are silent by now.
const LOOK_BACK: &str = "1d";

/// Reads what the hosts of a selection do now.
///
/// # Errors
/// When the engine does not respond, or has no hosts of the selection.
pub fn read_fleet_now(
    client: &Client,
    selection: &Selection,
    now: UnixMillis,
) -> Result<FleetNow, EngineError> {
    let mut series = SeriesNow::default();
    let known = name_matcher(&[
        &family::BUILD_INFO,
        &family::GPU_INFO,
        &family::LAST_TICK,
        &family::INTERVAL,
    ]);
    let known = format!("last_over_time({}[{LOOK_BACK}])", selection.selector(&known, None));
    let current = name_matcher(&[
        &family::GPU_STATE,
        &family::GPU_MEMORY_TOTAL,
        &family::GPU_MEMORY_USED,
        &family::USER_MEMORY,
        &family::USER_IDLE_SINCE,
    ]);
    for query in [known, selection.selector(&current, None)] {
        client.query(&query, now, |one| series.add(one))?;
    }
    if let Some(host) = selection.host_matcher() {
        let hosts = selection.selector(&name_matcher(&[&family::BUILD_INFO]), Some(&host));
        let mut selected = Vec::new();
        let query = format!("last_over_time({hosts}[{LOOK_BACK}])");
        client.query(&query, now, |one| selected.push(one))?;
        series.selected = Some(selected);
    }
    if series.hosts.is_empty() || series.selected.as_ref().is_some_and(Vec::is_empty) {
        let (url, filter) = (client.url().to_owned(), selection.describe());
        return Err(EngineError::NoSeries { url, filter });
    }
    let hosts = series.finish(now);
    Ok(FleetNow {
        schema: "gua.fleet/2",
        url: client.url().to_owned(),
        at: now.into(),
        warnings: client.warnings(),
        totals: StateCounts::from_hosts(&hosts),
        hosts,
    })
}

/// The series of now.
#[derive(Debug, Default)]
struct SeriesNow {
    hosts: Vec<Series>,
    values: Vec<(Series, f64)>,
    /// Hosts that are selected by name, if not all are.
    selected: Option<Vec<Series>>,
}

impl SeriesNow {
    fn add(&mut self, series: Series) {
        let value = series.points().last().map(|(_, value)| *value);
        match series.label("__name__") {
            name if name == family::BUILD_INFO.name => self.hosts.push(series),
            _ => self.values.extend(value.map(|value| (series, value))),
        }
    }

    fn finish(self, now: UnixMillis) -> Vec<HostCards> {
        let Self { hosts, values, selected } = self;
        let (times, values): (Vec<_>, Vec<_>) =
            values.into_iter().partition(|(series, _)| own_label(series, "UUID").is_empty());
        let times: Vec<_> = times.into_iter().map(|(series, _)| series).collect();
        let mut targets = Targets::new(&hosts, &times);
        let mut cards: BTreeMap<TargetId, CardsOfTarget> = BTreeMap::new();
        for (series, value) in &values {
            match (series.label("__name__"), targets.find(series)) {
                (name, _) if name == family::GPU_INFO.name => targets.add_card(series),
                (_, Some(target)) => cards.entry(target).or_default().add(series, *value, now),
                (_, None) => {}
            }
        }
        let selected: Option<Vec<_>> =
            selected.map(|them| them.iter().filter_map(|one| targets.find(one)).collect());
        let is_selected =
            |id: TargetId| selected.as_ref().is_none_or(|selected| selected.contains(&id));
        let hosts = targets.iter().filter(|(id, _)| is_selected(*id));
        let hosts = hosts.map(|(id, it)| host(it, cards.remove(&id).unwrap_or_default(), now));
        once_each(hosts.collect())
    }
}

/// Sorts hosts by name. A host with several targets is as the newest of them has it.
fn once_each(mut hosts: Vec<HostCards>) -> Vec<HostCards> {
    hosts.sort_by(|a, b| a.name.cmp(&b.name).then_with(|| b.last_tick.cmp(&a.last_tick)));
    hosts.into_iter().fold(Vec::new(), |mut known: Vec<HostCards>, host| {
        let mut of_that_name = known.iter().rev().take_while(|newer| newer.name == host.name);
        if !of_that_name.any(|newer| is_same_host(newer, &host)) {
            known.push(host);
        }
        known
    })
}

/// Returns true if both are targets of one host.
fn is_same_host(one: &HostCards, other: &HostCards) -> bool {
    let has = |uuid: &str| one.cards.iter().any(|card| card.uuid == uuid);
    let has_none = other.cards.is_empty() || one.cards.is_empty();
    one.name == other.name && (has_none || other.cards.iter().any(|card| has(&card.uuid)))
}

/// Cards of one target now.
#[derive(Debug, Default)]
struct CardsOfTarget {
    cards: BTreeMap<String, FleetCard>,
    /// Cards with a state.
    present: BTreeSet<String>,
}

fn host(target: &Target, found: CardsOfTarget, now: UnixMillis) -> HostCards {
    let CardsOfTarget { mut cards, present } = found;
    for (uuid, known) in target.cards.iter().filter(|(_, known)| !known.is_unpartitioned()) {
        let card = cards.entry(uuid.clone()).or_insert_with(|| FleetCard::unknown(uuid));
        card.gpu.clone_from(&known.gpu);
        card.model.clone_from(&known.model);
    }
    let is_silent =
        target.last_tick.is_none_or(|last| now.0.saturating_sub(last) > target.silent_after());
    if !is_silent && !present.is_empty() {
        // The others were there earlier today: they were taken out, or divided differently.
        cards.retain(|uuid, _| present.contains(uuid));
    }
    let mut cards: Vec<_> = cards.into_values().collect();
    let place = |card: &FleetCard| {
        let gpu = card.gpu.clone();
        (gpu.is_none(), gpu.as_ref().map_or(0, String::len), gpu)
    };
    cards.sort_by_key(place);
    if is_silent {
        // What they did when they were last heard of says nothing about now.
        cards.iter_mut().for_each(|card| card.state = FleetState::Unknown);
    }
    HostCards {
        name: target.hostname.clone(),
        labels: target.labels.clone(),
        last_tick: target.last_tick.map(|last| UnixMillis(last).into()),
        is_silent,
        totals: StateCounts::from_cards(&cards),
        longest_idle: LongestIdle::from_cards(&cards).filter(|_| !is_silent),
        cards,
    }
}

impl CardsOfTarget {
    fn add(&mut self, series: &Series, value: f64, now: UnixMillis) {
        let uuid = own_label(series, "UUID");
        let card = self.cards.entry(uuid.to_owned()).or_insert_with(|| FleetCard::unknown(uuid));
        match series.label("__name__") {
            name if name == family::GPU_STATE.name => {
                self.present.insert(uuid.to_owned());
                if value > 0.5 {
                    card.state = FleetState::from_label(own_label(series, "state"));
                }
            }
            name if name == family::GPU_MEMORY_TOTAL.name => {
                card.memory_total_bytes = Some(whole(value));
            }
            name if name == family::GPU_MEMORY_USED.name => {
                card.memory_used_bytes = Some(whole(value));
            }
            name if name == family::USER_MEMORY.name => {
                card.holder(own_label(series, "user"), |holder| {
                    holder.memory_bytes = Some(whole(value));
                });
            }
            name if name == family::USER_IDLE_SINCE.name => {
                let since = time(value);
                card.holder(own_label(series, "user"), |holder| {
                    holder.idle_since = since.map(Timestamp::from);
                    let idle = |since| Period::new(since, now).seconds();
                    holder.idle_seconds = since.map(idle);
                });
            }
            _ => {}
        }
        card.holders.sort_by(|a, b| {
            let idle = |it: &FleetHolder| it.idle_seconds.unwrap_or(-1.0);
            idle(b).total_cmp(&idle(a)).then_with(|| a.user.cmp(&b.user))
        });
    }
}

impl FleetCard {
    fn unknown(uuid: &str) -> Self {
        Self {
            uuid: uuid.to_owned(),
            gpu: None,
            model: None,
            state: FleetState::Unknown,
            memory_total_bytes: None,
            memory_used_bytes: None,
            holders: Vec::new(),
        }
    }

    /// Changes the holder of a user.
    fn holder(&mut self, user: &str, change: impl FnOnce(&mut FleetHolder)) {
        let user = Some(user.to_owned()).filter(|user| user != UNATTRIBUTED);
        if let Some(holder) = self.holders.iter_mut().find(|holder| holder.user == user) {
            return change(holder);
        }
        let mut holder =
            FleetHolder { user, memory_bytes: None, idle_since: None, idle_seconds: None };
        change(&mut holder);
        self.holders.push(holder);
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bytes of a card")]
const fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// Returns a time in seconds since 1970; `None` for one that no calendar has.
fn time(seconds: f64) -> Option<UnixMillis> {
    let time = (seconds >= 0.0).then(|| UnixMillis(millis(seconds)))?;
    Timestamp::from_millisecond(time.0).is_ok().then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Points, SeriesLabels};

    const NOW: UnixMillis = UnixMillis(1_000_000_000);

    fn series(instance: &str, name: &str, labels: &[(&str, &str)], value: f64) -> Series {
        let all = [("instance", instance), ("__name__", name)];
        let all = all.iter().chain(labels);
        let labels = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Series { metric: SeriesLabels(labels.collect()), values: Points(vec![(NOW.0, value)]) }
    }

    /// Adds a host with a card that is held idle since a time.
    fn add_host(all: &mut SeriesNow, instance: &str, host: &str, last_tick: f64, since: f64) {
        let card = ("UUID", "GPU-0");
        for (name, labels, value) in [
            ("gua_build_info", vec![("hostname", host)], 1.0),
            ("gua_last_tick_timestamp_seconds", vec![], last_tick),
            ("gua_gpu_info", vec![card, ("gpu", "0"), ("model_name", "A100")], 1.0),
            ("gua_gpu_state", vec![card, ("state", "idle_held")], 1.0),
            ("gua_gpu_state", vec![card, ("state", "active")], 0.0),
            ("gua_user_gpu_memory_bytes", vec![card, ("user", "unattributed")], 512.0),
            ("gua_user_idle_since_timestamp_seconds", vec![card, ("user", "ann")], since),
        ] {
            all.add(series(instance, name, &labels, value));
        }
    }

    #[test]
    fn silent_host_is_unknown() {
        let mut all = SeriesNow::default();
        add_host(&mut all, "a:1", "a", 999_990.0, 999_000.0);
        add_host(&mut all, "b:1", "b", 900_000.0, 800_000.0);
        let hosts = all.finish(NOW);
        let states: Vec<_> = hosts.iter().map(|it| (it.is_silent, it.cards[0].state)).collect();
        assert_eq!(states, [(false, FleetState::IdleHeld), (true, FleetState::Unknown)]);
        let holders = &hosts[0].cards[0].holders;
        assert_eq!((holders[0].user.as_deref(), holders[0].idle_seconds), (Some("ann"), Some(1e3)));
        assert_eq!((holders[1].user.as_deref(), holders[1].memory_bytes), (None, Some(512)));
        assert_eq!(hosts[0].longest_idle.as_ref().unwrap().user.as_deref(), Some("ann"));
        assert_eq!(hosts[1].longest_idle, None);
    }

    #[test]
    fn host_with_two_targets_is_there_once() {
        let mut all = SeriesNow::default();
        add_host(&mut all, "a:1", "a", 999_990.0, 999_000.0);
        add_host(&mut all, "a", "a", 999_980.0, f64::MAX);
        let hosts = all.finish(NOW);
        assert_eq!(hosts.len(), 1);
        assert_eq!(hosts[0].labels["instance"], "a:1");
    }
}
