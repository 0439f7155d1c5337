//! What is reserved now, and by whom.

use std::time::SystemTime;

use probe::proc::Host;
use probe::units::UnixMillis;

use crate::config::{self, Machine};
use crate::reservation::{Folder, ReservationError, Reserved};
use crate::safe::safe;
use crate::talk::say;

/// All reservations that hold now, for who only looks. Where nobody ever reserved, there are none.
pub(super) fn standing(machine: &Machine) -> Result<Vec<Reserved>, ReservationError> {
    let now = UnixMillis::from(SystemTime::now());
    let folder = Folder::find(&config::reservations())?;
    let standing = folder.map_or_else(|| Ok(Vec::new()), |folder| folder.standing(now))?;
    Ok(named(standing, machine))
}

/// The same, and where it cannot be read, that is said; `None` then.
pub(super) fn told(machine: &Machine, said: &mut Option<String>) -> Option<Vec<Reserved>> {
    match standing(machine) {
        Ok(standing) => Some(standing),
        Err(error) => {
            let error = safe(&error.to_string());
            // Once, not at every look.
            if said.as_ref() != Some(&error) {
                say(format_args!("what is reserved is not known: {error}"));
                *said = Some(error);
            }
            None
        }
    }
}

/// The same with the users' names, as far as the host gives them some.
pub(super) fn named(reserved: Vec<Reserved>, machine: &Machine) -> Vec<Reserved> {
    if reserved.is_empty() {
        return reserved;
    }
    let mut host = Host::new(machine.host_root.clone());
    let named = |by: Reserved| Reserved { user: host.user_name(by.uid), ..by };
    reserved.into_iter().map(named).collect()
}
