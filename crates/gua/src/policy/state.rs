//! Idle counts and delivered notices, to and from the database: what outlasts a restart.

use std::sync::Arc;

use gua_core::period::HOUR;
use gua_store::{Database, LogEntry, LogKind, PolicyState, StoreError, WatchedHolder};

use super::engine::{Engine, Saved};
use super::limits::Limits;
use super::subject::Subject;
use super::watch::{Followed, Watch};
use crate::config::policy::Action;

/// Returns what is stored of an engine.
#[must_use]
pub fn policy_state(engine: &Engine) -> PolicyState {
    let saved = engine.saved();
    PolicyState {
        holders: saved.watches.iter().map(|(subject, watch)| stored(*subject, watch)).collect(),
        clock_ms: saved.clock_millis,
        at: saved.last,
    }
}

fn stored(subject: Subject, watch: &Watch) -> WatchedHolder {
    let rule = watch.rule.as_ref();
    WatchedHolder {
        pid: subject.pid,
        start_ticks: subject.start_ticks,
        rule: rule.map(|rule| rule.name.to_string()),
        action: rule.map(|rule| rule.action.word().to_owned()),
        digest: rule.map(|rule| rule.digest.cast_signed()),
        idle_ms: watch.idle_millis,
        missed_ms: watch.missed_millis,
        notices: i64::try_from(watch.delivered).unwrap_or(i64::MAX),
        told_at_ms: watch.told_at_millis,
    }
}

/// Reads the engine of a boot.
///
/// # Errors
/// When the database cannot be read.
pub fn read_engine(database: &Database, boot: &str) -> Result<Engine, StoreError> {
    let state = database.policy_state(boot)?;
    let log = database.policy_log_since_clock(state.clock_ms - HOUR)?;
    Ok(restore_engine(&state, &log))
}

/// Returns the engine of what was stored, with the log of its last hour.
#[must_use]
pub fn restore_engine(state: &PolicyState, log: &[LogEntry]) -> Engine {
    let entries =
        |kinds: &'static [LogKind]| log.iter().filter(move |entry| kinds.contains(&entry.kind));
    let ends = entries(&[LogKind::EndBegun]).map(|entry| entry.clock_ms);
    let notices = entries(&[LogKind::NoticeSent, LogKind::NoticeFailed]);
    let notices = notices.filter_map(|entry| Some((entry.uid?, entry.clock_ms)));
    let watches = state.holders.iter().map(|holder| {
        let subject = Subject { pid: holder.pid, start_ticks: holder.start_ticks };
        let delivered = usize::try_from(holder.notices).unwrap_or(0);
        let rule = followed(holder);
        let (idle, missed) = (holder.idle_ms, holder.missed_ms);
        (subject, Watch::saved(rule, idle, missed, delivered, holder.told_at_ms))
    });
    Engine::restored(Saved {
        watches: watches.collect(),
        limits: Limits::of(ends, notices),
        clock_millis: state.clock_ms,
        last: state.at,
    })
}

/// Returns the rule of the notices; `None` if not all of it is known: then no notice counts.
fn followed(holder: &WatchedHolder) -> Option<Followed> {
    let word = holder.action.as_deref()?;
    Some(Followed {
        name: Arc::from(holder.rule.as_deref()?),
        action: Action::ALL.into_iter().find(|action| action.word() == word)?,
        digest: holder.digest?.cast_unsigned(),
    })
}
