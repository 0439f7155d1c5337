//! Tables of the report over many hosts as CSV: those of a host, with the host of each card.

use std::io::{self, Write};

use gua_fleet::report::FleetUsage;
use gua_query::usage::Account;
use serde_json::{Value, json};

use crate::cli::ReportTable;
use crate::render::csv::{Column, table};
use crate::render::usage::csv::{ACCOUNT, CARD, HOUR, REPORT, about, cards, values, with};

const HOSTS: Column = ("hosts", "/hosts");

/// Writes one table of the report. Counters have no sessions and no gaps.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, fleet: &FleetUsage, which: ReportTable) -> io::Result<()> {
    let about = about(&fleet.usage);
    let with_about = |row: Value| with(row, "report", &about);
    let (mut columns, rows): (Vec<Column>, Vec<Value>) = match which {
        ReportTable::Accounts => {
            let columns = ACCOUNT.into_iter().chain([HOSTS]).collect();
            let rows = values(&fleet.usage.accounts)?.into_iter().zip(&fleet.usage.accounts);
            let rows = rows.map(|(row, account)| with(row, "hosts", &json!(hosts(fleet, account))));
            (columns, rows.map(with_about).collect())
        }
        ReportTable::Cards => {
            let mut rows = Vec::new();
            for host in &fleet.hosts {
                let about = with(about.clone(), "host", &json!(host.name));
                let about = with(about, "window_coverage", &json!(host.coverage));
                rows.extend(cards(&host.cards)?.into_iter().map(|row| with(row, "report", &about)));
            }
            (CARD.to_vec(), rows)
        }
        ReportTable::Hours => {
            let rows = values(fleet.usage.heatmap.iter().flatten())?;
            (HOUR.to_vec(), rows.into_iter().map(with_about).collect())
        }
        ReportTable::Sessions | ReportTable::Gaps => (Vec::new(), Vec::new()),
    };
    columns.extend(REPORT);
    table(out, &columns, rows)
}

/// Returns the number of hosts on which somebody held a card.
fn hosts(fleet: &FleetUsage, account: &Account) -> Option<usize> {
    let person = fleet.people.iter().find(|person| person.user == account.name);
    person.filter(|_| account.is_of_processes()).map(|person| person.hosts)
}
