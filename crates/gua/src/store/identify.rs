//! What a file is, before anything is done with it: ours, a Python gua's, or neither.
//!
//! Looking leaves no trace. SQLite would lay files of its own beside the one it opens,
//! even for reading, so it is told not to.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::APPLICATION_ID;

/// How every SQLite database begins.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The bytes before the first page of a log. One whose writer was killed before that page
/// holds nothing, and SQLite would wait ten seconds for the rest.
const LOG_HEADER: u64 = 32;

/// The tables that every version of the Python gua has made.
const PYTHON_TABLES: [&str; 3] = ["host", "gpu_sample", "proc_sample"];

/// What lies at a path.
#[derive(Debug)]
pub enum Identity {
    Missing,
    /// No bytes: SQLite would make a database of it.
    Empty,
    Ours {
        schema_version: u32,
    },
    PythonGua,
    OtherSqlite,
    /// It begins like a database but cannot be read as one.
    Damaged(rusqlite::Error),
    NotSqlite,
    Directory,
    /// A device, a socket, a pipe.
    NotAFile,
    Unreadable(io::Error),
}

/// Finds out without changing anything there.
#[must_use]
pub fn identify(path: &Path) -> Identity {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Identity::Missing,
        Err(error) => Identity::Unreadable(error),
        Ok(found) if found.is_dir() => Identity::Directory,
        // Not opened: reading a pipe would wait for a writer.
        Ok(found) if !found.is_file() => Identity::NotAFile,
        Ok(found) if found.len() == 0 => Identity::Empty,
        Ok(_) => match begins_like_sqlite(path) {
            Ok(true) => inside(path).unwrap_or_else(Identity::Damaged),
            Ok(false) => Identity::NotSqlite,
            Err(error) => Identity::Unreadable(error),
        },
    }
}

fn begins_like_sqlite(path: &Path) -> io::Result<bool> {
    let mut beginning = Vec::with_capacity(MAGIC.len());
    File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut beginning)?;
    Ok(beginning == MAGIC)
}

fn inside(path: &Path) -> rusqlite::Result<Identity> {
    let seen = look(&uri(path));
    if seen.as_ref().is_err_and(is_of_the_log) {
        // Somebody puts the log in order right now. The mark is in the file as well.
        return look(&without_log(path));
    }
    seen
}

/// Not the file is in the way, but what others do with its log.
fn is_of_the_log(error: &rusqlite::Error) -> bool {
    use ErrorCode::{DatabaseBusy, DatabaseLocked, FileLockingProtocolFailed, ReadOnly};
    let code = error.sqlite_error_code();
    let of_log = [DatabaseBusy, DatabaseLocked, FileLockingProtocolFailed, ReadOnly];
    code.is_some_and(|code| of_log.contains(&code))
}

fn look(uri: &Path) -> rusqlite::Result<Identity> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(uri, flags)?;
    let number = |pragma| database.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    if number("application_id")?.cast_unsigned() == APPLICATION_ID {
        return Ok(Identity::Ours { schema_version: number("user_version")?.cast_unsigned() });
    }
    for table in PYTHON_TABLES {
        if !database.table_exists(None, table)? {
            return Ok(Identity::OtherSqlite);
        }
    }
    Ok(Identity::PythonGua)
}

/// The address under which SQLite reads the file and writes nothing beside it. What is
/// still in the log of a database in use is read too, through the index that its writer
/// keeps; a log without an index would need one made, so such a log is passed over.
pub(super) fn uri(path: &Path) -> PathBuf {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let length = |suffix: &str| fs::metadata(beside(&real, suffix)).map_or(0, |found| found.len());
    if length("-wal") > LOG_HEADER && length("-shm") > 0 {
        return format!("file://{}?mode=ro&readonly_shm=1", escaped(&real)).into();
    }
    without_log(path)
}

/// The address of the file alone.
fn without_log(path: &Path) -> PathBuf {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    format!("file://{}?mode=ro&immutable=1", escaped(&real)).into()
}

/// The file whose name is this one's and a suffix.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut beside = path.to_owned().into_os_string();
    beside.push(suffix);
    beside.into()
}

