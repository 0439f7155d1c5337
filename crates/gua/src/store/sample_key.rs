//! The number of a sample: its tick and its card in one. So samples lie in the order of
//! ticks, and a tick's are added behind all others, which costs SQLite the least.

use rusqlite::Connection;

use super::error::StoreError;

/// The lower bits, which are the card's; the others are the tick's.
const CARD_BITS: u32 = 20;
const MOST_CARDS: i64 = 1 << CARD_BITS;
const MOST_TICKS: i64 = i64::MAX >> CARD_BITS;

/// The number of the sample of a card at a tick.
pub(super) const fn number(tick: i64, card: i64) -> Result<i64, StoreError> {
    if tick < 0 || tick >= MOST_TICKS || card < 0 || card >= MOST_CARDS {
        return Err(StoreError::OutOfNumbers);
    }
    Ok(tick << CARD_BITS | card)
}

/// The condition for a sample to be one of a tick, in SQL. Who reads may have a database of
/// an older layout before him; this is the one place that minds.
pub(super) fn is_of(tick: &str, database: &Connection) -> Result<String, StoreError> {
    let layout: u32 = database.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(match layout {
        1 => format!("sample.tick = {tick}"),
        _ => format!("{} AND sample.id < ({tick} + 1) << {CARD_BITS}", is_since(tick)),
    })
}

/// The condition for a sample to be one of a tick or of a later one, in our own layout.
pub(super) fn is_since(tick: &str) -> String {
    format!("sample.id >= {tick} << {CARD_BITS}")
}

/// Whether all samples of layout 1 can be numbered.
pub(super) fn are_enough_for(layout_1: &Connection) -> Result<bool, StoreError> {
    let beyond = format!(
        "SELECT EXISTS (SELECT 1 FROM sample
             WHERE tick NOT BETWEEN 0 AND {MOST_TICKS} - 1 OR card NOT BETWEEN 0 AND {MOST_CARDS} - 1)"
    );
    Ok(!layout_1.query_row(&beyond, [], |row| row.get::<_, bool>(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::in_memory;

    #[test]
    fn numbers_are_in_the_order_of_ticks_then_cards_and_end_where_they_must() {
        let last = (MOST_TICKS - 1, MOST_CARDS - 1);
        let pairs =
            [(0, 0), (0, 1), (0, MOST_CARDS - 1), (1, 0), (7, 3), (MOST_TICKS - 1, 0), last];
        let numbers = pairs.map(|(tick, card)| number(tick, card).unwrap());
        assert!(numbers.is_sorted());
        for (tick, card) in [(-1, 0), (0, -1), (0, MOST_CARDS), (MOST_TICKS, 0)] {
            assert!(matches!(number(tick, card), Err(StoreError::OutOfNumbers)));
        }
    }

    /// What SQLite makes of a number is what it was made of, and a tick's samples are found
    /// without a look at the others.
    #[test]
    fn the_database_reads_numbers_as_they_were_made() {
        let database = in_memory().unwrap();
        database.pragma_update(None, "foreign_keys", false).unwrap();
        let pairs = [(1, MOST_CARDS - 1), (2, 0), (2, 5), (2, MOST_CARDS - 1), (3, 0)];
        for (tick, card) in pairs {
            database
                .execute(
                    "INSERT INTO sample (id, state, held_kib, holders) VALUES (?1, 0, 0, 0)",
                    [number(tick, card).unwrap()],
                )
                .unwrap();
        }
        let query =
            format!("SELECT tick, card FROM sample WHERE {}", is_of("?1", &database).unwrap());
        let mut of_tick = database.prepare(&query).unwrap();
        let found: Vec<(i64, i64)> = of_tick
            .query_map([2], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(found, pairs[1..4]);
        let plan: String = database
            .query_row(&format!("EXPLAIN QUERY PLAN {query}"), [2], |row| row.get(3))
            .unwrap();
        assert_eq!(plan, "SEARCH sample USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)");
    }
}
