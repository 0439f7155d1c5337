//! Idle counts of the rules and the notices that were delivered, and the log of what the rules did. The
//! log is append-only and never pruned.

use gua_core::Period;
use gua_core::units::UnixMillis;
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use crate::database::Database;
use crate::error::{Problem, StoreError};
use crate::transaction::TickTransaction;

/// Idle count of one process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WatchedHolder {
    pub pid: u32,
    /// `None` where it cannot be read.
    pub start_ticks: Option<u64>,
    /// Name of the rule that its notices were given by.
    pub rule: Option<String>,
    /// Action of that rule at that time.
    pub action: Option<String>,
    /// Digest of that rule at that time.
    pub digest: Option<i64>,
    pub idle_ms: i64,
    /// Time since it last worked that was not observed.
    pub missed_ms: i64,
    /// Number of delivered notices.
    pub notices: i64,
    /// Idle count at the last notice.
    pub told_at_ms: i64,
}

/// Idle counts of all processes at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyState {
    pub holders: Vec<WatchedHolder>,
    /// Observed time on the clock of the rules.
    pub clock_ms: i64,
    /// End of the time that was counted; `None` if no time was counted yet.
    pub at: Option<UnixMillis>,
}

/// Entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    pub at: UnixMillis,
    pub clock_ms: i64,
    pub kind: LogKind,
    pub pid: Option<u32>,
    pub start_ticks: Option<u64>,
    pub uid: Option<u32>,
    pub user: Option<String>,
    pub program: Option<String>,
    pub rule: Option<String>,
    /// A sentence.
    pub detail: String,
    /// JSON.
    pub evidence: String,
}

macro_rules! kinds {
    ($count:literal: $($kind:ident $slug:literal,)+) => {
        /// What an entry of the log is about.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum LogKind {
            $($kind,)+
            /// Word of a newer version.
            Other(String),
        }

        impl LogKind {
            /// Kinds that this version writes.
            pub const KNOWN: [Self; $count] = [$(Self::$kind),+];

            /// Returns a stable word.
            #[must_use]
            pub fn slug(&self) -> &str {
                match self {
                    $(Self::$kind => $slug,)+
                    Self::Other(word) => word,
                }
            }
        }
    };
}

kinds! {13:
    WouldNotice "would_notice",
    NoticeSent "notice_sent",
    NoticeFailed "notice_failed",
    WouldEnd "would_end",
    EndBegun "end_begun",
    Ended "ended",
    NotEnded "not_ended",
    Relieved "relieved",
    SwitchedOn "switched_on",
    SwitchedOff "switched_off",
    ConfigTaken "config_taken",
    ConfigRefused "config_refused",
    SnoozesUnread "snoozes_unread",
}

impl From<String> for LogKind {
    fn from(word: String) -> Self {
        Self::KNOWN.into_iter().find(|kind| kind.slug() == word).unwrap_or(Self::Other(word))
    }
}

impl TickTransaction<'_> {
    /// Writes the idle counts of the current boot in place of all that were stored.
    pub fn write_policy_state(&mut self, state: &PolicyState) -> Result<(), Problem> {
        self.db.prepare_cached("DELETE FROM policy_state")?.execute([])?;
        // Before the first step there is nothing to keep.
        let Some(at) = state.at else { return Ok(()) };
        // A row without a process keeps the clock.
        let clock = WatchedHolder::default();
        let mut insert = self.db.prepare_cached(
            "INSERT INTO policy_state (pid, start_ticks, boot, rule, action, digest, idle_ms,
                 missed_ms, notices, told_at_ms, clock_ms, at_ms)
                 VALUES (?1, ?2, (SELECT uuid FROM boot WHERE id = ?3), ?4, ?5, ?6, ?7, ?8, ?9, ?10,
                     ?11, ?12)",
        )?;
        for holder in std::iter::once(&clock).chain(&state.holders) {
            insert.execute(params![
                holder.pid,
                from_ticks(holder.start_ticks),
                self.boot,
                holder.rule,
                holder.action,
                holder.digest,
                holder.idle_ms,
                holder.missed_ms,
                holder.notices,
                holder.told_at_ms,
                state.clock_ms,
                at.0
            ])?;
        }
        Ok(())
    }

    /// Appends an entry to the log.
    pub fn write_log_entry(&mut self, entry: &LogEntry) -> Result<(), Problem> {
        self.db
            .prepare_cached(
                "INSERT INTO policy_log (at_ms, clock_ms, kind, pid, start_ticks, uid, user, program,
                     rule, detail, evidence)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?
            .execute(params![
                entry.at.0,
                entry.clock_ms,
                entry.kind.slug(),
                entry.pid,
                entry.start_ticks.map(|ticks| from_ticks(Some(ticks))),
                entry.uid,
                entry.user,
                entry.program,
                entry.rule,
                entry.detail,
                entry.evidence
            ])?;
        Ok(())
    }
}

