//! Answers from the record for those who ask over the network.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use gua_core::Period;
use gua_core::units::UnixMillis;
use gua_fleet::{NotReady, Slot};
use gua_query::page::{UsagePage, usage_page};
use gua_query::snapshot::{HistoryNow, Snapshot, SnapshotError, recorded};
use gua_query::status::{RecordStatus, RecorderProcess, Status, status};
use gua_query::usage::{Prices, Usage, UsageRequest, usage};
use gua_query::who::{WhoAnswer, WhoFilter};
use gua_store::lock::RecorderLock;
use gua_store::{Database, StoreError};
use jiff::Timestamp;

use super::history;
use super::status::{NamedRecorder, database};
use crate::config::{Config, Cost};
use crate::web::{Answers, Asked};

/// Time before now that is read of a history of the Python gua for what is now.
const DAY_MS: i64 = 86_400_000;

/// A record, read anew for each question.
#[derive(Debug)]
pub(super) struct RecordAnswers {
    database: PathBuf,
    config: Config,
    recorder: RecorderPlace,
}

/// Where the recorder of a database runs.
#[derive(Debug)]
enum RecorderPlace {
    /// In this process. Then the file must be opened with SQLite only, and not before the recorder has
    /// done so: closing any other handle of it would drop the recorder's locks.
    Here(Arc<Slot>),
    /// In another process, if there is one.
    Elsewhere(Box<Elsewhere>),
}

/// A recorder in another process.
#[derive(Debug)]
struct Elsewhere {
    /// The usual pid file; `None` for a user without a home.
    pid_file: Option<PathBuf>,
    watch: Mutex<TickWatch>,
}

impl RecordAnswers {
    /// Returns answers from what another process records.
    pub fn of_another(database: PathBuf, config: Config, pid_file: Option<PathBuf>) -> Self {
        let watch = Mutex::new(TickWatch::new(database.clone()));
        let recorder = RecorderPlace::Elsewhere(Box::new(Elsewhere { pid_file, watch }));
        Self { database, config, recorder }
    }

    /// Returns answers from what this process records. The slot gets a frame after each tick.
    pub const fn of_this_process(database: PathBuf, config: Config, slot: Arc<Slot>) -> Self {
        Self { database, config, recorder: RecorderPlace::Here(slot) }
    }

    fn open(&self, window: Period) -> Result<Database, NotReady> {
        if let RecorderPlace::Here(slot) = &self.recorder {
            slot.number().ok_or(NotReady::NoTick)?;
        }
        Ok(history::open_record(&self.database, window, None)?)
    }

    /// Returns what is asked of the record, with whether somebody records now.
    fn request(&self, asked: &Asked) -> UsageRequest {
        let window = Period::new(asked.window.from.into(), asked.window.until.into());
        UsageRequest {
            zone: asked.window.zone.tz.clone(),
            zone_name: asked.window.zone.name.clone(),
            by: asked.by.clone(),
            prices: self.prices(),
            context: self.config.thresholds.context,
            most_sessions: asked.sessions,
            // Readers are nobody in particular.
            viewer_uid: u32::MAX,
            is_recording: match self.recorder {
                RecorderPlace::Here(_) => Some(true),
                RecorderPlace::Elsewhere(_) => RecorderLock::is_taken(&self.database),
            },
            ..UsageRequest::new(window, now())
        }
    }

    fn prices(&self) -> Prices {
        let Cost { currency, price, models, per_kwh } = self.config.cost.clone();
        Prices { currency, gpu_hour: price, models, kwh: per_kwh }
    }

    /// Returns the process that records, if this one does not.
    fn process_elsewhere(&self, pid_file: Option<&Path>) -> RecorderProcess {
        let named = pid_file.map(NamedRecorder::read);
        named.unwrap_or_else(NamedRecorder::none).process_of(&self.database)
    }
}

fn now() -> UnixMillis {
    Timestamp::now().into()
}

