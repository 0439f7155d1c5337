//! `gua report`: what the cards did over a time, and whose it was.

mod output;
mod request;

pub(super) use output::Output;
pub(super) use request::{
    kinds, prices, refuse_without_cost, request, request_sessions, sessions, sort, table,
};

use std::io::{self, Write};
use std::path::Path;

use gua_query::page::{UsagePage, usage_page};
use gua_query::usage::{Usage, UsageRequest, usage};
use gua_store::Database;
use gua_store::lock::RecorderLock;
use jiff::Timestamp;
use probe::proc::Host;

use super::history;
use crate::cli;
use crate::config::{Config, Settings, Window};
use crate::context::{Context, Screen};
use crate::failure::Failure;
use crate::render::paint::Paint;
use crate::render::usage::{self as render, View};
use crate::render::{json, words};

/// Longer lines are hard to follow.
const WIDEST: usize = 100;
/// Width of output that is not a terminal.
const WIDTH_IN_A_PIPE: usize = 80;
/// Width that has room for the columns of `--wide`.
const WIDTH_FOR_MORE: usize = 160;

pub(super) fn run(
    host: &Host,
    settings: Settings,
    typed: &cli::Report,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let now = context.now();
    let (format, picture, table) = (format(typed)?, picture(typed)?, table(typed)?);
    let output = Output::new(typed)?;
    let config = settings.with(typed.into()).settled();
    let page = answered(&config, typed, now, context)?;
    let window = Window::new(&typed.window, now)?;
    let path = history::path(typed.db.as_deref(), &config)?;
    let is_here = is_of(&page.usage, host.name().as_deref());
    let screen = context.screen(&typed.color);
    let view = View { is_here, ..view(&window, typed, &path, now, &screen) };
    output.write(context, |mut out| write(&mut out, &page, &view, (format, table, picture)))?;
    Ok(0)
}

/// Returns the format to write.
pub(super) fn format(typed: &cli::Report) -> Result<cli::ReportFormat, Failure> {
    typed.format().ok_or_else(|| {
        let file = typed.output.as_ref().and_then(cli::Output::file).unwrap_or(Path::new("-"));
        Failure::Usage {
            what: format!("--output: the name of `{}` says no format", file.display()),
            next: "Names end in .txt, .json, .csv, .md, .html or .svg; --format is for others."
                .to_owned(),
        }
    })
}

/// Returns what is printed, whatever the format.
pub(super) fn answer(
    config: &Config,
    typed: &cli::Report,
    context: &mut Context<'_>,
) -> Result<Usage, Failure> {
    let now = context.now();
    Ok(answered(config, typed, now, context)?.usage)
}

/// Returns what is printed, with what else a page or a picture shows.
fn answered(
    config: &Config,
    typed: &cli::Report,
    now: Timestamp,
    context: &mut Context<'_>,
) -> Result<UsagePage, Failure> {
    let window = Window::new(&typed.window, now)?;
    let path = history::path(typed.db.as_deref(), config)?;
    let request = request(&window, typed, config, now)?;
    // Before the database is opened, as closing any handle of a file gives its locks back.
    let is_recording = RecorderLock::is_taken(&path);
    let request = UsageRequest { is_recording, ..request };
    let store = open(&path, &request, typed, context)?;
    let is_drawn = matches!(format(typed)?, cli::ReportFormat::Html | cli::ReportFormat::Svg);
    let page = match is_drawn {
        true => usage_page(&store, &request)
            .map_err(|error| Failure::Failed { what: error.to_string(), next: NEXT.to_owned() })?,
        false => UsagePage::from(usage(&store, &request)?),
    };
    refuse_stranger(&page.usage, &request)?;
    refuse_without_cost(&page.usage, request.sort)?;
    Ok(page)
}

const NEXT: &str = "--format text needs only the history; `gua db check` looks at the database.";