fn escaped(path: &Path) -> String {
    let mut escaped = String::new();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                escaped.push(char::from(*byte));
            }
            other => escaped.push_str(&format!("%{other:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::time::SystemTime;

    fn made(dir: &Path, name: &str, sql: &str) -> PathBuf {
        let path = dir.join(name);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        path
    }

    /// Every file with its bytes and the time of its last change.
    fn listing(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
        let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
        let state = |path: PathBuf| {
            let changed = fs::metadata(&path).unwrap().modified().unwrap();
            let bytes = fs::read(&path).unwrap();
            (path, (bytes, changed))
        };
        files.map(state).collect()
    }

    const OURS: &str = "PRAGMA application_id = 0x47554131; PRAGMA user_version = 1;";

    #[test]
    fn ours_is_known_by_its_mark() {
        let dir = tempfile::tempdir().unwrap();
        let path = made(dir.path(), "a.db", &format!("{OURS} CREATE TABLE t (x);"));
        assert!(matches!(identify(&path), Identity::Ours { schema_version: 1 }));
    }

    #[test]
    fn odd_names_are_opened_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a b?mode=rwc#x%20.db", "größe.db", "~.db"] {
            let path = made(dir.path(), name, OURS);
            assert!(matches!(identify(&path), Identity::Ours { .. }), "{name}");
        }
    }

    #[test]
    fn what_begins_like_a_database_may_still_be_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let mut bytes = MAGIC.to_vec();
        bytes.extend([0xa5; 4000]);
        fs::write(&path, bytes).unwrap();
        assert!(matches!(identify(&path), Identity::Damaged(_)));
        fs::write(&path, "SQLite format 3").unwrap();
        assert!(matches!(identify(&path), Identity::NotSqlite));
    }

    /// The mark of a database in use may be in its log only, not yet in its file.
    #[test]
    fn a_database_in_use_is_read_with_its_log_and_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (x);").unwrap();
        writer.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
        writer.execute_batch(OURS).unwrap();
        // The index is left out: connections of one process share it, as none of ours will.
        let files = || {
            let mut files = listing(dir.path());
            assert!(files.remove(&dir.path().join("a.db-shm")).is_some());
            files
        };
        let before = files();
        assert!(matches!(identify(&path), Identity::Ours { schema_version: 1 }));
        assert!(files() == before);
    }

    #[test]
    fn a_log_whose_writer_died_is_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let copy = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let writer = Connection::open(&path).unwrap();
        writer
            .execute_batch(&format!("{OURS} PRAGMA journal_mode = wal; CREATE TABLE t (x);"))
            .unwrap();
        for suffix in ["", "-wal", "-shm"] {
            let name = format!("a.db{suffix}");
            fs::copy(dir.path().join(&name), copy.path().join(&name)).unwrap();
        }
        for _ in ["with its index", "without"] {
            let before = listing(copy.path());
            assert!(matches!(identify(&copy.path().join("a.db")), Identity::Ours { .. }));
            assert!(listing(copy.path()) == before);
            let _ = fs::remove_file(copy.path().join("a.db-shm"));
        }
    }

    /// Found by killing recorders: it was taken for damaged, after ten seconds.
    #[test]
    fn a_log_whose_writer_died_before_its_first_page_holds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let copy = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch(&format!("{OURS} PRAGMA journal_mode = wal;")).unwrap();
        writer.execute_batch("CREATE TABLE t (x); PRAGMA wal_checkpoint(TRUNCATE);").unwrap();
        writer.execute_batch("CREATE TABLE u (x);").unwrap();
        for suffix in ["", "-wal", "-shm"] {
            let name = format!("a.db{suffix}");
            fs::copy(dir.path().join(&name), copy.path().join(&name)).unwrap();
        }
        let log = File::options().write(true).open(copy.path().join("a.db-wal")).unwrap();
        log.set_len(LOG_HEADER).unwrap();
        let index = File::options().write(true).open(copy.path().join("a.db-shm")).unwrap();
        index.set_len(0).unwrap();
        index.set_len(32 * 1024).unwrap();
        assert!(matches!(identify(&copy.path().join("a.db")), Identity::Ours { .. }));
    }
}
