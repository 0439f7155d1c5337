//! One measurement from its begin to its end: looks at the tree, keeps maxima and accounts.

use std::cell::LazyCell;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use probe::units::Bytes;
use probe::{Reading, Why};

use crate::cgroup::Cgroup;
use crate::cpu::CpuAccount;
use crate::followed::Whose;
use crate::gpu::Gpu;
use crate::kernel::{self, Account, Reaped};
use crate::loads::Loads;
use crate::machine::MachineWatch;
use crate::options::Options;
use crate::ourselves::OurThreads;
use crate::pace::Budget;
use crate::parts::Parts;
use crate::peaks::{Peaks, Seen};
use crate::process::{Buffer, Process};
use crate::ram::is_much;
use crate::sample::{Ram, Sample};
use crate::tree::Tree;
use crate::usage::{
    CgroupPeak, CpuUsage, GpuUsage, Limits, Machine, NoGpu, Processes, RamUsage, Sampling, Usage,
};

/// Maps are read again after this time, also where nothing seems to have changed.
const MAPS_AGE: Duration = Duration::from_secs(1);

/// Is told of each sample.
pub type Watch = Box<dyn FnMut(&Sample) + Send>;

/// A measurement that is going on.
pub struct Measurement {
    tree: Tree,
    cpu: CpuAccount,
    loads: Loads,
    peaks: Peaks,
    machine: MachineWatch,
    /// Which cgroup the main process was in at the begin.
    membership: Option<String>,
    cgroup: Cgroup,
    /// Those that the main process may be put on.
    allowed_cores: Option<u32>,
    gpu: Option<Gpu>,
    watch: Option<Watch>,
    maps: Budget,
    maps_read: Option<Instant>,
    /// Budget for reading maps because much is in doubt.
    doubts: Budget,
    doubt: Doubt,
    began: SystemTime,
    begin: Instant,
    asked: Duration,
    counts: Counts,
    is_cpu_exact: bool,
    at_begin: Parts<Ram>,
    ours: OurThreads,
    is_settled: bool,
}

/// How often what was done.
#[derive(Debug, Default)]
struct Counts {
    samples: u64,
    last: Option<Instant>,
    first: Option<Instant>,
    longest: Option<Duration>,
    map_reads: u64,
}

impl Counts {
    fn sample(&mut self, now: Instant) {
        self.samples += 1;
        self.first.get_or_insert(now);
        let distance = self.last.map(|last| now.saturating_duration_since(last));
        self.longest = self.longest.max(distance);
        self.last = Some(now);
    }

    fn period(&self) -> Option<Duration> {
        let distances = u32::try_from(self.samples.checked_sub(1)?).ok()?;
        self.last?.saturating_duration_since(self.first?).checked_div(distances)
    }
}

impl std::fmt::Debug for Measurement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Measurement").field("tree", &self.tree).finish_non_exhaustive()
    }
}

/// What a look found, and what the dear part of it cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looked {
    /// Nobody has used a core since the look before.
    pub is_idle: bool,
    /// The CPU time for reading maps.
    pub of_maps: Duration,
}

/// What a measurement begins with.
#[derive(Debug)]
pub struct Begin {
    pub tree: Tree,
    pub at: Instant,
    /// As of when the tree was read.
    pub ours: OurThreads,
    pub gpu: Option<Gpu>,
}

impl Measurement {
    /// Begins, with a first look at once: a short command may not live to see a second one. It has
    /// to be settled, too.
    #[must_use]
    pub fn begin(options: &Options, begin: Begin, watch: Option<Watch>) -> Self {
        let is_from_birth = begin.tree.is_from_birth();
        let mut measurement = Self {
            membership: begin.tree.cgroup(),
            cgroup: Cgroup::unknown(Why::NotAsked),
            allowed_cores: begin.tree.allowed_cores(),
            tree: begin.tree,
            cpu: CpuAccount::default(),
            loads: Loads::new(options.every, begin.at),
            peaks: Peaks::default(),
            machine: MachineWatch::new(begin.at),
            gpu: begin.gpu,
            watch,
            maps: Budget::new(begin.at),
            maps_read: None,
            doubts: Budget::full(begin.at),
            doubt: Doubt::default(),
            began: SystemTime::now(),
            begin: begin.at,
            asked: options.every,
            counts: Counts::default(),
            is_cpu_exact: false,
            at_begin: Parts::default(),
            ours: begin.ours,
            is_settled: false,
        };
        let mut unread = Whose::Nobodys;
        if is_from_birth {
            unread = Whose::All;
            // Whatever it has used already, it has used since its birth; and it had a thread,
            // also if it is gone by now.
            measurement.cpu.observe(&[]);
            measurement.peaks.threads = Parts { main: 1, descendants: 0, combined: 1 };
        }
        measurement.look(unread);
        if !measurement.tree.is_alone() {
            // What several of them have together is only known by their maps.
            measurement.read_maps();
        }
        measurement.at_begin = measurement.keep_peaks().0;
        measurement
    }

