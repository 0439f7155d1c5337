//! One attempt: judge, choose, and reserve what was chosen.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use probe::units::UnixMillis;

use super::super::history;
use crate::cli;
use crate::config::Config;
use crate::failure::Failure;
use crate::render::words;
use crate::report::now;
use crate::report::pick::{Candidate, Choice, Past, Wishes, candidates, choose};
use crate::reservation::{Folder, Kind, Locked, ReservationError, Slip, Taken};
use crate::sampler::Tick;
use crate::store::{History, StoreError};

/// What every attempt has in common.
pub(super) struct Round<'a> {
    pub typed: &'a cli::Pick,
    pub config: &'a Config,
    pub wishes: &'a Wishes,
    pub folder: Option<&'a Folder>,
}

/// What came of it.
pub(super) struct Given {
    pub tick: Tick,
    pub choice: Choice,
    pub taken: Vec<Taken>,
    pub reserved_until: Option<Timestamp>,
    /// Why there is nothing recorded to judge by.
    pub history_reason: Option<String>,
    recorded_seconds: f64,
}

impl Round<'_> {
    pub fn of(&self, tick: Tick) -> Result<Given, Failure> {
        let (past, history_reason) = self.past(tick.at)?;
        let now = now::now(&tick, None, &self.config.thresholds.into());
        let cards = candidates(&tick, now, &past);
        let mut given = Given {
            choice: choose(Vec::new(), &[], self.wishes, tick.at),
            taken: Vec::new(),
            reserved_until: None,
            recorded_seconds: past.seconds(),
            history_reason,
            tick,
        };
        let Some(folder) = self.folder else {
            given.choice = choose(cards, &[], self.wishes, given.tick.at);
            return Ok(given);
        };
        let locked = folder.lock()?;
        // The lock may have taken a while, and what is reserved meanwhile is not to be missed.
        let now = UnixMillis::from(std::time::SystemTime::now());
        let reserved = locked.standing(now)?;
        given.choice = choose(cards, &reserved, self.wishes, now);
        if given.choice.is_enough() {
            self.reserve(&locked, &mut given, now)?;
        }
        Ok(given)
    }

    fn reserve(
        &self,
        locked: &Locked<'_>,
        given: &mut Given,
        now: UnixMillis,
    ) -> Result<(), ReservationError> {
        let slip = if self.typed.command.is_empty() {
            let until = UnixMillis(now.0.saturating_add(millis(self.typed.reserve)));
            given.reserved_until = Timestamp::from_millisecond(until.0).ok();
            Slip { made: now, pid: std::process::id(), kind: Kind::Until(until) }
        } else {
            Slip::of_command(now)
        };
        for card in given.choice.chosen() {
            if let Some(uuid) = card.uuid.as_ref().known() {
                given.taken.push(locked.take(uuid, slip)?);
            }
        }
        Ok(())
    }

    /// A history that was named must be there; without the usual one, there is still the look.
    fn past(&self, now: UnixMillis) -> Result<(Past, Option<String>), Failure> {
        let named = self.typed.db.as_deref();
        let path = match history::path(named, self.config) {
            Ok(path) => path,
            Err(Failure::Usage { what, .. }) => return Ok((Past::default(), Some(what))),
            Err(failure) => return Err(failure),
        };
        match read(&path, now, millis(self.typed.over)) {
            Ok(past) if past.seconds() > 0.0 => Ok((past, None)),
            Ok(past) => Ok((past, Some("nothing is recorded of that time".to_owned()))),
            Err(error) if named.is_some() => Err(error.failure(&path)),
            Err(error) => {
                let reason = format!("the history at {}: {error}", path.display());
                Ok((Past::default(), Some(reason)))
            }
        }
    }
}

impl Given {
    /// Whether a MIG instance is among several cards.
    pub fn has_several_instances(&self) -> bool {
        let is_instance = |card: &Candidate| card.identity.mig_slot.is_some();
        self.choice.chosen().count() > 1 && self.choice.chosen().any(is_instance)
    }

    /// What the choice rests on, where that is less than what was asked for.
    pub fn doubt(&self, over: Duration) -> Option<String> {
        if let Some(reason) = &self.history_reason {
            let reason = words::safe(reason);
            return Some(format!("judged by the last seconds only: {reason}"));
        }
        let is_little = self.recorded_seconds < over.as_secs_f64() / 2.0;
        is_little.then(|| {
            let recorded = words::duration(self.recorded_seconds);
            format!("judged by {recorded} of {}: no more is recorded", words::interval(over))
        })
    }
}

fn read(path: &Path, now: UnixMillis, over_millis: i64) -> Result<Past, StoreError> {
    Past::read(&History::open(path)?, now, over_millis)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
