//! Files of the Python gua, built row by row.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use probe::units::UnixMillis;
use rusqlite::{Connection, params};

use super::super::{Imported, import};
use crate::classify::State;
use crate::ledger::Period;
use crate::store::{History, in_memory};

/// When the files begin: 2026-11-15 20:00 UTC.
pub(super) const START: i64 = 1_794_772_800_000;

pub(super) const ALWAYS: Period = Period::new(UnixMillis(i64::MIN / 4), UnixMillis(i64::MAX / 4));

/// What a version writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
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

/// A file in the making.
pub(super) struct File {
    pub dir: tempfile::TempDir,
    pub database: Connection,
    layout: Layout,
}

/// One card at one tick, with its processes: pid, memory, user.
#[derive(Debug, Clone)]
pub(super) struct Card {
    pub uuid: String,
    pub percent: Option<i64>,
    pub processes: Vec<(u32, Option<i64>, Option<String>)>,
}

impl File {
    pub fn new(layout: Layout) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let database = Connection::open(dir.path().join("python.db")).unwrap();
        let steps = match layout {
            Layout::Oldest => &[OLDEST][..],
            Layout::Middle => &[OLDEST, MIDDLE],
            Layout::Newest => &[OLDEST, MIDDLE, NEWEST],
        };
        database.execute_batch("PRAGMA synchronous = OFF; BEGIN").unwrap();
        for step in steps {
            database.execute_batch(step).unwrap();
        }
        database.execute_batch("COMMIT").unwrap();
        Self { dir, database, layout }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("python.db")
    }

    pub fn run(&self, id: i64, interval_seconds: f64) {
        self.database
            .execute("INSERT INTO daemon_run VALUES (?1, '', ?2)", (id, interval_seconds))
            .unwrap();
    }

    pub fn tick(&self, at: i64, run: Option<i64>, cards: &[Card]) {
        for card in cards {
            self.card(&text(at), run, card);
        }
    }

    pub fn card(&self, ts: &str, run: Option<i64>, card: &Card) {
        let Card { uuid, percent, processes } = card;
        self.database
            .execute(
                "INSERT INTO gpu_sample (ts, gpu_uuid, util_pct) VALUES (?1, ?2, ?3)",
                params![ts, uuid, percent],
            )
            .unwrap();
        let sample = self.database.last_insert_rowid();
        for (pid, mib, user) in processes {
            self.database
                .execute(
                    "INSERT INTO proc_sample (ts, gpu_uuid, pid, mem_used_mb, loginuid_user)
                         VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![ts, uuid, pid, mib, user],
                )
                .unwrap();
            let process = self.database.last_insert_rowid();
            self.set("proc_sample", "run_id", process, run);
        }
        self.set("gpu_sample", "run_id", sample, run);
    }

    fn set(&self, table: &str, column: &str, row: i64, value: Option<i64>) {
        if self.layout != Layout::Oldest {
            let update = format!("UPDATE {table} SET {column} = ?2 WHERE rowid = ?1");
            self.database.execute(&update, (row, value)).unwrap();
        }
    }
}

pub(super) fn card(uuid: &str, percent: i64, held: &[(u32, Option<i64>, &str)]) -> Card {
    let process = |(pid, mib, user): &(u32, Option<i64>, &str)| {
        (*pid, *mib, Some((*user).to_owned()).filter(|user| !user.is_empty()))
    };
    let processes = held.iter().map(process).collect();
    Card { uuid: uuid.to_owned(), percent: Some(percent), processes }
}

/// As the Python gua writes times.
pub(super) fn text(at: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at).unwrap();
    at.strftime("%Y-%m-%dT%H:%M:%S%.f+00:00").to_string()
}

/// A file's content as ours.
pub(super) fn imported(path: &Path) -> (Imported, History) {
    let mut database = in_memory().unwrap();
    let imported = import(path, &mut database, &mut |_| ()).unwrap();
    (imported, History::of(database).unwrap())
}

pub(super) type Sums = BTreeMap<&'static str, i64>;

pub(super) fn word(state: State) -> &'static str {
    match state {
        State::Active => "active",
        State::IdleHeld => "idle-held",
        State::TrulyIdle => "truly-idle",
        State::Unknown(_) => "unknown",
    }
}

/// What the cards count for in a window, by state.
pub(super) fn by_state(history: &History, window: Period) -> Sums {
    let mut sums = Sums::new();
    history
        .card_spans(window, |span| *sums.entry(word(span.state)).or_default() += span.counts)
        .unwrap();
    sums
}
