//! Making a database and opening one, after a look at what lies there.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;

use super::error::StoreError;
use super::identify::{Identity, beside, identify, uri};
use super::{APPLICATION_ID, SCHEMA_VERSION, codes};

/// How long a write waits for another program's. A recorder that is told to end may wait
/// three times: for the tick it is at, for the last one, and for the end of its run.
const PATIENCE: Duration = Duration::from_millis(250);

/// Pages that a writer keeps in memory, in KiB. What it needs is at the end of each table.
const CACHE_KIB: i64 = 512;

/// Lets a reader ask a database of layout 3 as one of ours. Older layouts need `older.sql`.
const LAYOUT_3_AS_OURS: &str = "PRAGMA temp_store = MEMORY;
    CREATE TEMP VIEW workload AS SELECT *, NULL AS ancestors FROM main.workload;";

/// Makes an empty database that only its owner may read, and the folder for it. It is laid
/// out beside its place and then moved there: one that is killed meanwhile must not leave
/// half a database, which would be taken for somebody else's.
///
/// # Errors
/// When there is something at the path, or nothing can be made there.
pub fn create(path: &Path) -> Result<(), StoreError> {
    let place = behind_links(path);
    if let Some(folder) = place.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let making = beside(&place, &format!(".making-{}", std::process::id()));
    let made = make(&making).and_then(|()| put(&making, &place));
    if made.is_err() {
        let _ = fs::remove_file(&making);
    }
    made
}

/// Moves a database to its place, where nothing may be.
fn put(made: &Path, place: &Path) -> Result<(), StoreError> {
    // Of two that make one, the second must not take away the log of the first.
    let folder = place.parent().and_then(|folder| File::open(folder).ok());
    let _one_at_a_time = folder.filter(|it| flock(it, FlockOperation::LockExclusive).is_ok());
    if place.exists() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
    }
    // The log of a database that is gone would be read into the new one.
    for suffix in ["-wal", "-shm"] {
        remove_if_there(&beside(place, suffix))?;
    }
    move_new(made, place)
}

fn make(path: &Path) -> Result<(), StoreError> {
    // Left by one that was killed and had our number.
    remove_if_there(path)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    lay_out(path)
}

pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Where a link leads, also when nothing is there yet.
fn behind_links(path: &Path) -> PathBuf {
    let mut place = path.to_owned();
    // As many as the host itself would follow.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&place) else { break };
        place = place.parent().map_or_else(|| target.clone(), |folder| folder.join(&target));
    }
    place
}

/// Moves a file to where none may be.
pub(super) fn move_new(from: &Path, to: &Path) -> Result<(), StoreError> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Not every file system can promise it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if !to.exists() => {
            Ok(fs::rename(from, to)?)
        }
        Err(error) => Err(StoreError::Io(error.into())),
    }
}

/// Lays out the tables in an empty file.
///
/// # Errors
/// When it cannot be written.
pub fn lay_out(path: &Path) -> Result<(), StoreError> {
    let mut database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    settle_in(&database)?;
    // Before there is a table: it decides how pages are kept.
    database.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    make_tables(&mut database)
}

/// A database that lives in memory only.
///
/// # Errors
/// When SQLite does not start.
pub fn in_memory() -> Result<Connection, StoreError> {
    let mut database = Connection::open_in_memory()?;
    make_tables(&mut database)?;
    Ok(database)
}

/// A database of this connection only: in memory while it is small, then in a file without
/// a name, which is gone with the connection.
///
/// # Errors
/// When SQLite does not start.
pub fn temporary() -> Result<Connection, StoreError> {
    // No name, in SQLite's words.
    let mut database = Connection::open("")?;
    settle_in(&database)?;
    make_tables(&mut database)?;
    Ok(database)
}

fn make_tables(database: &mut Connection) -> Result<(), StoreError> {
    let transaction = database.transaction()?;
    transaction.execute_batch(include_str!("schema.sql"))?;
    for (code, word) in codes::all_states() {
        transaction.execute("INSERT INTO state (code, word) VALUES (?1, ?2)", (code, word))?;
    }
    // Last, and in the same transaction: a database is ours when it is whole.
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(transaction.commit()?)
}

/// Opens a database of ours for writing.
///
/// # Errors
/// When it is not ours, or newer than we know, or not to be written; [`StoreError::Older`]
/// when it has to be brought forward first.
pub fn open_to_write(path: &Path) -> Result<Connection, StoreError> {
    match layout_of(path)? {
        SCHEMA_VERSION => open_older_to_write(path),
        found => Err(StoreError::Older { found }),
    }
}

