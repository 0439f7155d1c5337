//! `gua report --prometheus`: the report over all hosts.

use std::io::{self, Write};

use gua_fleet::report::{FleetReader, FleetUsage};
use gua_query::page::UsagePage;
use jiff::Timestamp;

use super::access::{client, failure, query_failure, selection, warn};
use crate::cli;
use crate::commands::report::{self, Output, width_of_report};
use crate::config::{Config, Window};
use crate::context::{Context, Screen};
use crate::failure::Failure;
use crate::render::fleet as render;
use crate::render::json;
use crate::render::paint::Paint;
use crate::render::usage::{View, html};

pub(in crate::commands) fn report(
    config: &Config,
    typed: &cli::Report,
    url: &str,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    refuse_accounts(&typed.accounts)?;
    let format = report::format(typed)?;
    let picture = refuse_timeline(typed, format)?;
    let table = refuse_sessions(typed)?;
    let output = Output::new(typed)?;
    let now = context.now();
    let window = Window::new(&typed.window, now)?;
    let request = report::request(&window, typed, config, now)?;
    let client = client(&typed.engine, url)?;
    let selection = selection(&typed.engine);
    let mut reader = FleetReader::new(&client, selection.clone(), &request);
    reader.find_hosts().map_err(|error| query_failure(error, &selection))?;
    let fleet = reader.read().map_err(failure)?;
    report::refuse_without_cost(&fleet.usage, request.sort)?;
    let view = view(&window, typed, url, now, &context.screen(&typed.color));
    output.write(context, |mut out| write(&mut out, &fleet, &view, (format, table, picture)))?;
    Ok(warn(&client, context))
}

/// Refuses kinds of accounts that counters do not have.
fn refuse_accounts(typed: &cli::Accounts) -> Result<(), Failure> {
    if typed.by.iter().all(|by| *by == cli::By::User) {
        return Ok(());
    }
    Err(Failure::Usage {
        what: "--by: a report over many hosts has accounts of users only".to_owned(),
        next: "Use `gua report --by` on a host, or query the engine for the labels that \
               [metrics] in the config adds."
            .to_owned(),
    })
}

/// Refuses pictures of what happened when: counters say only how long.
fn refuse_timeline(
    typed: &cli::Report,
    format: cli::ReportFormat,
) -> Result<cli::Picture, Failure> {
    let picture = report::picture(typed)?;
    let is_possible = match picture {
        cli::Picture::Habit | cli::Picture::States => true,
        cli::Picture::Time | cli::Picture::People => false,
    };
    if format != cli::ReportFormat::Svg || is_possible {
        return Ok(picture);
    }
    Err(Failure::Usage {
        what: "--picture: over many hosts there are only the pictures habit and states".to_owned(),
        next: "Add --picture habit or --picture states, or run the report on a host.".to_owned(),
    })
}

/// Refuses tables that counters do not have.
fn refuse_sessions(typed: &cli::Report) -> Result<cli::ReportTable, Failure> {
    let table = report::table(typed)?;
    match table {
        cli::ReportTable::Accounts | cli::ReportTable::Cards | cli::ReportTable::Hours => Ok(table),
        cli::ReportTable::Sessions | cli::ReportTable::Gaps => Err(Failure::Usage {
            what: "--table: over many hosts there are only the tables accounts, cards and hours"
                .to_owned(),
            next: "Use one of these, or run the report on a host.".to_owned(),
        }),
    }
}

fn write(
    out: &mut impl Write,
    fleet: &FleetUsage,
    view: &View,
    (format, table, picture): (cli::ReportFormat, cli::ReportTable, cli::Picture),
) -> io::Result<()> {
    match format {
        cli::ReportFormat::Text => render::write(out, fleet, view),
        cli::ReportFormat::Json => json::pretty(out, fleet),
        cli::ReportFormat::Csv => render::csv::write(out, fleet, table),
        cli::ReportFormat::Markdown => render::markdown::write(out, fleet, view),
        cli::ReportFormat::Html => render::write_html(out, fleet, view),
        cli::ReportFormat::Svg => {
            html::picture::write(out, &UsagePage::from(fleet.usage.clone()), view, picture)
        }
    }
}

fn view(window: &Window, typed: &cli::Report, url: &str, now: Timestamp, screen: &Screen) -> View {
    View {
        paint: Paint(screen.color),
        width: width_of_report(typed, screen),
        is_wide: typed.wide,
        tz: window.zone.tz.clone(),
        now,
        command: format!("gua report --prometheus {url}"),
        sessions: 0,
        is_here: false,
    }
}
