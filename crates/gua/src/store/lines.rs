//! By which lines a run was judged: an event of its own where they were not the usual ones.

use std::collections::HashMap;

use probe::units::UnixMillis;
use rusqlite::Connection;

use super::error::StoreError;
use crate::classify::{CentiPercent, Kib, Lines, Thresholds};

/// The kind of such an event. It is kept as long as its run.
pub(super) const KIND: &str = "lines";

pub(super) fn usual() -> Lines {
    Lines::from(&Thresholds::default())
}

/// Writes them down, where that is needed.
pub(super) fn write(
    database: &Connection,
    run: i64,
    started: UnixMillis,
    lines: Lines,
) -> Result<(), StoreError> {
    if lines != usual() {
        database.execute(
            "INSERT INTO event (run, at_ms, kind, detail) VALUES (?1, ?2, ?3, ?4)",
            (run, started.0, KIND, in_words(lines)),
        )?;
    }
    Ok(())
}

/// Those of the runs that were not judged by the usual ones; `None` where they cannot be told.
pub(super) fn of_runs(database: &Connection) -> Result<HashMap<i64, Option<Lines>>, StoreError> {
    let mut rows = database
        .prepare("SELECT run, detail FROM event WHERE kind = ?1 AND run IS NOT NULL ORDER BY id")?;
    let lines = rows.query_map([KIND], |row| {
        let detail: String = row.get(1)?;
        Ok((row.get(0)?, of_words(&detail)))
    })?;
    Ok(lines.collect::<Result<_, _>>()?)
}

fn in_words(lines: Lines) -> String {
    let Lines { active: CentiPercent(active), held: Kib(held), worked } = lines;
    let cards = format!("active from {active} hundredths of a percent on, held above {held} KiB");
    match worked {
        worked if worked == usual().worked => cards,
        CentiPercent(worked) => format!("{cards}, works from {worked} on"),
    }
}

fn of_words(words: &str) -> Option<Lines> {
    let rest = words.strip_prefix("active from ")?;
    let (active, rest) = rest.split_once(" hundredths of a percent on, held above ")?;
    let (held, rest) = rest.split_once(" KiB")?;
    let worked = match rest {
        "" => usual().worked,
        rest => {
            let worked = rest.strip_prefix(", works from ")?.strip_suffix(" on")?;
            CentiPercent(worked.parse().ok()?)
        }
    };
    let active = CentiPercent(active.parse().ok()?);
    Some(Lines { active, held: Kib(held.parse().ok()?), worked })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_down_is_read(
            active: u32, held: u64, worked: u32, words in "\\PC{0,80}") {
            let worked = CentiPercent(worked);
            let lines = Lines { active: CentiPercent(active), held: Kib(held), worked };
            prop_assert_eq!(of_words(&in_words(lines)), Some(lines));
            let _ = of_words(&words);
        }
    }
}
