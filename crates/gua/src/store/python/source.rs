//! A file of the Python gua, opened for reading without a trace.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use probe::units::Bytes;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use super::super::error::StoreError;
use super::super::identify::{Identity, beside, identify, uri};

/// Longer ones are a mistake: ten years, in seconds.
const LONGEST_INTERVAL: f64 = 315_360_000.0;

/// A file as it is at one moment, however much its daemon records meanwhile.
#[derive(Debug)]
pub(super) struct Source {
    pub database: Connection,
    gpu_columns: HashSet<String>,
    process_columns: HashSet<String>,
}

/// Which host recorded.
#[derive(Debug)]
pub(super) struct Host {
    pub name: String,
    pub driver: Option<String>,
}

/// What is known of a card besides its samples.
#[derive(Debug, Clone, Default)]
pub(super) struct Device {
    pub name: Option<String>,
    pub memory: Option<Bytes>,
}

impl Source {
    /// Opens one.
    ///
    /// # Errors
    /// When it is not the Python gua's, or cannot be read whole.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        check(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(uri(path), flags)?;
        database.execute_batch("BEGIN")?;
        let gpu_columns = columns(&database, "gpu_sample")?;
        let process_columns = columns(&database, "proc_sample")?;
        Ok(Self { database, gpu_columns, process_columns })
    }

    /// These columns of the cards' samples, as they stand in a query.
    pub fn of_gpu(&self, names: &[&str]) -> String {
        select("gpu_sample", &self.gpu_columns, names)
    }

    /// These columns of the processes' samples, as they stand in a query.
    pub fn of_process(&self, names: &[&str]) -> String {
        select("proc_sample", &self.process_columns, names)
    }

    /// Whether this version judged the cards as it recorded them.
    pub fn has_usage_state(&self) -> bool {
        self.gpu_columns.contains("usage_state")
    }

    /// The host that was seen last.
    pub fn host(&self) -> Result<Host, StoreError> {
        let unknown = Host { name: "unknown".to_owned(), driver: None };
        let columns = columns(&self.database, "host")?;
        let query = format!(
            "SELECT {} FROM host ORDER BY {} DESC LIMIT 1",
            select("host", &columns, &["hostname", "driver_version"]),
            select("host", &columns, &["last_seen"]),
        );
        let mut hosts = self.database.prepare(&query)?;
        let mut rows = hosts.query([])?;
        let Some(row) = rows.next()? else { return Ok(unknown) };
        Ok(Host { name: text(row, 0)?.unwrap_or(unknown.name), driver: text(row, 1)? })
    }

    /// The intervals of the runs, in milliseconds. One that makes no sense is as good as
    /// not written down.
    pub fn intervals(&self) -> Result<HashMap<i64, i64>, StoreError> {
        let mut intervals = HashMap::new();
        let columns = columns(&self.database, "daemon_run")?;
        if columns.is_empty() {
            return Ok(intervals);
        }
        let columns = select("daemon_run", &columns, &["id", "interval_seconds"]);
        let mut runs = self.database.prepare(&format!("SELECT {columns} FROM daemon_run"))?;
        let mut rows = runs.query([])?;
        while let Some(row) = rows.next()? {
            if let (ValueRef::Integer(id), Some(millis)) = (row.get_ref(0)?, interval(row)?) {
                intervals.insert(id, millis);
            }
        }
        Ok(intervals)
    }

    /// What is known of the cards, by UUID.
    pub fn devices(&self) -> Result<HashMap<String, Device>, StoreError> {
        let mut devices = HashMap::new();
        let columns = columns(&self.database, "gpu_device")?;
        if columns.is_empty() {
            return Ok(devices);
        }
        let columns = select("gpu_device", &columns, &["gpu_uuid", "name", "memory_total_mb"]);
        let mut query = self.database.prepare(&format!("SELECT {columns} FROM gpu_device"))?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let memory = row.get_ref(2)?.as_i64().ok().filter(|mib| *mib > 0);
            let memory = memory.and_then(|mib| u64::try_from(mib).ok()?.checked_mul(1 << 20));
            if let Some(uuid) = text(row, 0)? {
                devices.insert(uuid, Device { name: text(row, 1)?, memory: memory.map(Bytes) });
            }
        }
        Ok(devices)
    }
}

/// Refuses what is not the Python gua's, and what could be read only in part.
fn check(path: &Path) -> Result<(), StoreError> {
    let error = match identify(path) {
        Identity::PythonGua => None,
        Identity::Ours { .. } => Some(StoreError::AlreadyOurs),
        Identity::Missing => Some(StoreError::Missing),
        Identity::Empty => Some(StoreError::NotOurs("it is an empty file")),
        Identity::OtherSqlite => Some(StoreError::NotOurs("it is a database of another program")),
        Identity::NotSqlite => Some(StoreError::NotOurs("it is not a database")),
        Identity::Directory => Some(StoreError::NotOurs("it is a folder")),
        Identity::NotAFile => Some(StoreError::NotOurs("it is not a file")),
        Identity::Damaged(error) => Some(StoreError::Damaged(error.to_string())),
        Identity::Unreadable(error) => Some(StoreError::Io(error)),
    };
    match error {
        Some(error) => Err(error),
        None if log_lacks_index(path) => Err(StoreError::LogWithoutIndex),
        None => Ok(()),
    }
}

/// Rows in such a log would be passed over, and nobody would know.
fn log_lacks_index(path: &Path) -> bool {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let has = |suffix| fs::metadata(beside(&path, suffix)).is_ok_and(|found| found.len() > 0);
    has("-wal") && !has("-shm")
}

fn columns(database: &Connection, table: &str) -> Result<HashSet<String>, StoreError> {
    let mut columns = database.prepare(&format!("PRAGMA table_info({table})"))?;
    Ok(columns.query_map([], |row| row.get(1))?.collect::<Result<_, _>>()?)
}

/// What a version did not have is not known.
fn select(table: &str, present: &HashSet<String>, names: &[&str]) -> String {
    let column = |name: &&str| match present.contains(*name) {
        true => format!("{table}.{name}"),
        false => "NULL".to_owned(),
    };
    names.iter().map(column).collect::<Vec<_>>().join(", ")
}

fn text(row: &Row<'_>, column: usize) -> Result<Option<String>, StoreError> {
    let text = row.get_ref(column)?.as_str().ok();
    Ok(text.filter(|text| !text.is_empty()).map(str::to_owned))
}

fn interval(row: &Row<'_>) -> Result<Option<i64>, StoreError> {
    #[expect(clippy::cast_precision_loss, reason = "those that make sense are exact")]
    let seconds = match row.get_ref(1)? {
        ValueRef::Real(seconds) => seconds,
        ValueRef::Integer(seconds) => seconds as f64,
        _ => return Ok(None),
    };
    #[expect(clippy::cast_possible_truncation, reason = "checked just here")]
    let millis = (seconds > 0.0 && seconds <= LONGEST_INTERVAL)
        .then(|| ((seconds * 1000.0).round() as i64).max(1));
    Ok(millis)
}
