//! The one way into every call: counted, refused before `nvmlInit`, faulty when the
//! scenario says so, and never a panic for the caller.

use std::panic::{self, AssertUnwindSafe};

use scenario::model::Stamps;
use scenario::state::Place;
use scenario::{Card, Moment, Scenario};

use crate::abi::{Answer, Code};
use crate::handle::Handle;
use crate::library;
use crate::machine::{self, Flaws, Machine};
use crate::pointer::Out;
use crate::tally;

/// A call that was let in.
#[derive(Debug)]
pub struct Call<'a> {
    pub machine: &'a Machine,
    pub at: Moment,
    pub flaws: Flaws,
}

impl<'a> Call<'a> {
    /// Passes the faults. The moment is taken after them, since they may take long.
    fn enter(machine: &'a Machine, name: &str, card: Option<&str>) -> Answer<Self> {
        let flaws = machine.admit(name, card)?;
        Ok(Self { machine, at: machine.now(), flaws })
    }

    pub fn scenario(&self) -> &'a Scenario {
        &self.machine.scenario
    }

    /// Returns the time stamp of an event at a moment, in microseconds since the Unix epoch.
    pub fn time_stamp(&self, at: Moment) -> u64 {
        let offset = self.scenario().time.stamp_offset_micros;
        u64::try_from(self.machine.clock.unix_micros(at).saturating_add(offset)).unwrap_or(0)
    }

    /// Returns the time stamp of a sample taken at a moment.
    pub fn sample_stamp(&self, at: Moment) -> u64 {
        let unix = self.machine.clock.unix_micros(at);
        u64::try_from(unix.saturating_sub(self.stamp_zero())).unwrap_or(0)
    }

    /// Returns the moment at which a sample with this time stamp was taken.
    pub fn moment_of_stamp(&self, stamp: u64) -> Moment {
        let stamp = i64::try_from(stamp).unwrap_or(i64::MAX);
        self.machine.clock.moment_of_pretend(stamp.saturating_add(self.stamp_zero()))
    }

    /// The Unix time at which the samples' clock shows 0, in microseconds.
    fn stamp_zero(&self) -> i64 {
        let time = &self.scenario().time;
        let zero = match time.stamps {
            Stamps::Unix => 0,
            Stamps::Boot => machine::boot_unix_micros(),
        };
        zero.saturating_sub(time.stamp_offset_micros)
    }
}

/// A call on a card or an instance that is there.
#[derive(Debug)]
pub struct Device<'a> {
    pub call: Call<'a>,
    pub place: Place<'a>,
}

impl<'a> Device<'a> {
    /// The card itself, or the one that the instance is on.
    pub fn card(&self) -> &'a Card {
        self.place.card
    }

    /// The card, for what an instance does not have of its own.
    pub fn whole_card(&self) -> Answer<&'a Card> {
        match self.place.instance {
            Some(_) => Err(Code::NOT_SUPPORTED),
            None => Ok(self.place.card),
        }
    }

    /// The card, for what no card in MIG mode tells, nor its instances.
    pub fn undivided_card(&self) -> Answer<&'a Card> {
        match self.place.card.mig {
            Some(_) => Err(Code::NOT_SUPPORTED),
            None => Ok(self.place.card),
        }
    }
}

/// Runs a call that concerns no card.
pub fn system(name: &'static str, body: impl FnOnce(&Call<'_>) -> Answer) -> Code {
    run(name, |machine| body(&Call::enter(machine, name, None)?))
}

/// Runs a call that looks for a card or an instance. It concerns the one it finds.
pub fn lookup(
    name: &'static str,
    device: Out<Handle>,
    find: impl FnOnce(&Scenario) -> Answer<Place<'_>>,
) -> Code {
    run(name, |machine| {
        let found = find(&machine.scenario);
        let uuid = found.as_ref().ok().map(Place::uuid);
        Call::enter(machine, name, uuid)?;
        device.put(Handle::of(found?.uuid()))
    })
}

/// Runs a call on the device that a handle names.
pub fn device(
    name: &'static str,
    handle: Handle,
    body: impl FnOnce(&Device<'_>) -> Answer,
) -> Code {
    run(name, |machine| {
        let uuid = handle.uuid()?;
        let call = Call::enter(machine, name, Some(uuid))?;
        // The file may have lost the card since the handle was given out.
        let place = call.scenario().place(uuid).ok_or(Code::GPU_IS_LOST)?;
        body(&Device { call, place })
    })
}

/// Runs `nvmlInit` or one of its kin.
pub fn init(name: &'static str) -> Code {
    library::say_panics();
    guarded(|| {
        tally::write_at_exit();
        tally::count(name);
        let machine = library::machine_to_use()?;
        machine.admit(name, None)?;
        library::begin_use();
        Ok(())
    })
}

fn run(name: &'static str, body: impl FnOnce(&Machine) -> Answer) -> Code {
    guarded(|| {
        tally::count(name);
        body(&*library::machine()?)
    })
}

/// A bug in here answers `UNKNOWN`: a panic must not cross into C, where it would end the
/// caller. What the library shares is behind locks that survive it.
fn guarded(body: impl FnOnce() -> Answer) -> Code {
    let answer = panic::catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Code::UNKNOWN));
    answer.err().unwrap_or(Code::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_stops_at_the_gate() {
        let nothing: [Answer; 0] = [];
        assert_eq!(guarded(|| nothing[nothing.len()]), Code::UNKNOWN);
        assert_eq!(guarded(|| Err(Code::TIMEOUT)), Code::TIMEOUT);
        assert_eq!(guarded(|| Ok(())), Code::SUCCESS);
    }
}
