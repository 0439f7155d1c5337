//! Answers for what listens, from the history.

use std::path::PathBuf;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use gua_fleet::{NotReady, Slot};
use gua_query::status::{self as query_status, RecordStatus, RecorderProcess, Status};
use gua_recorder::places::GivenPaths;
use gua_store::Database;
use jiff::Timestamp;
use probe::units::UnixMillis;

use super::history::{self, Detail};
use super::places::places;
use super::report::{self, Now};
use super::status;
use crate::config::Config;
use crate::ledger::Period;
use crate::report::board::{Board, Page};
use crate::report::now;
use crate::report::usage::{Question, Usage};
use crate::report::who::{self, Record, Who};
use crate::store::{History, RecorderLock, TickWatch};
use crate::web::{Answers, Asked};

/// A history, as it is whenever somebody asks.
#[derive(Debug)]
pub(super) struct FromHistory {
    database: PathBuf,
    config: Config,
    recorder: Recorder,
}

/// Who records it.
#[derive(Debug)]
enum Recorder {
    /// This process. Its database must not be looked at but through SQLite: closing the file
    /// would let go of the recorder's locks.
    Ours(Arc<Slot>),
    /// Another one, if any.
    Another(Mutex<TickWatch>),
}

impl FromHistory {
    /// Of what another process records.
    pub fn of_another(database: PathBuf, config: Config) -> Self {
        let watch = Mutex::new(TickWatch::new(database.clone()));
        Self { database, config, recorder: Recorder::Another(watch) }
    }

    /// Of what this process records, once it does.
    pub const fn of_ours(database: PathBuf, config: Config, slot: Arc<Slot>) -> Self {
        Self { database, config, recorder: Recorder::Ours(slot) }
    }

    /// Reads a window of the history.
    fn open(&self, window: Period) -> Result<(History, Now), NotReady> {
        let at = Timestamp::now();
        let (history, is_recorded) = match &self.recorder {
            Recorder::Ours(slot) => {
                slot.tick().ok_or(NotReady::NoTick)?;
                (History::open_beside_the_writer(&self.database)?, Some(true))
            }
            Recorder::Another(_) => {
                // Before the database is opened, as the lock wants it.
                let is_recorded = RecorderLock::is_taken(&self.database);
                let read = history::read(&self.database, window, Detail::Spans);
                (read?, is_recorded)
            }
        };
        let now = Now::of(&history, at, is_recorded)?;
        // Whoever reads it is nobody in particular.
        Ok((history, Now { uid: u32::MAX, ..now }))
    }

    fn question(&self, asked: &Asked) -> Question {
        let moment = |at: Timestamp| UnixMillis(at.as_millisecond());
        let zone = &asked.window.zone;
        Question {
            window: Period::new(moment(asked.window.from), moment(asked.window.until)),
            tz: zone.tz.clone(),
            tz_name: zone.name.clone(),
            thresholds: self.config.thresholds.into(),
            bys: vec![asked.by],
            user: None,
            cost: self.config.cost.clone(),
            // A page tells people by their accounts.
            identities: asked.sessions.is_none(),
            page_sessions: asked.sessions,
            context: self.config.thresholds.context,
        }
    }

    /// What the newest tick says.
    fn look(&self) -> Result<(now::Now, Record), NotReady> {
        let (history, now) = self.open(last_day())?;
        let held = self.config.thresholds.held;
        report::look(&history, now, held)?.ok_or(NotReady::NoTick)
    }
}

/// Of another program's history no more is read for what is now.
fn last_day() -> Period {
    let now = Timestamp::now().as_millisecond();
    Period::new(UnixMillis(now - 86_400_000), UnixMillis(now))
}

impl Answers for FromHistory {
    fn page(&self, asked: &Asked) -> Result<Page, NotReady> {
        let question = self.question(asked);
        let (history, now) = self.open(question.window)?;
        report::page(&history, &question, now).map_err(NotReady::from)
    }

    fn report(&self, asked: &Asked) -> Result<Usage, NotReady> {
        let question = self.question(asked);
        let (history, now) = self.open(question.window)?;
        report::answer(&history, &question, now).map_err(NotReady::from)
    }

    fn board(&self) -> Result<Option<Board>, NotReady> {
        let (history, now) = self.open(last_day())?;
        let lines = self.config.thresholds;
        report::board(&history, now, lines.held, lines.context).map_err(NotReady::from)
    }

    fn stat(&self) -> Result<now::Now, NotReady> {
        Ok(self.look()?.0)
    }

    fn who(&self, asked: &who::Asked) -> Result<Who, NotReady> {
        let (now, record) = self.look()?;
        let context = self.config.thresholds.context;
        Ok(who::who(now, record, &who::Asked { context, ..asked.clone() }))
    }

    fn status(&self) -> Status {
        if let Recorder::Another(_) = self.recorder {
            let given = GivenPaths { database: Some(&self.database), ..GivenPaths::default() };
            if let Ok(places) = places(&self.config, given) {
                return status::look(&places, true);
            }
        }
        let now = UnixMillis(Timestamp::now().as_millisecond());
        let record = Database::open(&self.database);
        let record = record.and_then(|database| RecordStatus::read(&database, now));
        let record = record.map_err(|error| error.to_string());
        let database = Some(status::database(&self.database));
        let process = RecorderProcess::Here(process::id());
        query_status::status(process, None, database, record, now)
    }

    fn tick(&self) -> Option<i64> {
        match &self.recorder {
            Recorder::Ours(slot) => slot.tick(),
            Recorder::Another(watch) => {
                watch.lock().unwrap_or_else(PoisonError::into_inner).newest()
            }
        }
    }
}
