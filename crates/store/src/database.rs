//! Creates and opens the file; schema version and migrations.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gua_core::Period;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{ForeignFile, Problem, StoreError};
use crate::lock::RecorderLock;

/// `GUA1`, in the header of every file of gua.
pub const APPLICATION_ID: i32 = 0x4755_4131;

/// Version of `schema.sql`. Lower ones are layouts of an earlier gua, which are not read.
const FIRST_VERSION: u32 = 11;

/// Changes of the schema since [`FIRST_VERSION`]; the nth one leads to version `FIRST_VERSION + n`.
/// Add the statements at the end, and change nothing in `schema.sql`.
const MIGRATIONS: &[&str] = &[];

/// Time that a statement waits for another program's write.
const BUSY_TIMEOUT: Duration = Duration::from_millis(250);

/// Time that a request of an admin waits for the recorder's write.
const PATIENT_TIMEOUT: Duration = Duration::from_secs(10);

const READ_ONLY: OpenFlags =
    OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Path of a database that exists only in memory.
const MEMORY: &str = ":memory:";

/// Pages that a connection keeps in memory, in KiB.
const CACHE_KIB: i64 = 2048;

/// Length of a log without rows.
const LOG_HEADER: u64 = 32;

/// Tables that every version of the Python gua has.
const PYTHON_TABLES: [&str; 3] = ["host", "gpu_sample", "proc_sample"];

/// An open database.
#[derive(Debug)]
pub struct Database {
    // Before the lock, so that it is closed first: see `RecorderLock`.
    pub(crate) connection: Connection,
    path: PathBuf,
    lock: Option<RecorderLock>,
    /// Time that an imported tick counts in sums, in the place of its own interval.
    pub(crate) imported_interval_ms: Option<i64>,
    /// Time of the file of which this is a window.
    pub(crate) source_extent: Option<Period>,
}

impl Database {
    /// Creates an empty database that only its owner may read, and its folder.
    ///
    /// Made beside its path and then linked to it, so that a kill leaves a whole file or none.
    /// A file with contents is not touched; one without keeps its permissions.
    pub fn create(path: &Path) -> Result<(), StoreError> {
        create(path).map_err(|problem| problem.at(path))
    }

    /// Opens a database for the only recorder, and brings an older schema up to date.
    pub fn open_to_write(path: &Path) -> Result<Self, StoreError> {
        open_to_write(path, MIGRATIONS).map_err(|problem| problem.at(path))
    }

    /// Opens a database for reading, also while a recorder writes to it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        open(path, MIGRATIONS).map_err(|problem| problem.at(path))
    }

    /// Returns the schema version of a database, and changes nothing there, not even beside the file.
    pub fn identify(path: &Path) -> Result<u32, StoreError> {
        let identify = || -> Result<u32, Problem> {
            check_identity(path)?;
            check_version(&open_immutable(path)?, version(MIGRATIONS))
        };
        identify().map_err(|problem| problem.at(path))
    }

    /// Opens a database to prune it on request, also while a recorder writes to it.
    pub fn open_to_prune(path: &Path) -> Result<Self, StoreError> {
        open_to_prune(path).map_err(|problem| problem.at(path))
    }

    /// Returns a database that exists only in memory.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(MEMORY);
        let connect = || -> Result<Connection, Problem> {
            let mut connection = Connection::open_in_memory()?;
            set_options(&connection)?;
            make_tables(&mut connection)?;
            Ok(connection)
        };
        let connection = connect().map_err(|problem| problem.at(&path))?;
        Ok(Self::new(connection, path, None))
    }

    const fn new(connection: Connection, path: PathBuf, lock: Option<RecorderLock>) -> Self {
        Self { connection, path, lock, imported_interval_ms: None, source_extent: None }
    }

    /// Makes each tick of the Python gua that was imported count for an interval, where rows become sums.
    #[must_use]
    pub fn with_imported_interval(mut self, interval: Option<Duration>) -> Self {
        self.imported_interval_ms =
            interval.and_then(|interval| i64::try_from(interval.as_millis()).ok());
        self
    }

    /// Runs reads in one transaction, so that a tick in between is not seen in part. Calls may be nested.
    pub fn at_once<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let _transaction = match self.connection.is_autocommit() {
            true => {
                Some(self.result(self.connection.unchecked_transaction().map_err(Problem::from))?)
            }
            false => None,
        };
        read()
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true unless the file was moved or deleted since it was opened for writing.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.lock.as_ref().is_none_or(|lock| lock.is_at(&self.path))
    }

    /// Returns true if no other program writes to the file.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.lock.is_some() || self.path == Path::new(MEMORY)
    }

    /// Moves everything from the log into the file. SQLite does not do so when it closes a file that was
    /// moved.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let result = self.connection.query_row(checkpoint, [], |row| row.get::<_, bool>(0));
        match result.map_err(Problem::from) {
            Ok(false) => Ok(()),
            Ok(true) => self.result(Err(Problem::Locked)),
            Err(problem) => self.result(Err(problem)),
        }
    }

    /// Names this file in an error.
    pub(crate) fn result<T>(&self, result: Result<T, Problem>) -> Result<T, StoreError> {
        result.map_err(|problem| problem.at(&self.path))
    }
}

