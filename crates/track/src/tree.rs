//! A process and all its descendants, as they come and go.

use std::collections::{HashMap, HashSet};
use std::iter;
use std::time::Duration;

use rustix::process::Pid;
use rustix::thread::sched_getaffinity;

use crate::births::{self, Births};
use crate::cpu;
use crate::followed::{First, Followed, Since, Whose, page_size};
use crate::kernel::{self, Reaped};
use crate::lineage;
use crate::members::{Members, Role};
use crate::ourselves;
use crate::own_mark::OwnMark;
use crate::parts::Parts;
use crate::proc::rollup::ByKind;
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
    /// Memory that was in doubt of members that are gone, since the maps were read.
    lost_doubt: u64,
    /// By how much the doubts have grown, since that was last asked for.
    grown: u64,
    /// Members that are gone, until the accounts of their parents are read.
    ended: Vec<Ended>,
    /// Memory that members which have ended may have gained after they were last looked at; `None`
    /// when nobody has ended.
    late: Option<u64>,
    /// A member may have had children whose accounts the kernel drops.
    may_lose_accounts: bool,
    /// The largest resident size that any member had at any time.
    largest: u64,
    ticks_per_second: u64,
    buffer: Buffer,
}

/// What a look found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Somebody is gone, or about to be.
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
        let (process, first) = tree.open(main)?;
        tree.follow(process, Role::Main, first, Since::Attached);
        if let [main] = &mut *tree.followed {
            main.own_mark = own_mark;
        }
        let threads = ourselves::threads_with_children(main, first.status.threads);
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
            Ok((process, first)) => tree.follow(process, Role::Main, first, Since::Birth),
            Err(_) => {
                tree.hidden += 1;
                tree.may_lose_accounts = true;
            }
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
            lost_doubt: 0,
            grown: 0,
            ended: Vec::new(),
            late: None,
            may_lose_accounts: false,
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
        let buffer = &mut self.buffer;
        let mut gone = Gone { members: &self.members, ended: &mut self.ended };
        self.followed.retain_mut(|one| {
            let before = one.cpu;
            let had_memory = one.status.memory.is_some();
            let is_gone = one.look(whose, buffer) == Err(Unread::Gone);
            // Who ends gives its memory back first, which takes a while.
            seen.has_lost |= is_gone || had_memory && one.status.memory.is_none();
            if is_gone {
                gone.take(one);
            }
            seen.is_idle &= !is_gone && one.cpu == before;
            self.may_lose_accounts |= one.status.ignores_children;
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

    /// Returns true if a member may have had children whose CPU time the kernel has dropped: it
    /// ignores SIGCHLD, or it could not be looked at.
    #[must_use]
    pub const fn may_lose_accounts(&self) -> bool {
        self.may_lose_accounts || self.missed > 0
    }

    /// Keeps the most that is in doubt of each member's memory, as of this look. Returns by how much
    /// that has grown in all.
    pub fn note_doubts(&mut self) -> u64 {
        let grown = std::mem::take(&mut self.grown);
        self.followed.iter_mut().map(Followed::note_doubt).fold(grown, u64::saturating_add)
    }

    /// Returns how much was in doubt that the maps, which were just read, could not show.
    pub const fn take_lost_doubt(&mut self) -> u64 {
        std::mem::replace(&mut self.lost_doubt, 0)
    }

    /// Reads what waited-for children have used, of all. A child that was waited for since its
    /// own clock was read would count twice, so it is read again without those that are gone,
    /// until nobody goes meanwhile.
    pub fn read_waited(&mut self) {
        loop {
            for one in &mut self.followed {
                let Ok(stat) = one.process.stat(&mut self.buffer) else { continue };
                if one.take_stat(stat) {
                    // A process that is gone meanwhile is removed below.
                    let _ = one.read_status(&mut self.buffer);
                }
            }
            let before = self.followed.len();
            let mut gone = Gone { members: &self.members, ended: &mut self.ended };
            self.followed.retain(|one| {
                let is_there = one.process.is_there();
                if !is_there {
                    gone.take(one);
                }
                is_there
            });
            if self.followed.len() == before {
                return self.settle_ended();
            }
        }
    }

    /// Takes in what is left of members that have ended: what was in doubt of them, and the faults
    /// that came after the last look, which are in their own account or, once they were waited for,
    /// in that of an ancestor. Each may be a page more. The kernel's account of the main process tells
    /// its size, so its faults only count as copies.
    fn settle_ended(&mut self) {
        let ended = std::mem::take(&mut self.ended);
        let parents: HashMap<u32, u32> = ended.iter().map(|one| (one.pid, one.parent)).collect();
        let mut ended_below: HashMap<u32, EndedBelow> = HashMap::new();
        for one in &ended {
            let up = iter::successors(Some(one.parent), |pid| parents.get(pid).copied());
            // A pid that was given out again may lead in a circle.
            let ancestor = up.take(ended.len() + 1).last().unwrap_or(one.parent);
            let below = ended_below.entry(ancestor).or_default();
            below.faults = below.faults.saturating_add(one.faults);
            below.resident = below.resident.saturating_add(one.resident);
            below.has_lost_copy |= one.is_copy;
        }
        let mut late = 0_u64;
        for one in &mut self.followed {
            if let Some(below) = ended_below.get(&one.process.pid) {
                let gained = one.stat.waited.faults.saturating_sub(one.noted.waited.faults);
                late = late.saturating_add(below.late(gained));
            }
            if one.status.memory.is_none() && (one.has_copies || !one.is_main()) {
                late = late.saturating_add(one.take_late());
            }
        }
        let doubts = ended.iter().map(|ended| ended.doubt);
        self.lost_doubt = doubts.fold(self.lost_doubt.saturating_add(late), u64::saturating_add);
        if late > 0 || !ended.is_empty() {
            self.late = Some(self.late.unwrap_or(0).saturating_add(late));
        }
    }

    /// Finds members whose last forked copy has ended or executed a program. It may have been the only
    /// one that kept the pages which the member has copied since, so no map can show these any more.
    pub fn settle_copies(&mut self) {
        if !self.followed.iter().any(|one| one.has_copies) {
            return;
        }
        let copies = self.followed.iter().filter(|one| one.is_copy());
        let parents: HashSet<u32> = copies.map(|one| one.stat.parent).collect();
        for one in &mut self.followed {
            if one.has_copies && !parents.contains(&one.process.pid) {
                self.grown = self.grown.saturating_add(one.copies_ended());
                self.late.get_or_insert(0);
                self.lost_doubt = self.lost_doubt.saturating_add(one.doubt);
            }
        }
    }

    /// Returns how much members that have ended may have gained after they were last looked at; `None`
    /// when nobody has ended.
    pub const fn take_late(&mut self) -> Option<u64> {
        self.late.take()
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
        // The faults of all come first: a page that is copied while the maps are read may be seen by
        // none of them.
        for one in &mut self.followed {
            if let Ok(stat) = one.process.stat(&mut self.buffer) {
                one.take_stat(stat);
                self.grown = self.grown.saturating_add(one.note_doubt());
            }
        }
        // Children come before their parents, to whom falls what all others have copied.
        for one in self.followed.iter_mut().rev() {
            let map = one.process.rollup(&mut self.buffer);
            if map == Err(Unread::Hidden) && one.status.memory.is_some() {
                self.hidden += u32::from(one.map != Some(Map::Hidden));
                one.map = Some(Map::Hidden);
            }
            one.rollup = map.ok();
        }
        let before: Vec<ByKind> = self.followed.iter().map(Followed::by_kind).collect();
        let mut parents_of_ended: HashSet<u32> = HashSet::new();
        for one in &mut self.followed {
            let was_copy = one.is_copy();
            if one.read_status(&mut self.buffer).is_err() {
                one.status.memory = None;
            }
            if was_copy && one.status.memory.is_none() {
                parents_of_ended.insert(one.stat.parent);
            }
        }
        self.blur = 0;
        for (one, before) in self.followed.iter_mut().zip(before) {
            let after = one.by_kind();
            let doubt = one.doubt;
            let lost = match (one.rollup.take(), one.status.memory) {
                (Some(rollup), Some(_)) => {
                    let lost = one.map_was_read(Map::read(rollup, before, after));
                    // The map shows no copies of pages that only a child kept which is gone.
                    if parents_of_ended.contains(&one.process.pid) { doubt } else { lost }
                }
                _ => one.take_doubt(),
            };
            self.lost_doubt = self.lost_doubt.saturating_add(lost);
            if one.status.memory.is_some() {
                let moved = after.may_be_shared().abs_diff(before.may_be_shared());
                self.blur = self.blur.saturating_add(moved);
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

    /// The memory as of the last look, and how much more than the totals it may have been.
    #[must_use]
    pub fn ram(&self) -> Parts<(Ram, u64)> {
        let of = |is_wanted: fn(&Followed) -> bool| {
            let group: Vec<Resident> = self
                .followed
                .iter()
                .filter(|one| is_wanted(one))
                .filter_map(Followed::resident)
                .collect();
            let ram = ram::together(&group, self.blur);
            (ram, ram::doubt(&group, ram.total))
        };
        Parts {
            main: of(Followed::is_main),
            descendants: of(|one| !one.is_main()),
            combined: of(|_| true),
        }
    }

    /// How far the memory stood above what the last look saw, at some time since the look
    /// before: the highest spike, and all of them, which need not have been at the same time.
    #[must_use]
    pub fn unseen_spikes(&self) -> Parts<Spikes> {
        let of = |is_wanted: fn(&&Followed) -> bool| {
            let spikes = || self.followed.iter().filter(is_wanted).map(|one| one.unseen_spike);
            Spikes { highest: spikes().max().unwrap_or(0), sum: spikes().sum() }
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
            parent: one.stat.parent,
            faults: one.stat.faults.saturating_add(one.stat.waited.faults),
            waited_faults: one.stat.waited.faults,
        };
        self.followed.iter().map(member).collect()
    }

    fn waited(&self, one: &Followed) -> Duration {
        let ticks = one.stat.waited.cpu_ticks;
        Duration::from_millis(ticks.saturating_mul(1000) / self.ticks_per_second)
    }

    /// Waits for the orphans that came to us and have ended; what the kernel charges to each.
    pub fn reap_orphans(&mut self) -> Vec<(u32, kernel::Account)> {
        let Some(us) = self.adopter else { return Vec::new() };
        let mut accounts = Vec::new();
        let mut gone = Gone { members: &self.members, ended: &mut self.ended };
        self.followed.retain(|one| {
            let is_orphan = !one.is_main() && one.status.parent == us && one.status.has_ended;
            if !is_orphan {
                return true;
            }
            let Reaped::Ended(_, account) = kernel::reap(one.process.pid) else { return true };
            accounts.push((one.process.pid, account));
            gone.take(one);
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
        } else if let Ok((process, first)) = self.open(pid) {
            self.missed -= u32::from(has_waited).min(self.missed);
            self.follow(process, Role::Descendant, first, since);
        }
    }

    fn is_member(&self, pid: u32) -> bool {
        self.followed.iter().any(|one| one.process.pid == pid)
    }

    fn is_parent(&self, pid: u32) -> bool {
        self.adopter == Some(pid) || self.is_member(pid)
    }

    fn open(&mut self, pid: u32) -> Result<(Process, First), Unread> {
        let process = Process::open(pid)?;
        let stat = process.stat(&mut self.buffer)?;
        let status = process.status(&mut self.buffer)?;
        // A thread has a folder too, under its own number.
        if status.process != pid {
            return Err(Unread::Gone);
        }
        let inherited_at_most = self.most_of(stat.parent);
        Ok((process, First { stat, status, inherited_at_most }))
    }

    /// Returns the most memory that a member ever had. It is read again, since the member may have
    /// grown after the last look. For others, and for those that have ended, there is no limit.
    fn most_of(&mut self, pid: u32) -> u64 {
        let member = self.followed.iter().find(|one| one.process.pid == pid);
        let now = member.and_then(|one| one.process.status(&mut self.buffer).ok()?.memory);
        match (member, now) {
            (Some(one), Some(now)) => now.high_water.max(one.high_water()),
            _ => u64::MAX,
        }
    }

    fn follow(&mut self, process: Process, role: Role, first: First, since: Since) {
        self.members.add(process.pid, role);
        self.seen += 1;
        self.may_lose_accounts |= first.status.ignores_children;
        let newcomer = Followed::new(process, role, first, since);
        let (parent, shared_with_parent) = (newcomer.stat.parent, newcomer.shared_with_parent());
        if shared_with_parent > 0
            && let Some(parent) = self.followed.iter_mut().find(|one| one.process.pid == parent)
        {
            parent.add_copy(shared_with_parent);
        }
        self.followed.push(newcomer);
    }
}

/// How far memory stood above what was seen, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spikes {
    pub highest: u64,
    pub sum: u64,
}

/// Removes members from the list, and keeps what is needed of them.
struct Gone<'a> {
    members: &'a Members,
    ended: &'a mut Vec<Ended>,
}

/// A member that is gone, as it was at the last look.
#[derive(Debug, Clone, Copy)]
struct Ended {
    pid: u32,
    parent: u32,
    /// Those of its waited-for children included.
    faults: u64,
    doubt: u64,
    resident: u64,
    is_copy: bool,
}

/// Members that have ended, whose faults are in the account of one living ancestor.
#[derive(Debug, Clone, Copy, Default)]
struct EndedBelow {
    faults: u64,
    resident: u64,
    has_lost_copy: bool,
}

impl EndedBelow {
    /// Programs take a few megabytes when they start, so a little says nothing about those that ended.
    const LITTLE: u64 = 16_000_000;

    /// Returns how much those that ended may have gained after the last look, if the account has gained
    /// this many faults since. Many of these may be of others that came and went unseen, one after the
    /// other; the memory of those that were seen has hardly more than doubled.
    fn late(&self, gained: u64) -> u64 {
        let unseen = gained.saturating_sub(self.faults).saturating_mul(page_size());
        let late = unseen.min(self.resident);
        if self.has_lost_copy || late > Self::LITTLE { late } else { 0 }
    }
}

impl Gone<'_> {
    fn take(&mut self, one: &Followed) {
        self.members.remove(one.process.pid);
        self.ended.push(Ended {
            pid: one.process.pid,
            parent: one.stat.parent,
            faults: one.noted_faults(),
            doubt: one.doubt,
            resident: one.noted_resident,
            is_copy: one.noted.is_forked_copy,
        });
    }
}
