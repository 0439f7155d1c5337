//! Counts every tick that is stored, keeps the counters and shows them.

use std::sync::Arc;

use super::file::CountersFile;
use super::slot::Slot;
use crate::metrics::{Counters, Frame, Host, Observed, Wanted};
use crate::recorder::Witness;

/// The recorder's witness. What it counted is on the disk before anybody sees it, so that it
/// goes on from there, whatever happens.
#[derive(Debug)]
pub struct Keeper {
    counters: Counters,
    file: CountersFile,
    host: Host,
    wanted: Wanted,
    slot: Arc<Slot>,
    /// Whether that the counters cannot be kept was told already.
    has_failed: bool,
}

impl Keeper {
    /// Goes on from these counters.
    #[must_use]
    pub fn new(counters: Counters, file: CountersFile, hostname: String, wanted: Wanted) -> Self {
        let slot = Arc::new(Slot::new());
        let host = Host { name: hostname, driver_version: None };
        Self { counters, file, host, wanted, slot, has_failed: false }
    }

    /// Where the frames can be had.
    #[must_use]
    pub fn slot(&self) -> Arc<Slot> {
        Arc::clone(&self.slot)
    }
}

impl Witness for Keeper {
    fn stored(&mut self, observed: Observed<'_>, driver_version: Option<&str>) -> Option<String> {
        self.counters.count(observed, &self.wanted);
        if self.host.driver_version.as_deref() != driver_version {
            self.host.driver_version = driver_version.map(str::to_owned);
        }
        let words = self.save();
        let frame = Frame::new(self.host.clone(), self.counters.clone(), observed.entry);
        self.slot.put(Arc::new(frame));
        words
    }
}

impl Keeper {
    /// Keeps the counters; that it cannot is said once.
    fn save(&mut self) -> Option<String> {
        let saved = self.file.save(&self.counters);
        let has_failed = std::mem::replace(&mut self.has_failed, saved.is_err());
        let error = saved.err().filter(|_| !has_failed)?;
        Some(format!("cannot keep the counters in {}: {error}", self.file.path().display()))
    }
}