fn last_day() -> Period {
    let now = now();
    Period::new(UnixMillis(now.0.saturating_sub(DAY_MS)), now)
}

/// Returns why a snapshot cannot be read, without the path of the file.
fn not_ready(error: SnapshotError) -> NotReady {
    match error {
        SnapshotError::Store(error) => error.into(),
        SnapshotError::Unreadable { .. } => NotReady::Unreadable(error.to_string()),
    }
}

impl Answers for RecordAnswers {
    fn page(&self, asked: &Asked) -> Result<UsagePage, NotReady> {
        // Before the database is opened: looking at the lock would drop SQLite's.
        let request = self.request(asked);
        let store = self.open(request.window)?;
        usage_page(&store, &request).map_err(not_ready)
    }

    fn report(&self, asked: &Asked) -> Result<Usage, NotReady> {
        let request = self.request(asked);
        let store = self.open(request.window)?;
        Ok(usage(&store, &request)?)
    }

    fn has_prices(&self) -> bool {
        self.prices().has_gpu_hour()
    }

    fn now(&self) -> Result<Option<Snapshot>, NotReady> {
        let store = self.open(last_day())?;
        let seen = store.at_once(|| recorded(&store, now())).map_err(not_ready)?;
        Ok(seen.map(|snapshot| Snapshot {
            history: snapshot.history.map(HistoryNow::without_path),
            ..snapshot
        }))
    }

    fn who(&self, filter: &WhoFilter) -> Result<WhoAnswer, NotReady> {
        let snapshot = self.now()?.ok_or(NotReady::NoTick)?;
        let context = self.config.thresholds.context;
        Ok(WhoAnswer::new(snapshot, &WhoFilter { context, ..filter.clone() }))
    }

    fn status(&self) -> Status {
        let process = match &self.recorder {
            RecorderPlace::Here(_) => RecorderProcess::Here(process::id()),
            RecorderPlace::Elsewhere(it) => self.process_elsewhere(it.pid_file.as_deref()),
        };
        let read = || -> Result<RecordStatus, NotReady> {
            let store = self.open(last_day())?;
            Ok(store.at_once(|| RecordStatus::read(&store, now()))?)
        };
        let record = read().map_err(|error| error.to_string());
        status(process, None, Some(database(&self.database)), record, now())
    }

    fn tick(&self) -> Option<i64> {
        match &self.recorder {
            RecorderPlace::Here(slot) => slot.number().and_then(|tick| i64::try_from(tick).ok()),
            RecorderPlace::Elsewhere(it) => {
                it.watch.lock().unwrap_or_else(PoisonError::into_inner).newest()
            }
        }
    }
}

fn log_path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}

fn file_id(path: &Path) -> Option<FileId> {
    let file = fs::metadata(path).ok()?;
    let log = fs::metadata(log_path(path)).ok().map(|log| log.ino());
    Some((file.dev(), file.ino(), log))
}

/// Watches for ticks in a database that another process records.
#[derive(Debug)]
struct TickWatch {
    path: PathBuf,
    open: Option<(Database, FileId)>,
}

/// Device, inode, and inode of the log: another file may be moved to the path, and a recorder that ends
/// removes its log.
type FileId = (u64, u64, Option<u64>);

impl TickWatch {
    const fn new(path: PathBuf) -> Self {
        Self { path, open: None }
    }

    /// Returns the time of the newest tick; `None` if there is none, or if it cannot be read now.
    fn newest(&mut self) -> Option<i64> {
        let file = file_id(&self.path)?;
        if self.open.as_ref().is_none_or(|(_, known)| *known != file) {
            self.open = Database::open(&self.path).ok().map(|open| (open, file));
        }
        let (database, _) = self.open.as_ref()?;
        let tick: Result<_, StoreError> = database.last_tick();
        tick.ok().flatten().map(|at| at.0)
    }
}
