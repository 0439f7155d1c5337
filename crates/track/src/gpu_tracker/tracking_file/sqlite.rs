//! A tracking file as a SQLite database: the tables `static_data` and `data`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, Value as SqlValue};
use rusqlite::{Connection, OpenFlags, ToSql, params_from_iter};

use super::columns::{self, Value};
use super::facts::Static;
use crate::gpu_tracker::Tree;
use crate::gpu_tracker::file::{self, FileError};

/// How long a row waits for somebody who reads the file meanwhile. Samples wait with it.
const PATIENCE: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(super) struct SqliteFile {
    path: PathBuf,
    database: Connection,
    insert: String,
}

impl SqliteFile {
    /// In a file that is there, and empty.
    pub(super) fn create(path: &Path, facts: &Static) -> Result<Self, FileError> {
        let database = file::open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let file = Self { path: path.to_owned(), database, insert: insert() };
        file.lay_out(facts).map_err(|source| file.wrong(source))?;
        Ok(file)
    }

    fn lay_out(&self, facts: &Static) -> rusqlite::Result<()> {
        self.database.busy_timeout(PATIENCE)?;
        // What the kernel has survives the death of this process. That the machine dies with
        // it is not worth two waits for the disk at every sample.
        self.database.pragma_update(None, "synchronous", "OFF")?;
        let Tree::Group(facts) = facts.tree() else { return Ok(()) };
        let transaction = self.database.unchecked_transaction()?;
        let columns = facts.iter().map(|(column, value)| format!("{column} {}", affinity(value)));
        transaction.execute_batch(&table("static_data", columns))?;
        let marks = vec!["?"; facts.len()].join(",");
        let values = params_from_iter(facts.iter().map(|(_, value)| Fact(value)));
        transaction.execute(&format!("INSERT INTO static_data VALUES ({marks})"), values)?;
        transaction.execute_batch(&table("data", columns::all().map(sample_column)))?;
        transaction.commit()
    }

    pub(super) fn write(&mut self, row: &[Value]) -> Result<(), FileError> {
        let added = self.database.prepare_cached(&self.insert);
        let added = added.and_then(|mut insert| insert.execute(params_from_iter(row)));
        added.map(drop).map_err(|source| self.wrong(source))
    }

    fn wrong(&self, source: rusqlite::Error) -> FileError {
        FileError::Sqlite { path: self.path.clone(), source }
    }
}

fn insert() -> String {
    let marks = vec!["?"; columns::all().count()].join(",");
    format!("INSERT INTO data VALUES ({marks})")
}

fn table(name: &str, columns: impl Iterator<Item = String>) -> String {
    format!("CREATE TABLE {name} ({})", columns.collect::<Vec<_>>().join(", "))
}

fn sample_column(column: &str) -> String {
    format!("{column} {}", if columns::is_count(column) { "INTEGER" } else { "FLOAT" })
}

const fn affinity(fact: &Tree) -> &'static str {
    match fact {
        Tree::Text(_) => "VARCHAR",
        Tree::Count(_) => "INTEGER",
        Tree::Number(_) | Tree::Missing | Tree::List(_) | Tree::Group(_) => "FLOAT",
    }
}

struct Fact<'a>(&'a Tree);

impl ToSql for Fact<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Owned(match self.0 {
            Tree::Text(text) => SqlValue::Text(text.clone()),
            Tree::Count(count) => SqlValue::Integer(i64::try_from(*count).unwrap_or(i64::MAX)),
            Tree::Number(number) => SqlValue::Real(*number),
            Tree::Missing | Tree::List(_) | Tree::Group(_) => SqlValue::Null,
        }))
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Owned(match self {
            Self::Number(number) => SqlValue::Real(*number),
            Self::Count(count) => SqlValue::Integer((*count).into()),
            Self::Missing => SqlValue::Null,
        }))
    }
}