fn create(path: &Path) -> Result<(), Problem> {
    let path = &follow_links(path);
    if is_occupied(path) {
        return Err(Problem::Exists);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let folder = File::open(folder)?;
    let thread = std::thread::current().id();
    let draft = with_suffix(path, &format!(".new-{}-{thread:?}", std::process::id()));
    let made = make_file(&draft).and_then(|()| publish(&draft, path, &folder));
    remove_if_there(&draft)?;
    made?;
    folder.sync_all()?;
    Ok(())
}

fn make_file(path: &Path) -> Result<(), Problem> {
    remove_if_there(path)?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let mut connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    set_options(&connection)?;
    // Before there is a table, as it decides how pages are kept.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    make_tables(&mut connection)?;
    // Closing moves everything from the log into the file.
    connection.close().map_err(|(_, error)| error.into())
}

fn make_tables(connection: &mut Connection) -> Result<(), Problem> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(include_str!("schema.sql"))?;
    for migration in MIGRATIONS {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", version(MIGRATIONS))?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(transaction.commit()?)
}

/// Returns where a link leads, also if there is nothing yet.
fn follow_links(path: &Path) -> PathBuf {
    let mut place = path.to_owned();
    // As many as the kernel follows.
    for _ in 0..40 {
        let Ok(target) = fs::read_link(&place) else { break };
        place = place.parent().map_or_else(|| target.clone(), |folder| folder.join(&target));
    }
    place
}

/// Returns true if a path leads to a file without contents: somebody may have made it for a database, to
/// set its permissions.
#[must_use]
pub fn is_empty_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0)
}

/// Returns true if there is something at a path that must not be replaced.
fn is_occupied(path: &Path) -> bool {
    path.symlink_metadata().is_ok() && !is_empty_file(path)
}

/// Gives a new file its name, at which there must be none.
fn publish(draft: &Path, path: &Path, folder: &File) -> Result<(), Problem> {
    // Of two that create a file, the second must not delete the log of the first. Where the file
    // system has no locks, it goes on without.
    let _ = folder.lock();
    if is_occupied(path) {
        return Err(Problem::Exists);
    }
    // The log of a deleted database would be read into the new one.
    for suffix in ["-wal", "-shm"] {
        remove_if_there(&with_suffix(path, suffix))?;
    }
    if is_empty_file(path) {
        fs::set_permissions(draft, fs::metadata(path)?.permissions())?;
        return Ok(fs::rename(draft, path)?);
    }
    match fs::hard_link(draft, path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Problem::Exists),
        // Not every file system has links.
        Err(_) if !path.exists() => Ok(fs::rename(draft, path)?),
        Err(error) => Err(error.into()),
    }
}

/// Gives a database under another name its path, at which there must be none.
pub(crate) fn publish_draft(draft: &Path, path: &Path) -> Result<(), Problem> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new(".")))?;
    publish(draft, path, &folder)?;
    Ok(folder.sync_all()?)
}

