//! Rows of the tables on hosts and models, and sentences that all formats have.

use gua_fleet::report::FleetUsage;
use gua_query::usage::States;

use super::MOST_HOSTS;
use crate::render::usage::figures::percent;
use crate::render::usage::sections::{amount, shown};
use crate::render::words::{card_name, safe};

pub(super) const HOSTS: &str = "§3 Per host";
pub(super) const MODELS: &str = "§3 Per model";

pub(super) const NOTHING: &str = "Nothing was counted in this window.";

/// Rules by which time was classified.
pub(super) const BASIS: &str = "basis: card time, classified by each host with its own thresholds";

/// Silent hosts that are named.
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

/// Returns the hosts with most idle-held time, below the head of the table.
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

/// Returns the models of the cards, below the head of the table.
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
    let states = shown(&fleet.usage).map(|state| state.word().to_owned());
    let names = std::iter::once(first).chain(more.iter().copied()).map(str::to_owned);
    names.chain(states).collect()
}

fn shares(fleet: &FleetUsage, states: &States) -> Vec<String> {
    shown(&fleet.usage).map(|state| percent(amount(states, state).share)).collect()
}
