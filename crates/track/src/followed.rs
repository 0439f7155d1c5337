//! One member of a tree, and what was last read of it.

use std::time::Duration;

use crate::kernel;
use crate::members::Role;
use crate::own_mark::OwnMark;
use crate::proc::rollup::{ByKind, Rollup};
use crate::proc::stat::Stat;
use crate::proc::status::Status;
use crate::process::{Buffer, Process, Unread};
use crate::ram::{Map, Resident};

/// A member, as it was at the last look.
#[derive(Debug)]
pub struct Followed {
    pub process: Process,
    pub role: Role,
    pub status: Status,
    pub stat: Stat,
    pub cpu: Duration,
    /// Memory that it can have inherited from its parent, of what it had when it was first seen.
    inherited: ByKind,
    /// Its page faults when its map was read, or when it executed a program.
    faults_before: u64,
    /// The most that [`Resident::doubt`] was since its map was read.
    pub doubt: u64,
    /// Its stat line when it was last seen with memory.
    pub noted: Stat,
    /// Its resident memory then.
    pub noted_resident: u64,
    /// A child that runs in a copy of its memory was there at the last look.
    pub has_copies: bool,
    /// The most memory that such children got since its map was read, and its page faults at the look
    /// before the first of them.
    shared_with_copies: u64,
    faults_before_copies: u64,
    /// The most memory of the kinds in doubt that it had since its map was read.
    most_in_doubt: u64,
    pub map: Option<Map>,
    /// Read just now; it counts when those of the others are read as well.
    pub rollup: Option<Rollup>,
    /// How far the high-water mark stands above what is resident, if it rose since the last
    /// look: the top of a spike that nobody saw.
    pub unseen_spike: u64,
    /// Reset at the begin, where it is this very process.
    pub own_mark: Option<OwnMark>,
    /// The high-water mark when it was first seen, where that is from before the measurement.
    old_mark: Option<u64>,
}

impl Followed {
    #[must_use]
    pub fn new(process: Process, role: Role, first: First, since: Since) -> Self {
        let First { stat, status, inherited_at_most } = first;
        let mut inherited = status.memory.unwrap_or_default().by_kind;
        inherited.anonymous = inherited.anonymous.min(inherited_at_most);
        let mut one = Followed {
            process,
            role,
            status,
            stat,
            cpu: Duration::ZERO,
            inherited,
            faults_before: 0,
            doubt: 0,
            noted: stat,
            noted_resident: 0,
            has_copies: false,
            shared_with_copies: 0,
            faults_before_copies: 0,
            most_in_doubt: 0,
            map: None,
            rollup: None,
            unseen_spike: 0,
            own_mark: None,
            old_mark: None,
        };
        match since {
            Since::Birth => {
                one.status.memory = None;
                one.update(status, None);
            }
            Since::Attached => one.old_mark = Some(one.high_water()),
        }
        if !stat.is_forked_copy {
            one.has_executed();
        }
        one.note_doubt();
        one
    }

    pub fn is_main(&self) -> bool {
        self.role == Role::Main
    }

    pub fn resident(&self) -> Option<Resident> {
        let now = self.status.memory?;
        let map = self.map.unwrap_or(Map::Newcomer { first: self.inherited });
        let faulted_since =
            |before| self.stat.faults.saturating_sub(before).saturating_mul(page_size());
        let faulted = faulted_since(self.faults_before);
        let copied_for_children =
            self.shared_with_copies.min(faulted_since(self.faults_before_copies));
        Some(Resident { now, map, faulted, copied_for_children })
    }

    /// Returns true if it runs in a copy of its parent's memory.
    pub const fn is_copy(&self) -> bool {
        self.stat.is_forked_copy && self.status.memory.is_some()
    }

    /// Memory that it shares with its parent, as far as is known, if it runs in a copy of it.
    pub const fn shared_with_parent(&self) -> u64 {
        if self.stat.is_forked_copy { self.inherited.anonymous } else { 0 }
    }

    /// A child came that shares this much with it: a page that either of them writes to is copied.
    pub const fn add_copy(&mut self, shared_with_parent: u64) {
        if self.shared_with_copies == 0 {
            self.faults_before_copies = self.noted.faults;
        }
        if shared_with_parent > self.shared_with_copies {
            self.shared_with_copies = shared_with_parent;
        }
        self.has_copies = true;
    }

    /// The last of those children is gone, and with it the pages that it had kept. Returns by how much
    /// the doubt has grown since the last look.
    pub fn copies_ended(&mut self) -> u64 {
        let grown = self.note_doubt();
        self.has_copies = false;
        self.shared_with_copies = 0;
        grown
    }

    /// Keeps the most that was in doubt. Returns by how much that has grown.
    pub fn note_doubt(&mut self) -> u64 {
        let Some(resident) = self.resident() else { return 0 };
        let before = self.doubt;
        self.doubt = before.max(resident.doubt());
        self.most_in_doubt = self.most_in_doubt.max(in_doubt(&resident));
        self.noted = self.stat;
        self.noted_resident = resident.now.resident;
        self.doubt.saturating_sub(before)
    }

