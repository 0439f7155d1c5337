//! A file into a database that is open.

use std::path::Path;

use probe::units::UnixMillis;
use rusqlite::{Connection, params};

use super::super::error::StoreError;
use super::super::history::History;
use super::super::writer::immediate;
use super::super::{database, run};
use super::recording::{RECORDER, Recording};
use super::rows::Texts;
use super::source::Source;
use super::survey::Plan;
use super::tally::{Imported, Refused};
use super::ticks;
use crate::ledger::{Kind, Period};

/// Ticks between two calls that tell how far it is.
const TICKS_A_CALL: u64 = 2048;

/// Pages that an import keeps in memory, in KiB: many rows are written at once.
const CACHE_KIB: i64 = 32 * 1024;

/// How far an import is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    pub rows: u64,
    pub of: u64,
}

/// Which part of a file is wanted.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    window: Option<Period>,
    samples: bool,
}

/// Takes a file over, whole or not at all. Only who holds the recorder's lock of the
/// database may do so, where it has a file.
///
/// # Errors
/// [`StoreError::Source`] when the file cannot be read, [`StoreError::Overlap`] when some of
/// its time is recorded already, others when the database cannot be written.
pub fn import(
    file: &Path,
    into: &mut Connection,
    progress: &mut dyn FnMut(Progress),
) -> Result<Imported, StoreError> {
    let source = Source::open(file).map_err(StoreError::of_source)?;
    into.pragma_update(None, "cache_size", -CACHE_KIB)?;
    let transaction = immediate(into)?;
    run::settle(&transaction)?;
    let wanted = Wanted { window: None, samples: true };
    let imported = transfer(&source, &transaction, wanted, progress)?;
    note(&transaction, file, &imported)?;
    transaction.commit()?;
    Ok(imported)
}

/// What a file tells of a window, as if it were ours. The file stays as it is. Single
/// samples are kept only where they are asked for.
///
/// # Errors
/// When it cannot be read.
pub fn history(file: &Path, window: Period, samples: bool) -> Result<History, StoreError> {
    let source = Source::open(file)?;
    let mut into = database::in_memory()?;
    let transaction = into.transaction()?;
    let wanted = Wanted { window: Some(window), samples };
    transfer(&source, &transaction, wanted, &mut |_| ())?;
    transaction.commit()?;
    History::of(into)
}

fn transfer(
    source: &Source,
    into: &Connection,
    wanted: Wanted,
    progress: &mut dyn FnMut(Progress),
) -> Result<Imported, StoreError> {
    let plan = Plan::of(source, wanted.window).map_err(StoreError::of_source)?;
    let of = plan.gpu.rows + plan.process.rows;
    let mut refused = Refused {
        without_time: plan.gpu.without_time + plan.process.without_time,
        ..Refused::default()
    };
    let after_run = last_run(into)?;
    let recorded = recorded(into)?;
    let mut recording = Recording::begin(into, source, recorded, wanted.samples)?;
    let mut told = 0;
    ticks::each(source, &plan, &mut Texts::default(), &mut refused, |tick, texts| {
        recording.tick(tick, texts)?;
        told += 1;
        if told % TICKS_A_CALL == 0 {
            progress(Progress { rows: recording.tally.rows(), of });
        }
        Ok(())
    })?;
    let tally = recording.end()?;
    tally.verify(into, after_run, wanted.samples)?;
    // Every row has been taken over or counted among those that were not.
    if tally.rows() + refused.all() != of {
        return Err(StoreError::NotWhole);
    }
    Ok(tally.imported(refused))
}

fn last_run(database: &Connection) -> Result<i64, StoreError> {
    Ok(database.query_row("SELECT ifnull(max(id), 0) FROM run", [], |row| row.get(0))?)
}

/// The times in which somebody has recorded, in order, those that touch as one.
fn recorded(database: &Connection) -> Result<Vec<Period>, StoreError> {
    let mut query = database
        .prepare("SELECT from_ms, from_ms + ifnull(length_ms, 0) FROM observed ORDER BY from_ms")?;
    let mut rows = query.query([])?;
    let mut recorded: Vec<Period> = Vec::new();
    while let Some(row) = rows.next()? {
        let next = Period::new(UnixMillis(row.get(0)?), UnixMillis(row.get(1)?));
        match recorded.last_mut().filter(|last| last.to >= next.from) {
            Some(last) => last.to = last.to.max(next.to),
            None => recorded.push(next),
        }
    }
    Ok(recorded)
}

/// It is told with the time that it brought.
fn note(database: &Connection, file: &Path, imported: &Imported) -> Result<(), StoreError> {
    let Some(extent) = imported.extent else { return Ok(()) };
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let rows = imported.gpu_rows;
    let mut detail = format!("{rows} samples of {RECORDER} taken over from {name}");
    if imported.refused.all() > 0 {
        detail.push_str(&format!("; {} rows made no sense", imported.refused.all()));
    }
    database.execute(
        "INSERT INTO event (at_ms, until_ms, kind, detail) VALUES (?1, ?2, ?3, ?4)",
        params![extent.from.0, extent.to.0, Kind::Import.slug(), detail],
    )?;
    Ok(())
}
