//! What the recorder last saw.

use gua_core::reading::{Reading, Reason};
use gua_core::snapshot::{HostNow, SCHEMA, Snapshot, SnapshotSource};
use gua_core::units::UnixMillis;
use gua_store::{Database, StoreError, StoredRun};
use serde::de::DeserializeOwned;

use super::idle::add_idle_times;

/// Why no snapshot can be read from a record.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "cannot read what the recorder last saw of {what}: {error}. \
         Use the gua that records, or restart the recorder with this one."
    )]
    Unreadable { what: &'static str, error: serde_json::Error },
}

/// Returns what the recorder last saw, with idle times up to then; `None` if it has seen nothing yet.
/// `now` is for whether it still runs.
pub fn recorded(store: &Database, now: UnixMillis) -> Result<Option<Snapshot>, SnapshotError> {
    let Some(seen) = store.last_seen()? else { return Ok(None) };
    let run = newest_run(store)?;
    let host = match seen.host {
        Some(json) => parse("the host", &json)?,
        None => host_of_run(run.as_ref()),
    };
    let cards = seen.cards.iter().map(|json| parse("a card", json)).collect::<Result<_, _>>()?;
    let source = SnapshotSource::Recorded;
    let time = seen.at.into();
    let mut snapshot = Snapshot { schema: SCHEMA, time, source, host, cards, history: None };
    let boot = run.map_or_else(String::new, |run| run.run.boot);
    add_idle_times(&mut snapshot, store, &boot, now)?;
    Ok(Some(snapshot))
}

/// Returns the newest run of a recorder; an imported one only if there is no other.
pub(crate) fn newest_run(store: &Database) -> Result<Option<StoredRun>, StoreError> {
    Ok(store.runs()?.into_iter().max_by_key(|run| (!run.is_imported, run.id)))
}

pub(super) fn parse<T: DeserializeOwned>(
    what: &'static str,
    json: &str,
) -> Result<T, SnapshotError> {
    serde_json::from_str(json).map_err(|error| SnapshotError::Unreadable { what, error })
}

fn host_of_run(run: Option<&StoredRun>) -> HostNow {
    let unknown = Reason::NotAsked;
    let host = run.map(|run| run.run.host.clone());
    let driver = run.and_then(|run| run.run.driver.clone());
    let driver = driver.map_or(Reading::Unknown(unknown), Reading::Known);
    HostNow::new(host, driver, Reading::Unknown(unknown), Reading::Unknown(unknown), None)
}
