//! `gua demo`: the report on a machine that does not exist.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use probe::units::UnixMillis;

use super::report;
use crate::calendar::nearest;
use crate::classify::Thresholds;
use crate::cli;
use crate::config::{self, Cost, Screen};
use crate::demo::{self, DemoError, Machine, Plan};
use crate::failure::Failure;
use crate::ledger::Period;
use crate::render::paint::Paint;
use crate::render::usage::{self as render, View};
use crate::render::{json, words};
use crate::report::accounts::By;
use crate::report::usage::{Question, Usage};
use crate::store::{self, History, RecorderLock, StoreError};
use crate::talk::say;

/// Ticks of a demo that does not say.
const TICKS: u32 = 30;

/// What is called the path of a history that is in no file.
const NO_FILE: &str = "(temporary)";

pub(super) fn run(typed: &cli::Demo) -> Result<u8, Failure> {
    let at = end(typed)?;
    let plan = plan(typed, at)?;
    let made = match &typed.db {
        Some(path) => kept(path, &plan)?,
        None => passing(&plan)?,
    };
    say(next_step(typed, &plan));
    let path = typed.db.as_deref().unwrap_or(Path::new(NO_FILE));
    let question = question(typed, plan.period());
    // Nobody lives there, so who asks is nobody of theirs.
    let now = report::Now { at: plan.end, is_recorded: Some(false), is_live: true, uid: u32::MAX };
    let usage =
        report::answer(&made.history, &question, now).map_err(|error| error.failure(path))?;
    show(&usage, typed, at)?;
    Ok(0)
}

fn show(usage: &Usage, typed: &cli::Demo, at: Timestamp) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json {
        json::pretty(&mut out, usage)?;
    } else {
        render::write(&mut out, usage, &view(typed, at))?;
    }
    out.flush()
}

fn end(typed: &cli::Demo) -> Result<Timestamp, Failure> {
    let now = Timestamp::now();
    let at = typed.at.map_or(Some(now), |at| at.resolve(now, &typed.tz.tz));
    at.ok_or_else(|| Failure::Usage {
        what: "--at is a time that no clock shows".to_owned(),
        next: "Times from 1970 to the year 9999 can be played.".to_owned(),
    })
}

fn plan(typed: &cli::Demo, at: Timestamp) -> Result<Plan, Failure> {
    let (machine, usual) = match typed.days {
        Some(_) => (Machine::Lab, Duration::from_secs(30)),
        None => (Machine::Cycle, Duration::from_secs(1)),
    };
    let interval = typed.interval.unwrap_or(usual);
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

/// A history that was made. It ends before the lock: closing any handle of a file lets go
/// of SQLite's locks on it.
struct Made {
    history: History,
    _lock: Option<RecorderLock>,
}

/// Makes it in a file that stays.
fn kept(path: &Path, plan: &Plan) -> Result<Made, Failure> {
    if path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    store::create(path).map_err(|error| match error {
        StoreError::Io(error) if error.kind() == io::ErrorKind::AlreadyExists => exists(path),
        other => other.failure(path),
    })?;
    record(path, plan).map_err(|error| {
        remove(path);
        failure(&error, path)
    })
}

fn record(path: &Path, plan: &Plan) -> Result<Made, DemoError> {
    let lock = RecorderLock::take(path)?;
    let history = History::of(demo::make(store::open_to_write(path)?, plan)?)?;
    Ok(Made { history, _lock: Some(lock) })
}

/// Half a history would tell half the truth.
fn remove(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut file = path.to_owned().into_os_string();
        file.push(suffix);
        // Where it cannot be removed, the failure that is told says why.
        let _ = fs::remove_file(file);
    }
}

/// Makes it where nobody finds it.
fn passing(plan: &Plan) -> Result<Made, Failure> {
    let made = || Ok(History::of(demo::make(store::temporary()?, plan)?)?);
    let history = made().map_err(|error: DemoError| failure(&error, Path::new(NO_FILE)))?;
    Ok(Made { history, _lock: None })
}

fn exists(path: &Path) -> Failure {
    Failure::Usage {
        what: format!("{} is there already, and a demo begins anew", path.display()),
        next: "Name another --db, or leave it out: `gua demo` then keeps nothing. \
               `gua report --db PATH` reports on what is there."
            .to_owned(),
    }
}

fn failure(error: &DemoError, path: &Path) -> Failure {
    match error {
        DemoError::Store(error) => error.failure(path),
        DemoError::Record(_) | DemoError::Machine(_) => Failure::Failed {
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

fn question(typed: &cli::Demo, window: Period) -> Question {
    Question {
        window,
        tz: typed.tz.tz.clone(),
        tz_name: typed.tz.name.clone(),
        thresholds: Thresholds::default(),
        bys: report::bys(&typed.accounts, By::User),
        user: None,
        context: config::Thresholds::default().context,
        identities: typed.json,
        page_sessions: if typed.json { None } else { report::page_sessions(&typed.accounts) },
        cost: report::cost(&typed.accounts, Cost::default()),
    }
}

fn view(typed: &cli::Demo, now: Timestamp) -> View {
    let screen = Screen::of_stdout(&typed.color);
    View {
        paint: Paint(screen.color),
        width: report::width(typed.width, &screen),
        tz: typed.tz.tz.clone(),
        now,
        command: "gua report".to_owned(),
        sessions: report::sessions(&typed.accounts),
        is_here: false,
    }
}
