//! A process and all its descendants, as they come and go.

use std::time::Duration;

use rustix::process::Pid;
use rustix::thread::sched_getaffinity;

use crate::births::{self, Births};
use crate::cpu;
use crate::followed::{Followed, Since, Whose};
use crate::kernel::{self, Reaped};
use crate::lineage;
use crate::members::{Members, Role};
use crate::ourselves;
use crate::own_mark::OwnMark;
use crate::parts::Parts;
use crate::proc::status::Status;
use crate::process::{self, Buffer, Process, Unread};
use crate::ram::{self, Map, Resident};
use crate::sample::Ram;

/// The main process and its descendants.
#[derive(Debug)]
pub struct Tree {
    /// The main process comes first while it is there.
    followed: Vec<Followed>,
    births: Births,
    /// Whose children count as well: ours, when orphans come to us.
    adopter: Option<u32>,
    members: Members,
    seen: u32,
    hidden: u32,
    /// How many can be followed at once; each takes a file.
    room: usize,
    /// Descendants that there is no room for, and how many there ever were.
    waiting: Vec<u32>,
    missed: u32,
    /// How much memory that may be shared came or went while the maps were read.
    blur: u64,
    /// The largest resident size that any member had at any time.
    largest: u64,
    ticks_per_second: u64,
    buffer: Buffer,
}

/// What a look found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Somebody has gone.
    pub has_lost: bool,
    /// Nobody has used a core since the last look.
    pub is_idle: bool,
}

impl Tree {
    /// A process that runs already, and those of its descendants that are there. The
    /// high-water marks of the time before do not count; that of this very process is reset.
    ///
    /// # Errors
    /// When the main process cannot be read.
    pub fn attached(main: u32, members: Members) -> Result<Self, Unread> {
        let mut tree = Self::empty(None, Births::new(), members);
        let own_mark = (main == std::process::id()).then(OwnMark::reset).flatten();
        let (process, status) = tree.open(main)?;
        tree.follow(process, Role::Main, status, Since::Attached);
        if let [main] = &mut *tree.followed {
            main.own_mark = own_mark;
        }
        let threads = ourselves::threads_with_children(main, status.threads);
        tree.take_in(lineage::below(main, threads).unwrap_or_else(births::all), Since::Attached);
        Ok(tree)
    }

    /// A child that was just started. Where it cannot be read, there is still the kernel's
    /// account at its end.
    #[must_use]
    pub fn born(main: u32, members: Members) -> Self {
        let mut tree = Self::empty(Some(std::process::id()), Births::after(main), members);
        tree.largest = ourselves::size_before_exec();
        match tree.open(main) {
            Ok((process, status)) => tree.follow(process, Role::Main, status, Since::Birth),
            Err(_) => tree.hidden += 1,
        }
        tree
    }

    fn empty(adopter: Option<u32>, births: Births, members: Members) -> Self {
        Self {
            followed: Vec::new(),
            births,
            adopter,
            members,
            seen: 0,
            hidden: 0,
            room: ourselves::room(),
            waiting: Vec::new(),
            missed: 0,
            blur: 0,
            largest: 0,
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
            buffer: Buffer::new(),
        }
    }

    /// Looks for newcomers, at the clocks of all, and at the counters.
    pub fn look(&mut self, whose: Whose) -> Seen {
        let born = self.births.since_last();
        self.take_in(born, Since::Birth);
        let mut seen = Seen { has_lost: false, is_idle: true };
        let (buffer, members) = (&mut self.buffer, &self.members);
        self.followed.retain_mut(|one| {
            let before = one.cpu;
            let is_gone = one.look(whose, buffer) == Err(Unread::Gone);
            seen.has_lost |= is_gone;
            if is_gone {
                members.remove(one.process.pid);
            }
            seen.is_idle &= !is_gone && one.cpu == before;
            !is_gone
        });
        let highest = self.followed.iter().map(Followed::high_water).max();
        self.largest = self.largest.max(highest.unwrap_or(0));
        seen
    }

    /// The last that a main process tells which has ended: its CPU time, and whether it ever
    /// waited for a child.
    pub fn last_of_main(&mut self) -> Option<(Duration, bool)> {
        let main = self.followed.iter_mut().find(|one| one.is_main())?;
        main.cpu = kernel::cpu_time(main.process.pid).unwrap_or(main.cpu);
        main.stat = main.process.stat(&mut self.buffer).unwrap_or(main.stat);
        Some((main.cpu, main.stat.waited.faults > 0))
    }

    /// Reads what waited-for children have used, of all. A child that was waited for since its
    /// own clock was read would count twice, so it is read again without those that are gone,
    /// until nobody goes meanwhile.
    pub fn read_waited(&mut self) {
        loop {
            for one in &mut self.followed {
                one.stat = one.process.stat(&mut self.buffer).unwrap_or(one.stat);
            }
            let before = self.followed.len();
            let members = &self.members;
            self.followed.retain(|one| {
                let is_there = one.process.is_there();
                if !is_there {
                    members.remove(one.process.pid);
                }
                is_there
            });
            if self.followed.len() == before {
                return;
            }
        }
    }

