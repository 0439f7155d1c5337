//! One attempt: choose cards, and reserve those that were chosen.

use std::path::Path;
use std::time::Duration;

use gua_core::Period;
use gua_query::pick::{PastWorks, Pick, PickCard, PickRequest, VisibleDevices, choose};
use gua_query::snapshot::Snapshot;
use gua_store::StoreError;
use jiff::Timestamp;
use probe::nvml::OpenError;
use probe::units::UnixMillis;

use super::super::{history, record, reserved};
use crate::cli;
use crate::config::{Config, Machine};
use crate::context::Clock;
use crate::failure::Failure;
use crate::render::words;
use crate::reservation::{Folder, Kind, Locked, ReservationError, Slip, Taken};

/// What every attempt has in common.
pub(super) struct Round<'a> {
    pub machine: &'a Machine,
    pub typed: &'a cli::Pick,
    pub config: &'a Config,
    pub request: &'a PickRequest,
    /// Folder for reservations; `None` if nothing is reserved.
    pub folder: Option<&'a Folder>,
    /// Value of `CUDA_VISIBLE_DEVICES`, if it says which cards may be chosen.
    pub devices: Option<&'a str>,
    /// Path of the folder for reservations.
    pub reservations: &'a Path,
}

/// Result of an attempt.
pub(super) struct Attempt {
    pub pick: Pick,
    pub taken: Vec<Taken>,
    /// Why the driver could not be read.
    pub driver: Result<(), OpenError>,
}

impl Round<'_> {
    /// Chooses among the cards of a snapshot, and reserves the chosen ones.
    pub fn attempt(
        &self,
        mut snapshot: Snapshot,
        visible: &VisibleDevices,
        driver: Result<(), OpenError>,
        clock: Clock,
    ) -> Result<Attempt, Failure> {
        let (past, unrecorded) = self.past(snapshot.time)?;
        let (mut pick, taken) = match self.folder {
            Some(folder) => {
                self.choose_and_reserve(folder, &mut snapshot, &past, visible, clock)?
            }
            None => (self.only_choose(&mut snapshot, &past, visible, clock), Vec::new()),
        };
        pick.visible_devices = self.devices.map(str::to_owned);
        pick.history_reason = unrecorded.or_else(|| unrecorded_card(&pick));
        Ok(Attempt { pick, taken, driver })
    }

    fn only_choose(
        &self,
        snapshot: &mut Snapshot,
        past: &PastWorks,
        visible: &VisibleDevices,
        clock: Clock,
    ) -> Pick {
        let current = reserved::add_current(snapshot, self.reservations, self.machine, clock);
        Pick {
            reservations_reason: current.err().map(|error| error.to_string()),
            ..choose(snapshot, past, visible, self.request)
        }
    }

    fn choose_and_reserve(
        &self,
        folder: &Folder,
        snapshot: &mut Snapshot,
        past: &PastWorks,
        visible: &VisibleDevices,
        clock: Clock,
    ) -> Result<(Pick, Vec<Taken>), ReservationError> {
        let locked = folder.lock()?;
        // The lock may have taken a while, in which others have reserved cards.
        let now = clock.unix_millis();
        let reserved = reserved::with_names(locked.standing(now)?, self.machine);
        reserved::add(snapshot, &reserved, now);
        let mut pick = choose(snapshot, past, visible, self.request);
        if !pick.enough {
            return Ok((pick, Vec::new()));
        }
        let slip = self.slip(&mut pick, now);
        let taken = take(folder, &locked, &pick, slip)?;
        Ok((pick, taken))
    }

    fn slip(&self, pick: &mut Pick, now: UnixMillis) -> Slip {
        let is_for_a_command = !self.typed.command.is_empty();
        if let Some(slip) = is_for_a_command.then(|| Slip::of_command(now)).flatten() {
            return slip;
        }
        let until = UnixMillis(now.0.saturating_add(millis(self.typed.reserve)));
        pick.reserved_until = Timestamp::from_millisecond(until.0).ok();
        Slip { made: now, pid: std::process::id(), kind: Kind::Until(until) }
    }

    /// Returns how busy the cards were, and why nothing is recorded at all. A record that was named must
    /// be there.
    fn past(&self, now: Timestamp) -> Result<(PastWorks, Option<String>), Failure> {
        let none = || PastWorks::none(self.typed.over.as_secs_f64());
        let named = self.typed.db.as_deref();
        let path = match history::path(named, self.config) {
            Ok(path) => path,
            Err(Failure::Usage { what, .. }) => return Ok((none(), Some(what))),
            Err(failure) => return Err(failure),
        };
        let now = UnixMillis(now.as_millisecond());
        let from = UnixMillis(now.0.saturating_sub(millis(self.typed.over)));
        let window = Period::new(from, now);
        let read = || -> Result<PastWorks, StoreError> {
            PastWorks::read(&history::open_record(&path, window, None)?, window)
        };
        match read() {
            Ok(past) if past.is_empty() => {
                Ok((past, Some("nothing is recorded of that time".to_owned())))
            }
            Ok(past) => Ok((past, None)),
            Err(error) if named.is_some() => Err(error.into()),
            Err(error) => Ok((none(), Some(record::reason(&error)))),
        }
    }
}

/// Takes all of the chosen cards, or none.
fn take(
    folder: &Folder,
    locked: &Locked<'_>,
    pick: &Pick,
    slip: Slip,
) -> Result<Vec<Taken>, ReservationError> {
    let mut taken = Vec::new();
    for uuid in pick.chosen().into_iter().filter_map(|card| card.card.uuid.as_deref()) {
        match locked.take(uuid, slip) {
            Ok(one) => taken.push(one),
            Err(error) => {
                taken.iter().for_each(|one| folder.give_back(one));
                return Err(error);
            }
        }
    }
    Ok(taken)
}

/// Returns that nothing is recorded of a card that was chosen, if that is so.
fn unrecorded_card(pick: &Pick) -> Option<String> {
    let is_unrecorded = |card: &&PickCard| card.recorded_utilization_percent.is_none();
    let card = pick.chosen().into_iter().find(is_unrecorded)?;
    Some(format!("nothing is recorded of card {}", card.card.label()))
}

/// Returns true if a MIG instance is among several chosen cards.
pub(super) fn has_several_instances(pick: &Pick) -> bool {
    let chosen = pick.chosen();
    chosen.len() > 1 && chosen.iter().any(|card| card.card.mig_slot.is_some())
}

/// Formats what the choice is based on, if that is less than what was asked for.
pub(super) fn format_doubt(pick: &Pick, over: Duration) -> Option<String> {
    if let Some(reason) = &pick.history_reason {
        return Some(format!("judged by the last seconds only: {}", words::safe(reason)));
    }
    let recorded = pick.chosen().into_iter().map(|card| card.recorded_seconds);
    let least = recorded.reduce(f64::min)?;
    (least < over.as_secs_f64() / 2.0).then(|| {
        let recorded = words::duration(least);
        format!("judged by {recorded} of {}: no more is recorded", words::interval(over))
    })
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
