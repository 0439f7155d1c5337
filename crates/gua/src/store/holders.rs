//! Who held a card, as it was written down.

use probe::units::UnixMillis;
use rusqlite::{OptionalExtension, Row};

use super::error::StoreError;
use super::history::{History, identity};
use super::workload::{self, Workload};
use crate::ledger::Identity;

/// A process on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HolderRow {
    pub id: i64,
    pub card: i64,
    /// What tells one boot from another; empty where not known.
    pub boot: String,
    pub pid: u32,
    /// `None` where it was not known.
    pub start_ticks: Option<u64>,
    pub started: Option<UnixMillis>,
    pub program: Option<String>,
    pub identity: Identity,
    /// What it ran for; `None` where that is not known.
    pub workload: Option<Workload>,
}

const HOLDER: &str = "SELECT holder.id, card, pid, start_ticks, started_ms, program, user, uid,
        source, workload, boot
    FROM holder JOIN process ON process.id = holder.process
    JOIN identity ON identity.id = process.identity
    WHERE holder.id = ?1";

/// The same and those who came after, as many as are read ahead.
const HOLDERS: &str = "SELECT holder.id, card, pid, start_ticks, started_ms, program, user, uid,
        source, workload, boot
    FROM holder JOIN process ON process.id = holder.process
    JOIN identity ON identity.id = process.identity
    WHERE holder.id >= ?1 ORDER BY holder.id LIMIT 32";

/// Who was read ahead and not asked for is forgotten when they are more than this.
const MOST_AHEAD: usize = 1024;

impl History {
    /// A holder by its number; `None` where it is not known any more.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn holder(&self, id: i64) -> Result<Option<HolderRow>, StoreError> {
        if let Some(known) = self.holders.borrow().get(&id) {
            return Ok(known.clone());
        }
        let found = self.read_holder(id)?;
        self.holders.borrow_mut().insert(id, found.clone());
        Ok(found)
    }

    /// The same without what it ran for, which takes longer to read than all the rest. For who
    /// asks for one after the other: who comes later has a larger number, and will be asked for;
    /// many at once take little longer.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn holder_alone(&self, id: i64) -> Result<Option<HolderRow>, StoreError> {
        let mut ahead = self.holders_ahead.borrow_mut();
        if let Some(holder) = ahead.remove(&id) {
            return Ok(Some(holder));
        }
        if ahead.len() > MOST_AHEAD {
            ahead.clear();
        }
        let mut query = self.connection().prepare_cached(HOLDERS)?;
        let mut rows = query.query([id])?;
        while let Some(row) = rows.next()? {
            let (found, _) = holder(row)?;
            ahead.insert(found.id, found);
        }
        Ok(ahead.remove(&id))
    }

    fn read_holder(&self, id: i64) -> Result<Option<HolderRow>, StoreError> {
        self.find_holder(id)?.map(|found| self.with_workload(found)).transpose()
    }

    fn find_holder(&self, id: i64) -> Result<Option<(HolderRow, Option<i64>)>, StoreError> {
        let mut query = self.connection().prepare_cached(HOLDER)?;
        Ok(query.query_row([id], holder).optional()?)
    }

    fn with_workload(
        &self,
        (holder, workload): (HolderRow, Option<i64>),
    ) -> Result<HolderRow, StoreError> {
        let workload = workload.map(|id| workload::read(self.connection(), id)).transpose()?;
        Ok(HolderRow { workload: workload.flatten(), ..holder })
    }
}

fn holder(row: &Row<'_>) -> rusqlite::Result<(HolderRow, Option<i64>)> {
    let holder = HolderRow {
        id: row.get(0)?,
        card: row.get(1)?,
        boot: row.get(10)?,
        pid: row.get(2)?,
        start_ticks: u64::try_from(row.get::<_, i64>(3)?).ok(),
        started: row.get::<_, Option<i64>>(4)?.map(UnixMillis),
        program: row.get(5)?,
        identity: identity(row, 6)?,
        workload: None,
    };
    Ok((holder, row.get(9)?))
}