    /// Whether the maps would tell something new: somebody came, or has much more or less than
    /// when they were read.
    #[must_use]
    pub fn has_changed_since_maps(&self) -> bool {
        self.followed.iter().filter_map(Followed::resident).any(|one| one.has_changed())
    }

    /// Reads the page maps of all at one go, so that what they share is seen alike in each; and
    /// the counters again after that, for what has changed meanwhile.
    pub fn read_maps(&mut self) {
        for one in &mut self.followed {
            let map = one.process.rollup(&mut self.buffer);
            if map == Err(Unread::Hidden) && one.status.memory.is_some() {
                self.hidden += u32::from(one.map != Some(Map::Hidden));
                one.map = Some(Map::Hidden);
            }
            one.rollup = map.ok();
        }
        self.blur = 0;
        for one in &mut self.followed {
            let before = one.by_kind();
            if one.read_status(&mut self.buffer).is_err() {
                one.status.memory = None;
                continue;
            }
            let after = one.by_kind();
            let moved = after.may_be_shared().abs_diff(before.may_be_shared());
            self.blur = self.blur.saturating_add(moved);
            if let (Some(rollup), Some(_)) = (one.rollup.take(), one.status.memory) {
                one.map = Some(Map::read(rollup, before, after));
            }
        }
    }

