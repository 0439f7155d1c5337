//! The whole machine: its cores, its memory, and how busy they are.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use probe::proc::meminfo::{self, MemInfo};
use probe::units::{Bytes, Percent};
use probe::{Reading, Why};

use crate::kernel;
use crate::proc::processors::{self, Busy};
use crate::usage::Load;

/// The kernel counts in clock ticks, so that a shorter time tells nothing.
const SHORTEST: Duration = Duration::from_millis(100);

/// How many cores there were a moment ago, and when: it takes a file to tell.
static CORES: Mutex<Option<(u32, Instant)>> = Mutex::new(None);

/// What was counted so long ago is counted again.
const OLD: Duration = Duration::from_secs(1);

fn cores(now: Instant) -> u32 {
    // In a fork of somebody who was here it is held for ever; then nothing is remembered.
    let mut place = CORES.try_lock().ok();
    let is_new = |counted: &(u32, Instant)| now.saturating_duration_since(counted.1) < OLD;
    if let Some((cores, _)) = place.as_ref().and_then(|place| place.filter(is_new)) {
        return cores;
    }
    let cores = kernel::cores();
    if let Some(place) = &mut place {
        **place = Some((cores, now));
    }
    cores
}

/// Reads the whole machine again and again.
#[derive(Debug)]
pub struct MachineWatch {
    stat: Option<File>,
    meminfo: Option<File>,
    cores: u32,
    first: Option<(Instant, Busy)>,
    last: Option<(Instant, Busy)>,
    highest: Option<Percent>,
    most_used: Option<Bytes>,
    total: Option<Bytes>,
    newest: MachineSample,
}

/// The machine now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineSample {
    pub cpu: Reading<Percent>,
    pub ram: Reading<Bytes>,
}

impl MachineWatch {
    #[must_use]
    pub fn new(now: Instant) -> Self {
        let mut watch = Self {
            stat: File::open("/proc/stat").ok(),
            meminfo: File::open("/proc/meminfo").ok(),
            cores: cores(now),
            first: None,
            last: None,
            highest: None,
            most_used: None,
            total: None,
            newest: MachineSample {
                cpu: Reading::Unknown(Why::FirstLook),
                ram: Reading::Unknown(Why::NotSupported),
            },
        };
        watch.first = watch.busy(now);
        watch.last = watch.first;
        watch.look_at_memory();
        watch
    }

    /// The machine as of the newest reading, which is not much older than the shortest time
    /// that tells something.
    pub fn sample(&mut self, now: Instant) -> MachineSample {
        let is_due = self.last.is_none_or(|(then, _)| now.duration_since(then) >= SHORTEST);
        if is_due {
            self.look_at_cpu(now);
            self.look_at_memory();
        }
        self.newest
    }

    /// The last look, whatever time has passed.
    pub fn finish(&mut self, now: Instant) {
        if self.highest.is_none() {
            self.look_at_cpu(now);
        }
        self.look_at_memory();
    }

    #[must_use]
    pub const fn cores(&self) -> u32 {
        self.cores
    }

    #[must_use]
    pub fn ram(&self) -> Reading<Bytes> {
        self.total.map_or(Reading::Unknown(Why::NotSupported), Reading::Known)
    }

    #[must_use]
    pub fn most_ram(&self) -> Reading<Bytes> {
        self.most_used.map_or(Reading::Unknown(Why::NotSupported), Reading::Known)
    }

    /// How busy it was from the begin to now.
    #[must_use]
    pub fn load(&self, now: Instant) -> Reading<Load> {
        let (Some(first), Some(max)) = (self.first, self.highest) else {
            return Reading::Unknown(Why::NotSupported);
        };
        // The last look was of now; where it cannot be read any more, it is known until then.
        let newest = self.last.filter(|(then, _)| *then == now).or_else(|| self.busy(now));
        let mean = newest.or(self.last).and_then(|last| self.percent(first, last));
        mean.map_or(Reading::Unknown(Why::NotSupported), |mean| Reading::Known(Load { max, mean }))
    }

    fn look_at_cpu(&mut self, now: Instant) {
        let busy = self.busy(now);
        if busy.is_none() {
            self.newest.cpu = Reading::Unknown(Why::NotSupported);
        }
        if let (Some(then), Some(now)) = (self.last, busy)
            && let Some(percent) = self.percent(then, now)
        {
            self.newest.cpu = Reading::Known(percent);
            self.highest = Some(self.highest.map_or(percent, |highest| max(highest, percent)));
        }
        self.last = busy.or(self.last);
    }

    fn look_at_memory(&mut self) {
        let Some(MemInfo { total, available }) = self.read_memory() else {
            self.newest.ram = Reading::Unknown(Why::NotSupported);
            return;
        };
        let used = total.saturating_sub(available);
        self.total = Some(total);
        self.most_used = self.most_used.max(Some(used));
        self.newest.ram = Reading::Known(used);
    }

    fn read_memory(&self) -> Option<MemInfo> {
        let mut buffer = [0; 512];
        let length = self.meminfo.as_ref()?.read_at(&mut buffer, 0).ok()?;
        meminfo::parse(str::from_utf8(&buffer[..length]).ok()?)
    }

    fn busy(&self, now: Instant) -> Option<(Instant, Busy)> {
        let mut buffer = [0; 512];
        let length = self.stat.as_ref()?.read_at(&mut buffer, 0).ok()?;
        let busy = processors::parse(str::from_utf8(&buffer[..length]).ok()?)?;
        Some((now, busy))
    }

    /// 100 is one core; no more than all of them, which rounding to ticks could pretend.
    fn percent(&self, then: (Instant, Busy), now: (Instant, Busy)) -> Option<Percent> {
        let passed = now.0.saturating_duration_since(then.0);
        let worked = now.1.since(then.1, rustix::param::clock_ticks_per_second());
        let percent = percent_of(worked, passed)?;
        Some(Percent(percent.0.min(f64::from(self.cores) * 100.0)))
    }
}

/// How much of a time was worked: 100 is one core all the time.
#[must_use]
pub fn percent_of(worked: Duration, passed: Duration) -> Option<Percent> {
    let passed = passed.as_secs_f64();
    (passed > 0.0).then(|| Percent(worked.as_secs_f64() / passed * 100.0))
}

/// The larger one.
#[must_use]
pub const fn max(a: Percent, b: Percent) -> Percent {
    Percent(a.0.max(b.0))
}
