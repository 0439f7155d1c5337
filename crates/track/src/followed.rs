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
    /// What it had when it was first seen.
    first: ByKind,
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
    pub fn new(process: Process, role: Role, status: Status, since: Since) -> Self {
        let mut one = Followed {
            process,
            role,
            status,
            stat: Stat::default(),
            cpu: Duration::ZERO,
            first: status.memory.unwrap_or_default().by_kind,
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
        one
    }

    pub fn is_main(&self) -> bool {
        self.role == Role::Main
    }

    pub fn resident(&self) -> Option<Resident> {
        let now = self.status.memory?;
        let map = self.map.unwrap_or(Map::Newcomer { first: self.first });
        Some(Resident { now, map })
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