    /// Whether there is nobody but the main process.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        matches!(&*self.followed, [one] if one.is_main())
    }

    /// Whether the maps of all have been read once, or may not be.
    #[must_use]
    pub fn are_maps_read(&self) -> Parts<bool> {
        let of = |is_wanted: fn(&&Followed) -> bool| {
            let mut residents =
                self.followed.iter().filter(is_wanted).filter_map(Followed::resident);
            !residents.any(|one| matches!(one.map, Map::Newcomer { .. }))
        };
        Parts {
            main: of(|one| one.is_main()),
            descendants: of(|one| !one.is_main()),
            combined: of(|_| true),
        }
    }

    /// The memory as of the last look.
    #[must_use]
    pub fn ram(&self) -> Parts<Ram> {
        let of = |is_wanted: fn(&Followed) -> bool| {
            let group: Vec<Resident> = self
                .followed
                .iter()
                .filter(|one| is_wanted(one))
                .filter_map(Followed::resident)
                .collect();
            ram::together(&group, self.blur)
        };
        Parts {
            main: of(Followed::is_main),
            descendants: of(|one| !one.is_main()),
            combined: of(|_| true),
        }
    }

    /// How far the memory stood above what the last look saw, at some time since the look
    /// before. Two spikes need not have been at the same time, so the higher one counts.
    #[must_use]
    pub fn unseen_spikes(&self) -> Parts<u64> {
        let of = |is_wanted: fn(&&Followed) -> bool| {
            self.followed.iter().filter(is_wanted).map(|one| one.unseen_spike).max().unwrap_or(0)
        };
        Parts {
            main: of(|one| one.is_main()),
            descendants: of(|one| !one.is_main()),
            combined: of(|_| true),
        }
    }

    /// Returns the high-water mark of the main process, where it is from before the measurement and
    /// still stands: a spike below it may have been missed.
    #[must_use]
    pub fn old_mark(&self) -> Option<u64> {
        self.followed.iter().find(|one| one.is_main())?.old_mark()
    }

    #[must_use]
    pub fn threads(&self) -> Parts<u32> {
        let living = || self.followed.iter().filter(|one| !one.status.has_ended);
        let combined = living().map(|one| one.status.threads).sum();
        let main = living().find(|one| one.is_main()).map_or(0, |one| one.status.threads);
        Parts { main, descendants: combined - main, combined }
    }

    /// The CPU times as last read.
    #[must_use]
    pub fn times(&self) -> Vec<cpu::Member> {
        let member = |one: &Followed| cpu::Member {
            pid: one.process.pid,
            is_main: one.is_main(),
            own: one.cpu,
            waited: self.waited(one),
        };
        self.followed.iter().map(member).collect()
    }

    fn waited(&self, one: &Followed) -> Duration {
        let ticks = one.stat.waited.cpu_ticks;
        Duration::from_millis(ticks.saturating_mul(1000) / self.ticks_per_second)
    }

    /// Waits for the orphans that came to us and have ended; what the kernel charges to each.
    pub fn reap_orphans(&mut self) -> Vec<kernel::Account> {
        let Some(us) = self.adopter else { return Vec::new() };
        let mut accounts = Vec::new();
        let members = &self.members;
        self.followed.retain(|one| {
            let is_orphan = !one.is_main() && one.status.parent == us && one.status.has_ended;
            if !is_orphan {
                return true;
            }
            let Reaped::Ended(_, account) = kernel::reap(one.process.pid) else { return true };
            accounts.push(account);
            members.remove(one.process.pid);
            false
        });
        accounts
    }

    /// Forgets the main process, which has ended and was waited for.
    pub fn drop_main(&mut self) {
        self.followed.retain(|one| !one.is_main());
    }

    /// Whether it was followed from its start.
    #[must_use]
    pub const fn is_from_birth(&self) -> bool {
        self.adopter.is_some()
    }

    /// Those of the living that are not the main process.
    pub fn living_descendants(&self) -> impl Iterator<Item = &Process> {
        let living = self.followed.iter().filter(|one| !one.status.has_ended);
        living.filter(|one| !one.is_main()).map(|one| &one.process)
    }

    /// The members that have not ended.
    pub fn living(&self) -> impl Iterator<Item = &Process> {
        self.followed.iter().filter(|one| !one.status.has_ended).map(|one| &one.process)
    }

    /// Those living, when nothing else is wanted any more.
    #[must_use]
    pub fn into_living(self) -> Vec<Process> {
        let living = self.followed.into_iter().filter(|one| !one.status.has_ended);
        living.map(|one| one.process).collect()
    }

    /// Whether it was ever a member.
    #[must_use]
    pub fn has_ever_had(&self, pid: u32) -> bool {
        self.members.ever(|members| members.contains_key(&pid))
    }

    /// The main process's `cgroup` file; `None` when it cannot be read.
    #[must_use]
    pub fn cgroup(&self) -> Option<String> {
        let main = self.followed.first().filter(|one| one.is_main())?;
        main.process.text("cgroup").ok()
    }

    /// On how many cores the main process may be put.
    #[must_use]
    pub fn allowed_cores(&self) -> Option<u32> {
        let main = self.followed.first().filter(|one| one.is_main())?;
        let pid = Pid::from_raw(i32::try_from(main.process.pid).ok()?)?;
        Some(sched_getaffinity(Some(pid)).ok()?.count())
    }

    /// The largest resident size that was seen of any member at any time.
    #[must_use]
    pub const fn largest(&self) -> u64 {
        self.largest
    }

    #[must_use]
    pub const fn seen(&self) -> u32 {
        self.seen
    }

    #[must_use]
    pub const fn hidden(&self) -> u32 {
        self.hidden
    }

    /// How many there was no room for.
    #[must_use]
    pub const fn missed(&self) -> u32 {
        self.missed
    }

    /// Takes in those of the candidates that descend from a member, in whatever order they
    /// come. Most of a busy machine's newcomers do not, so that costs little.
    fn take_in(&mut self, candidates: Vec<u32>, since: Since) {
        if candidates.is_empty() && self.waiting.is_empty() {
            return;
        }
        let us = std::process::id();
        // The thread that measures is often the newest of all.
        let this_thread = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        let waiting = std::mem::take(&mut self.waiting);
        let mut left: Vec<(u32, u32)> = candidates
            .into_iter()
            .chain(waiting.iter().copied())
            .filter(|pid| ![us, this_thread].contains(pid) && !self.is_member(*pid))
            .filter_map(|pid| Some((pid, process::parent(pid)?)))
            .collect();
        loop {
            let (ours, others): (Vec<_>, _) =
                left.into_iter().partition(|(_, parent)| self.is_parent(*parent));
            if ours.is_empty() {
                return;
            }
            for (pid, _) in ours {
                self.take_in_one(pid, waiting.contains(&pid), since);
            }
            left = others;
        }
    }

    /// Gone meanwhile is gone; its parent may be gone too, and it is ours all the same. Those
    /// that there is no room for wait until there is.
    fn take_in_one(&mut self, pid: u32, has_waited: bool, since: Since) {
        if self.followed.len() >= self.room {
            self.missed += u32::from(!has_waited);
            self.waiting.push(pid);
        } else if let Ok((process, status)) = self.open(pid) {
            self.missed -= u32::from(has_waited).min(self.missed);
            self.follow(process, Role::Descendant, status, since);
        }
    }

    fn is_member(&self, pid: u32) -> bool {
        self.followed.iter().any(|one| one.process.pid == pid)
    }

    fn is_parent(&self, pid: u32) -> bool {
        self.adopter == Some(pid) || self.is_member(pid)
    }

    fn open(&mut self, pid: u32) -> Result<(Process, Status), Unread> {
        let process = Process::open(pid)?;
        let status = process.status(&mut self.buffer)?;
        // A thread has a folder too, under its own number.
        if status.process == pid { Ok((process, status)) } else { Err(Unread::Gone) }
    }

    fn follow(&mut self, process: Process, role: Role, status: Status, since: Since) {
        self.members.add(process.pid, role);
        self.seen += 1;
        let one = Followed::new(process, role, status, since);
        self.followed.push(one);
    }
}
