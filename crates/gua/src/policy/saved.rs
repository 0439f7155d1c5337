//! Where everybody stands, to and from the database: what outlasts a restart.

use std::sync::Arc;

use super::engine::{Engine, Saved};
use super::limits::Limits;
use super::subject::Subject;
use super::watch::{Followed, Watch};
use crate::config::policy::Action;
use crate::ledger::HOUR;
use crate::store::{self, Deed, DeedKind, StoreError, WatchRow, Watched};

/// What is to be written down of an engine.
#[must_use]
pub fn watched(engine: &Engine) -> Watched {
    let saved = engine.saved();
    Watched {
        rows: saved.watches.iter().map(|(subject, watch)| row(*subject, watch)).collect(),
        clock_millis: saved.clock_millis,
        at: saved.last,
    }
}

fn row(subject: Subject, watch: &Watch) -> WatchRow {
    WatchRow {
        pid: subject.pid,
        start_ticks: subject.start_ticks,
        rule: watch.rule.as_ref().map(|rule| rule.name.to_string()),
        action: watch.rule.as_ref().map(|rule| rule.action.word().to_owned()),
        digest: watch.rule.as_ref().map(|rule| rule.digest.cast_signed()),
        idle_millis: watch.idle_millis,
        missed_millis: watch.missed_millis,
        notices: i64::try_from(watch.delivered).unwrap_or(i64::MAX),
        told_at_millis: watch.told_at_millis,
    }
}

/// `None` where not all of it is known: then nobody was told by the rule that is there now.
fn followed(row: &WatchRow) -> Option<Followed> {
    let word = row.action.as_deref()?;
    Some(Followed {
        name: Arc::from(row.rule.as_deref()?),
        action: Action::ALL.into_iter().find(|one| one.word() == word)?,
        digest: row.digest?.cast_unsigned(),
    })
}

/// The engine as it was written down, in this boot.
///
/// # Errors
/// When it cannot be read.
pub fn restored(database: &store::Database, boot: &str) -> Result<Engine, StoreError> {
    let watched = store::read_watched(database, boot)?;
    let deeds = store::deeds_since_clock(database, watched.clock_millis - HOUR)?;
    Ok(engine_of(watched, &deeds))
}

/// The engine of what was written down.
#[must_use]
pub fn engine_of(watched: Watched, deeds: &[Deed]) -> Engine {
    let of_kind =
        |kinds: &'static [DeedKind]| deeds.iter().filter(move |deed| kinds.contains(&deed.kind));
    let ends = of_kind(&[DeedKind::EndBegun]).map(|deed| deed.clock_millis);
    let notices = of_kind(&[DeedKind::NoticeSent, DeedKind::NoticeFailed]);
    let notices = notices.filter_map(|deed| Some((deed.uid?, deed.clock_millis)));
    let watches = watched.rows.into_iter().map(|row| {
        let subject = Subject { pid: row.pid, start_ticks: row.start_ticks };
        let delivered = usize::try_from(row.notices).unwrap_or(0);
        let rule = followed(&row);
        let (idle, missed) = (row.idle_millis, row.missed_millis);
        let watch = Watch::saved(rule, idle, missed, delivered, row.told_at_millis);
        (subject, watch)
    });
    Engine::restored(Saved {
        watches: watches.collect(),
        limits: Limits::of(ends, notices),
        clock_millis: watched.clock_millis,
        last: watched.at,
    })
}
