//! Reads samples of cards, for plots.

use gua_core::Period;
use gua_core::units::{Percent, UnixMillis};
use rusqlite::Connection;

use crate::database::Database;
use crate::error::{Problem, StoreError};

/// A sample of a card.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoredSample {
    pub at: UnixMillis,
    /// Id of the card.
    pub card: i64,
    pub utilization: Option<Percent>,
    pub memory_mib: Option<i64>,
}

impl Database {
    /// Reads the samples of all cards in a window, in order of time.
    pub fn samples(&self, window: Period) -> Result<Vec<StoredSample>, StoreError> {
        self.result(read(&self.connection, window))
    }
}

fn read(db: &Connection, window: Period) -> Result<Vec<StoredSample>, Problem> {
    let mut query = db.prepare_cached(
        "SELECT at_ms, card, utilization, memory_mib FROM sample
         WHERE at_ms > ?1 AND at_ms <= ?2 ORDER BY at_ms, card",
    )?;
    let samples = query.query_map((window.from.0, window.to.0), |row| {
        Ok(StoredSample {
            at: UnixMillis(row.get(0)?),
            card: row.get(1)?,
            utilization: row.get::<_, Option<f64>>(2)?.map(Percent),
            memory_mib: row.get(3)?,
        })
    })?;
    Ok(samples.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gua_core::card::CardFacts;
    use gua_core::units::Bytes;
    use gua_core::{Reason, Thresholds};

    use super::*;
    use crate::tick::{CardSample, Run, Tick};
    use crate::writer::Writer;

    #[test]
    fn samples_of_a_window_come_in_order_of_time() {
        let run = Run {
            host: "four".to_owned(),
            boot: String::new(),
            driver: None,
            recorder: "test".to_owned(),
            rule: "by hand".to_owned(),
            thresholds: Thresholds::default(),
            interval_ms: Some(1000),
            started: UnixMillis(0),
        };
        let mut writer = Writer::begin(Database::in_memory().unwrap(), run).unwrap();
        for second in 1..=4 {
            let at = UnixMillis(second * 1000);
            let sample = CardSample {
                card: Arc::new(CardFacts::unread(0, Reason::NotAsked)),
                utilization: (second != 3).then_some(Percent(40.0)),
                memory: Some(Bytes::from_mib(8000)),
                memory_total: None,
                power: None,
                temperature: None,
            };
            writer.tick(&Tick { samples: &[sample], ..Tick::new(at, at) }).unwrap();
        }
        let store = writer.into_database();
        let samples = store.samples(Period::new(UnixMillis(1000), UnixMillis(3000))).unwrap();
        let found: Vec<_> =
            samples.iter().map(|it| (it.at.0, it.utilization, it.memory_mib)).collect();
        let expected = [(2000, Some(Percent(40.0)), Some(8000)), (3000, None, Some(8000))];
        assert_eq!(found, expected);
    }
}
