//! One attempt: judge, choose, and reserve what was chosen.

use std::path::Path;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use probe::units::UnixMillis;

use super::super::history::{self, Detail};
use super::super::reserved;
use crate::calendar;
use crate::cli;
use crate::config::{Config, Machine};
use crate::failure::Failure;
use crate::ledger::Period;
use crate::render::words;
use crate::report::now;
use crate::report::pick::{Candidate, Choice, Past, Visible, Wishes, candidates, choose};
use crate::reservation::{Folder, Kind, Locked, ReservationError, Slip, Taken};
use crate::sampler::Tick;
use crate::store::StoreError;

/// What every attempt has in common.
pub(super) struct Round<'a> {
    pub machine: &'a Machine,
    pub typed: &'a cli::Pick,
    pub config: &'a Config,
    pub wishes: &'a Wishes,
    /// Where to reserve; `None` where nothing is to be.
    pub folder: Option<&'a Folder>,
}

/// What came of it.
pub(super) struct Given {
    pub tick: Tick,
    pub choice: Choice,
    pub taken: Vec<Taken>,
    pub reserved_until: Option<Timestamp>,
    /// Why it is not known what is reserved.
    pub reservations_reason: Option<String>,
    /// Why there is nothing recorded at all.
    unrecorded: Option<String>,
}

impl Round<'_> {
    pub fn of(&self, tick: Tick, visible: &Visible) -> Result<Given, Failure> {
        let (past, unrecorded) = self.past(tick.at)?;
        let now = now::now(&tick, None, &self.config.thresholds.into());
        let cards = candidates(&tick, now, &past, visible);
        let mut given = Given {
            choice: Choice::default(),
            taken: Vec::new(),
            reserved_until: None,
            reservations_reason: None,
            unrecorded,
            tick,
        };
        match self.folder {
            Some(folder) => self.choose_and_reserve(folder, cards, &mut given)?,
            None => self.only_choose(cards, &mut given),
        }
        Ok(given)
    }

    fn only_choose(&self, cards: Vec<Candidate>, given: &mut Given) {
        let reserved = reserved::standing(self.machine).unwrap_or_else(|error| {
            given.reservations_reason = Some(error.to_string());
            Vec::new()
        });
        given.choice = choose(cards, &reserved, self.wishes, now());
    }

    fn choose_and_reserve(
        &self,
        folder: &Folder,
        cards: Vec<Candidate>,
        given: &mut Given,
    ) -> Result<(), ReservationError> {
        let locked = folder.lock()?;
        // The lock may have taken a while, and what is reserved meanwhile is not to be missed.
        let now = now();
        let reserved = reserved::named(locked.standing(now)?, self.machine);
        given.choice = choose(cards, &reserved, self.wishes, now);
        if given.choice.is_enough() {
            let slip = self.slip(given, now);
            take(folder, &locked, given, slip)?;
        }
        Ok(())
    }

    fn slip(&self, given: &mut Given, now: UnixMillis) -> Slip {
        let is_for_a_command = !self.typed.command.is_empty();
        if let Some(slip) = is_for_a_command.then(|| Slip::of_command(now)).flatten() {
            return slip;
        }
        let until = UnixMillis(now.0.saturating_add(millis(self.typed.reserve)));
        given.reserved_until = calendar::timestamp(until);
        Slip { made: now, pid: std::process::id(), kind: Kind::Until(until) }
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
            Ok(past) if past.is_empty() => {
                Ok((past, Some("nothing is recorded of that time".to_owned())))
            }
            Ok(past) => Ok((past, None)),
            Err(error) if named.is_some() => Err(error.failure(&path)),
            Err(error) => Ok((Past::default(), Some(history::reason(&path, &error)))),
        }
    }
}

/// Takes all of the chosen cards, or none.
fn take(
    folder: &Folder,
    locked: &Locked<'_>,
    given: &mut Given,
    slip: Slip,
) -> Result<(), ReservationError> {
    let uuids = given.choice.chosen().filter_map(|card| card.uuid.as_ref().known());
    let mut taken = Vec::new();
    for uuid in uuids {
        match locked.take(uuid, slip) {
            Ok(one) => taken.push(one),
            Err(error) => {
                taken.iter().for_each(|one| folder.give_back(one));
                return Err(error);
            }
        }
    }
    given.taken = taken;
    Ok(())
}

impl Given {
    /// Whether a MIG instance is among several cards.
    pub fn has_several_instances(&self) -> bool {
        let is_instance = |card: &Candidate| card.identity.mig_slot.is_some();
        self.choice.chosen().count() > 1 && self.choice.chosen().any(is_instance)
    }

    /// Why there is nothing recorded to judge by: at all, or of a card that was chosen.
    pub fn history_reason(&self) -> Option<String> {
        self.unrecorded.clone().or_else(|| {
            let card = self.choice.chosen().find(|card| card.past.is_none())?;
            Some(format!("nothing is recorded of card {}", card.identity.label()))
        })
    }

    /// What the choice rests on, where that is less than what was asked for.
    pub fn doubt(&self, over: Duration) -> Option<String> {
        if let Some(reason) = self.history_reason() {
            let reason = words::safe(&reason);
            return Some(format!("judged by the last seconds only: {reason}"));
        }
        let recorded = self.choice.chosen().filter_map(|card| card.past).map(|work| work.seconds);
        let least = recorded.reduce(f64::min)?;
        (least < over.as_secs_f64() / 2.0).then(|| {
            let recorded = words::duration(least);
            format!("judged by {recorded} of {}: no more is recorded", words::interval(over))
        })
    }
}

fn read(path: &Path, now: UnixMillis, over_millis: i64) -> Result<Past, StoreError> {
    let window = Period::new(UnixMillis(now.0.saturating_sub(over_millis)), now);
    Past::read(&history::read(path, window, Detail::Samples)?, window)
}

fn now() -> UnixMillis {
    UnixMillis::from(SystemTime::now())
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
