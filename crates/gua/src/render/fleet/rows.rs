//! What the tables of the report over many hosts say.

use crate::render::usage::figures::{hours, percent};
use crate::render::usage::sections::{amount, shown};
use crate::render::words::{card_name, safe};
use crate::report::fleet::{FleetPerson, FleetUsage};
use crate::report::usage::States;

use super::MOST_HOSTS;

pub(super) const NOTHING: &str = "Nothing was counted in this window.";

/// Which figure of a person is which.
pub(super) const TWO_FIGURES: &str = "a shared card counts in full for everybody on it under \
    GPU-hours and idle-held; `part` divides its idle-held time by memory, so that parts add up";

/// How many people are shown.
pub(super) const MOST_PEOPLE: usize = 10;

/// How many silent hosts are named.
const MOST_SILENT: usize = 8;

pub(super) fn title(fleet: &FleetUsage) -> String {
    let plural = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    };
    let hosts = plural(fleet.hosts.len(), "host");
    let cards = plural(fleet.usage.cards.len(), "card");
    format!("gua — {hosts}, {cards} at {}", safe(&fleet.source.url))
}

pub(super) fn silent(fleet: &FleetUsage) -> Option<String> {
    let silent = &fleet.silent_hosts;
    let named: Vec<_> = silent.iter().take(MOST_SILENT).map(|name| safe(name)).collect();
    let more = match silent.len().saturating_sub(MOST_SILENT) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!named.is_empty()).then(|| format!("silent at the end: {}{more}", named.join(", ")))
}

/// What the states are judged by.
pub(super) const BASIS: &str = "basis: card time; each host judges by its own thresholds";

pub(super) fn hosts(fleet: &FleetUsage) -> Vec<Vec<String>> {
    let mut rows = vec![head(fleet, "host", &["cards", "observed"])];
    for host in fleet.hosts.iter().take(MOST_HOSTS) {
        let mark = if host.is_silent { " (silent)" } else { "" };
        let mut row = vec![
            format!("{}{mark}", safe(&host.name)),
            host.cards.len().to_string(),
            percent(host.coverage),
        ];
        row.extend(shares(fleet, &host.states));
        rows.push(row);
    }
    rows
}

pub(super) fn models(fleet: &FleetUsage) -> Vec<Vec<String>> {
    let mut rows = vec![head(fleet, "model", &["cards"])];
    for model in &fleet.models {
        let name = model.name.as_deref().map_or("unknown".to_owned(), |it| safe(card_name(it)));
        let mut row = vec![name, model.cards.to_string()];
        row.extend(shares(fleet, &model.states));
        rows.push(row);
    }
    rows
}

fn head(fleet: &FleetUsage, first: &str, more: &[&str]) -> Vec<String> {
    let states = shown(&fleet.usage.states).map(|state| state.word().to_owned());
    let names = std::iter::once(first).chain(more.iter().copied()).map(str::to_owned);
    names.chain(states).collect()
}

fn shares(fleet: &FleetUsage, states: &States) -> Vec<String> {
    shown(&fleet.usage.states).map(|state| percent(amount(states, state).share)).collect()
}

pub(super) fn people(fleet: &FleetUsage) -> Vec<Vec<String>> {
    let heads = ["who", "hosts", "GPU-hours", "idle-held", "part", "of all idle-held"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    let told = || fleet.people.iter().take(MOST_PEOPLE);
    let most = told().map(|person| person.gpu_hours).fold(0.0, f64::max);
    for person in told() {
        rows.push(vec![
            name(person),
            person.hosts.to_string(),
            hours(person.gpu_hours, most),
            hours(person.idle_held_gpu_hours, most),
            hours(person.idle_held_part_gpu_hours, most),
            percent(of_all(person, fleet)),
        ]);
    }
    rows
}

pub(super) fn name(person: &FleetPerson) -> String {
    person.user.as_deref().map_or_else(|| "unattributed".to_owned(), safe)
}

/// The part of all idle-held time.
fn of_all(person: &FleetPerson, fleet: &FleetUsage) -> Option<f64> {
    let all = fleet.usage.states.idle_held.gpu_hours;
    (all > 0.0).then(|| (person.idle_held_part_gpu_hours / all).min(1.0))
}
