//! Files of the Python gua, made row by row.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gua_core::Period;
use gua_core::units::UnixMillis;
use gua_store::python::{Imported, import};
use gua_store::{Database, StoreError};
use rusqlite::{Connection, params};
use tempfile::TempDir;

pub const MINUTE: i64 = 60_000;
pub const HOUR: i64 = 60 * MINUTE;
/// Begin of the files: 2026-11-15 20:00 UTC.
pub const START: i64 = 1_794_772_800_000;

/// Columns that a version writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// No runs, no devices, nothing of a card but its utilization.
    Oldest,
    /// Runs and more of a card, but no owner of a process and no kind.
    Middle,
    Newest,
}

const OLDEST: &str = "
    CREATE TABLE host (hostname TEXT NOT NULL, env_kind TEXT NOT NULL, driver_version TEXT,
        first_seen DATETIME NOT NULL, last_seen DATETIME NOT NULL);
    CREATE TABLE gpu_sample (ts DATETIME, gpu_uuid TEXT, util_pct INTEGER);
    CREATE TABLE proc_sample (ts DATETIME, gpu_uuid TEXT, pid INTEGER, mem_used_mb INTEGER,
        loginuid_user TEXT);
    CREATE INDEX idx_gpu_sample_uuid_ts ON gpu_sample (gpu_uuid, ts);
    INSERT INTO host VALUES ('lab', 'bare', '560.35.05', '2026-01-01', '2026-11-15');
";

const MIDDLE: &str = "
    CREATE TABLE daemon_run (id INTEGER PRIMARY KEY AUTOINCREMENT, started_at DATETIME,
        interval_seconds REAL);
    CREATE TABLE gpu_device (gpu_uuid TEXT, name TEXT, memory_total_mb INTEGER,
        first_seen DATETIME, last_seen DATETIME);
    ALTER TABLE gpu_sample ADD COLUMN run_id INTEGER;
    ALTER TABLE gpu_sample ADD COLUMN gpu_index INTEGER;
    ALTER TABLE gpu_sample ADD COLUMN memory_used_mb INTEGER;
    ALTER TABLE proc_sample ADD COLUMN run_id INTEGER;
    ALTER TABLE proc_sample ADD COLUMN process_name TEXT;
    INSERT INTO gpu_device VALUES ('GPU-0', 'NVIDIA A100', 81920, '', '');
";

const NEWEST: &str = "
    ALTER TABLE gpu_sample ADD COLUMN temperature_c INTEGER;
    ALTER TABLE gpu_sample ADD COLUMN power_w INTEGER;
    ALTER TABLE gpu_sample ADD COLUMN usage_state TEXT;
    ALTER TABLE proc_sample ADD COLUMN owner_user TEXT;
    ALTER TABLE proc_sample ADD COLUMN process_type TEXT NOT NULL DEFAULT 'compute';
";

/// Pid, memory and user of a process.
pub type Process = (u32, Option<i64>, Option<String>);

/// One card at one tick.
#[derive(Debug, Clone)]
pub struct Card {
    pub uuid: String,
    pub percent: Option<i64>,
    pub processes: Vec<Process>,
}

pub struct PythonFile {
    pub dir: TempDir,
    pub database: Connection,
    layout: Layout,
}