    /// Waits for the driver's first look, but not for long.
    pub fn wait_for_first_look(&mut self) {
        if let Some(gpu) = &mut self.gpu {
            gpu.wait_for_first_look();
        }
    }

    /// Reads what a begin need not wait for: what the cgroup allows, and how much of its memory a
    /// process that is alone has for itself.
    pub fn settle(&mut self) {
        if self.is_settled {
            return;
        }
        self.is_settled = true;
        self.cgroup = match &self.membership {
            Some(membership) => Cgroup::of(membership, Path::new("/")),
            None => Cgroup::unknown(Why::Garbled),
        };
        if self.maps_read.is_some() {
            return;
        }
        self.read_maps();
        let (read, _) = self.keep_peaks();
        self.at_begin = self.at_begin.zip(read).map(|(begin, read)| begin.divided_as(read));
    }

    /// They are looked at, at their own pace, as soon as it goes on after the begin.
    fn look_at_cards(&mut self) {
        if let Some(gpu) = &mut self.gpu {
            gpu.go_on();
        }
    }

    /// Looks at the clocks, and at the counters of those who work.
    pub fn glance(&mut self) -> Looked {
        self.look_at_cards();
        let (is_idle, _) = self.look(Whose::Working);
        let is_due = self.doubt.is_due(Instant::now());
        Looked { is_idle, of_maps: if is_due { self.read_maps() } else { Duration::ZERO } }
    }

    /// Looks at everything, and tells of it.
    pub fn sample(&mut self) -> Looked {
        let now = Instant::now();
        self.look_at_cards();
        let (is_idle, times) = self.look(Whose::All);
        let looked = Looked { is_idle, of_maps: self.read_maps() };
        let (ram, _) = self.keep_peaks();
        let cpu = self.loads.sample(now, times, self.usable_cores(times));
        let machine = self.machine.sample(now);
        self.counts.sample(now);
        let Some(watch) = &mut self.watch else { return looked };
        watch(&Sample {
            at: SystemTime::now(),
            since_begin: now.saturating_duration_since(self.begin),
            ram,
            system_ram: machine.ram,
            cpu,
            system_cpu: machine.cpu,
            threads: self.ours.without(self.tree.threads(), self.peaks.threads.main),
            processes: u32::try_from(self.tree.living().count()).unwrap_or(u32::MAX),
            gpu: self.gpu.as_ref().map_or(Reading::Unknown(Why::NotAsked), Gpu::newest),
        });
        looked
    }

    /// It is over, and the main process goes on or somebody else waits for it.
    pub fn end(&mut self, now: Instant) {
        // The cards are looked at meanwhile.
        if let Some(gpu) = &mut self.gpu {
            gpu.close();
        }
        let (_, times) = self.look(Whose::All);
        self.loads.finish(now, times, self.usable_cores(times));
        self.read_maps();
        self.keep_peaks();
    }

    /// The main process has ended, and is a child of ours.
    pub fn main_ended(&mut self, now: Instant, reap: impl FnOnce() -> Reaped) -> Reaped {
        // As long as nobody has waited for it, its own accounts can still be read.
        self.look(Whose::All);
        let main = self.tree.last_of_main();
        let reaped = reap();
        match reaped {
            Reaped::NotYet => {}
            Reaped::NotOurs => self.end(now),
            Reaped::Ended(_, account) => {
                self.tree.drop_main();
                self.close(now, account, main);
            }
        }
        reaped
    }

    /// The kernel's final account, which tells what no look has seen.
    fn close(&mut self, now: Instant, account: Account, main: Option<(Duration, bool)>) {
        let (own, has_waited) = main.unwrap_or((account.cpu, false));
        let times = self.cpu.close(own, account.cpu, &self.tree.times());
        self.loads.finish(now, times, self.usable_cores(times));
        self.is_cpu_exact = !self.is_cpu_lower_bound();
        if account.largest_bytes > self.tree.largest() {
            let size = Bytes(account.largest_bytes);
            let seen = Bytes(self.tree.largest());
            if has_waited {
                self.peaks.descendant_had(size, seen);
            } else {
                self.peaks.main_had(size);
            }
        }
    }

