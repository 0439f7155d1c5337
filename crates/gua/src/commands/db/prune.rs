//! `gua db prune`: sums up and deletes rows that are too old, unless that is much or the clock may be
//! wrong.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use gua_core::period::HOUR;
use gua_core::units::UnixMillis;
use gua_store::{Database, Retention, StoreError};

use crate::calendar::nearest;
use crate::cli::DbPrune;
use crate::commands::history;
use crate::config::{self, Settings};
use crate::context::Context;
use crate::failure::Failure;
use crate::render::{database as render, json};
use crate::report::database::{KeptSeconds, PrunePlan, PruneResult};

const DAY_MS: i64 = 24 * HOUR;

/// History of one kind that is deleted without being asked to: as much as a recorder may save up.
const MOST_MS: i64 = 2 * DAY_MS;

/// Time from the newest record to now from which on the clock may be wrong.
const LEAP_MS: i64 = DAY_MS;

/// Rows of one round: some milliseconds.
const MOST_ROWS: usize = 2_000;

/// Time between two rounds, so that a recorder that waits can write.
const PAUSE: Duration = Duration::from_millis(20);

/// Tables whose rows are as old as their begin. A session or a run may have begun long before its end.
const AGED: [&str; 6] = ["card_hour", "card_span", "event", "exact", "gap", "sample"];

pub(super) fn run(
    settings: Settings,
    typed: &DbPrune,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    if let Some(line) = settings.check_kept(&typed.into())? {
        context.say(line);
    }
    let config = &settings.with(typed.into()).settled();
    let path = history::path(typed.db.as_deref(), config)?;
    let (retention, now) = (config.retention.into(), context.clock.unix_millis());
    let plan = plan(&path, &retention, now)?;
    if typed.dry_run {
        return print(typed, &plan, context, |out, columns| render::plan(out, &plan, columns));
    }
    check(&plan, typed.yes, context)?;
    let pruned = prune(&path, config.retention, now)?;
    print(typed, &pruned, context, |out, columns| render::pruned(out, &pruned, columns))
}

fn print<T: serde::Serialize>(
    typed: &DbPrune,
    answer: &T,
    context: &mut Context<'_>,
    write: impl FnOnce(&mut &mut dyn Write, Option<usize>) -> io::Result<()>,
) -> Result<u8, Failure> {
    let columns = context.columns();
    match typed.json {
        true => json::pretty(&mut context.out, answer)?,
        false => write(&mut context.out, columns)?,
    }
    context.out.flush()?;
    Ok(0)
}

/// Finds the rows that are too old. Only reads.
fn plan(path: &Path, retention: &Retention, now: UnixMillis) -> Result<PrunePlan, StoreError> {
    let database = Database::open(path)?;
    let due = database.due_rows(retention, now)?;
    let newest = database.runs()?.iter().map(|run| run.until.0).max();
    let aged = AGED.iter().filter_map(|table| due.get(table));
    let longest_ms = aged.map(|due| due.newest_ms.saturating_sub(due.oldest_ms)).max();
    let ahead_ms = newest.map_or(0, |newest| now.0.saturating_sub(newest));
    let may_be_wrong = !due.is_empty() && ahead_ms > LEAP_MS;
    Ok(PrunePlan {
        schema: "gua.db_prune_plan/1",
        path: path.display().to_string(),
        now: nearest(now),
        is_much: longest_ms > Some(MOST_MS),
        clock_days_ahead: may_be_wrong.then_some(ahead_ms / DAY_MS),
        due,
    })
}

/// Refuses what a recorder would not do by itself, unless `--yes` was typed.
fn check(plan: &PrunePlan, yes: bool, context: &mut Context<'_>) -> Result<(), Failure> {
    let clock = render::clock_warning(plan);
    if yes {
        clock.iter().for_each(|clock| context.say(clock));
        return Ok(());
    }
    let warnings: Vec<_> = render::much_warning(plan).into_iter().chain(clock).collect();
    if warnings.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage {
        what: format!("this would {}", render::due(&plan.due)),
        next: format!("{} Nothing was deleted; --yes deletes it.", warnings.join(" ")),
    })
}

/// Deletes rows that are too old and shrinks the file, with pauses for a recorder that writes to it.
fn prune(path: &Path, kept: config::Retention, now: UnixMillis) -> Result<PruneResult, StoreError> {
    let retention = kept.into();
    let mut database = Database::open_to_prune(path)?;
    let before_bytes = database.size_bytes()?;
    let is_recorded = !database.is_exclusive();
    let mut rows = BTreeMap::<_, usize>::new();
    loop {
        let pruned = database.prune_now(&retention, now, MOST_ROWS)?;
        for (table, count) in &pruned.rows {
            *rows.entry(*table).or_default() += count;
        }
        if !pruned.is_partial {
            break;
        }
        if is_recorded {
            thread::sleep(PAUSE);
        }
    }
    let config::Retention { exact, quarters, hours, samples } = kept;
    Ok(PruneResult {
        schema: "gua.db_prune/2",
        path: path.display().to_string(),
        deleted_rows: rows.values().sum(),
        deleted_rows_by_table: rows,
        before_bytes,
        after_bytes: database.size_bytes()?,
        kept: KeptSeconds::new(exact, quarters, hours, samples),
        are_names_left: is_recorded,
    })
}
