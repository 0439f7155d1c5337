//! Sessions: stretches in which a process held a card without using it.

use std::collections::HashMap;

use gua_core::session::{LONGEST_DOUBT_MS, SHORTEST_SESSION_MS};
use gua_core::{Period, State};
use rusqlite::{Connection, params};

use super::open_row::{CardTick, HolderTick, seconds};
use crate::error::Problem;

/// Sessions that go on, by card.
#[derive(Debug)]
pub(super) struct IdleSessions {
    window: Option<Period>,
    cards: HashMap<i64, CardSessions>,
}

#[derive(Debug, Default)]
struct CardSessions {
    /// End of the newest tick at which the card could be read.
    read_until: Option<i64>,
    /// By holder.
    open: HashMap<i64, IdleSession>,
}

#[derive(Debug)]
struct IdleSession {
    period: Period,
    is_begin_seen: bool,
    idle_ms: i64,
    unused_share_ms: i64,
    /// MiB × milliseconds.
    memory: i64,
    peak_mib: Option<i64>,
}

impl IdleSessions {
    /// Keeps sessions that overlap a window.
    pub fn new(window: Option<Period>) -> Self {
        Self { window, cards: HashMap::new() }
    }

    /// Adds a tick of a card. On an idle-held card every process is idle.
    pub fn add(
        &mut self,
        db: &Connection,
        card: i64,
        period: Period,
        tick: &CardTick,
        interval: i64,
    ) -> Result<(), Problem> {
        if matches!(tick.state, State::Unknown(_)) {
            return Ok(());
        }
        let longest_doubt = LONGEST_DOUBT_MS.max(interval.saturating_mul(3) / 2);
        let is_near = |end: i64| period.from.0.saturating_sub(end) <= longest_doubt;
        let card = self.cards.entry(card).or_default();
        let is_idle = |holder: &HolderTick| holder.is_process && tick.state == State::IdleHeld;
        let goes_on = |holder: i64, session: &IdleSession| {
            is_near(session.period.to.0)
                && tick.holders.iter().any(|it| it.holder == holder && is_idle(it))
        };
        for (holder, session) in card.open.extract_if(|id, session| !goes_on(*id, session)) {
            session.write(db, holder, self.window)?;
        }
        let is_begin_seen = card.read_until.is_some_and(is_near);
        for holder in tick.holders.iter().filter(|holder| is_idle(holder)) {
            let session = card.open.entry(holder.holder).or_insert_with(|| IdleSession {
                period: Period::none_at(period.from),
                is_begin_seen,
                idle_ms: 0,
                unused_share_ms: 0,
                memory: 0,
                peak_mib: None,
            });
            session.period.to = period.to;
            session.idle_ms += period.millis();
            session.unused_share_ms += holder.share_ms;
            let memory = holder.mib.unwrap_or(0).saturating_mul(tick.counts_ms);
            session.memory = session.memory.saturating_add(memory);
            session.peak_mib = session.peak_mib.max(holder.mib);
        }
        card.read_until = Some(period.to.0);
        Ok(())
    }

    /// Ends all sessions where they were last seen.
    pub fn finish(self, db: &Connection) -> Result<(), Problem> {
        for (holder, session) in self.cards.into_values().flat_map(|card| card.open) {
            session.write(db, holder, self.window)?;
        }
        Ok(())
    }
}

impl IdleSession {
    /// Writes a session that is long enough.
    fn write(self, db: &Connection, holder: i64, window: Option<Period>) -> Result<(), Problem> {
        let is_outside = window.is_some_and(|window| self.period.overlap(&window).is_empty());
        if is_outside || self.period.millis() < SHORTEST_SESSION_MS {
            return Ok(());
        }
        db.prepare_cached(
            "INSERT OR REPLACE INTO session (from_ms, holder, to_ms, begin_seen, doubt_ms,
                 unused_share_ms, idle_beside_ms, memory, peak_mib)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8)",
        )?
        .execute(params![
            self.period.from.0,
            holder,
            self.period.to.0,
            self.is_begin_seen,
            self.period.millis() - self.idle_ms,
            self.unused_share_ms,
            seconds(self.memory),
            self.peak_mib
        ])?;
        Ok(())
    }
}