    /// The result, and the members that go on.
    #[must_use]
    pub fn finish(mut self, end: Instant) -> (Usage, Vec<Process>) {
        self.machine.finish(end);
        let gpu = self.gpu.take().map_or(Err(NoGpu::NotAsked), Gpu::finish);
        let cgroup_peak = self.cgroup_peak();
        let usage = self.usage(end, &self.loads, gpu);
        let ram = RamUsage { cgroup_peak, ..usage.ram };
        let usage = Usage { ram, ..usage };
        if self.counts.samples == 0
            && let Some(watch) = &mut self.watch
        {
            watch(&Sample::of_short_run(&usage));
        }
        (usage, self.tree.into_living())
    }

    /// What was used until now; the measurement goes on as if nobody had asked.
    pub fn so_far(&mut self) -> Usage {
        let now = Instant::now();
        let (_, times) = self.look(Whose::All);
        self.machine.sample(now);
        let mut loads = self.loads.clone();
        loads.finish(now, times, self.usable_cores(times));
        let gpu = self.gpu.as_ref().map_or(Err(NoGpu::NotAsked), Gpu::so_far);
        self.usage(now, &loads, gpu)
    }

    /// All but the cgroup's peak, which takes a walk through its members.
    fn usage(&self, end: Instant, loads: &Loads, gpu: Result<GpuUsage, NoGpu>) -> Usage {
        let wall = end.saturating_duration_since(self.begin);
        let left_running = self.tree.living_descendants().count();
        Usage {
            began: self.began,
            wall,
            machine: Machine {
                cores: self.machine.cores(),
                ram: self.machine.ram(),
                limits: self.limits(),
            },
            ram: RamUsage {
                peak: self.peaks.ram,
                at_most: self.peaks.at_most().max(self.peaks.at_most_below(self.tree.old_mark())),
                system_peak: self.machine.most_ram(),
                cgroup_peak: None,
                at_begin: self.at_begin,
                at_end: self.tree.ram().map(|(ram, _)| ram),
            },
            cpu: CpuUsage {
                time: loads.time(),
                is_lower_bound: self.is_cpu_lower_bound(),
                percent: loads.loads(wall),
                system: self.machine.load(end),
                threads: self.peaks.threads,
            },
            gpu,
            processes: Processes {
                seen: self.tree.seen(),
                left_running: u32::try_from(left_running).unwrap_or(u32::MAX),
                hidden: self.tree.hidden(),
                missed: self.tree.missed(),
            },
            sampling: Sampling {
                asked: self.asked,
                samples: self.counts.samples,
                period: self.counts.period(),
                longest: self.counts.longest,
                map_reads: self.counts.map_reads,
                is_cpu_exact: self.is_cpu_exact,
                own_cpu: kernel::own_cpu_time(),
            },
        }
    }

    /// How many cores could be at work at once. Descendants may have come and gone unseen, so
    /// their threads limit nothing.
    fn usable_cores(&self, times: Parts<Duration>) -> Parts<u32> {
        let all = self.machine.cores();
        let main = self.peaks.threads.main.max(1).min(all);
        let is_alone = times.descendants.is_zero();
        Parts { main, descendants: all, combined: if is_alone { main } else { all } }
    }

    /// The cgroup's limits, and the cores that the process may be put on.
    fn limits(&self) -> Limits {
        let cores = self.machine.cores();
        let mut limits = self.cgroup.limits(self.machine.ram().known(), cores);
        if let Some(allowed) = self.allowed_cores.filter(|allowed| *allowed < cores) {
            let allowed = f64::from(allowed);
            let quota = limits.cores.known().flatten();
            limits.cores = Reading::Known(Some(quota.map_or(allowed, |quota| quota.min(allowed))));
        }
        limits
    }

    /// Those who wait for the tree's end are at rest, and may be in its cgroup.
    fn cgroup_peak(&self) -> Option<CgroupPeak> {
        // Only asked for where somebody else is in the cgroup.
        let waiting = LazyCell::new(ancestors);
        self.cgroup.peak(|pid| self.tree.has_ever_had(pid) || waiting.contains(&pid))
    }

    /// Whether nobody has worked, and the CPU times by now. A child that has gone is in its
    /// parent's account, so that is read at once.
    fn look(&mut self, whose: Whose) -> (bool, Parts<Duration>) {
        let seen = self.tree.look(whose);
        if whose != Whose::Nobodys {
            self.ours.look();
        }
        if seen.has_lost || whose != Whose::Working {
            self.tree.read_waited();
        }
        self.tree.settle_copies();
        let times = self.cpu.observe(&self.tree.times());
        self.reap_orphans();
        let (ram, doubt) = self.keep_peaks();
        self.doubt.look(doubt, ram.combined.total.0, Instant::now());
        (seen.is_idle, times)
    }

