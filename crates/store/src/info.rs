//! Size and contents of the file in numbers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use rusqlite::Connection;
use serde::{Serialize, Serializer};

use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::sums::Bounds;

/// Size and contents of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreInfo {
    pub path: String,
    pub schema_version: u32,
    pub file_bytes: u64,
    /// Log beside the file: what is not in the file itself yet.
    pub log_bytes: u64,
    /// Part of the file that is used again.
    pub free_bytes: i64,
    pub hosts: Vec<String>,
    /// Kinds of rows that there are, oldest kind of history first.
    pub kept: Vec<KeptRows>,
    /// Number of rows by table.
    pub rows: BTreeMap<&'static str, i64>,
}

/// Oldest and newest row of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KeptRows {
    pub kind: &'static str,
    /// Begin of the oldest row.
    #[serde(rename = "oldest", serialize_with = "serialize_time")]
    pub oldest_ms: i64,
    /// Begin of the newest row.
    #[serde(rename = "newest", serialize_with = "serialize_time")]
    pub newest_ms: i64,
}

/// Tables whose rows are counted.
const TABLES: [&str; 20] = [
    "run",
    "card",
    "person",
    "workload",
    "process",
    "holder",
    "card_span",
    "holder_span",
    "card_hour",
    "holder_hour",
    "session",
    "sign_span",
    "sample",
    "gap",
    "event",
    "total",
    "push",
    "latest",
    "policy_state",
    "policy_log",
];

/// Kinds of rows: name, table and time. Fine rows are told apart by their age, ?1.
const KINDS: [(&str, &str, &str); 9] = [
    ("hours", "card_hour", "from_ms"),
    ("quarters", "card_span WHERE from_ms < ?1", "from_ms"),
    ("exact", "card_span WHERE from_ms >= ?1", "from_ms"),
    ("sessions", "session", "from_ms"),
    ("signs", "sign_span", "from_ms"),
    ("gaps", "gap", "from_ms"),
    ("events", "event", "at_ms"),
    ("samples", "sample", "at_ms"),
    ("policy_log", "policy_log", "at_ms"),
];

/// Serializes a time as ISO 8601 in UTC; null if no calendar has it.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn serialize_time<S: Serializer>(
    millis: &i64,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match jiff::Timestamp::from_millisecond(*millis) {
        Ok(time) => serializer.collect_str(&time),
        Err(_) => serializer.serialize_none(),
    }
}

impl Database {
    /// Returns the size of the database as it will be once its log is moved into the file.
    pub fn size_bytes(&self) -> Result<u64, StoreError> {
        let pragma =
            |name| self.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let size = || Ok(pragma("page_count")?.saturating_mul(pragma("page_size")?).unsigned_abs());
        self.result(size())
    }

    /// Reads size and contents. Somebody may write meanwhile: the size is that of the moment.
    pub fn info(&self) -> Result<StoreInfo, StoreError> {
        let read = || -> Result<StoreInfo, Problem> {
            let (file_bytes, log_bytes) = file_sizes(self.path())?;
            let db = self.connection.unchecked_transaction()?;
            let pragma = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            Ok(StoreInfo {
                path: self.path().display().to_string(),
                schema_version: db.pragma_query_value(None, "user_version", |row| row.get(0))?,
                file_bytes,
                log_bytes,
                free_bytes: pragma("freelist_count")?.saturating_mul(pragma("page_size")?),
                hosts: read_hosts(&db)?,
                kept: read_kept(&db)?,
                rows: TABLES
                    .into_iter()
                    .map(|table| Ok((table, count(&db, table)?)))
                    .collect::<Result<_, Problem>>()?,
            })
        };
        self.result(read())
    }
}

/// Returns the size of a file and that of its log, which need not exist.
pub fn file_sizes(path: &Path) -> io::Result<(u64, u64)> {
    // The log is beside the file, not beside a link to it.
    let path = fs::canonicalize(path)?;
    let file_bytes = fs::metadata(&path)?.len();
    let mut log = OsString::from(path);
    log.push("-wal");
    match fs::metadata(log) {
        Ok(log) => Ok((file_bytes, log.len())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok((file_bytes, 0)),
        Err(error) => Err(error),
    }
}

fn count(db: &Connection, table: &str) -> Result<i64, Problem> {
    Ok(db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?)
}

fn read_hosts(db: &Connection) -> Result<Vec<String>, Problem> {
    let mut query = db.prepare("SELECT name FROM host ORDER BY id")?;
    let hosts = query.query_map([], |row| row.get(0))?;
    Ok(hosts.collect::<Result<_, _>>()?)
}

fn read_kept(db: &Connection) -> Result<Vec<KeptRows>, Problem> {
    let quarters_until = Bounds::read(db)?.quarters_until;
    let mut kept = Vec::new();
    for (kind, rows, at) in KINDS {
        // Each end on its own: SQLite finds both in the key.
        let sql = format!(
            "SELECT (SELECT min({at}) FROM {rows}), (SELECT max({at}) FROM {rows}) WHERE ?1 = ?1"
        );
        let found = db.query_row(&sql, [quarters_until], |row| {
            Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?))
        })?;
        if let (Some(oldest_ms), Some(newest_ms)) = found {
            kept.push(KeptRows { kind, oldest_ms, newest_ms });
        }
    }
    Ok(kept)
}
