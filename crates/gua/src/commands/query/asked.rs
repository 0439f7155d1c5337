//! What is meant: the typed options, settled before anything is read.

use std::path::PathBuf;
use std::time::Duration;

use crate::cli::{self, FormatWord, Preset};
use crate::destination;
use crate::failure::Failure;
use crate::line_file::{Begins, Refused, Rotation, Terms};
use crate::render::query::monitor::{DMON, Monitor, PMON};
use crate::render::query::{Layout, Printer, Shown};
use crate::report::query::{Kinds, Question, WrongFields};

/// What is asked of cards where nobody said.
const CARD_FIELDS: [&str; 10] = [
    "timestamp",
    "card",
    "name",
    "state",
    "utilization.gpu",
    "memory.used",
    "memory.total",
    "temperature.gpu",
    "power.draw",
    "holders",
];

/// What is asked of holders where nobody said.
const HOLDER_FIELDS: [&str; 8] =
    ["timestamp", "card", "pid", "user", "program", "used_memory", "sm", "kind"];

/// What to ask, how to show it, how often and where to.
#[derive(Debug)]
pub(super) struct Asked {
    pub question: Question,
    pub layout: Layout,
    pub shown: Shown,
    pub every: Duration,
    pub until: Until,
    pub file: Option<(PathBuf, Terms)>,
}

/// When it ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    Count(u64),
    For(Duration),
    Never,
}

impl Asked {
    pub fn new(typed: &cli::Query) -> Result<Self, Failure> {
        let mut question = question(typed).map_err(|wrong| wrong_fields(&wrong))?;
        let until = until(typed);
        let file = file(typed)?;
        let is_single = until == Until::Count(1) && file.is_none();
        let (layout, shown) = format(typed, is_single)?;
        if matches!(layout, Layout::Monitor(_)) {
            question = question.with_free_cards();
        }
        let asked = Self { question, layout, shown, every: every(typed), until, file };
        asked.check_file()?;
        Ok(asked)
    }

    pub fn printer(&self) -> Printer {
        Printer::new(&self.question, self.layout, self.shown.clone())
    }

    /// Whether so many looks were all, when the next would be so long after the first.
    pub fn is_enough(&self, looks: u64, next: Duration) -> bool {
        match self.until {
            Until::Count(count) => looks >= count,
            Until::For(time) => next >= time,
            Until::Never => false,
        }
    }

    fn check_file(&self) -> Result<(), Failure> {
        let Some((path, terms)) = &self.file else { return Ok(()) };
        let printer = self.printer();
        terms.check(path, |line| printer.may_follow(line)).map_err(|refused| not_that(&refused))?;
        destination::check(path).map_err(|refused| Failure::Usage {
            what: refused.to_string(),
            next: "Name a file in a folder that you may write to.".to_owned(),
        })
    }
}

fn question(typed: &cli::Query) -> Result<Question, WrongFields> {
    match (&typed.query_compute_apps, typed.preset) {
        (Some(fields), _) => return Question::of_holders(&timed(fields, typed), Kinds::Compute),
        (_, Some(Preset::Dmon)) => return Question::of_cards(&DMON.fields()),
        (_, Some(Preset::Pmon)) => return Question::of_holders(&PMON.fields(), Kinds::All),
        (None, None) => {}
    }
    let fields = typed.fields.as_deref().or(typed.query_gpu.as_deref());
    match (fields.map(|fields| timed(fields, typed)), typed.apps) {
        (Some(fields), false) => Question::of_cards(&fields),
        (Some(fields), true) => Question::of_holders(&fields, Kinds::All),
        (None, false) => Question::of_cards(&CARD_FIELDS),
        (None, true) => Question::of_holders(&HOLDER_FIELDS, Kinds::All),
    }
}

/// With the time before them, where that was asked for and is not among them.
fn timed<'a>(fields: &'a [String], typed: &cli::Query) -> Vec<&'a str> {
    const TIME: &str = "timestamp";
    let fields = fields.iter().map(String::as_str);
    let is_missing = typed.timestamp && !fields.clone().any(|field| field.trim() == TIME);
    is_missing.then_some(TIME).into_iter().chain(fields).collect()
}