    fn reap_orphans(&mut self) {
        for (pid, account) in self.tree.reap_orphans() {
            self.cpu.reap(pid, account.cpu);
            if account.largest_bytes > self.tree.largest() {
                let seen = Bytes(self.tree.largest());
                self.peaks.descendant_had(Bytes(account.largest_bytes), seen);
            }
        }
    }

    /// Returns true if the CPU time of a descendant may be missing.
    const fn is_cpu_lower_bound(&self) -> bool {
        self.cpu.has_dropped() || self.tree.may_lose_accounts()
    }

    /// Reads the maps if they may tell something new, within a budget: what is in doubt has one of
    /// its own, so that routine does not use it up. Returns what it cost.
    fn read_maps(&mut self) -> Duration {
        let now = Instant::now();
        let is_old = self.maps_read.is_none_or(|then| now.duration_since(then) >= MAPS_AGE);
        let is_wanted = is_old || self.tree.has_changed_since_maps();
        let is_due = self.doubt.is_due(now);
        let budget = if is_due && self.doubts.allows(now) {
            &mut self.doubts
        } else if is_wanted && (is_due || self.doubt.since.is_none()) && self.maps.allows(now) {
            &mut self.maps
        } else {
            return Duration::ZERO;
        };
        self.maps_read = Some(now);
        let before = kernel::own_cpu_time();
        self.tree.read_maps();
        // For those who have ended meanwhile.
        self.tree.read_waited();
        let cost = kernel::own_cpu_time().saturating_sub(before);
        budget.spend(cost);
        self.counts.map_reads += 1;
        let (_, doubt) = self.keep_peaks();
        self.peaks.settle(self.tree.take_lost_doubt());
        self.doubt = Doubt { amount: doubt, ..Doubt::default() };
        cost
    }

    /// Returns the memory now, and how much more all of them may have.
    fn keep_peaks(&mut self) -> (Parts<Ram>, u64) {
        let grown = self.tree.note_doubts();
        let now = self.tree.ram();
        let (ram, doubt) = (now.map(|(ram, _)| ram), now.map(|(_, doubt)| doubt));
        let threads = self.ours.without(self.tree.threads(), self.peaks.threads.main);
        let unseen = self.tree.unseen_spikes();
        let are_maps_read = self.tree.are_maps_read();
        // Others may have copied their pages before these were gone.
        let late = self.tree.take_late().map_or(0, |late| late.saturating_add(grown));
        self.peaks.look(Seen { ram, doubt, late, unseen, are_maps_read }, threads);
        (ram, doubt.combined)
    }
}

/// How much is in doubt of the memory of all, from look to look.
#[derive(Debug, Default, Clone, Copy)]
struct Doubt {
    amount: u64,
    /// It has hardly grown since the look before.
    is_at_rest: bool,
    /// Since when it is so much that a peak without it would be a lower bound.
    since: Option<Instant>,
}

impl Doubt {
    /// Doubt that goes on growing is settled after this time.
    const LONGEST: Duration = Duration::from_secs(2);
    /// It is at rest if it grows by less than this share from one look to the next.
    const REST_SHARE: u64 = 200;

    fn look(&mut self, amount: u64, total: u64, now: Instant) {
        let grown = amount.saturating_sub(self.amount);
        self.is_at_rest = grown <= amount / Self::REST_SHARE;
        self.since = is_much(amount, total).then(|| self.since.unwrap_or(now));
        self.amount = amount;
    }

    /// Returns true if the maps should be read. That is expensive, so it is done when they show as
    /// much as possible: when those who write have come to rest.
    fn is_due(&self, now: Instant) -> bool {
        let waited = self.since.map(|since| now.saturating_duration_since(since));
        waited.is_some_and(|waited| self.is_at_rest || waited >= Self::LONGEST)
    }
}

/// This process, its parent, and so on.
fn ancestors() -> Vec<u32> {
    let mut buffer = Buffer::new();
    let parent = |pid: &u32| {
        let status = Process::open(*pid).ok()?.status(&mut buffer).ok()?;
        Some(status.parent).filter(|parent| *parent != 0)
    };
    std::iter::successors(Some(std::process::id()), parent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1_000_000;

    #[test]
    fn doubt_is_settled_when_it_rests_or_after_a_while() {
        let begin = Instant::now();
        let mut doubt = Doubt::default();
        let mut is_due = |amount, ms| {
            let now = begin + Duration::from_millis(ms);
            doubt.look(amount * MB, 1000 * MB, now);
            doubt.is_due(now)
        };
        assert!(!is_due(15, 0) && !is_due(15, 10), "within 2 % there is nothing to settle");
        assert!(!is_due(100, 20) && !is_due(200, 30), "it still grows");
        assert!(is_due(200, 40), "it rests");
        assert!(!is_due(300, 1000) && is_due(400, 2020), "it grows for too long");
    }
}
