//! Takes out the names that nothing refers to any more.
//!
//! No index leads from a holder to its spans: it would make the file larger by a third, for
//! the sake of one question a day. So all spans are read through instead, a part at each
//! step, and every holder that has one is marked. What is written meanwhile is at the end,
//! and is read before anything is deleted.

use rusqlite::{Connection, Transaction};

use super::counts::Counts;
use super::error::StoreError;
use super::writer::immediate;

/// Rows that are read for each that may be deleted: reading costs less.
const READ_FOR_ONE: usize = 10;

/// One sweep, over as many steps as it takes.
#[derive(Debug)]
pub(super) struct Sweep {
    /// A run that begins meanwhile may go back in time, to behind the cursor.
    newest_run: i64,
    marked: Marks,
    read_to: (i64, i64, i64),
    deleted_to: i64,
}

/// One bit for each number.
#[derive(Debug, Default)]
struct Marks(Vec<u64>);

impl Marks {
    fn place(number: i64) -> (usize, u64) {
        let number = usize::try_from(number).unwrap_or(0);
        (number / 64, 1 << (number % 64))
    }

    fn set(&mut self, number: i64) {
        let (word, bit) = Self::place(number);
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        if let Some(word) = self.0.get_mut(word) {
            *word |= bit;
        }
    }

    fn has(&self, number: i64) -> bool {
        let (word, bit) = Self::place(number);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }
}

impl Sweep {
    pub fn begin(database: &Connection) -> Result<Self, StoreError> {
        Ok(Self {
            newest_run: newest_run(database)?,
            marked: Marks::default(),
            read_to: (i64::MIN, 0, 0),
            deleted_to: 0,
        })
    }

    /// Whether it can go on.
    pub fn is_of_now(&self, database: &Connection) -> Result<bool, StoreError> {
        Ok(newest_run(database)? == self.newest_run)
    }

    /// Continues the sweep. Returns the rows deleted, and true if it is done. Foreign keys must
    /// be turned off.
    pub fn step(
        &mut self,
        database: &mut Connection,
        most_rows: usize,
    ) -> Result<(Counts, bool), StoreError> {
        let transaction = immediate(database)?;
        let (mut deleted, mut is_done) = (Counts::default(), false);
        if !self.read(&transaction, most_rows.saturating_mul(READ_FOR_ONE))? {
            self.delete_holders(&transaction, most_rows, &mut deleted)?;
            if deleted.total() < most_rows {
                delete_the_rest(&transaction, &mut deleted)?;
                is_done = true;
            }
        }
        transaction.commit()?;
        Ok((deleted, is_done))
    }

    /// Marks the holders of the next spans; whether there are more.
    fn read(&mut self, database: &Transaction<'_>, most: usize) -> Result<bool, StoreError> {
        let mut spans = database.prepare_cached(
            "SELECT from_ms, holder, run FROM holder_span
                 WHERE (from_ms, holder, run) > (?1, ?2, ?3)
                 ORDER BY from_ms, holder, run LIMIT ?4",
        )?;
        let (from, holder, run) = self.read_to;
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        let mut rows = spans.query((from, holder, run, limit))?;
        let mut read = 0;
        while let Some(row) = rows.next()? {
            self.read_to = (row.get(0)?, row.get(1)?, row.get(2)?);
            self.marked.set(self.read_to.1);
            read += 1;
        }
        Ok(read >= most)
    }

    /// Deletes holders without a mark, and processes that hold no card any more.
    fn delete_holders(
        &mut self,
        database: &Transaction<'_>,
        most: usize,
        deleted: &mut Counts,
    ) -> Result<(), StoreError> {
        let mut holders =
            database.prepare_cached("SELECT id, process FROM holder WHERE id > ?1 ORDER BY id")?;
        let mut delete = database.prepare_cached("DELETE FROM holder WHERE id = ?1")?;
        let mut delete_process = database.prepare_cached(
            "DELETE FROM process WHERE id = ?1
                 AND NOT EXISTS (SELECT 1 FROM holder WHERE process = ?1)",
        )?;
        let mut rows = holders.query([self.deleted_to])?;
        let mut gone = Vec::new();
        while gone.len() < most
            && let Some(row) = rows.next()?
        {
            self.deleted_to = row.get(0)?;
            if !self.marked.has(self.deleted_to) {
                gone.push((self.deleted_to, row.get::<_, i64>(1)?));
            }
        }
        for (holder, process) in gone {
            deleted.add("holder", delete.execute([holder])?);
            deleted.add("process", delete_process.execute([process])?);
        }
        Ok(())
    }
}

fn newest_run(database: &Connection) -> Result<i64, StoreError> {
    Ok(database.query_row("SELECT ifnull(max(id), 0) FROM run", [], |row| row.get(0))?)
}

/// Workloads, identities, cards and runs. They are few, and what nobody names elsewhere is rare: only
/// then are the large tables read. The earliest run stays: from it on, what is missing was
/// recorded and is no longer kept, and not a time in which nobody recorded.
fn delete_the_rest(database: &Transaction<'_>, deleted: &mut Counts) -> Result<(), StoreError> {
    let few = [
        ("workload", "id NOT IN (SELECT workload FROM process WHERE workload IS NOT NULL)"),
        (
            "identity",
            "id NOT IN (SELECT identity FROM process)
             AND NOT EXISTS (SELECT 1 FROM owner_span WHERE identity = identity.id)",
        ),
        (
            "card",
            "id NOT IN (SELECT card FROM holder)
             AND NOT EXISTS (SELECT 1 FROM card_span WHERE card = card.id)
             AND NOT EXISTS (SELECT 1 FROM owner_span WHERE card = card.id)
             AND NOT EXISTS (SELECT 1 FROM unseen_span WHERE card = card.id)
             AND NOT EXISTS (SELECT 1 FROM sample WHERE card = card.id)",
        ),
        (
            "run",
            "id NOT IN (SELECT run FROM observed)
             AND id NOT IN (SELECT run FROM event WHERE run IS NOT NULL AND kind <> 'lines')
             AND id < (SELECT max(id) FROM run)
             AND id <> (SELECT id FROM run ORDER BY started_ms, id LIMIT 1)
             AND NOT EXISTS (SELECT 1 FROM tick WHERE run = run.id)
             AND NOT EXISTS (SELECT 1 FROM card_span WHERE run = run.id)
             AND NOT EXISTS (SELECT 1 FROM holder_span WHERE run = run.id)
             AND NOT EXISTS (SELECT 1 FROM unseen_span WHERE run = run.id)",
        ),
        ("event", "kind = 'lines' AND run NOT IN (SELECT id FROM run)"),
        ("host", "id NOT IN (SELECT host FROM run)"),
    ];
    for (table, is_unused) in few {
        let delete = format!("DELETE FROM {table} WHERE {is_unused}");
        deleted.add(table, database.execute(&delete, [])?);
    }
    Ok(())
}
