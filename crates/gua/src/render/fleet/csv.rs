//! The report over many hosts as one table: a row for each figure.

use std::io::{self, Write};

use gua_fleet::report::FleetUsage;
use gua_query::usage::{Account, Energy, States, Unattributed};

use crate::render::csv::{name, row};
use crate::render::words::safe;

const COLUMNS: [&str; 13] = [
    "kind",
    "host",
    "name",
    "card_uuid",
    "state",
    "gpu_hours",
    "share",
    "hosts",
    "cost",
    "energy_kwh",
    "active_energy_kwh",
    "idle_held_energy_kwh",
    "energy_unknown_gpu_hours",
];

/// What a row is about. What does not apply is empty.
#[derive(Debug, Clone, Default)]
struct Subject {
    kind: &'static str,
    host: String,
    name: String,
    card_uuid: String,
    hosts: String,
    cost: String,
}

/// Writes the report. Shares are of what the row is about; of an account, of the time of all accounts in
/// that state.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, fleet: &FleetUsage) -> io::Result<()> {
    row(out, &COLUMNS.map(str::to_owned))?;
    let total = Subject::new("total", "");
    states(out, &total, &fleet.usage.states)?;
    put(
        out,
        &total,
        "all",
        Some(rounded(fleet.usage.states.gpu_hours())),
        None,
        Some(&fleet.usage.energy.total),
    )?;
    for host in &fleet.hosts {
        let host_name = cell(&host.name);
        states(
            out,
            &Subject { host: host_name.clone(), ..Subject::new("host", "") },
            &host.states,
        )?;
        for card in &host.cards {
            let subject = Subject {
                host: host_name.clone(),
                card_uuid: card.uuid.as_deref().map(cell).unwrap_or_default(),
                ..Subject::new("card", card.name.as_deref().unwrap_or_default())
            };
            states(out, &subject, &card.states)?;
            let hours = rounded(card.states.gpu_hours());
            put(out, &subject, "all", Some(hours), None, Some(&card.energy.total))?;
        }
    }
    for model in &fleet.models {
        let model_name = model.name.as_deref().unwrap_or_default();
        states(out, &Subject::new("model", model_name), &model.states)?;
    }
    fleet.usage.accounts.iter().try_for_each(|one| account(out, fleet, one))?;
    heatmap(out, fleet)
}

impl Subject {
    fn new(kind: &'static str, name: &str) -> Self {
        Self { kind, name: cell(name), ..Self::default() }
    }
}

fn cell(text: &str) -> String {
    name(&safe(text))
}

fn states(out: &mut impl Write, about: &Subject, states: &States) -> io::Result<()> {
    states.all().into_iter().try_for_each(|(state, amount)| {
        put(out, about, state.slug(), Some(amount.gpu_hours), amount.share, None)
    })
}

fn account(out: &mut impl Write, fleet: &FleetUsage, account: &Account) -> io::Result<()> {
    let person = fleet.people.iter().find(|person| person.user == account.name);
    let is_person = account.unattributed != Some(Unattributed::HoldersUnknown);
    let name = account.name.as_deref().or(account.unattributed.map(Unattributed::slug));
    let subject = Subject {
        hosts: person.filter(|_| is_person).map_or_else(String::new, |it| it.hosts.to_string()),
        ..Subject::new("account", name.unwrap_or_default())
    };
    let idle = Subject {
        cost: account.cost.map(|cost| cost.to_string()).unwrap_or_default(),
        ..subject.clone()
    };
    put(out, &subject, "active", Some(account.active_gpu_hours), None, None)?;
    let idle_share = account.idle_held_share;
    put(out, &idle, "idle_held", Some(account.idle_held_gpu_hours), idle_share, None)?;
    put(out, &subject, "unused", Some(account.unused_gpu_hours), None, None)?;
    put(out, &subject, "low_use", Some(account.low_use_gpu_hours), None, None)?;
    put(out, &subject, "unknown", Some(account.unknown_gpu_hours), None, None)?;
    let (total, share) = (Some(account.total_gpu_hours), account.share_of_total);
    put(out, &subject, "all", total, share, Some(&account.energy))
}

/// The weekday, 0 for Sunday, and the hour are the name.
fn heatmap(out: &mut impl Write, fleet: &FleetUsage) -> io::Result<()> {
    for cell in &fleet.usage.heatmap {
        let hours = cell.observed_seconds / 3_600.0 * cell.active_share;
        let hour = format!("{} {:02}", cell.weekday, cell.hour);
        let hours = (hours * 1e6).round() / 1e6;
        let subject = Subject::new("heatmap", &hour);
        put(out, &subject, "active", Some(hours), Some(cell.active_share), None)?;
    }
    Ok(())
}

/// Rounds sums of hours to the billionth, as hours are.
fn rounded(hours: f64) -> f64 {
    (hours * 1e9).round() / 1e9
}

fn put(
    out: &mut impl Write,
    about: &Subject,
    state: &str,
    gpu_hours: Option<f64>,
    share: Option<f64>,
    energy: Option<&Energy>,
) -> io::Result<()> {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let Subject { kind, host, name, card_uuid, hosts, cost } = about.clone();
    row(
        out,
        &[
            kind.to_owned(),
            host,
            name,
            card_uuid,
            state.to_owned(),
            number(gpu_hours),
            number(share),
            hosts,
            cost,
            number(energy.and_then(|energy| energy.energy_kwh)),
            number(energy.and_then(|energy| energy.active_energy_kwh)),
            number(energy.and_then(|energy| energy.idle_held_energy_kwh)),
            number(energy.map(|energy| energy.energy_unknown_gpu_hours)),
        ],
    )
}
