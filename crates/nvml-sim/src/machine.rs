//! A scenario as it is being played: its clock, and which faults have struck how often.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, Timespec, clock_gettime};
use scenario::model::Stamps;
use scenario::{Clock, Effect, Moment, Scenario};

use crate::abi::{Answer, Code};

/// A pretend machine with a running clock.
#[derive(Debug)]
pub struct Machine {
    pub scenario: Scenario,
    pub clock: Clock,
    /// How often each of the scenario's faults has struck in this process.
    struck: Vec<AtomicU32>,
}

/// Flaws of a list that a call returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flaws {
    /// Number of entries by which a size query falls short.
    pub short_by: u32,
    /// Number of bytes by which each entry is longer than declared.
    pub extra_bytes: u32,
}

impl Machine {
    /// A machine whose `t = 0` was when the wall clock showed `started`.
    #[must_use]
    pub fn new(scenario: Scenario, started_unix_micros: i64) -> Self {
        Self {
            clock: Clock::new(&scenario.time, started_unix_micros),
            struck: scenario.faults.iter().map(|_| AtomicU32::new(0)).collect(),
            scenario,
        }
    }

    /// Takes over the counts of those faults that were there before.
    #[must_use]
    pub fn following(mut self, before: &Self) -> Self {
        let old = || before.scenario.faults.iter().zip(&before.struck);
        for (fault, count) in self.scenario.faults.iter().zip(&mut self.struck) {
            if let Some((_, so_far)) = old().find(|(known, _)| *known == fault) {
                *count.get_mut() = so_far.load(Ordering::Relaxed);
            }
        }
        self
    }

    #[must_use]
    pub fn now(&self) -> Moment {
        let unix_micros = match self.scenario.time.stamps {
            Stamps::Unix => unix_micros_now(),
            // The stamp of a sample must not change when the wall clock is set or adjusted.
            Stamps::Boot => boot_unix_micros().saturating_add(boot_micros_now()),
        };
        self.clock.moment(unix_micros)
    }

    /// Applies the scenario's faults to a call. May block for long, or forever.
    ///
    /// # Errors
    /// The code that the call returns.
    pub fn admit(&self, call: &str, card: Option<&str>) -> Answer<Flaws> {
        let driver = &self.scenario.driver;
        if !driver.has(call) {
            return Err(Code::FUNCTION_NOT_FOUND);
        }
        let mut flaws = Flaws { short_by: 0, extra_bytes: driver.extra_bytes(call) };
        if self.scenario.faults.is_empty() {
            return Ok(flaws);
        }
        let at = self.now();
        for (fault, struck) in self.scenario.faults.iter().zip(&self.struck) {
            if !fault.strikes(call, card, at) || !take(struck, fault.times) {
                continue;
            }
            if let Some(latency) = fault.latency {
                thread::sleep(latency);
            }
            match fault.effect {
                None => {}
                Some(Effect::Code(code)) => return Err(code),
                Some(Effect::Hang) => hang(),
                Some(Effect::Grow(by)) => flaws.short_by = flaws.short_by.saturating_add(by),
                Some(Effect::ExtraBytes(bytes)) => flaws.extra_bytes = bytes,
            }
        }
        Ok(flaws)
    }
}

/// Counts one strike, unless there have been as many as there may be.
fn take(struck: &AtomicU32, times: Option<u32>) -> bool {
    struck
        .try_update(Ordering::Relaxed, Ordering::Relaxed, |so_far| match times {
            Some(times) if so_far >= times => None,
            _ => Some(so_far.saturating_add(1)),
        })
        .is_ok()
}

fn hang() -> ! {
    loop {
        thread::park();
    }
}

/// The scenario file that the environment names.
#[must_use]
pub fn scenario_path() -> Option<PathBuf> {
    std::env::var_os("NVML_SIM_SCENARIO").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The start that the environment names, in µs since the Unix epoch.
#[must_use]
pub fn start_from_env() -> Option<i64> {
    std::env::var("NVML_SIM_START").ok()?.parse().ok()
}

/// What the wall clock shows, in µs since the Unix epoch.
#[must_use]
pub fn unix_micros_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Time since the host's boot, in µs.
fn boot_micros_now() -> i64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Boottime);
    tv_sec.saturating_mul(1_000_000).saturating_add(tv_nsec / 1_000)
}

/// When the host booted, in µs since the Unix epoch, by the clocks at the first call.
#[must_use]
pub fn boot_unix_micros() -> i64 {
    static BOOT: OnceLock<i64> = OnceLock::new();
    *BOOT.get_or_init(|| unix_micros_now().saturating_sub(boot_micros_now()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(text: &str) -> Machine {
        let scenario = scenario::parse::from_str("test.toml", text).unwrap();
        Machine::new(scenario, unix_micros_now())
    }

    const TWICE: &str = "[[card]]\nuuid = \"GPU-1\"\n[[fault]]\ncall = \"nvmlDeviceGetName\"\n\
                         card = 0\ncode = \"GPU_IS_LOST\"\ntimes = 2\n";

    #[test]
    fn a_fault_with_times_strikes_that_often_and_no_more() {
        let machine = machine(TWICE);
        let ask = |card| machine.admit("nvmlDeviceGetName", card);
        assert_eq!(ask(None), Ok(Flaws::default()));
        assert_eq!(ask(Some("GPU-1")), Err(Code::GPU_IS_LOST));
        assert_eq!(ask(Some("GPU-1")), Err(Code::GPU_IS_LOST));
        assert_eq!(ask(Some("GPU-1")), Ok(Flaws::default()));
    }

    #[test]
    fn the_count_survives_a_change_of_the_file_that_keeps_the_fault() {
        let before = machine(TWICE);
        let name = "nvmlDeviceGetName";
        assert!(before.admit(name, Some("GPU-1")).is_err());
        let after = machine(&format!("seed = 1\n{TWICE}")).following(&before);
        assert!(after.admit(name, Some("GPU-1")).is_err());
        assert_eq!(after.admit(name, Some("GPU-1")), Ok(Flaws::default()));
    }

    #[test]
    fn faults_add_up_in_the_order_of_the_file() {
        let machine = machine(
            "[[fault]]\ncall = \"nvmlDeviceGet*\"\ngrow = 2\n\
             [[fault]]\ncall = \"*Processes*\"\ngrow = 3\n\
             [driver]\nlacks = [\"*_v3\"]\n",
        );
        let short_by = |call| machine.admit(call, None).unwrap().short_by;
        assert_eq!(short_by("nvmlDeviceGetName"), 2);
        assert_eq!(short_by("nvmlDeviceGetComputeRunningProcesses_v2"), 5);
        assert_eq!(
            machine.admit("nvmlDeviceGetComputeRunningProcesses_v3", None),
            Err(Code::FUNCTION_NOT_FOUND)
        );
    }
}