fn wrong_fields(wrong: &WrongFields) -> Failure {
    let next = format!("{}; `gua query --list-fields` explains all.", wrong.next_step());
    Failure::Usage { what: wrong.to_string(), next }
}

fn every(typed: &cli::Query) -> Duration {
    typed.loop_seconds.or(typed.loop_ms).or(typed.every).unwrap_or(Duration::from_secs(1))
}

/// Who names a beat, or a preset that has one, wants more than one look.
fn until(typed: &cli::Query) -> Until {
    let has_beat = typed.loop_seconds.or(typed.loop_ms).or(typed.every).is_some();
    match (typed.count, typed.for_time) {
        (Some(count), _) => Until::Count(count),
        (_, Some(time)) => Until::For(time),
        _ if has_beat || typed.preset.is_some() => Until::Never,
        _ => Until::Count(1),
    }
}

fn format(typed: &cli::Query, is_single: bool) -> Result<(Layout, Shown), Failure> {
    let has = |word| typed.format.contains(&word);
    let noheader = typed.noheader || has(FormatWord::Noheader);
    let nounits = typed.nounits || has(FormatWord::Nounits);
    let json = typed.json || has(FormatWord::Json);
    let layout = match (json, has(FormatWord::Csv), has(FormatWord::Table)) {
        (true, false, false) if noheader || nounits => {
            return Err(bad_format("JSON has no header, and its units are in the names"));
        }
        (true, false, false) => Layout::Json { pretty: is_single },
        (false, true, false) => Layout::Csv,
        (false, false, true) => Layout::Table,
        (false, false, false) => typed.preset.map_or(Layout::Csv, of_preset),
        _ => return Err(bad_format("there is one format at a time")),
    };
    Ok((layout, Shown { header: !noheader, units: !nounits, zone: typed.tz.zone.clone() }))
}

const fn of_preset(preset: Preset) -> Layout {
    const fn monitor(preset: Preset) -> &'static Monitor {
        match preset {
            Preset::Dmon => &DMON,
            Preset::Pmon => &PMON,
        }
    }
    Layout::Monitor(monitor(preset))
}

fn bad_format(what: &str) -> Failure {
    Failure::Usage {
        what: what.to_owned(),
        next: "Choose csv or table, with noheader and nounits as you like, or json alone."
            .to_owned(),
    }
}

/// Returns the file that the lines are written to as well; they go to stdout anyway.
fn file(typed: &cli::Query) -> Result<Option<(PathBuf, Terms)>, Failure> {
    match &typed.output {
        Some(cli::Output::File(path)) => Ok(Some((path.clone(), terms(typed)))),
        Some(cli::Output::Stdout) if typed.append || typed.force || typed.rotate.is_some() => {
            Err(Failure::Usage {
                what: "--append, --force and --rotate need a file, and `-o -` is stdout".to_owned(),
                next: "Name a file with -o FILE, or leave them out.".to_owned(),
            })
        }
        Some(cli::Output::Stdout) | None => Ok(None),
    }
}

fn terms(typed: &cli::Query) -> Terms {
    Terms {
        begins: match (typed.append, typed.force) {
            (true, _) => Begins::Appended,
            (false, true) => Begins::Replaced,
            (false, false) => Begins::Anew,
        },
        rotation: typed.rotate.map(|bytes| Rotation { bytes, keep: typed.keep }),
    }
}

fn not_that(refused: &Refused) -> Failure {
    let next = match refused {
        Refused::Exists(_) => {
            "Add to it with --append, replace it with --force, or name another file."
        }
        Refused::OtherKind { .. } => {
            "Ask for the same fields in the same format and with a header, or name another file."
        }
        Refused::NotOrdinary(_) => "Leave --rotate out, or name another file.",
        Refused::Unreadable { .. } => "Name a file that you may read and write.",
    };
    Failure::Usage { what: refused.to_string(), next: next.to_owned() }
}
