//! The last hour of the graphs, from the record.

use std::collections::HashMap;

use gua_store::{Database, StoreError};
use probe::units::UnixMillis;

use super::look::CardKey;
use super::series::Point;
use gua_core::Period;
use gua_core::period::HOUR;

/// Longest time that one sample speaks for. After a longer one, nothing was recorded.
const LONGEST: i64 = 120_000;

/// What a record adds to the graphs.
#[derive(Debug, Default)]
pub struct Past {
    /// The earliest that is drawn; `None` if the last hour is empty.
    pub from: Option<UnixMillis>,
    pub series: HashMap<CardKey, Vec<Point>>,
}

impl Past {
    /// Reads the last hour before a moment.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub fn read(store: &Database, now: UnixMillis) -> Result<Self, StoreError> {
        let cards = store.cards()?;
        let window = Period::new(UnixMillis(now.0.saturating_sub(HOUR)), now);
        let mut past = Self::default();
        let mut last: HashMap<i64, UnixMillis> = HashMap::new();
        for sample in store.samples(window)? {
            let Some(card) = cards.get(&sample.card) else { continue };
            let before = last.insert(sample.card, sample.at).unwrap_or(sample.at);
            let earliest = UnixMillis(sample.at.0.saturating_sub(LONGEST));
            past.from = Some(past.from.map_or(sample.at, |from| from.min(sample.at)));
            let total = card.memory_mib.filter(|total| *total > 0);
            #[expect(clippy::cast_precision_loss, reason = "for a plot")]
            let full = |(used, total): (i64, i64)| (used as f32 / total as f32).min(1.0);
            let key = CardKey::new(card.uuid.as_deref(), card.index, card.slot);
            #[expect(clippy::cast_possible_truncation, reason = "for a plot")]
            past.series.entry(key).or_default().push(Point {
                period: Period::new(before.max(earliest), sample.at),
                work: sample.utilization.map(|percent| (percent.0 / 100.0) as f32),
                memory: sample.memory_mib.zip(total).map(full),
            });
        }
        Ok(past)
    }
}