/// The same for a database that may have an older layout.
pub(super) fn open_older_to_write(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags)?;
    settle_in(&database)?;
    if database.is_readonly(rusqlite::MAIN_DB)? {
        return Err(StoreError::ReadOnly);
    }
    Ok(database)
}

/// The same for who has time: it waits for others instead of giving up.
///
/// # Errors
/// As [`open_to_write`].
pub fn open_to_write_patiently(path: &Path) -> Result<Connection, StoreError> {
    let database = open_to_write(path)?;
    database.busy_timeout(Duration::from_secs(20))?;
    Ok(database)
}

fn settle_in(database: &Connection) -> Result<(), StoreError> {
    database.busy_timeout(PATIENCE)?;
    // A crash of the machine may cost the last ticks, one of the program costs none.
    database.pragma_update(None, "synchronous", "NORMAL")?;
    database.pragma_update(None, "cache_size", -CACHE_KIB)?;
    database.set_prepared_statement_cache_capacity(64);
    plan_once(database)
}

/// A statement that was prepared stays as it is: else SQLite looks at what is bound to it, where
/// it knows the tables well, and plans it anew for every row that is asked for.
fn plan_once(database: &Connection) -> Result<(), StoreError> {
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Opens a database of ours for reading, also while a recorder writes to it, and where
/// nothing may be written.
///
/// # Errors
/// When it is not ours, or newer than we know, or not to be read.
pub fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let layout = layout_of(path)?;
    let database = open_read_only(path)?;
    plan_once(&database)?;
    match layout {
        SCHEMA_VERSION => {}
        3 => database.execute_batch(LAYOUT_3_AS_OURS)?,
        _ => database.execute_batch(include_str!("older.sql"))?,
    }
    // Says at once what cannot be read, and what would only come out at the first question.
    database.query_row("SELECT count(*) FROM run", [], |_| Ok(()))?;
    Ok(database)
}

/// Reads with whatever is in the log of the database. Where SQLite may not lay its own
/// files beside, it is told to do without.
///
/// # Errors
/// When it cannot be read.
pub fn open_read_only(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let plain = Connection::open_with_flags(path, flags)?;
    plain.busy_timeout(PATIENCE)?;
    if plain.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).is_ok() {
        return Ok(plain);
    }
    drop(plain);
    let flags = flags | OpenFlags::SQLITE_OPEN_URI;
    Ok(Connection::open_with_flags(uri(path), flags)?)
}

/// Opens a database that this process writes too, for reading. What we know to be ours is not
/// looked at first: closing a file lets go of every lock that this process has on it, and a
/// connection that may not write would make the log unwritable for all of the process.
///
/// # Errors
/// When it cannot be read.
pub fn open_to_read_beside_the_writer(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags)?;
    database.busy_timeout(PATIENCE)?;
    database.pragma_update(None, "query_only", true)?;
    Ok(database)
}

/// Refuses what is not ours.
///
/// # Errors
/// With what it is instead.
pub fn check_identity(path: &Path) -> Result<(), StoreError> {
    layout_of(path).map(drop)
}

/// The layout of a database of ours, which is none that we do not know.
pub(super) fn layout_of(path: &Path) -> Result<u32, StoreError> {
    Err(match identify(path) {
        Identity::Ours { schema_version } if schema_version <= SCHEMA_VERSION => {
            return Ok(schema_version);
        }
        Identity::Ours { schema_version } => {
            StoreError::Newer { found: schema_version, known: SCHEMA_VERSION }
        }
        Identity::Missing => StoreError::Missing,
        Identity::Empty => StoreError::NotOurs("it is an empty file"),
        Identity::PythonGua => StoreError::PythonGua,
        Identity::OtherSqlite => StoreError::NotOurs("it is a database of another program"),
        // What is only locked or cannot be reached is not damaged.
        Identity::Damaged(error) => StoreError::from(error),
        Identity::NotSqlite => StoreError::NotOurs("it is not a database"),
        Identity::Directory => StoreError::NotOurs("it is a folder"),
        Identity::NotAFile => StoreError::NotOurs("it is not a file"),
        Identity::Unreadable(error) => StoreError::Io(io::Error::new(error.kind(), error)),
    })
}