    /// Returns how much it may have gained after it was last seen with memory, now that it has ended.
    pub fn take_late(&mut self) -> u64 {
        let faults = self.stat.faults.saturating_sub(self.noted.faults);
        self.noted = self.stat;
        faults.saturating_mul(page_size())
    }

    /// Its faults when it was last seen with memory, those of its waited-for children included.
    pub const fn noted_faults(&self) -> u64 {
        self.noted.faults.saturating_add(self.noted.waited.faults)
    }

    /// Its map was read, after its stat line. Returns how much of what was in doubt the map
    /// cannot show, since it was given back before.
    pub fn map_was_read(&mut self, map: Map) -> u64 {
        self.map = Some(map);
        self.faults_before = self.stat.faults;
        self.shared_with_copies = 0;
        let now = self.resident().as_ref().map_or(0, in_doubt);
        let given_back = self.most_in_doubt.saturating_sub(now);
        self.take_doubt().min(given_back)
    }

    /// Returns how much was in doubt, and forgets it.
    pub const fn take_doubt(&mut self) -> u64 {
        self.most_in_doubt = 0;
        std::mem::replace(&mut self.doubt, 0)
    }

    /// Takes in a new stat line. Returns true if it has executed a program since the last one: then
    /// the counters that were read before are those of another program, and are forgotten.
    pub fn take_stat(&mut self, stat: Stat) -> bool {
        let has_executed = self.stat.is_forked_copy && !stat.is_forked_copy;
        self.stat = stat;
        if has_executed {
            self.has_executed();
            self.status.memory = None;
        }
        has_executed
    }

    /// A program that is executed shares no anonymous memory.
    fn has_executed(&mut self) {
        self.map = None;
        self.inherited = ByKind::default();
        self.faults_before = self.stat.faults;
        self.shared_with_copies = 0;
    }

    pub fn high_water(&self) -> u64 {
        self.status.memory.map_or(0, |memory| memory.high_water)
    }

    /// Returns the mark from before the measurement, where it still stands and was not reset: a
    /// spike below it that no look has seen leaves no trace.
    pub fn old_mark(&self) -> Option<u64> {
        let mark = self.old_mark.filter(|_| self.own_mark.is_none())?;
        (self.high_water() <= mark).then_some(mark)
    }

    /// Reads its counters and takes them in.
    pub fn read_status(&mut self, buffer: &mut Buffer) -> Result<(), Unread> {
        let (status, taken_away) = match &self.own_mark {
            Some(mark) => mark.read(|| self.process.status(buffer)),
            None => (self.process.status(buffer), None),
        };
        self.update(status?, taken_away);
        Ok(())
    }

    /// Its clock and, where wanted, its counters. The clock is asked by pid: that the folder can be
    /// read after it tells that it was the same process.
    pub fn look(&mut self, whose: Whose, buffer: &mut Buffer) -> Result<(), Unread> {
        self.unseen_spike = 0;
        let clock = kernel::cpu_time(self.process.pid);
        let is_read_already = match whose {
            Whose::All => false,
            Whose::Working => clock == Some(self.cpu),
            Whose::Nobodys => true,
        };
        if is_read_already {
            self.cpu = clock.unwrap_or(self.cpu);
            return Ok(());
        }
        // Before the counters: those that are read after it belong to the program it describes.
        if whose == Whose::Working {
            let stat = self.process.stat(buffer)?;
            self.take_stat(stat);
        }
        self.read_status(buffer)?;
        self.cpu = clock.unwrap_or(self.cpu);
        Ok(())
    }

    pub fn by_kind(&self) -> ByKind {
        self.status.memory.unwrap_or_default().by_kind
    }

    /// Takes in new counters. `taken_away` is the mark that stood before it was reset since the last
    /// look, if it was.
    fn update(&mut self, status: Status, taken_away: Option<u64>) {
        let before = self.high_water();
        self.status = status;
        self.unseen_spike = status.memory.map_or(0, |now| {
            let highest = match taken_away {
                // The mark of now was reached after the reset, so since the last look.
                Some(mark) if mark <= before => now.high_water,
                Some(mark) => now.high_water.max(mark),
                None if now.high_water > before => now.high_water,
                None => 0,
            };
            highest.saturating_sub(now.resident)
        });
    }
}

pub fn page_size() -> u64 {
    u64::try_from(rustix::param::page_size()).unwrap_or(4096)
}

/// The memory of the kinds that [`Resident::doubt`] is about.
const fn in_doubt(resident: &Resident) -> u64 {
    let by_kind = resident.now.by_kind;
    by_kind.anonymous.saturating_add(by_kind.shared_memory)
}

/// A process as it was first seen.
#[derive(Debug, Clone, Copy)]
pub struct First {
    /// Read before the status.
    pub stat: Stat,
    pub status: Status,
    /// The most that its parent ever had, as far as is known.
    pub inherited_at_most: u64,
}

/// Whose counters to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    All,
    /// Those that have used a core since the last look. The others cannot have taken more
    /// memory, nor have ended.
    Working,
    /// They were read just now.
    Nobodys,
}

/// Since when a process is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// From its start: all that it ever had counts.
    Birth,
    Attached,
}
