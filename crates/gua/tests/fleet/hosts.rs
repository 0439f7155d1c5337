//! Hosts that do not exist: recorded by the real pipeline, and scraped on paper.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use gua::classify::Thresholds;
use gua::ledger::{Clocks, Entry, Event};
use gua::metrics::{Counters, Format, Frame, Host, Observed, Wanted, text};
use gua::recorder::Observer;
use gua::sampler::Pretend;
use gua::store::{self, Ending, Run, Writer};
use probe::units::UnixMillis;
use scenario::Scenario;
use serde_json::Value;
use tempfile::TempDir;

use crate::machine::{program, run};

/// 2026-11-09, a Monday.
pub(super) const MONDAY: i64 = 1_794_182_400;

/// What a report rests on; the rest would only make the files larger.
const NEEDED: [&str; 9] = [
    "gua_build_info",
    "gua_gpu_info",
    "gua_gpu_state_seconds_total",
    "gua_user_gpu_seconds_total",
    "gua_user_gpu_present_seconds_total",
    "gua_observed_seconds_total",
    "gua_last_tick_timestamp_seconds",
    "gua_interval_seconds",
    "gua_counting_since_timestamp_seconds",
];

/// What a host does; times are in seconds since Monday.
#[derive(Clone)]
pub(super) struct Plan {
    pub name: String,
    pub scenario: String,
    /// From tick to tick.
    pub interval: i64,
    /// When its recorder runs.
    pub runs: Vec<(i64, i64)>,
    /// When the engine reaches it.
    pub reached: Vec<(i64, i64)>,
    /// When its counters begin anew.
    pub anew: Option<i64>,
}

/// All of them, in a folder of their own.
pub(super) struct Hosts {
    dir: TempDir,
    pub names: Vec<String>,
}

/// The samples of all hosts as one file for each engine.
struct Paper {
    prometheus: BufWriter<File>,
    victoria: BufWriter<File>,
}

impl Hosts {
    /// Records all of them, and scrapes them so often.
    pub fn new(plans: &[Plan], scrape: i64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let hosts = Self { dir, names: plans.iter().map(|plan| plan.name.clone()).collect() };
        let file = |name: &str| BufWriter::new(File::create(hosts.dir.path().join(name)).unwrap());
        let mut paper = Paper { prometheus: file("prometheus"), victoria: file("victoria") };
        for (place, plan) in plans.iter().enumerate() {
            let phase = i64::try_from(place).unwrap() * 7 % scrape;
            record(plan, &hosts.database(&plan.name), &mut paper, scrape, phase);
        }
        writeln!(paper.prometheus, "# EOF").unwrap();
        hosts
    }

    fn database(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("{name}.db"))
    }

    pub fn for_prometheus(&self) -> PathBuf {
        self.dir.path().join("prometheus")
    }

    pub fn for_victoria(&self) -> PathBuf {
        self.dir.path().join("victoria")
    }

    /// What a host itself says about a window.
    pub fn report(&self, name: &str, from: i64, until: i64) -> Value {
        let mut command = program(&["report", "--json", "--from", &at(from), "--until"]);
        command.arg(at(until)).arg("--db").arg(self.database(name));
        let told = run(command);
        assert_eq!(told.code, Some(0), "{told:?}");
        serde_json::from_str(&told.stdout).unwrap()
    }
}

/// A moment as it is typed.
pub(super) fn at(second: i64) -> String {
    jiff::Timestamp::from_second(MONDAY + second).unwrap().to_string()
}

/// Everything about one host while it is made.
struct Making<'a> {
    plan: &'a Plan,
    scenario: Scenario,
    paper: &'a mut Paper,
    counters: Counters,
    frame: Option<Frame>,
    served: u64,
    scrape: i64,
    /// When the next scrape is.
    next: i64,
}

fn record(plan: &Plan, path: &Path, paper: &mut Paper, scrape: i64, phase: i64) {
    let scenario = scenario::parse::from_str("host.toml", &plan.scenario).unwrap();
    store::create(path).unwrap();
    let mut making = Making {
        scenario,
        paper,
        counters: Counters::beginning(wall(plan.runs[0].0)),
        frame: None,
        served: u64::MAX,
        scrape,
        next: phase,
        plan,
    };
    for run in &plan.runs {
        making.run(path, *run);
    }
}

fn wall(second: i64) -> UnixMillis {
    UnixMillis((MONDAY + second) * 1000)
}

impl Making<'_> {
    fn run(&mut self, path: &Path, (from, to): (i64, i64)) {
        let interval = Duration::from_secs(self.plan.interval.unsigned_abs());
        let run = Run {
            host: self.plan.name.clone(),
            boot: "boot".to_owned(),
            driver: Some(self.scenario.driver.version.clone()),
            recorder: "gua 0.1.0".to_owned(),
            interval_millis: Some(self.plan.interval * 1000),
            started: wall(from),
        };
        let mut writer = Writer::begin(store::open_to_write(path).unwrap(), &run).unwrap();
        let mut pretend = Pretend::new(self.scenario.clone(), wall(0));
        let mut observer = Observer::new(interval, Thresholds::default());
        writer.begin_batch().unwrap();
        let mut second = from;
        while second <= to {
            // What is scraped before this tick is what the one before it said.
            self.scrape_until(second, from);
            let tick = pretend.tick(wall(second), interval);
            let since = Duration::from_secs((86_400 + second).unsigned_abs());
            let clocks = Clocks { wall: wall(second), since_boot: since, awake: since };
            let (entry, events) = observer.see(&tick, clocks, None);
            writer.record(&entry, &events).unwrap();
            self.count(second, &entry, &events);
            second += self.plan.interval;
        }
        writer.end(Ending::Stopped).unwrap();
    }

    fn count(&mut self, second: i64, entry: &Entry, events: &[Event]) {
        if self.plan.anew.is_some_and(|anew| anew <= second)
            && self.counters.since_millis < wall(self.plan.anew.unwrap()).0
        {
            self.counters = Counters::beginning(wall(second));
        }
        self.counters.count(Observed { entry, events, took: None }, &Wanted::default());
        let driver_version = Some(self.scenario.driver.version.clone());
        let interval_millis = Some(self.plan.interval * 1000);
        let host = Host { name: self.plan.name.clone(), driver_version, interval_millis };
        self.frame = Some(Frame::new(host, self.counters.clone(), entry));
    }

    fn scrape_until(&mut self, second: i64, run_from: i64) {
        while self.next < second {
            let now = self.next;
            self.next += self.scrape;
            let is_reached = self.plan.reached.iter().any(|(from, to)| *from <= now && now < *to);
            if now < run_from || !is_reached {
                continue;
            }
            if let Some(frame) = &self.frame {
                let told = text(frame, self.served, Format::Prometheus);
                self.served = frame.counters.ticks;
                self.paper.write(&told, &self.plan.name, now);
            }
        }
    }
}

impl Paper {
    fn write(&mut self, told: &str, host: &str, second: i64) {
        let seconds = MONDAY + second;
        for line in told.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split(['{', ' ']).next().unwrap();
            if !NEEDED.contains(&name) {
                continue;
            }
            let (labels, value) = line[name.len()..].rsplit_once(' ').unwrap();
            let labels = labels.trim_start_matches('{').trim_end_matches('}');
            let comma = if labels.is_empty() { "" } else { "," };
            let series =
                format!("{name}{{instance=\"{host}:7071\",job=\"gua\"{comma}{labels}}} {value}");
            writeln!(self.prometheus, "{series} {seconds}").unwrap();
            writeln!(self.victoria, "{series} {seconds}000").unwrap();
        }
    }
}
