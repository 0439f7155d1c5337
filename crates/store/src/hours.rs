//! Card time by hour or quarter hour: what a picture of the week needs.

use gua_core::Period;
use rusqlite::Connection;

use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::observed::Observed;
use crate::rows::read_period;
use crate::sums::Bounds;
use crate::tables::Age;
use crate::usage::{Grain, parts};

/// Card time of an observed stretch of at most an hour, in milliseconds. A part of a GPU counts as such.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CardHours {
    pub period: Period,
    /// Time in which cards were active.
    pub active_ms: f64,
    /// Time in which cards were observed, read or not.
    pub observed_ms: f64,
}

impl Database {
    /// Calls `each` with the card time of a window. The stretches of several cards may overlap.
    pub fn card_hours(
        &self,
        window: Period,
        grain: Grain,
        mut each: impl FnMut(CardHours),
    ) -> Result<(), StoreError> {
        let mut read = || -> Result<(), Problem> {
            let db = &self.connection;
            let observed = Observed::read(self, window)?;
            let mut parts = parts(&grain.limit(Bounds::read(db)?), window).into_iter();
            parts.try_for_each(|(age, part)| read_part(db, &observed, (age, part), &mut each))
        };
        self.at_once(|| self.result(read()))
    }
}

fn read_part(
    db: &Connection,
    observed: &Observed,
    (age, part): (Age, Period),
    each: &mut impl FnMut(CardHours),
) -> Result<(), Problem> {
    // Hour rows are added up over the cards; fine rows of one begin may have several lengths.
    let group = match age {
        Age::Hours => "from_ms",
        Age::Fine => "from_ms, r.card, reason",
    };
    let sql = format!(
        "SELECT from_ms, max(length_ms), total(active_ms * (1.0 * slices / slices_of)),
                total((active_ms + idle_held_ms + free_ms + unknown_ms) * (1.0 * slices / slices_of))
             FROM {} AS r JOIN card ON card.id = r.card
             WHERE from_ms >= ?1 AND from_ms < ?2 GROUP BY {group}",
        age.card_table()
    );
    let mut query = db.prepare_cached(&sql)?;
    let [first, end] = age.range(part);
    let mut rows = query.query((first, end))?;
    while let Some(row) = rows.next()? {
        let row_period = read_period(row.get(0)?, row.get(1)?);
        let [active, all]: [f64; 2] = [row.get(2)?, row.get(3)?];
        for period in observed.parts(row_period, part) {
            let inside = observed.counted_part(row_period, period);
            each(CardHours { period, active_ms: active * inside, observed_ms: all * inside });
        }
    }
    Ok(())
}