impl PythonFile {
    pub fn new(layout: Layout) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let database = Connection::open(dir.path().join("python.db")).unwrap();
        let steps = match layout {
            Layout::Oldest => &[OLDEST][..],
            Layout::Middle => &[OLDEST, MIDDLE],
            Layout::Newest => &[OLDEST, MIDDLE, NEWEST],
        };
        database.execute_batch("PRAGMA synchronous = OFF").unwrap();
        steps.iter().for_each(|step| database.execute_batch(step).unwrap());
        Self { dir, database, layout }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("python.db")
    }

    pub fn execute(&self, sql: &str) {
        self.database.execute_batch(sql).unwrap();
    }

    pub fn add_run(&self, id: i64, interval_seconds: f64) {
        let insert = "INSERT INTO daemon_run VALUES (?1, '', ?2)";
        self.database.execute(insert, (id, interval_seconds)).unwrap();
    }

    pub fn add_tick(&self, at: i64, run: Option<i64>, cards: &[Card]) {
        cards.iter().for_each(|card| self.add_card(&text(at), run, card));
    }

    pub fn add_card(&self, ts: &str, run: Option<i64>, card: &Card) {
        let insert = "INSERT INTO gpu_sample (ts, gpu_uuid, util_pct) VALUES (?1, ?2, ?3)";
        self.database.execute(insert, params![ts, card.uuid, card.percent]).unwrap();
        self.set_run("gpu_sample", run);
        for (pid, mib, user) in &card.processes {
            let insert = "INSERT INTO proc_sample (ts, gpu_uuid, pid, mem_used_mb, loginuid_user)
                 VALUES (?1, ?2, ?3, ?4, ?5)";
            self.database.execute(insert, params![ts, card.uuid, pid, mib, user]).unwrap();
            self.set_run("proc_sample", run);
        }
    }

    fn set_run(&self, table: &str, run: Option<i64>) {
        if self.layout != Layout::Oldest {
            let row = self.database.last_insert_rowid();
            let update = format!("UPDATE {table} SET run_id = ?2 WHERE rowid = ?1");
            self.database.execute(&update, (row, run)).unwrap();
        }
    }

    /// Imports the file into a database of its own.
    pub fn import(&self) -> Import {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.db");
        Database::create(&path).unwrap();
        let imported = import_into(&self.path(), &path).unwrap();
        Import { _dir: dir, path, imported }
    }

    /// Counts by SQL what the Python gua's rule makes of the rows, in milliseconds by UTC hour and state.
    pub fn count_by_hour(&self) -> BTreeMap<(String, String), f64> {
        let mut query = self
            .database
            .prepare(
                "SELECT substr(ts, 1, 13), CASE WHEN util_pct >= 10 THEN 'active'
                     WHEN ifnull((SELECT sum(mem_used_mb) FROM proc_sample AS p WHERE p.ts = g.ts
                         AND p.gpu_uuid = g.gpu_uuid AND p.run_id IS g.run_id), 0) > 100
                     THEN 'idle_held' ELSE 'free' END,
                     sum(CAST(round(1000 * ifnull(interval_seconds, 30)) AS INTEGER))
                     FROM (SELECT DISTINCT ts, gpu_uuid, util_pct, run_id FROM gpu_sample) AS g
                     LEFT JOIN daemon_run ON id = g.run_id GROUP BY 1, 2",
            )
            .unwrap();
        let rows = query.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)));
        rows.unwrap().collect::<Result<_, _>>().unwrap()
    }
}

/// A file that was imported into a database of its own.
pub struct Import {
    /// Removed with it.
    _dir: TempDir,
    pub path: PathBuf,
    pub imported: Imported,
}

impl Import {
    pub fn database(&self) -> Database {
        Database::open(&self.path).unwrap()
    }

    pub fn number(&self, sql: &str) -> i64 {
        number(&self.path, sql)
    }
}

pub fn number(path: &Path, sql: &str) -> i64 {
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

pub fn import_into(file: &Path, path: &Path) -> Result<Imported, StoreError> {
    import(file, &mut Database::open_to_write(path)?, &mut |_| ())
}

pub fn card(uuid: &str, percent: i64, processes: &[(u32, Option<i64>, &str)]) -> Card {
    let process = |(pid, mib, user): &(u32, Option<i64>, &str)| {
        (*pid, *mib, Some((*user).to_owned()).filter(|user| !user.is_empty()))
    };
    let processes = processes.iter().map(process).collect();
    Card { uuid: uuid.to_owned(), percent: Some(percent), processes }
}

/// Formats a time as the Python gua writes it.
pub fn text(at: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at).unwrap();
    at.strftime("%Y-%m-%dT%H:%M:%S%.f+00:00").to_string()
}

pub fn period(from: i64, to: i64) -> Period {
    Period::new(UnixMillis(from), UnixMillis(to))
}

/// A time that holds every file.
pub fn always() -> Period {
    period(START - 1000 * 24 * HOUR, START + 1000 * 24 * HOUR)
}

/// Active, idle-held, free and unknown time of all cards in a window, in milliseconds.
pub fn times(database: &Database, window: Period) -> [f64; 4] {
    let sums = database.usage(window).unwrap();
    sums.cards.values().fold([0.0; 4], |mut sum, card| {
        let times = card.times;
        let times = [times.active_ms, times.idle_held_ms, times.free_ms, times.unknown_ms];
        sum.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
        sum
    })
}
