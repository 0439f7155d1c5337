//! What was recorded before the view began: the last hour of the graphs, and since when
//! holders are idle.

use std::collections::HashMap;

use probe::units::UnixMillis;

use super::idle::Stretch;
use super::look::{CardKey, HolderKey};
use super::series::Point;
use crate::ledger::{HOUR, Period};
use crate::store::{CardRow, History, Session, StoreError};

/// What a history adds to what is seen.
#[derive(Debug, Default)]
pub struct Past {
    /// The earliest that is drawn; `None` where the last hour is empty.
    pub from: Option<UnixMillis>,
    pub series: HashMap<CardKey, Vec<Point>>,
    /// Who was idle when the history ended.
    pub idle: HashMap<HolderKey, Stretch>,
    /// How long a doubt the history leaves between two of its ticks, in milliseconds.
    pub bridge: i64,
}

impl Past {
    /// Reads what there is before a moment.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(history: &History, now: UnixMillis) -> Result<Self, StoreError> {
        let cards: HashMap<i64, CardRow> =
            history.cards()?.into_iter().map(|card| (card.id, card)).collect();
        let (from, series) = last_hour(history, &cards, now)?;
        let bridge = history.bridge();
        let idle = idle(history, &cards, now, bridge)?;
        Ok(Self { from, series, idle, bridge })
    }
}

fn window(now: UnixMillis, length: i64) -> Period {
    Period::new(UnixMillis(now.0.saturating_sub(length)), UnixMillis(now.0.saturating_add(1)))
}

fn key(card: &CardRow) -> CardKey {
    CardKey::new(card.uuid.as_deref(), card.number, card.slot)
}

type LastHour = (Option<UnixMillis>, HashMap<CardKey, Vec<Point>>);

#[expect(clippy::cast_precision_loss, reason = "for a plot")]
fn last_hour(
    history: &History,
    cards: &HashMap<i64, CardRow>,
    now: UnixMillis,
) -> Result<LastHour, StoreError> {
    let mut first: Option<UnixMillis> = None;
    let mut series: HashMap<CardKey, Vec<Point>> = HashMap::new();
    history.levels(window(now, HOUR), |level| {
        let Some(card) = cards.get(&level.card) else { return };
        let at = level.period.to;
        first = Some(first.map_or(at, |first| first.min(at)));
        let total = card.memory_bytes.filter(|total| *total > 0);
        let full = |(used, total): (u64, u64)| (used as f32 * 1024.0 / total as f32).min(1.0);
        series.entry(key(card)).or_default().push(Point {
            period: level.period,
            work: level.work.map(|work| work.0 as f32 / 10_000.0),
            memory: level.used.map(|used| used.0).zip(total).map(full),
        });
    })?;
    // Runs may overlap where a clock was set back.
    series.values_mut().for_each(|points| points.sort_by_key(|point| point.period.to));
    Ok((first, series))
}

/// Those who were idle when the history ended, where that is not long ago.
fn idle(
    history: &History,
    cards: &HashMap<i64, CardRow>,
    now: UnixMillis,
    bridge: i64,
) -> Result<HashMap<HolderKey, Stretch>, StoreError> {
    let recent = now.0.saturating_sub(bridge.saturating_mul(2));
    let stretch = |session: Session| {
        let Session { holder, spell, .. } = session;
        let card = key(cards.get(&holder.card)?);
        let key = HolderKey { card, pid: holder.pid, start_ticks: holder.start_ticks };
        (spell.to.0 >= recent).then(|| (key, spell.into()))
    };
    Ok(history.open_sessions()?.into_iter().filter_map(stretch).collect())
}
