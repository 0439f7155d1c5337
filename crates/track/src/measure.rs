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
use crate::sample::{Ram, Sample};
use crate::tree::Tree;
use crate::usage::{
    CpuUsage, GpuUsage, Limits, Machine, NoGpu, Processes, RamUsage, Sampling, Usage,
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
        measurement.at_begin = measurement.keep_peaks();
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
        let read = self.keep_peaks();
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
        Looked { is_idle, of_maps: Duration::ZERO }
    }

    /// Looks at everything, and tells of it.
    pub fn sample(&mut self) -> Looked {
        let now = Instant::now();
        self.look_at_cards();
        let (is_idle, times) = self.look(Whose::All);
        let looked = Looked { is_idle, of_maps: self.read_maps() };
        let ram = self.keep_peaks();
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
        let main = self.tree.last_of_main();
        let reaped = reap();
        match reaped {
            Reaped::NotYet => {}
            Reaped::NotOurs => self.end(now),
            Reaped::Ended(_, account) => {
                self.tree.drop_main();
                self.tree.look(Whose::All);
                self.tree.read_waited();
                self.reap_orphans();
                self.keep_peaks();
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
        self.is_cpu_exact = true;
        if account.largest_bytes > self.tree.largest() {
            let size = Bytes(account.largest_bytes);
            if has_waited { self.peaks.descendant_had(size) } else { self.peaks.main_had(size) }
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
                at_most: self.peaks.at_most_below(self.tree.old_mark()),
                system_peak: self.machine.most_ram(),
                cgroup_peak: None,
                at_begin: self.at_begin,
                at_end: self.tree.ram(),
            },
            cpu: CpuUsage {
                time: loads.time(),
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
    fn cgroup_peak(&self) -> Option<Bytes> {
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
        let times = self.cpu.observe(&self.tree.times());
        self.reap_orphans();
        self.keep_peaks();
        (seen.is_idle, times)
    }

    fn reap_orphans(&mut self) {
        for account in self.tree.reap_orphans() {
            self.cpu.reap(account.cpu);
            if account.largest_bytes > self.tree.largest() {
                self.peaks.descendant_had(Bytes(account.largest_bytes));
            }
        }
    }

    /// Reads the maps within their budget, if they may tell something new; the cost of it.
    /// Pages that are copied on a write change no counter, so now and then they may.
    fn read_maps(&mut self) -> Duration {
        let now = Instant::now();
        let is_old = self.maps_read.is_none_or(|then| now.duration_since(then) >= MAPS_AGE);
        let is_wanted = is_old || self.tree.has_changed_since_maps();
        if !self.maps.allows(now) || !is_wanted {
            return Duration::ZERO;
        }
        self.maps_read = Some(now);
        let before = kernel::own_cpu_time();
        self.tree.read_maps();
        let cost = kernel::own_cpu_time().saturating_sub(before);
        self.maps.spend(cost);
        self.counts.map_reads += 1;
        cost
    }

    fn keep_peaks(&mut self) -> Parts<Ram> {
        let ram = self.tree.ram();
        let threads = self.ours.without(self.tree.threads(), self.peaks.threads.main);
        let seen = Seen { ram, are_maps_read: self.tree.are_maps_read() };
        self.peaks.look(seen, self.tree.unseen_spikes(), threads);
        ram
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