fn open_to_write(path: &Path, migrations: &[&str]) -> Result<Database, Problem> {
    check_identity(path)?;
    let lock = RecorderLock::take(path)?;
    let mut connection = open_read_write(path)?;
    let found = check_version(&connection, version(migrations))?;
    migrate(&mut connection, found, migrations)?;
    Ok(Database::new(connection, path.to_owned(), Some(lock)))
}

fn open(path: &Path, migrations: &[&str]) -> Result<Database, Problem> {
    check_identity(path)?;
    let connection = open_read_only(path)?;
    require_newest(&connection, migrations)?;
    Ok(Database::new(connection, path.to_owned(), None))
}

fn open_to_prune(path: &Path) -> Result<Database, Problem> {
    let database = match open_to_write(path, MIGRATIONS) {
        Err(Problem::Recorded) => {
            let connection = open_read_write(path)?;
            require_newest(&connection, MIGRATIONS)?;
            Database::new(connection, path.to_owned(), None)
        }
        opened => opened?,
    };
    database.connection.busy_timeout(PATIENT_TIMEOUT)?;
    Ok(database)
}

/// Refuses a database that waits for a migration, which only the recorder makes.
fn require_newest(connection: &Connection, migrations: &[&str]) -> Result<(), Problem> {
    let known = version(migrations);
    match check_version(connection, known)? {
        found if found < known => Err(Problem::WaitsForMigration { found, known }),
        _ => Ok(()),
    }
}

fn open_read_write(path: &Path) -> Result<Connection, Problem> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    set_options(&connection)?;
    if connection.is_readonly(rusqlite::MAIN_DB)? {
        return Err(Problem::ReadOnly);
    }
    Ok(connection)
}

fn open_read_only(path: &Path) -> Result<Connection, Problem> {
    let connection = Connection::open_with_flags(path, READ_ONLY)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Before any option, some of which read the file too.
    let read = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    let code = read.as_ref().err().and_then(rusqlite::Error::sqlite_error_code);
    if !matches!(code, Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)) {
        read?;
        set_options(&connection)?;
        return Ok(connection);
    }
    // SQLite may not write its index of the log beside the file. Without a log, the file alone is enough.
    if Log::find(path) != Log::None {
        return Err(Problem::UnreadableLog);
    }
    let connection =
        Connection::open_with_flags(immutable(path), READ_ONLY | OpenFlags::SQLITE_OPEN_URI)?;
    set_options(&connection)?;
    Ok(connection)
}

fn set_options(connection: &Connection) -> Result<(), Problem> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // A power loss must not cost commits.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Without it, SQLite plans a prepared statement again for each bound value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Refuses a file that is not a database of gua, and changes nothing there.
///
/// The file is opened by SQLite alone, which knows when closing would drop a lock of this process.
pub(crate) fn check_identity(path: &Path) -> Result<(), Problem> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Problem::Missing),
        Err(error) => return Err(error.into()),
        Ok(found) if found.is_dir() => return Err(Problem::Foreign(ForeignFile::Folder)),
        Ok(found) if !found.is_file() => return Err(Problem::Foreign(ForeignFile::NotAFile)),
        Ok(found) if found.len() == 0 => return Err(Problem::Foreign(ForeignFile::Empty)),
        Ok(_) => {}
    }
    let file = open_immutable(path)?;
    let id: i32 = file.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if id == APPLICATION_ID {
        return Ok(());
    }
    // Of a young file, all tables may still be in the log.
    let is_python = has_python_tables(&file)?
        || Log::find(path) == Log::Indexed
            && has_python_tables(&Connection::open_with_flags(
                Log::Indexed.address(path),
                READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
            )?)?;
    Err(if is_python { Problem::PythonGua } else { Problem::Foreign(ForeignFile::OtherProgram) })
}

