//! Cards that are reserved now, and by whom.

use std::path::{Path, PathBuf};

use gua_query::snapshot::Snapshot;
use probe::proc::Host;
use probe::units::UnixMillis;

use crate::config::{self, Machine};
use crate::context::{Clock, Context};
use crate::env::Env;
use crate::reservation::{Folder, ReservationError, Reserved, card_key};
use crate::safe::safe;

/// Returns all reservations in a folder that hold now; none if nobody has ever reserved a card.
fn current(
    folder: &Path,
    machine: &Machine,
    clock: Clock,
) -> Result<Vec<Reserved>, ReservationError> {
    let folder = Folder::find(folder)?;
    let now = clock.unix_millis();
    let standing = folder.map_or_else(|| Ok(Vec::new()), |folder| folder.standing(now))?;
    Ok(with_names(standing, machine))
}

/// Adds reservations to the cards of a snapshot.
pub(super) fn add(snapshot: &mut Snapshot, reserved: &[Reserved], now: UnixMillis) {
    snapshot.set_reservations(|uuid| {
        let key = card_key(uuid);
        let of_card = reserved.iter().filter(|by| by.card == key);
        of_card.map(|by| by.as_reservation(now)).collect()
    });
}

/// Adds the current reservations to a snapshot, or that they cannot be read.
pub(super) fn add_current(
    snapshot: &mut Snapshot,
    folder: &Path,
    machine: &Machine,
    clock: Clock,
) -> Result<(), ReservationError> {
    let current = current(folder, machine, clock);
    match &current {
        Ok(reserved) => add(snapshot, reserved, UnixMillis(snapshot.time.as_millisecond())),
        Err(_) => snapshot.note_unread_reservations(),
    }
    current.map(drop)
}

/// Adds the current reservations to one snapshot after the other, and says on stderr why they cannot
/// be read.
#[derive(Debug)]
pub(super) struct Reservations<'a> {
    folder: PathBuf,
    machine: &'a Machine,
    /// Reason that was said last: it is said once, not at every look.
    said: Option<String>,
}

impl<'a> Reservations<'a> {
    pub fn new(machine: &'a Machine, env: &Env) -> Self {
        Self { folder: config::reservations(env), machine, said: None }
    }

    pub fn add_to(&mut self, snapshot: &mut Snapshot, context: &mut Context<'_>) {
        let added = add_current(snapshot, &self.folder, self.machine, context.clock);
        let Err(error) = added else { return };
        let error = safe(&error.to_string());
        if self.said.as_ref() != Some(&error) {
            context.say(format_args!("what is reserved is not known: {error}"));
            self.said = Some(error);
        }
    }
}

/// Adds the names of users, as far as the host has them.
pub(super) fn with_names(reserved: Vec<Reserved>, machine: &Machine) -> Vec<Reserved> {
    if reserved.is_empty() {
        return reserved;
    }
    let mut host = Host::new(machine.host_root.clone());
    let with_name = |by: Reserved| Reserved { user: host.user_name(by.uid), ..by };
    reserved.into_iter().map(with_name).collect()
}
