//! Records the cards of this host for some seconds, and prints what that costs: CPU time, memory and calls
//! of the driver. With the simulated library, `scenarios/` has hosts of several sizes.
//!
//! `cargo run --release -p gua-recorder --example cost -- DATABASE SECONDS [INTERVAL_SECONDS]`

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use gua_core::Thresholds;
use gua_core::units::UnixMillis;
use gua_recorder::{Log, Options, Outcome, Recorder, Signals};
use gua_store::{Database, Retention, Run};
use probe::nvml::Prober;
use probe::poller::Poller;
use probe::proc::Host;
use rustix::process::{Signal, getpid, kill_process};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cost: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: cost DATABASE SECONDS [INTERVAL_SECONDS]")?;
    let numbers: Vec<u64> = arguments.map(|word| word.parse()).collect::<Result<_, _>>()?;
    let seconds = numbers.first().copied().unwrap_or(60);
    let interval = Duration::from_secs(numbers.get(1).copied().unwrap_or(30).max(1));
    let facts = Run {
        host: "cost".to_owned(),
        boot: "cost".to_owned(),
        driver: None,
        recorder: "cost".to_owned(),
        rule: String::new(),
        thresholds: Thresholds::default(),
        interval_ms: None,
        started: UnixMillis(0),
    };
    let options = Options { interval, retention: Retention::default(), store_command: false };
    let recorder = Recorder::new(path.clone().into(), facts, options, Vec::new(), Log::to_stderr());
    let host = Host::new(None).with_identities(true);
    let poller = Poller::new(
        Prober::open(probe::nvml::Options::default())?,
        host,
        gua_recorder::schedule::poll_interval(interval),
    );
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(seconds));
        kill_process(getpid(), Signal::TERM)
    });
    let before = cpu_ticks()?;
    match recorder.run(poller, Signals::catch()?, || (), || ())? {
        Outcome::Stopped => {}
        Outcome::Failed(error) => return Err(error.into()),
    }
    let ticks_per_second = rustix::param::clock_ticks_per_second();
    let used = (cpu_ticks()? - before) * 1000 / ticks_per_second;
    let runs = Database::open(path.as_ref())?.runs()?;
    let run = runs.last().ok_or("no run was stored")?;
    println!("{used} ms of CPU time in {seconds} s, {} polls, {} calls", run.polls, run.calls);
    let status = std::fs::read_to_string("/proc/self/status")?;
    status.lines().filter(|line| line.starts_with("VmHWM")).for_each(|line| println!("{line}"));
    Ok(())
}

/// Returns the CPU time of this process, in clock ticks.
fn cpu_ticks() -> Result<u64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let field = |place: usize| -> Result<u64, Box<dyn Error>> {
        Ok(fields.get(place).ok_or("/proc/self/stat is short")?.parse()?)
    };
    Ok(field(11)? + field(12)?)
}
