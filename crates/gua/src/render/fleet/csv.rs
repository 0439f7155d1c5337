//! The report over many hosts as one long table: a row a figure.

use std::io::{self, Write};

use super::rows;
use crate::render::csv::{name, row};
use crate::render::words::safe;
use crate::report::fleet::FleetUsage;
use crate::report::usage::States;

const COLUMNS: [&str; 7] = ["kind", "host", "name", "card_uuid", "state", "gpu_hours", "share"];

/// Writes the report. Shares are of what the row is about.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, fleet: &FleetUsage) -> io::Result<()> {
    row(out, &COLUMNS.map(str::to_owned))?;
    states(out, ["total", "", "", ""], &fleet.usage.states)?;
    for host in &fleet.hosts {
        let host_name = cell(&host.name);
        states(out, ["host", &host_name, "", ""], &host.states)?;
        for card in &host.cards {
            let model = card.name.as_deref().map(cell).unwrap_or_default();
            let uuid = card.uuid.as_deref().map(cell).unwrap_or_default();
            states(out, ["card", &host_name, &model, &uuid], &card.states)?;
        }
    }
    for model in &fleet.models {
        let model_name = model.name.as_deref().map(cell).unwrap_or_default();
        states(out, ["model", "", &model_name, ""], &model.states)?;
    }
    people(out, fleet)?;
    heatmap(out, fleet)
}

fn cell(text: &str) -> String {
    name(&safe(text))
}

fn states(out: &mut impl Write, about: [&str; 4], states: &States) -> io::Result<()> {
    for (state, amount) in states.all() {
        let share = amount.share.map(|share| share.to_string()).unwrap_or_default();
        put(out, about, state.slug(), amount.gpu_hours, &share)?;
    }
    Ok(())
}

fn people(out: &mut impl Write, fleet: &FleetUsage) -> io::Result<()> {
    for person in &fleet.people {
        let user = cell(&rows::name(person));
        let about = ["identity", "", &user, ""];
        put(out, about, "all", person.gpu_hours, "")?;
        put(out, about, "idle_held", person.idle_held_gpu_hours, "")?;
        put(out, about, "idle_held_part", person.idle_held_part_gpu_hours, "")?;
    }
    Ok(())
}

/// The weekday, 0 for Sunday, and the hour are the name.
fn heatmap(out: &mut impl Write, fleet: &FleetUsage) -> io::Result<()> {
    for cell in &fleet.usage.heatmap {
        let hours = cell.observed_seconds / 3_600.0 * cell.active_share;
        let hour = format!("{} {:02}", cell.weekday, cell.hour);
        let hours = (hours * 1e6).round() / 1e6;
        let share = cell.active_share.to_string();
        put(out, ["heatmap", "", &hour, ""], "active", hours, &share)?;
    }
    Ok(())
}

fn put(
    out: &mut impl Write,
    about: [&str; 4],
    state: &str,
    gpu_hours: f64,
    share: &str,
) -> io::Result<()> {
    let mut fields: Vec<String> = about.map(str::to_owned).to_vec();
    fields.extend([state.to_owned(), gpu_hours.to_string(), share.to_owned()]);
    row(out, &fields)
}
