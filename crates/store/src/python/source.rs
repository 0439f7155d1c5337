//! A file of the Python gua, read without changing anything beside it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use gua_core::Period;
use gua_core::units::UnixMillis;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use super::ticks::parse_time;
use crate::database;
use crate::error::{Problem, StoreError};

/// Longer intervals, in seconds, are mistakes: ten years.
const LONGEST_INTERVAL: f64 = 315_360_000.0;

/// Tables and columns that are read. Any of them may be missing in an older file, but for the first
/// columns of the samples.
const TABLES: [&str; 5] = ["host", "daemon_run", "gpu_device", "gpu_sample", "proc_sample"];

const DAY: i64 = 86_400_000;

/// A file as it is at one moment, however much its daemon records meanwhile.
#[derive(Debug)]
pub(super) struct Source {
    pub database: Connection,
    path: PathBuf,
    columns: HashMap<&'static str, HashSet<String>>,
}

/// Order in which the rows of a table are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// As they were added. This is the order of time, unless a clock was set back.
    Stored,
    Sorted,
}

/// Facts in the small tables.
#[derive(Debug)]
pub(super) struct SourceFacts {
    pub host: String,
    pub driver: Option<String>,
    /// By run, in milliseconds. An absurd one is like none.
    pub intervals: HashMap<i64, i64>,
    /// By UUID.
    pub devices: HashMap<String, Device>,
}

/// Facts about a card besides its samples.
#[derive(Debug, Clone, Default)]
pub(super) struct Device {
    pub name: Option<String>,
    pub memory_mib: Option<i64>,
}

