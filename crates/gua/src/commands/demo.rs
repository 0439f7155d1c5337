//! `gua demo`: the report on a machine that does not exist.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use gua_core::Period;
use gua_core::units::UnixMillis;
use gua_query::usage::{By, Usage, UsageRequest, usage};
use gua_store::{Database, Problem};
use jiff::Timestamp;

use super::report;
use crate::calendar::nearest;
use crate::cli;
use crate::config::{self, Cost};
use crate::context::{Context, Screen};
use crate::demo::{DemoError, Machine, Plan, record};
use crate::failure::Failure;
use crate::render::paint::Paint;
use crate::render::usage::{self as render, View};
use crate::render::{json, words};

/// Number of ticks if none is given.
const TICKS: u32 = 30;

/// Time from tick to tick if none is given.
const INTERVAL: Duration = Duration::from_secs(30);

pub(super) fn run(typed: &cli::Demo, context: &mut Context<'_>) -> Result<u8, Failure> {
    let at = end(typed, context.now())?;
    let plan = plan(typed, at)?;
    let request = request(typed, &plan)?;
    let store = match &typed.db {
        Some(path) => record_to_file(path, &plan)?,
        None => record::write(Database::in_memory()?, &plan).map_err(failure)?,
    };
    context.say(next_step(typed, &plan));
    let usage = usage(&store, &request)?;
    report::refuse_without_cost(&usage, request.sort)?;
    show(&usage, typed, at, context)?;
    Ok(0)
}

fn show(
    usage: &Usage,
    typed: &cli::Demo,
    at: Timestamp,
    context: &mut Context<'_>,
) -> io::Result<()> {
    let screen = context.screen(&typed.color);
    let out = &mut context.out;
    if typed.json {
        json::pretty(out, usage)?;
    } else {
        render::write(out, usage, &view(typed, screen, at))?;
    }
    out.flush()
}

fn end(typed: &cli::Demo, now: Timestamp) -> Result<Timestamp, Failure> {
    let at = typed.at.map_or(Some(now), |at| at.resolve(now, &typed.tz.zone.tz));
    at.ok_or_else(|| Failure::Usage {
        what: "--at is a time that no clock shows".to_owned(),
        next: "Times from 1970 to the year 9999 can be played.".to_owned(),
    })
}

fn plan(typed: &cli::Demo, at: Timestamp) -> Result<Plan, Failure> {
    let machine = if typed.days.is_some() { Machine::Lab } else { Machine::Cycle };
    let interval = typed.interval.unwrap_or(INTERVAL);
    let ticks = match typed.days {
        Some(days) => u128::from(days) * 86_400_000 / interval.as_millis().max(1),
        None => u128::from(typed.ticks.unwrap_or(TICKS)),
    };
    let ticks = i64::try_from(ticks).unwrap_or(i64::MAX);
    let plan = Plan { machine, end: UnixMillis(at.as_millisecond()), interval, ticks };
    if plan.period().from < UnixMillis(0) {
        return Err(Failure::Usage {
            what: format!("a demo that ends at {at} would begin before 1970"),
            next: "Name a later --at, or make it shorter.".to_owned(),
        });
    }
    Ok(plan)
}

/// Writes the history to a file that stays.
fn record_to_file(path: &Path, plan: &Plan) -> Result<Database, Failure> {
    if path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    Database::create(path).map_err(|error| match error.problem {
        Problem::Exists => exists(path),
        _ => error.into(),
    })?;
    let write = || record::write(Database::open_to_write(path)?, plan);
    write().map_err(|error| {
        remove(path);
        failure(error)
    })
}

/// Removes a history that was not finished.
fn remove(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut file = path.to_owned().into_os_string();
        file.push(suffix);
        // If it cannot be removed, the failure that is reported says why.
        let _ = fs::remove_file(file);
    }
}

fn exists(path: &Path) -> Failure {
    Failure::Usage {
        what: format!("{} exists already, and a demo needs a new file", path.display()),
        next: "Name another --db, or leave it out: `gua demo` then keeps nothing. \
               `gua report --db PATH` reports on what is there."
            .to_owned(),
    }
}

fn failure(error: DemoError) -> Failure {
    match error {
        DemoError::Record(error) => error.into(),
        DemoError::Machine(_) => Failure::Failed {
            what: error.to_string(),
            next: "This is a mistake of gua; please report it.".to_owned(),
        },
    }
}

/// What to type next, in words.
fn next_step(typed: &cli::Demo, plan: &Plan) -> String {
    let Some(path) = &typed.db else {
        return "this history is made up, and not kept\n     `gua demo --db PATH` keeps it."
            .to_owned();
    };
    let word = words::safe(&words::shell_word(&path.display().to_string()));
    let window = match (typed.at, typed.days) {
        (Some(_), _) => {
            let Period { from, to } = plan.period();
            format!("--from {} --until {}", nearest(from), nearest(to))
        }
        (None, Some(days)) => format!("--since {}d", days.min(7)),
        (None, None) => "--since 1h".to_owned(),
    };
    format!(
        "this history is made up, and kept in {word}\n     \
         `gua report --db {word} {window}` reports on it."
    )
}

fn request(typed: &cli::Demo, plan: &Plan) -> Result<UsageRequest, Failure> {
    let prices = report::prices(&typed.accounts, Cost::default());
    Ok(UsageRequest {
        zone: typed.tz.zone.tz.clone(),
        zone_name: typed.tz.zone.name.clone(),
        by: report::kinds(&typed.accounts, By::User),
        sort: report::sort(&typed.accounts, &prices)?,
        prices,
        context: config::Thresholds::default().context,
        most_sessions: if typed.json { None } else { report::request_sessions(&typed.accounts) },
        // Nobody of this host runs anything there.
        viewer_uid: u32::MAX,
        is_recording: Some(true),
        ..UsageRequest::new(plan.period(), plan.end)
    })
}

fn view(typed: &cli::Demo, screen: Screen, now: Timestamp) -> View {
    View {
        paint: Paint(screen.color),
        width: report::width(typed.width, &screen),
        is_wide: false,
        tz: typed.tz.zone.tz.clone(),
        now,
        command: "gua report".to_owned(),
        sessions: report::sessions(&typed.accounts),
        is_here: false,
    }
}