impl Database {
    /// Reads the idle counts of a boot.
    pub fn policy_state(&self, boot: &str) -> Result<PolicyState, StoreError> {
        self.result(read_state(&self.connection, boot))
    }

    /// Reads the entries of the log in a window, in the order in which they were written.
    pub fn policy_log(&self, window: Period) -> Result<Vec<LogEntry>, StoreError> {
        let condition = "at_ms >= ?1 AND at_ms < ?2";
        self.result(read_log(&self.connection, condition, (window.from.0, window.to.0)))
    }

    /// Reads the entries of the log after a time on the clock of the rules.
    pub fn policy_log_since_clock(&self, clock_ms: i64) -> Result<Vec<LogEntry>, StoreError> {
        self.result(read_log(&self.connection, "clock_ms > ?1", [clock_ms]))
    }
}

/// Returns the column of a start time: negative if it is unknown, as in the table of processes.
fn from_ticks(ticks: Option<u64>) -> i64 {
    ticks.and_then(|ticks| i64::try_from(ticks).ok()).unwrap_or(-1)
}

fn read_state(db: &Connection, boot: &str) -> Result<PolicyState, Problem> {
    let clock = db
        .query_row("SELECT clock_ms, at_ms FROM policy_state WHERE pid = 0", [], |row| {
            Ok((row.get(0)?, UnixMillis(row.get(1)?)))
        })
        .optional()?;
    let Some((clock_ms, at)) = clock else { return Ok(PolicyState::default()) };
    let mut query = db.prepare_cached(
        "SELECT pid, start_ticks, rule, action, digest, idle_ms, missed_ms, notices, told_at_ms
             FROM policy_state WHERE pid > 0 AND boot = ?1 ORDER BY pid, start_ticks",
    )?;
    let holders = query.query_map([boot], |row| {
        Ok(WatchedHolder {
            pid: row.get(0)?,
            start_ticks: u64::try_from(row.get::<_, i64>(1)?).ok(),
            rule: row.get(2)?,
            action: row.get(3)?,
            digest: row.get(4)?,
            idle_ms: row.get(5)?,
            missed_ms: row.get(6)?,
            notices: row.get(7)?,
            told_at_ms: row.get(8)?,
        })
    })?;
    Ok(PolicyState { holders: holders.collect::<Result<_, _>>()?, clock_ms, at: Some(at) })
}

fn read_log(
    db: &Connection,
    condition: &str,
    between: impl Params,
) -> Result<Vec<LogEntry>, Problem> {
    let mut query = db.prepare(&format!(
        "SELECT at_ms, clock_ms, kind, pid, start_ticks, uid, user, program, rule, detail, evidence
             FROM policy_log WHERE {condition} ORDER BY id"
    ))?;
    let entry = |row: &Row<'_>| {
        Ok(LogEntry {
            at: UnixMillis(row.get(0)?),
            clock_ms: row.get(1)?,
            kind: LogKind::from(row.get::<_, String>(2)?),
            pid: row.get(3)?,
            start_ticks: row.get::<_, Option<i64>>(4)?.and_then(|it| u64::try_from(it).ok()),
            uid: row.get(5)?,
            user: row.get(6)?,
            program: row.get(7)?,
            rule: row.get(8)?,
            detail: row.get(9)?,
            evidence: row.get(10)?,
        })
    };
    Ok(query.query_map(between, entry)?.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_comes_back() {
        for kind in LogKind::KNOWN {
            assert_eq!(LogKind::from(kind.slug().to_owned()), kind);
        }
        let newer = LogKind::from("hibernated".to_owned());
        assert_eq!((newer.slug(), &newer), ("hibernated", &LogKind::Other("hibernated".into())));
    }
}
