//! `gua report`: what did the cards do over a time, and whose was it?

mod answer;
mod asked;
mod output;

pub(super) use answer::{Now, answer, board, look, page};
pub(super) use asked::{bys, cost, page_sessions, sessions};
pub(super) use output::Output;

use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use probe::proc::Host;

use self::asked::{earlier, question};
use super::history;
use crate::cli;
use crate::config::{Config, Screen, Settings, Window};
use crate::failure::Failure;
use crate::ledger::Period;
use crate::render::paint::Paint;
use crate::render::usage::{self as render, View};
use crate::render::{json, words};
use crate::report::board::Page;
use crate::report::usage::{Question, Usage};
use crate::store::{History, RecorderLock, RunRow, StoreError};
use crate::talk::say;

/// Lines wider than this are hard to follow.
const WIDEST: usize = 100;
/// The width of what is nobody's screen.
const WIDTH_IN_A_PIPE: usize = 80;

pub(super) fn run(host: &Host, settings: Settings, typed: &cli::Report) -> Result<u8, Failure> {
    let now = Timestamp::now();
    let picture = picture(typed)?;
    let output = Output::new(typed.output.as_ref())?;
    let config = settings.with(typed.into()).settled();
    let page = answered(&config, typed, now)?;
    let window = Window::new(&typed.window, now)?;
    let path = history::path(typed.db.as_deref(), &config)?;
    let is_here = is_of(&page.usage, host.name().as_deref());
    let view = View { is_here, ..view(&window, typed, &path, now) };
    output.write(|mut out| write(&mut out, &page, &view, format(typed), picture))?;
    Ok(0)
}

const fn format(typed: &cli::Report) -> cli::ReportFormat {
    if typed.json { cli::ReportFormat::Json } else { typed.format }
}

/// What is printed, whatever the format.
pub(super) fn usage(
    config: &Config,
    typed: &cli::Report,
    now: Timestamp,
) -> Result<Usage, Failure> {
    Ok(answered(config, typed, now)?.usage)
}

/// The same, with what else a page or a picture shows.
fn answered(config: &Config, typed: &cli::Report, now: Timestamp) -> Result<Page, Failure> {
    let window = Window::new(&typed.window, now)?;
    let path = history::path(typed.db.as_deref(), config)?;
    let question = question(&window, typed, config);
    let before = typed.compare.map(|compare| earlier(question.window, compare));
    // Before the database is opened, as the lock wants it.
    let is_recorded = RecorderLock::is_taken(&path);
    let whole = before.map_or(question.window, |before| both(before, question.window));
    let mut history = history::open(&path, whole, answer::detail_of_python(&question))?;
    if let Some(interval) = typed.interval {
        let millis = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
        count_ticks_as(&mut history, millis);
    }
    let failed = |error: StoreError| error.failure(&path);
    let asked = Now::of(&history, now, is_recorded).map_err(failed)?;
    let is_drawn = matches!(format(typed), cli::ReportFormat::Html | cli::ReportFormat::Svg);
    let mut found = match is_drawn {
        true => page(&history, &question, asked).map_err(failed)?,
        false => Page::from(answer(&history, &question, asked).map_err(failed)?),
    };
    refuse_a_stranger(&found.usage, &question)?;
    if let Some(window) = before {
        let earlier = answer(&history, &Question { window, ..question }, asked).map_err(failed)?;
        found.usage = found.usage.beside(&earlier);
    }
    Ok(found)
}

/// Which picture is asked for, where one is.
pub(super) fn picture(typed: &cli::Report) -> Result<cli::Picture, Failure> {
    match typed.picture {
        Some(_) if typed.json || typed.format != cli::ReportFormat::Svg => Err(Failure::Usage {
            what: "--picture says what --format svg draws, and another format was asked for"
                .to_owned(),
            next: "Add --format svg; --format html has all of them on one page.".to_owned(),
        }),
        which => Ok(which.unwrap_or_default()),
    }
}

/// Whether a history is of the host of this name.
fn is_of(usage: &Usage, here: Option<&str>) -> bool {
    here.is_some() && usage.host.as_ref().map(|host| host.name.as_str()) == here
}

/// From the begin of the earlier to the end of the later.
fn both(before: Period, window: Period) -> Period {
    Period::new(before.from.min(window.from), before.to.max(window.to))
}

/// Nobody else's name is told to who asks for one that is not there.
fn refuse_a_stranger(usage: &Usage, question: &Question) -> Result<(), Failure> {
    let Some(user) = question.user.as_ref().filter(|_| usage.person.is_none()) else {
        return Ok(());
    };
    Err(Failure::Failed {
        what: format!("nobody called {user} held a card in this window"),
        next: "Names are those of `id -un`, or a uid; --since 30d looks further back.".to_owned(),
    })
}

fn count_ticks_as(history: &mut History, interval_millis: i64) {
    if history.runs().iter().any(RunRow::is_imported) {
        history.count_ticks_as(interval_millis);
    } else {
        say("--interval changes nothing: the ticks of this history measured their time");
    }
}

/// Writes an answer in one of the formats.
fn write(
    out: &mut impl Write,
    page: &Page,
    view: &View,
    format: cli::ReportFormat,
    picture: cli::Picture,
) -> io::Result<()> {
    let usage = &page.usage;
    match format {
        cli::ReportFormat::Text => render::write(out, usage, view),
        cli::ReportFormat::Json => json::pretty(out, usage),
        cli::ReportFormat::Csv => render::csv::write(out, usage),
        cli::ReportFormat::Markdown => render::markdown::write(out, usage, view),
        cli::ReportFormat::Html => render::html::write(out, page, view),
        cli::ReportFormat::Svg => render::html::picture::write(out, page, view, picture),
    }
}

fn view(window: &Window, typed: &cli::Report, path: &Path, now: Timestamp) -> View {
    let screen = Screen::of_stdout(&typed.color);
    let path = words::safe(&words::shell_word(&path.display().to_string()));
    View {
        paint: Paint(screen.color),
        width: width(typed.width, &screen),
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

/// The columns of the text: as typed, else what fits and can be followed.
pub(super) fn width(typed: Option<u16>, screen: &Screen) -> usize {
    let usual = screen.columns.map_or(WIDTH_IN_A_PIPE, |columns| columns.min(WIDEST));
    typed.map_or(usual, usize::from)
}
