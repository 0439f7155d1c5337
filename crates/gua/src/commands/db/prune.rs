//! `gua db prune`: takes out what is too old.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::cli::DbPrune;
use crate::commands::history;
use crate::config::{Screen, Settings};
use crate::failure::Failure;
use crate::render::{database as render, json};
use crate::report::database::Pruned;
use crate::store::{self, Database, Keep, RecorderLock, Retention, StoreError};
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
    let pruned = prune(&path, config.retention.into()).map_err(|error| error.failure(&path))?;
    let mut out = io::stdout().lock();
    if typed.json {
        json::pretty(&mut out, &pruned)?;
    } else {
        render::pruned(&mut out, &pruned, Screen::columns_of_stdout())?;
    }
    out.flush()?;
    Ok(0)
}

fn prune(path: &Path, keep: Keep) -> Result<Pruned, StoreError> {
    store::check_identity(path)?;
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
    let deleted_rows = take_out(&mut database, keep, is_recorded)?;
    Ok(Pruned {
        schema: "gua.db_prune/1",
        path: path.display().to_string(),
        deleted_rows,
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

/// Takes out what is too old and gives back its room, with pauses for a recorder beside us; tells
/// how many rows went.
fn take_out(database: &mut Database, keep: Keep, is_recorded: bool) -> Result<usize, StoreError> {
    let mut retention =
        if is_recorded { Retention::beside_a_recorder(keep) } else { Retention::new(keep) };
    let pause = || {
        if is_recorded {
            thread::sleep(PAUSE);
        }
    };
    let now = SystemTime::now().into();
    let mut deleted_rows = 0;
    loop {
        let step = retention.step(database, now, MOST_ROWS)?;
        deleted_rows += step.deleted;
        if !step.more {
            break;
        }
        pause();
    }
    while store::give_back(database, MOST_PAGES)? {
        pause();
    }
    Ok(deleted_rows)
}
