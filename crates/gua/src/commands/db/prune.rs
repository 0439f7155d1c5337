//! `gua db prune`: deletes what is too old, after a look at what that is.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use probe::units::UnixMillis;

use crate::calendar::nearest;
use crate::cli::DbPrune;
use crate::commands::history;
use crate::config::{Screen, Settings};
use crate::failure::Failure;
use crate::ledger::HOUR;
use crate::render::{database as render, json};
use crate::report::database::Pruned;
use crate::store::{
    self, Counts, Database, Keep, LEAP_MILLIS, MOST_AT_ONCE_MILLIS, Plan, RecorderLock, Retention,
    StoreError,
};
use crate::talk::say;

/// Rows and pages of one step: some milliseconds.
const MOST_ROWS: usize = 5_000;
const MOST_PAGES: usize = 500;

/// Long enough for a recorder that waits to have its turn.
const PAUSE: Duration = Duration::from_millis(20);

pub(super) fn run(settings: Settings, typed: &DbPrune) -> Result<u8, Failure> {
    if let Some(line) = settings.check_kept(&typed.into())? {
        say(format_args!("{line}"));
    }
    let config = &settings.with(typed.into()).settled();
    let path = history::path(typed.db.as_deref(), config)?;
    let (keep, now) = (config.retention.into(), UnixMillis::from(SystemTime::now()));
    let plan = plan(&path, &keep, now).map_err(|error| error.failure(&path))?;
    check(&plan, now, typed.yes)?;
    let pruned = prune(&path, keep, now).map_err(|error| error.failure(&path))?;
    let mut out = io::stdout().lock();
    if typed.json {
        json::pretty(&mut out, &pruned)?;
    } else {
        render::pruned(&mut out, &pruned, Screen::columns_of_stdout())?;
    }
    out.flush()?;
    Ok(0)
}

/// Only reads.
fn plan(path: &Path, keep: &Keep, now: UnixMillis) -> Result<Plan, StoreError> {
    store::plan(&store::open_to_read(path)?, keep, now)
}

/// Refuses to delete what the recorder would not delete by itself, unless told to.
fn check(plan: &Plan, now: UnixMillis, yes: bool) -> Result<(), Failure> {
    if plan.due.is_empty() {
        return Ok(());
    }
    let ahead = plan.newest.map_or(0, |newest| now.0.saturating_sub(newest.0));
    let clock = (ahead > LEAP_MILLIS).then(|| {
        let (days, now) = (ahead / (24 * HOUR), nearest(now));
        format!("The clock ({now:.0}) is {days} days ahead of the newest record: is it right?")
    });
    if yes {
        clock.iter().for_each(say);
        return Ok(());
    }
    let is_much = plan.most_hours.saturating_mul(HOUR) > MOST_AT_ONCE_MILLIS;
    let much = is_much.then(|| "It is more than two days of history.".to_owned());
    let why = much.into_iter().chain(clock).collect::<Vec<_>>().join(" ");
    if why.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage {
        what: format!("this would delete {}; rows: {}", plan.due, plan.rows),
        next: format!("{why} Nothing was deleted; --yes deletes it."),
    })
}

fn prune(path: &Path, keep: Keep, now: UnixMillis) -> Result<Pruned, StoreError> {
    // Taken before the database is open, and given back after it is closed.
    let lock = lock(path)?;
    let kept = match &lock {
        Some(lock) => store::bring_forward(path, lock)?,
        None => None,
    };
    let mut database = store::open_to_write_patiently(path)?;
    // What was brought forward is twice as large until it has been given back.
    let before_bytes = match &kept {
        Some(kept) => fs::metadata(kept)?.len(),
        None => store::size_bytes(&database)?,
    };
    let is_recorded = lock.is_none();
    let deleted = take_out(&mut database, keep, now, is_recorded)?;
    Ok(Pruned {
        schema: "gua.db_prune/1",
        path: path.display().to_string(),
        deleted_rows: deleted.total(),
        deleted_rows_by_table: deleted,
        before_bytes,
        after_bytes: store::size_bytes(&database)?,
        keep_samples_seconds: keep.samples.as_secs_f64(),
        keep_spans_seconds: keep.spans.as_secs_f64(),
        names_left: is_recorded,
        older_kept: kept.map(|kept| kept.display().to_string()),
    })
}

/// `None` where a recorder has it.
fn lock(path: &Path) -> Result<Option<RecorderLock>, StoreError> {
    match RecorderLock::take(path) {
        Ok(lock) => Ok(Some(lock)),
        Err(StoreError::Recorded) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Deletes what is too old and shrinks the file, with pauses for a recorder that writes to it.
/// Returns the numbers of rows deleted.
fn take_out(
    database: &mut Database,
    keep: Keep,
    now: UnixMillis,
    is_recorded: bool,
) -> Result<Counts, StoreError> {
    let mut retention =
        if is_recorded { Retention::beside_a_recorder(keep) } else { Retention::new(keep) };
    let pause = || {
        if is_recorded {
            thread::sleep(PAUSE);
        }
    };
    let mut deleted = Counts::default();
    loop {
        let step = retention.step(database, now, None, MOST_ROWS)?;
        deleted.extend(&step.deleted);
        if !step.more {
            break;
        }
        pause();
    }
    while store::give_back(database, MOST_PAGES)? {
        pause();
    }
    Ok(deleted)
}
