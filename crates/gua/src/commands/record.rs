//! The record that a live command reads beside the cards.

use std::path::{Path, PathBuf};

use gua_core::Period;
use gua_query::snapshot::{Snapshot, add_idle_times, add_no_history};
use gua_store::{Database, Problem, StoreError};
use probe::units::UnixMillis;

use super::history;
use crate::config::Config;
use crate::failure::Failure;
use gua_recorder::boot_id;

/// Part of a history of the Python gua that is read: nobody holds a card idle for longer.
const PYTHON_MS: i64 = 30 * 24 * 3_600_000;

/// Adds to one snapshot after the other since when holders are idle.
#[derive(Debug)]
pub(super) struct Record {
    named: Option<PathBuf>,
    config: Config,
    /// A converted history of the Python gua: that takes too long to do at every look.
    converted: Option<Database>,
}

impl Record {
    pub const fn new(named: Option<PathBuf>, config: Config) -> Self {
        Self { named, config, converted: None }
    }

    /// Adds idle times to a snapshot. A record that was named must be there; without the usual one, the
    /// snapshot says why.
    pub fn add_to(&mut self, snapshot: &mut Snapshot) -> Result<(), Failure> {
        let path = match history::path(self.named.as_deref(), &self.config) {
            Ok(path) => path,
            Err(Failure::Usage { what, .. }) => {
                add_no_history(snapshot, None, what);
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        let now = UnixMillis(snapshot.time.as_millisecond());
        let no_history = |snapshot: &mut Snapshot, reason| {
            add_no_history(snapshot, Some(path.display().to_string()), reason);
            Ok(())
        };
        let store = match self.open(&path, now) {
            Ok(store) => store,
            Err(error) if self.named.is_some() => return Err(error.into()),
            Err(error) => return no_history(snapshot, reason(&error)),
        };
        let added = add_idle_times(snapshot, &store, &boot_id(), now);
        if is_converted(&store) {
            self.converted = Some(store);
            if let Some(history) = &mut snapshot.history {
                history.path = Some(path.display().to_string());
            }
        }
        match added {
            Err(error) if self.named.is_none() => no_history(snapshot, error.to_string()),
            added => Ok(added?),
        }
    }

    fn open(&mut self, path: &Path, now: UnixMillis) -> Result<Database, StoreError> {
        let window = Period::new(UnixMillis(now.0.saturating_sub(PYTHON_MS)), now);
        self.converted.take().map_or_else(|| history::open_record(path, window, None), Ok)
    }
}

/// Returns true for a history that was converted in memory.
fn is_converted(store: &Database) -> bool {
    store.path() == Path::new(":memory:")
}

/// Returns why a record cannot be read, for a command that can do without it.
pub(super) fn reason(error: &StoreError) -> String {
    let path = error.path.display();
    match &error.problem {
        Problem::Missing => {
            format!("there is no history at {path} (`gua daemon` starts recording)")
        }
        problem => format!("the history at {path} cannot be read: {problem}"),
    }
}