impl Source {
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let open = || -> Result<Self, Problem> {
            match database::check_identity(path) {
                Err(Problem::PythonGua) => {}
                Err(problem) => return Err(problem),
                Ok(()) => return Err(Problem::NotPython),
            }
            let log = database::Log::find(path);
            if log == database::Log::WithoutIndex {
                // Rows in the log would be left out, and nobody would know.
                return Err(Problem::LogWithoutIndex);
            }
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_URI
                | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let database = Connection::open_with_flags(log.address(path), flags)?;
            database.execute_batch("BEGIN")?;
            let columns = TABLES.into_iter().map(|table| Ok((table, columns(&database, table)?)));
            let columns = columns.collect::<Result<_, Problem>>()?;
            Ok(Self { database, path: path.to_owned(), columns })
        };
        open().map_err(|problem| problem.at(path))
    }

    /// Names this file in an error.
    pub fn result<T, E: Into<Problem>>(&self, result: Result<T, E>) -> Result<T, StoreError> {
        result.map_err(|error| error.into().at(&self.path))
    }

    /// Returns the query for a table's rows around a window: time, run, then these columns.
    pub fn rows(
        &self,
        table: &'static str,
        names: &[&str],
        window: Option<Period>,
        order: Order,
    ) -> Result<String, Problem> {
        // Processes need their run only to be joined to their cards.
        let has_run = table == "gpu_sample" || self.joins_runs();
        let run = if has_run { self.select(table, &["run_id"]) } else { "NULL".to_owned() };
        let (time, values) = (self.select(table, &["ts"]), self.select(table, names));
        let columns = format!("{time}, {run}, {values}");
        let within = match window {
            Some(window) => format!("WHERE {}", self.condition(table, window)?),
            None => String::new(),
        };
        let order = match order {
            Order::Stored => "rowid".to_owned(),
            Order::Sorted => format!("julianday(ts), ts, {run}, rowid"),
        };
        Ok(format!("SELECT {columns} FROM {table} {within} ORDER BY {order}"))
    }

    /// Returns true if both tables of samples name the runs of their rows.
    pub fn joins_runs(&self) -> bool {
        ["gpu_sample", "proc_sample"].iter().all(|table| self.columns[table].contains("run_id"))
    }

    /// Returns the condition for rows around a window.
    ///
    /// Times are compared as text, whose day is at most one away from the day in UTC. A tick lies within a
    /// day before its time, and a session may have begun earlier.
    fn condition(&self, table: &'static str, window: Period) -> Result<String, Problem> {
        let (from, to) = (day(window.from, -3), day(window.to, 3));
        let within = format!("ts >= '{from}' AND ts < '{to}'");
        let index = format!("SELECT 1 FROM sqlite_schema WHERE name = 'idx_{table}_uuid_ts'");
        if !self.database.prepare(&index)?.exists([])? {
            return Ok(within);
        }
        // The index is by card first. It says between which rows those of the window are.
        let sql = format!(
            "WITH RECURSIVE card (uuid) AS (SELECT min(gpu_uuid) FROM {table} UNION ALL
                 SELECT (SELECT min(gpu_uuid) FROM {table} WHERE gpu_uuid > uuid) FROM card
                 WHERE uuid IS NOT NULL)
                 SELECT ifnull(min({table}.rowid), 0), ifnull(max({table}.rowid), -1)
                 FROM card CROSS JOIN {table} ON gpu_uuid = uuid WHERE {within}"
        );
        let rows = |row: &Row<'_>| Ok([row.get::<_, i64>(0)?, row.get::<_, i64>(1)?]);
        let [first, last] = self.database.query_row(&sql, [], rows)?;
        Ok(format!("rowid BETWEEN {first} AND {last} AND {within}"))
    }

    /// Returns the number of rows of a table as far as it can be told without reading them.
    pub fn row_count(&self, table: &'static str) -> Result<u64, Problem> {
        let newest = format!("SELECT ifnull(max(rowid), 0) FROM {table}");
        let newest: i64 = self.database.query_row(&newest, [], |row| row.get(0))?;
        Ok(u64::try_from(newest).unwrap_or(0))
    }

    /// Returns the times of the first and the last row that were added.
    pub fn extent(&self) -> Result<Option<Period>, Problem> {
        let times = [self.time_of("ASC")?, self.time_of("DESC")?];
        let times = || times.into_iter().flatten();
        Ok(times().min().zip(times().max()).map(|(first, last)| Period::new(first, last)))
    }

    /// Returns the time of the first row in an order of rows.
    fn time_of(&self, order: &str) -> Result<Option<UnixMillis>, Problem> {
        let first = format!("SELECT ts FROM gpu_sample ORDER BY rowid {order} LIMIT 1");
        let mut query = self.database.prepare(&first)?;
        let mut rows = query.query([])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(row.get_ref(0)?.as_str().ok().and_then(parse_time))
    }

    /// Reads the small tables.
    pub fn facts(&self) -> Result<SourceFacts, Problem> {
        let (mut host, mut driver) = (None, None);
        let newest = self.select("host", &["last_seen"]);
        self.each("host", &["hostname", "driver_version"], &newest, |row| {
            (host, driver) = (text(row, 0), text(row, 1));
        })?;
        let mut intervals = HashMap::new();
        self.each("daemon_run", &["id", "interval_seconds"], "1", |row| {
            let run = row.get_ref(0).ok().and_then(|value| value.as_i64().ok());
            intervals.extend(run.zip(interval(row)));
        })?;
        let mut devices = HashMap::new();
        self.each("gpu_device", &["gpu_uuid", "name", "memory_total_mb"], "1", |row| {
            let memory_mib = row.get_ref(2).ok().and_then(|value| value.as_i64().ok());
            let memory_mib = memory_mib.filter(|mib| (1..1 << 30).contains(mib));
            let device = Device { name: text(row, 1), memory_mib };
            devices.extend(text(row, 0).map(|uuid| (uuid, device)));
        })?;
        let host = host.unwrap_or_else(|| "unknown".to_owned());
        Ok(SourceFacts { host, driver, intervals, devices })
    }

    /// Reads a small table, if there is one.
    fn each(
        &self,
        table: &'static str,
        names: &[&str],
        order: &str,
        mut read: impl FnMut(&Row<'_>),
    ) -> Result<(), Problem> {
        if self.columns[table].is_empty() {
            return Ok(());
        }
        let columns = self.select(table, names);
        let query = format!("SELECT {columns} FROM {table} ORDER BY {order}");
        let mut query = self.database.prepare(&query)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            read(row);
        }
        Ok(())
    }

    /// Returns columns as they stand in a query: NULL for one that the file does not have.
    fn select(&self, table: &'static str, names: &[&str]) -> String {
        let known = &self.columns[table];
        let column = |name: &&str| match known.contains(*name) {
            true => format!("{table}.{name}"),
            false => "NULL".to_owned(),
        };
        names.iter().map(column).collect::<Vec<_>>().join(", ")
    }
}

fn columns(database: &Connection, table: &str) -> Result<HashSet<String>, Problem> {
    let mut columns = database.prepare(&format!("PRAGMA table_info({table})"))?;
    Ok(columns.query_map([], |row| row.get(1))?.collect::<Result<_, _>>()?)
}

fn text(row: &Row<'_>, column: usize) -> Option<String> {
    let text = row.get_ref(column).ok()?.as_str().ok()?;
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

fn interval(row: &Row<'_>) -> Option<i64> {
    #[expect(clippy::cast_precision_loss, reason = "only small ones are used")]
    let seconds = match row.get_ref(1).ok()? {
        ValueRef::Real(seconds) => seconds,
        ValueRef::Integer(seconds) => seconds as f64,
        _ => return None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "in range")]
    let millis = || ((seconds * 1000.0).round() as i64).max(1);
    (seconds > 0.0 && seconds <= LONGEST_INTERVAL).then(millis)
}

/// Returns the day so many days from a time, as times in the file begin.
fn day(at: UnixMillis, days: i64) -> String {
    let at = at.0.saturating_add(days * DAY);
    match jiff::Timestamp::from_millisecond(at) {
        Ok(time) => time.strftime("%Y-%m-%d").to_string(),
        // Nothing is left out.
        Err(_) => if at < 0 { "" } else { "~" }.to_owned(),
    }
}