/// Opens the history with both windows of a request in it.
fn open(
    path: &Path,
    request: &UsageRequest,
    typed: &cli::Report,
    context: &mut Context<'_>,
) -> Result<Database, Failure> {
    let window = match request.compare {
        Some(before) => gua_core::Period::new(
            before.from.min(request.window.from),
            before.to.max(request.window.to),
        ),
        None => request.window,
    };
    let store = history::open_record(path, window, typed.interval)?;
    if typed.interval.is_some() && !store.runs()?.iter().any(|run| run.is_imported) {
        context.say("--interval has no effect: it applies only to a history of the Python gua");
    }
    Ok(store)
}

/// Returns the picture that was asked for.
pub(super) fn picture(typed: &cli::Report) -> Result<cli::Picture, Failure> {
    match typed.picture {
        Some(_) if format(typed)? != cli::ReportFormat::Svg => Err(Failure::Usage {
            what: "--picture says what --format svg draws, and another format was asked for"
                .to_owned(),
            next: "Add --format svg; --format html has all of them on one page.".to_owned(),
        }),
        Some(cli::Picture::Habit) if typed.user.is_some() => Err(Failure::Usage {
            what: "--picture habit: the hours of the week are those of all cards, and --user asks \
                   for one person's figures"
                .to_owned(),
            next: "Leave out --user, or draw --picture time.".to_owned(),
        }),
        which => Ok(which.unwrap_or_default()),
    }
}

/// Returns true if a history is of the host of this name.
fn is_of(usage: &Usage, here: Option<&str>) -> bool {
    here.is_some() && usage.host.as_ref().map(|host| host.name.as_str()) == here
}

/// Refuses a report on somebody who held no card, without naming anybody else.
fn refuse_stranger(usage: &Usage, request: &UsageRequest) -> Result<(), Failure> {
    let Some(user) = request.user.as_ref().filter(|_| usage.person.is_none()) else {
        return Ok(());
    };
    Err(Failure::Failed {
        what: format!("nobody called {user} held a card in this window"),
        next: "Names are those of `id -un`, or a uid; --since 30d looks further back.".to_owned(),
    })
}

/// Writes an answer in one of the formats.
fn write(
    out: &mut impl Write,
    page: &UsagePage,
    view: &View,
    (format, table, picture): (cli::ReportFormat, cli::ReportTable, cli::Picture),
) -> io::Result<()> {
    let usage = &page.usage;
    match format {
        cli::ReportFormat::Text => render::write(out, usage, view),
        cli::ReportFormat::Json => json::pretty(out, usage),
        cli::ReportFormat::Csv => render::csv::write(out, usage, table),
        cli::ReportFormat::Markdown => render::markdown::write(out, usage, view),
        cli::ReportFormat::Html => render::html::write(out, page, view),
        cli::ReportFormat::Svg => render::html::picture::write(out, page, view, picture),
    }
}

fn view(
    window: &Window,
    typed: &cli::Report,
    path: &Path,
    now: Timestamp,
    screen: &Screen,
) -> View {
    let path = words::safe(&words::shell_word(&path.display().to_string()));
    View {
        paint: Paint(screen.color),
        width: width_of_report(typed, screen),
        is_wide: typed.wide,
        tz: window.zone.tz.clone(),
        now,
        command: match typed.db {
            Some(_) => format!("gua report --db {path}"),
            None => "gua report".to_owned(),
        },
        sessions: sessions(&typed.accounts),
        is_here: false,
    }
}

/// Returns the columns of the text: as typed, else what fits and can be followed.
pub(super) fn width(typed: Option<u16>, screen: &Screen) -> usize {
    let usual = screen.columns.map_or(WIDTH_IN_A_PIPE, |columns| columns.min(WIDEST));
    typed.map_or(usual, usize::from)
}

/// Returns the columns of a report: with `--wide`, as many as its tables need.
pub(super) fn width_of_report(typed: &cli::Report, screen: &Screen) -> usize {
    match (typed.width, typed.wide) {
        (None, true) => screen.columns.unwrap_or(WIDTH_FOR_MORE).min(WIDTH_FOR_MORE),
        (width, _) => self::width(width, screen),
    }
}