/// Opens a file without its log, and writes nothing beside it.
fn open_immutable(path: &Path) -> Result<Connection, Problem> {
    let file = Connection::open_with_flags(immutable(path), READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
        .map_err(|error| match Problem::from(error) {
            // SQLite does not say why.
            Problem::Unopenable if !is_readable(path) => Problem::Denied,
            problem => problem,
        })?;
    // Without it, a file is refused as damaged while pages are moved from its log: it is shorter than
    // its first page says. A full disk leaves it so.
    file.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, true)?;
    Ok(file)
}

/// Returns false if this user may not read a file.
fn is_readable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::READ_OK) != Err(rustix::io::Errno::ACCESS)
}

fn has_python_tables(file: &Connection) -> Result<bool, Problem> {
    for table in PYTHON_TABLES {
        if !file.table_exists(None, table)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The log that SQLite keeps beside a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Log {
    None,
    Indexed,
    /// Without its index, SQLite would have to write one to read it.
    WithoutIndex,
}

impl Log {
    pub fn find(path: &Path) -> Self {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let length = |suffix| fs::metadata(with_suffix(&path, suffix)).map_or(0, |it| it.len());
        match [length("-wal"), length("-shm")] {
            [..=LOG_HEADER, _] => Self::None,
            [_, 0] => Self::WithoutIndex,
            _ => Self::Indexed,
        }
    }

    /// Returns the address under which SQLite reads a file with its log and writes nothing beside it.
    pub fn address(self, path: &Path) -> PathBuf {
        let options = if self == Self::Indexed { "readonly_shm=1" } else { "immutable=1" };
        address(path, options)
    }
}

/// Returns the version of a database, from [`FIRST_VERSION`] to the newest one.
fn check_version(connection: &Connection, newest: u32) -> Result<u32, Problem> {
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match u32::try_from(found) {
        Err(_) => Err(Problem::Damaged(format!("layout {found}"))),
        Ok(found) if found < FIRST_VERSION => Err(Problem::OldLayout(found)),
        Ok(found) if found > newest => Err(Problem::NewLayout { found, known: newest }),
        Ok(_) if !connection.table_exists(None, "store")? => {
            Err(Problem::Damaged("without tables".to_owned()))
        }
        Ok(found) => Ok(found),
    }
}

fn version(migrations: &[&str]) -> u32 {
    FIRST_VERSION + u32::try_from(migrations.len()).unwrap_or(u32::MAX - FIRST_VERSION)
}

/// Brings a database from a version up to date in one transaction.
fn migrate(connection: &mut Connection, from: u32, migrations: &[&str]) -> Result<(), Problem> {
    if from == version(migrations) {
        return Ok(());
    }
    let done = usize::try_from(from - FIRST_VERSION).unwrap_or(usize::MAX);
    let transaction = connection.transaction()?;
    for migration in migrations.iter().skip(done) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", version(migrations))?;
    Ok(transaction.commit()?)
}

/// Returns the address under which SQLite reads a file without its log and writes nothing beside it.
fn immutable(path: &Path) -> PathBuf {
    address(path, "immutable=1")
}

fn address(path: &Path, options: &str) -> PathBuf {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut address = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                address.push(char::from(*byte));
            }
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    address.push_str("?mode=ro&");
    address.push_str(options);
    address.into()
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(suffix);
    name.into()
}

pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(result: Result<Database, StoreError>) -> String {
        result.unwrap_err().to_string()
    }

    fn sqlite_file(path: &Path, sql: &str) {
        Connection::open(path).unwrap().execute_batch(sql).unwrap();
    }

    #[test]
    fn only_one_of_two_creates_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gua.db");
        let created = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(|| Database::create(&path).is_ok()));
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(created.iter().filter(|is_created| **is_created).count(), 1);
        assert!(Database::open_to_write(&path).is_ok());
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(names.into_iter().all(|name| !name.to_string_lossy().contains(".new-")));
    }

    #[test]
    fn new_database_is_whole_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a b?#/größe.db");
        Database::create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no draft is left");
        Database::open(&path).unwrap();
    }

    /// Trap: a power loss must not cost commits.
    #[test]
    fn power_loss_costs_no_commit_as_the_log_is_synced_with_each() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.db");
        Database::create(&path).unwrap();
        for open in [Database::open_to_write, Database::open_to_prune] {
            let database = open(&path).unwrap();
            let pragma = |name| {
                database
                    .connection
                    .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
            };
            assert_eq!(pragma("journal_mode").unwrap(), "wal".to_owned().into());
            // FULL: NORMAL syncs the log only when it is moved into the file.
            assert_eq!(pragma("synchronous").unwrap(), 2.into());
        }
    }

    #[test]
    fn other_files_are_refused_and_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let old =
            "PRAGMA application_id = 0x47554131; PRAGMA user_version = 4; CREATE TABLE run (x);";
        let new =
            "PRAGMA application_id = 0x47554131; PRAGMA user_version = 99; CREATE TABLE run (x);";
        let negative =
            "PRAGMA application_id = 0x47554131; PRAGMA user_version = -3; CREATE TABLE run (x);";
        let bare = "PRAGMA application_id = 0x47554131; PRAGMA user_version = 11;";
        let python =
            "CREATE TABLE host (x); CREATE TABLE gpu_sample (x); CREATE TABLE proc_sample (x);";
        let files = [
            (
                "old.db",
                old,
                "layout 4 of an earlier gua, which this version does not read; move it away",
            ),
            ("new.db", new, "layout 99 of a newer gua, and this version knows 11; update gua"),
            ("negative.db", negative, "it is damaged (layout -3); move it away"),
            ("bare.db", bare, "it is damaged (without tables); move it away"),
            ("python.db", python, "a history of the Python gua; convert it with `gua db import`"),
            (
                "foreign.db",
                "CREATE TABLE t (x);",
                "(a database of another program); choose another file",
            ),
        ];
        for (name, sql, expected) in files {
            let path = dir.path().join(name);
            sqlite_file(&path, sql);
            refuse(&path, expected);
        }
        for (name, text) in
            [("text.db", "no database, though longer than a header of one"), ("empty", "")]
        {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            refuse(&path, "not a database of gua (");
        }
        let missing = dir.path().join("none.db");
        assert!(problem(Database::open(&missing)).contains("no such file; `gua daemon`"));
        assert!(problem(Database::open(dir.path())).contains("(a folder)"));
    }

    fn refuse(path: &Path, expected: &str) {
        let before = fs::read(path).unwrap();
        let messages = [problem(Database::open(path)), problem(Database::open_to_write(path))];
        for message in messages {
            assert!(message.contains(expected), "{message}");
            assert!(message.starts_with(&format!("cannot use {}: ", path.display())), "{message}");
        }
        if !is_empty_file(path) {
            let message = Database::create(path).unwrap_err().to_string();
            assert!(message.contains("a file exists there already"), "{message}");
        }
        assert_eq!(fs::read(path).unwrap(), before);
    }

    /// Trap: two recorders on one file.
    #[test]
    fn second_recorder_is_refused_by_device_and_inode() {
        let dir = tempfile::tempdir().unwrap();
        let [path, link, other] =
            ["gua.db", "link.db", "other.db"].map(|name| dir.path().join(name));
        Database::create(&path).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        // Nothing in its path says that it is the same file.
        fs::hard_link(&path, &other).unwrap();
        assert_eq!(RecorderLock::is_taken(&path), Some(false));
        let first = Database::open_to_write(&path).unwrap();
        for name in [&path, &link, &other] {
            let refusal = problem(Database::open_to_write(name));
            assert!(refusal.contains("another recorder writes to it"), "{refusal}");
        }
        assert!(first.is_in_place());
        drop(first);
        Database::open_to_write(&link).unwrap();
    }

    /// Trap: the database was moved or deleted while recording.
    #[test]
    fn moved_file_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.db");
        Database::create(&path).unwrap();
        let database = Database::open_to_write(&path).unwrap();
        fs::rename(&path, dir.path().join("moved.db")).unwrap();
        assert!(!database.is_in_place());
        Database::create(&path).unwrap();
        assert!(!database.is_in_place());
    }

    /// A version stands for one schema. A changed one needs a higher `FIRST_VERSION`, or, once files of this
    /// version are in use, a migration in its place.
    #[test]
    fn schema_of_a_version_does_not_change() {
        let lines = include_str!("schema.sql").lines();
        let words = lines.flat_map(|line| {
            let code = line.split_once("--").map_or(line, |(code, _)| code);
            code.split_whitespace()
        });
        // FNV-1a of the words, without comments.
        let hash = words
            .flat_map(|word| word.bytes().chain([b' ']))
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        assert_eq!((FIRST_VERSION, hash), (11, 0x4877_8b4b_54f3_da20));
    }

    #[test]
    fn migration_is_added_at_the_end_of_the_list() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.db");
        Database::create(&path).unwrap();
        let migrations = ["ALTER TABLE host ADD COLUMN room TEXT"];
        let waits = problem(open(&path, &migrations).map_err(|problem| problem.at(&path)));
        let expected = "it has the older layout 11, and this version reads 12; the recorder brings it \
                        up to date at its next start";
        assert!(waits.contains(expected), "{waits}");
        let database = open_to_write(&path, &migrations).unwrap();
        database.connection.execute("INSERT INTO host (name, room) VALUES ('a', 'b')", []).unwrap();
        drop(database);
        // It runs once.
        drop(open_to_write(&path, &migrations).unwrap());
        drop(open(&path, &migrations).unwrap());
        assert!(problem(Database::open(&path)).contains("layout 12 of a newer gua"));
    }

    /// Pages move from the log into the file in order, so the first one tells the new size too early.
    #[test]
    fn file_that_is_shorter_than_it_says_is_opened_with_its_log() {
        use std::os::unix::fs::FileExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.db");
        Database::create(&path).unwrap();
        let writer = Database::open_to_write(&path).unwrap();
        let grow = "INSERT INTO push (at_ms, body) SELECT value, zeroblob(99999) FROM json_each('[1, 2, 3]')";
        writer.connection.execute(grow, []).unwrap();
        let pages: u32 =
            writer.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        assert!(u64::from(pages) * 4096 > fs::metadata(&path).unwrap().len());
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        file.write_all_at(&pages.to_be_bytes(), 28).unwrap();
        let reader = Database::open(&path).unwrap();
        let rows = reader.connection.query_row("SELECT count(*) FROM push", [], |row| row.get(0));
        assert_eq!(rows, Ok(3));
    }

    /// A copy of file and log in a folder that is closed to SQLite: rows in the log must not be left out.
    #[test]
    fn log_that_cannot_be_read_is_not_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let [path, copy] = ["gua.db", "copy.db"].map(|name| dir.path().join(name));
        Database::create(&path).unwrap();
        let writer = Database::open_to_write(&path).unwrap();
        writer.connection.execute("INSERT INTO host (name) VALUES ('lab')", []).unwrap();
        fs::copy(&path, &copy).unwrap();
        // SQLite follows no link there, also as root.
        std::os::unix::fs::symlink("nowhere", with_suffix(&copy, "-shm")).unwrap();
        Database::open(&copy).unwrap();
        fs::copy(with_suffix(&path, "-wal"), with_suffix(&copy, "-wal")).unwrap();
        let refusal = problem(Database::open(&copy));
        assert!(refusal.contains("its log (-wal) cannot be read here"), "{refusal}");
    }

    #[test]
    fn reader_works_beside_the_writer_and_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.db");
        Database::create(&path).unwrap();
        let writer = Database::open_to_write(&path).unwrap();
        writer.connection.execute("INSERT INTO host (name) VALUES ('lab')", []).unwrap();
        let reader = Database::open(&path).unwrap();
        let name = |database: &Database| {
            database
                .connection
                .query_row("SELECT name FROM host", [], |row| row.get::<_, String>(0))
        };
        assert_eq!(name(&reader).unwrap(), "lab");
        assert!(reader.connection.execute("DELETE FROM host", []).is_err());
        drop((reader, writer));
        assert_eq!(name(&Database::open(&path).unwrap()).unwrap(), "lab");
    }
}
