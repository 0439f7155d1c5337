//! The report over many hosts as Markdown.

use std::io::{self, Write};

use gua_fleet::report::FleetUsage;

use super::rows;
use crate::render::markdown::{row, table, text};
use crate::render::usage::figures::{hours, largest, percent};
use crate::render::usage::sections::{amount, capacity, shown};
use crate::render::usage::{View, accounts, header, markdown};

/// Writes the report.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, fleet: &FleetUsage, view: &View) -> io::Result<()> {
    let usage = &fleet.usage;
    writeln!(out, "# {}\n", text(&rows::title(fleet)))?;
    writeln!(out, "{}", text(&header::window(usage, &view.tz)))?;
    for line in [header::end(usage, &view.tz), rows::silent(fleet)].into_iter().flatten() {
        writeln!(out, "\n{}", text(&line))?;
    }
    if usage.cards.is_empty() {
        return writeln!(out, "\n{}", rows::NOTHING);
    }
    headline(out, fleet)?;
    writeln!(out, "\n## §2 Idle capacity\n")?;
    for (state, words) in capacity(usage) {
        writeln!(out, "- {}: {}", state.word(), text(&words))?;
    }
    section(out, rows::HOSTS, rows::hosts(fleet))?;
    section(out, rows::MODELS, rows::models(fleet))?;
    writeln!(out, "\n## {}", accounts::TITLE)?;
    markdown::accounts(out, usage, view)?;
    markdown::heatmap(out, usage)?;
    markdown::verdict(out, usage)
}

fn headline(out: &mut impl Write, fleet: &FleetUsage) -> io::Result<()> {
    let states = &fleet.usage.states;
    writeln!(out, "\n## §1 Headline\n\n{}\n", text(rows::BASIS))?;
    table(out, &["state", "share", "GPU-h"], &[false, true, true])?;
    for state in shown(&fleet.usage) {
        let amount = amount(states, state);
        let hours = hours(amount.gpu_hours, largest(states));
        row(out, &[state.word().to_owned(), percent(amount.share), hours])?;
    }
    Ok(())
}

fn section(out: &mut impl Write, heading: &str, rows: Vec<Vec<String>>) -> io::Result<()> {
    writeln!(out, "\n## {heading}\n")?;
    let mut rows = rows.into_iter();
    let Some(heads) = rows.next() else { return Ok(()) };
    let mut rights = vec![true; heads.len()];
    if let Some(first) = rights.first_mut() {
        *first = false;
    }
    table(out, &heads.iter().map(String::as_str).collect::<Vec<_>>(), &rights)?;
    rows.try_for_each(|cells| row(out, &cells))
}
