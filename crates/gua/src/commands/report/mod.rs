//! `gua report`: what did the cards do over a time, and whose was it?

mod answer;
mod asked;

pub(super) use answer::{Now, answer};
pub(super) use asked::{bys, cost, page_sessions, sessions};

use std::io::{self, BufWriter, Write};
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
use crate::report::usage::{Question, Usage};
use crate::store::{History, RecorderLock, RunRow, StoreError};
use crate::talk::say;

/// Lines wider than this are hard to follow.
const WIDEST: usize = 100;
/// The width of what is nobody's screen.
const WIDTH_IN_A_PIPE: usize = 80;

pub(super) fn run(host: &Host, settings: Settings, typed: &cli::Report) -> Result<u8, Failure> {
    let now = Timestamp::now();
    let config = settings.with(typed.into()).settled();
    let usage = usage(&config, typed, now)?;
    let window = Window::new(&typed.window, now)?;
    let path = history::path(typed.db.as_deref(), &config)?;
    let format = if typed.json { cli::Format::Json } else { typed.format };
    let is_here = is_of(&usage, host.name().as_deref());
    show(&usage, &View { is_here, ..view(&window, typed, &path, now) }, format)?;
    Ok(0)
}

/// What is printed, whatever the format.
pub(super) fn usage(
    config: &Config,
    typed: &cli::Report,
    now: Timestamp,
) -> Result<Usage, Failure> {
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
    let answered = |question: &Question| answer(&history, question, asked).map_err(failed);
    let usage = answered(&question)?;
    refuse_a_stranger(&usage, &question)?;
    match before {
        Some(window) => Ok(usage.beside(&answered(&Question { window, ..question })?)),
        None => Ok(usage),
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

/// Prints an answer.
pub(super) fn show(usage: &Usage, view: &View, format: cli::Format) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match format {
        cli::Format::Text => render::write(&mut out, usage, view)?,
        cli::Format::Json => json::pretty(&mut out, usage)?,
        cli::Format::Csv => render::csv::write(&mut out, usage)?,
        cli::Format::Markdown => render::markdown::write(&mut out, usage, view)?,
    }
    out.flush()
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
