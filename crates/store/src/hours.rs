//! Card time by hour or quarter hour: what a picture of the week needs.

use gua_core::Period;
use gua_core::period::HOUR;
use gua_core::units::UnixMillis;
use rusqlite::Connection;

use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::rows::{QUARTER_HOUR, part_within, read_period};
use crate::sums::Bounds;
use crate::tables::Age;
use crate::usage::parts;

/// Card time of a stretch of at most an hour, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CardHours {
    pub period: Period,
    /// Time in which cards were active.
    pub active_ms: f64,
    /// Time in which cards were observed, read or not.
    pub observed_ms: f64,
}

/// Grid on which card time is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grid {
    /// Full hours of UTC.
    Hours,
    /// Quarter hours of UTC, as far back as they are kept; full hours before that.
    QuarterHours,
}

impl Database {
    /// Calls `each` with the card time of a window. No stretch crosses a line of the grid, except where
    /// only hours are kept. The stretches of several cards may overlap.
    pub fn card_hours(
        &self,
        window: Period,
        grid: Grid,
        mut each: impl FnMut(CardHours),
    ) -> Result<(), StoreError> {
        self.at_once(|| {
            let mut read = || -> Result<(), Problem> {
                let db = &self.connection;
                let bounds = Bounds::read(db)?;
                let parts = match grid {
                    Grid::Hours => parts(&bounds, window),
                    Grid::QuarterHours => fine_parts(&bounds, window),
                };
                parts.into_iter().try_for_each(|(age, part)| read_part(db, age, part, &mut each))
            };
            self.result(read())
        })
    }
}

/// Returns the parts of a window that are read from hour rows and from fine rows: the latter wherever
/// they exist.
fn fine_parts(bounds: &Bounds, window: Period) -> Vec<(Age, Period)> {
    let cut = UnixMillis(bounds.fine_from).clamp(window.from, window.to.max(window.from));
    let parts = [
        (Age::Hours, Period::new(window.from, cut)),
        (Age::Fine, Period::new(cut, window.to)),
    ];
    parts.into_iter().filter(|(_, part)| !part.is_empty()).collect()
}

fn read_part(
    db: &Connection,
    age: Age,
    part: Period,
    each: &mut impl FnMut(CardHours),
) -> Result<(), Problem> {
    // Hour rows are added up over the cards; fine rows of one begin may have several lengths.
    let (longest, group) = match age {
        Age::Hours => (HOUR, "from_ms"),
        Age::Fine => (QUARTER_HOUR, "from_ms, card, reason"),
    };
    let sql = format!(
        "SELECT from_ms, max(length_ms), total(active_ms),
                total(active_ms + idle_held_ms + free_ms + unknown_ms) FROM {}
             WHERE from_ms >= ?1 AND from_ms < ?2 GROUP BY {group}",
        age.card_table()
    );
    let mut query = db.prepare_cached(&sql)?;
    let first = part.from.0.div_euclid(longest) * longest;
    let mut rows = query.query((first, part.to.0))?;
    while let Some(row) = rows.next()? {
        let period = read_period(row.get(0)?, row.get(1)?);
        let inside = part_within(period, part);
        if inside > 0.0 {
            let [active, observed]: [f64; 2] = [row.get(2)?, row.get(3)?];
            each(CardHours {
                period: period.overlap(&part),
                active_ms: active * inside,
                observed_ms: observed * inside,
            });
        }
    }
    Ok(())
}
