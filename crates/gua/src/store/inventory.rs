//! What is in a database, in numbers.

use std::path::Path;

use probe::units::UnixMillis;
use rusqlite::Connection;

use super::SCHEMA_VERSION;
use super::error::StoreError;
use super::history::{CardRow, History, RunRow};
use crate::ledger::{Identity, Period};

/// The tables whose rows are counted.
const TABLES: [&str; 14] = [
    "run",
    "card",
    "identity",
    "workload",
    "process",
    "holder",
    "tick",
    "sample",
    "observed",
    "card_span",
    "owner_span",
    "holder_span",
    "unseen_span",
    "event",
];

/// All that is told of a database without judging it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    pub schema_version: u32,
    pub hosts: Vec<String>,
    /// From the first to the last recorded moment.
    pub extent: Option<Period>,
    pub runs: Vec<RunRow>,
    pub cards: Vec<CardRow>,
    pub identities: Vec<Identity>,
    pub rows: Vec<(&'static str, u64)>,
    /// The oldest that is kept.
    pub samples_from: Option<UnixMillis>,
    pub spans_from: Option<UnixMillis>,
    pub page_bytes: u64,
    pub pages: u64,
    /// Of these, to be used again.
    pub free_pages: u64,
}

/// Counts what is in the database at a path.
///
/// # Errors
/// When it is not ours or cannot be read.
pub fn inventory(path: &Path) -> Result<Inventory, StoreError> {
    let history = History::open(path)?;
    let database = history.connection();
    Ok(Inventory {
        schema_version: u32::try_from(pragma(database, "user_version")?).unwrap_or(SCHEMA_VERSION),
        hosts: hosts(database)?,
        extent: history.extent()?,
        runs: history.runs().to_vec(),
        cards: history.cards()?,
        identities: people(&history)?,
        rows: TABLES
            .into_iter()
            .map(|table| Ok((table, count(database, table)?)))
            .collect::<Result<_, StoreError>>()?,
        samples_from: moment(database, "SELECT min(at_ms) FROM tick")?,
        spans_from: moment(database, "SELECT min(from_ms) FROM observed")?,
        page_bytes: pragma(database, "page_size")?,
        pages: pragma(database, "page_count")?,
        free_pages: pragma(database, "freelist_count")?,
    })
}

/// Everybody once, wherever they are known from.
fn people(history: &History) -> Result<Vec<Identity>, StoreError> {
    let mut identities: Vec<_> = history.identities()?.into_iter().collect();
    identities.sort_by_key(|(id, _)| *id);
    let mut people: Vec<Identity> = Vec::new();
    for (_, identity) in identities {
        let is_same = |it: &Identity| (&it.user, it.uid) == (&identity.user, identity.uid);
        if !people.iter().any(is_same) {
            people.push(Identity { source: None, ..identity });
        }
    }
    Ok(people)
}

fn hosts(database: &Connection) -> Result<Vec<String>, StoreError> {
    let mut hosts = database.prepare("SELECT name FROM host ORDER BY id")?;
    Ok(hosts.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

fn count(database: &Connection, table: &str) -> Result<u64, StoreError> {
    let query = format!("SELECT count(*) FROM {table}");
    let count: i64 = database.query_row(&query, [], |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

fn moment(database: &Connection, query: &str) -> Result<Option<UnixMillis>, StoreError> {
    let at: Option<i64> = database.query_row(query, [], |row| row.get(0))?;
    Ok(at.map(UnixMillis))
}

/// What SQLite says of the file; none of it is negative.
fn pragma(database: &Connection, name: &str) -> Result<u64, StoreError> {
    let value: i64 = database.pragma_query_value(None, name, |row| row.get(0))?;
    Ok(value.unsigned_abs())
}
