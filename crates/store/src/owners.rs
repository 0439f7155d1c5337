//! Reads who is behind many holders at once.

use std::collections::HashMap;
use std::sync::Arc;

use gua_core::Period;
use gua_core::identity::Source;
use gua_core::units::UnixMillis;
use rusqlite::{Connection, Row};

use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::sums::Bounds;
use crate::workload::{self, Workload};
use gua_core::identity::Person;

/// Card and person of a holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub holder: i64,
    pub card: i64,
    /// `None` for memory that no listed process holds.
    pub process: Option<OwnerProcess>,
}

/// Names of a process, by which its time is added up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OwnerProcess {
    pub program: Option<Arc<str>>,
    /// Id of the person.
    pub person: i64,
    /// Id of the workload; `None` if it is not known.
    pub workload: Option<i64>,
}

const SELECT: &str = "SELECT holder.id, card, process, program, person, workload FROM holder
    LEFT JOIN process ON process.id = holder.process";

/// Ids per wanted one up to which a range of ids is read instead of one at a time.
const READ_AHEAD: usize = 8;

impl Database {
    /// Reads cards and people of holders. `ids` are in order.
    pub fn owners(&self, ids: &[i64]) -> Result<Vec<Owner>, StoreError> {
        self.result(read_owners(&self.connection, ids))
    }

    /// Reads all people by their ids.
    pub fn people(&self) -> Result<HashMap<i64, Person>, StoreError> {
        self.result(read_people(&self.connection))
    }

    /// Reads a workload; `None` if there is none with this id.
    pub fn workload(&self, id: i64) -> Result<Option<Workload>, StoreError> {
        self.result(workload::read(&self.connection, id))
    }

    /// Returns the time from the first to the last record that is kept; `None` without any. Of a file that
    /// was converted for a window, it is that of the file.
    pub fn extent(&self) -> Result<Option<Period>, StoreError> {
        let own = self.result(read_extent(&self.connection))?;
        let extents = [own, self.source_extent].into_iter().flatten();
        let both = |one: Period, other: Period| {
            Period::new(one.from.min(other.from), one.to.max(other.to))
        };
        Ok(extents.reduce(both))
    }
}

fn read_owners(db: &Connection, ids: &[i64]) -> Result<Vec<Owner>, Problem> {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Ok(Vec::new()) };
    let mut owners = Vec::with_capacity(ids.len());
    let range = usize::try_from(last.saturating_sub(*first)).unwrap_or(usize::MAX);
    if range / READ_AHEAD > ids.len() {
        let mut query = db.prepare_cached(&format!("{SELECT} WHERE holder.id = ?1"))?;
        for id in ids {
            let mut rows = query.query([id])?;
            owners.extend(rows.next()?.map(owner).transpose()?);
        }
        return Ok(owners);
    }
    let order = "WHERE holder.id BETWEEN ?1 AND ?2 ORDER BY holder.id";
    let mut query = db.prepare_cached(&format!("{SELECT} {order}"))?;
    let mut rows = query.query((first, last))?;
    let mut wanted = ids.iter().peekable();
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        while wanted.next_if(|wanted| **wanted < id).is_some() {}
        if wanted.next_if(|wanted| **wanted == id).is_some() {
            owners.push(owner(row)?);
        }
    }
    Ok(owners)
}

fn owner(row: &Row<'_>) -> Result<Owner, Problem> {
    let process: Option<i64> = row.get(2)?;
    let process = match process {
        None => None,
        Some(_) => Some(OwnerProcess {
            program: row.get(3)?,
            person: row.get::<_, Option<i64>>(4)?.unwrap_or(-1),
            workload: row.get(5)?,
        }),
    };
    Ok(Owner { holder: row.get(0)?, card: row.get(1)?, process })
}

fn read_people(db: &Connection) -> Result<HashMap<i64, Person>, Problem> {
    let mut query = db.prepare_cached("SELECT id, user, uid, source FROM person")?;
    let people = query.query_map([], |row| {
        let source: Option<String> = row.get(3)?;
        let source = source.as_deref().and_then(Source::of_slug);
        Ok((row.get(0)?, Person { user: row.get(1)?, uid: row.get(2)?, source }))
    })?;
    Ok(people.collect::<Result<_, _>>()?)
}

fn read_extent(db: &Connection) -> Result<Option<Period>, Problem> {
    let mut query = db.prepare_cached("SELECT min(started_ms), max(until_ms) FROM run")?;
    let (started, until): (Option<i64>, Option<i64>) =
        query.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let kept_from = Bounds::read(db)?.hours_from;
    let extent = started.map(|started| started.max(kept_from)).zip(until);
    Ok(extent.map(|(from, to)| Period::new(UnixMillis(from), UnixMillis(to))))
}
