//! The sub-tracking file: when a process entered and left a block of its code.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior, params};

use crate::gpu_tracker::file::{FileError, Format, Part, Row, create_new, each_row, open};
use crate::gpu_tracker::number;

const COLUMNS: [&str; 4] = ["process_id", "code_block_name", "position", "timestamp"];

/// How long a mark waits for those of others. Many processes may write to one database at once, and
/// the one that has just been is soon there again.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process came to one end of a block.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    pub process: i64,
    pub block: String,
    pub position: Position,
    /// Seconds since the epoch.
    pub at: f64,
}

/// Which end of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    Begin,
    End,
}

impl Position {
    const fn code(self) -> u8 {
        match self {
            Self::Begin => 0,
            Self::End => 1,
        }
    }
}

/// Reads all marks of a file, in its order.
///
/// # Errors
/// When it cannot be read, or is no sub-tracking file.
pub fn read(path: &Path) -> Result<Vec<Mark>, FileError> {
    let mut marks = Vec::new();
    each_row(path, Part::Marks, &COLUMNS, |row| {
        marks.push(parse(row)?);
        Ok(())
    })?;
    Ok(marks)
}

fn parse(row: &Row<'_>) -> Result<Mark, FileError> {
    let position = match row.number(2)? {
        Some(0.0) => Position::Begin,
        Some(1.0) => Position::End,
        _ => return Err(row.wrong(2, "0 for a start or 1 for a stop")),
    };
    let at = row.number(3)?.ok_or_else(|| row.wrong(3, "a time"))?;
    Ok(Mark { process: row.count(0)?, block: row.text(1).to_owned(), position, at })
}

/// Writes a sub-tracking file. Each mark is the kernel's before the next.
#[derive(Debug)]
pub struct MarkWriter {
    path: PathBuf,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    Csv(Box<csv::Writer<File>>),
    Sqlite(Connection),
}

impl MarkWriter {
    /// Makes the file, CSV or SQLite by its name.
    ///
    /// # Errors
    /// When the name ends otherwise, or the file exists or cannot be made.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        let format = Format::of(path)?;
        let file = create_new(path)?;
        let sink = match format {
            Format::Csv => Sink::Csv(Box::new(csv_sink(path, file)?)),
            Format::Sqlite => Sink::Sqlite(sqlite_sink(path)?),
        };
        Ok(Self { path: path.to_owned(), sink })
    }

    /// Goes on with a file that is there, or makes it.
    ///
    /// # Errors
    /// When the name ends otherwise, the file is of another kind, or it cannot be written.
    pub fn append(path: &Path) -> Result<Self, FileError> {
        if path.symlink_metadata().is_err() {
            return Self::create(path);
        }
        // Whether it is one of these is told by its columns.
        each_row(path, Part::Marks, &COLUMNS, |_| Ok(()))?;
        let sink = match Format::of(path)? {
            Format::Csv => {
                let file = File::options().append(true).open(path);
                let file =
                    file.map_err(|source| FileError::Io { path: path.to_owned(), source })?;
                Sink::Csv(Box::new(csv_writer(file)))
            }
            Format::Sqlite => Sink::Sqlite(sqlite_writer(path)?),
        };
        Ok(Self { path: path.to_owned(), sink })
    }

    /// Adds marks, all or none where the file is a database.
    ///
    /// # Errors
    /// When the file cannot be written any more.
    pub fn write(&mut self, marks: &[Mark]) -> Result<(), FileError> {
        match &mut self.sink {
            Sink::Csv(writer) => write_csv(&self.path, writer, marks),
            Sink::Sqlite(database) => write_sqlite(database, marks)
                .map_err(|source| FileError::Sqlite { path: self.path.clone(), source }),
        }
    }
}

fn csv_writer(file: File) -> csv::Writer<File> {
    csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(file)
}

fn csv_sink(path: &Path, file: File) -> Result<csv::Writer<File>, FileError> {
    let mut writer = csv_writer(file);
    let written = writer.write_record(COLUMNS);
    written.map_err(|source| FileError::Csv { path: path.to_owned(), source })?;
    writer.flush().map_err(|source| FileError::Io { path: path.to_owned(), source })?;
    Ok(writer)
}

fn write_csv(path: &Path, writer: &mut csv::Writer<File>, marks: &[Mark]) -> Result<(), FileError> {
    for mark in marks {
        let cells = [
            mark.process.to_string(),
            mark.block.clone(),
            mark.position.code().to_string(),
            number::repr(mark.at),
        ];
        let written = writer.write_record(cells);
        written.map_err(|source| FileError::Csv { path: path.to_owned(), source })?;
    }
    writer.flush().map_err(|source| FileError::Io { path: path.to_owned(), source })
}

fn sqlite_sink(path: &Path) -> Result<Connection, FileError> {
    let database = sqlite_writer(path)?;
    let laid_out = database.execute_batch(
        "CREATE TABLE data (process_id INTEGER, code_block_name VARCHAR, position INTEGER,
                            timestamp FLOAT)",
    );
    laid_out.map_err(|source| FileError::Sqlite { path: path.to_owned(), source })?;
    Ok(database)
}

/// What the kernel has survives the death of this process, which is enough for marks.
fn sqlite_writer(path: &Path) -> Result<Connection, FileError> {
    let database = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let prepared = database
        .busy_timeout(PATIENCE)
        .and_then(|()| database.pragma_update(None, "synchronous", "OFF"));
    prepared.map_err(|source| FileError::Sqlite { path: path.to_owned(), source })?;
    Ok(database)
}

/// Asks for the right to write at once: who reads first and writes then is not let wait.
fn write_sqlite(database: &Connection, marks: &[Mark]) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(database, TransactionBehavior::Immediate)?;
    {
        let mut insert = transaction.prepare_cached("INSERT INTO data VALUES (?1, ?2, ?3, ?4)")?;
        for mark in marks {
            insert.execute(params![mark.process, mark.block, mark.position.code(), mark.at])?;
        }
    }
    transaction.commit()
}
