//! `gua report`: what did the cards do over a time, and whose was it?

use std::io::{self, BufWriter, Write};
use std::path::Path;

use jiff::Timestamp;
use probe::units::UnixMillis;

use super::history::{self, Detail};
use crate::classify::{Lines, Thresholds};
use crate::cli;
use crate::config::{Config, Screen, Settings, Window};
use crate::failure::Failure;
use crate::ledger::Period;
use crate::render::paint::Paint;
use crate::render::usage::{self as render, View};
use crate::render::{json, words};
use crate::report::usage::{Facts, Question, Tally, Usage};
use crate::store::{History, RecorderLock, RunRow, StoreError};
use crate::talk::say;

/// Lines wider than this are hard to follow.
const WIDEST: usize = 100;
/// The width of what is nobody's screen.
const WIDTH_IN_A_PIPE: usize = 80;

pub(super) fn run(settings: Settings, typed: &cli::Report) -> Result<u8, Failure> {
    let now = Timestamp::now();
    let config = settings.with(typed.into()).settled();
    let usage = usage(&config, typed, now)?;
    let window = Window::new(&typed.window, now)?;
    let path = history::path(typed.db.as_deref(), &config)?;
    let format = if typed.json { cli::Format::Json } else { typed.format };
    show(&usage, &view(&window, typed, &path, now), format)?;
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
    let question = question(&window, config);
    // Before the database is opened, as the lock wants it.
    let is_recorded = RecorderLock::is_taken(&path);
    let mut history = history::open(&path, question.window, detail_of_python(&question))?;
    if let Some(interval) = typed.interval {
        let millis = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
        count_ticks_as(&mut history, millis);
    }
    answer(&history, question, UnixMillis(now.as_millisecond()), is_recorded)
        .map_err(|error| error.failure(&path))
}

fn count_ticks_as(history: &mut History, interval_millis: i64) {
    if history.runs().iter().any(RunRow::is_imported) {
        history.count_ticks_as(interval_millis);
    } else {
        say("--interval changes nothing: the ticks of this history measured their time");
    }
}

fn question(window: &Window, config: &Config) -> Question {
    let moment = |at: Timestamp| UnixMillis(at.as_millisecond());
    Question {
        window: Period::new(moment(window.from), moment(window.until)),
        tz: window.zone.tz.clone(),
        tz_name: window.zone.name.clone(),
        thresholds: config.thresholds.into(),
    }
}

/// The Python gua judges by lines that are our usual ones.
fn detail_of_python(question: &Question) -> Detail {
    let is_usual = question.thresholds == Thresholds::default();
    if is_usual { Detail::Spans } else { Detail::Samples }
}

/// By the recorder's own lines the spans are judged already, and go further back.
fn detail(history: &History, question: &Question) -> Detail {
    let lines = Lines::from(&question.thresholds);
    let is_judged = history.is_judged_by(question.window, lines);
    if is_judged { Detail::Spans } else { Detail::Samples }
}

/// Answers from what was recorded.
pub(super) fn answer(
    history: &History,
    question: Question,
    now: UnixMillis,
    is_recorded: bool,
) -> Result<Usage, StoreError> {
    let window = question.window;
    let detail = detail(history, &question);
    let mut tally = Tally::new(question, &history.identities()?);
    if detail == Detail::Spans {
        history.card_spans(window, |span| tally.add_card(&span))?;
        history.owner_spans(window, |span| tally.add_owner(&span))?;
    } else {
        tally.judge_again();
        history.samples(window, |sample| tally.add_sample(&sample))?;
    }
    let facts = Facts {
        runs: history.runs().to_vec(),
        cards: history.cards()?,
        observed: history.observed(window)?,
        events: history.events(window)?,
        extent: history.extent()?,
        newest_tick: history.newest_tick()?,
        is_recorded,
        now,
    };
    Ok(tally.finish(&facts))
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
    }
}

/// The columns of the text: as typed, else what fits and can be followed.
pub(super) fn width(typed: Option<u16>, screen: &Screen) -> usize {
    let usual = screen.columns.map_or(WIDTH_IN_A_PIPE, |columns| columns.min(WIDEST));
    typed.map_or(usual, usize::from)
}
