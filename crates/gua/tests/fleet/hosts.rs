//! Simulated hosts: a scenario is polled, recorded and scraped without a driver and without waiting.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gua_core::card::{
    Basis, CardFacts, MemorySource, MemoryUse, ProcessSample, Sample, Samples, Utilization, Vitals,
};
use gua_core::poll::{CardPoll, HolderProcess};
use gua_core::process::{Holder, Holders, Kinds, Presence, ProcessFacts, ProcessId};
use gua_core::snapshot::SeenProcess;
use gua_core::units::{Bytes, Millijoules, Percent, UnixMillis};
use gua_core::{Clocks, Poll, Reading, Reason, Thresholds};
use gua_fleet::{
    Format, Frames, Host, OwnerLabels, Scraper, ServedFrame, Slot, Totals, format_text,
};
use gua_recorder::{DriverNow, Log, Recording};
use gua_store::{Retention, Run};
use probe::nvml::DriverFacts;
use scenario::state::Place;
use scenario::{Card, Moment, Process, Scenario};
use serde_json::Value;
use tempfile::TempDir;

use crate::machine::{program, run};

/// 2026-11-09, a Monday.
pub(super) const MONDAY: i64 = 1_794_182_400;

/// Seconds between two polls.
const POLL: i64 = 5;

/// Time since boot on Monday, in seconds.
const BOOT: i64 = 1_000_000;

/// Families that a report is made from. The others would only make the files larger.
const NEEDED: [&str; 15] = [
    "gua_build_info",
    "gua_gpu_info",
    "gua_gpu_state_seconds_total",
    "gua_gpu_state_energy_joules_total",
    "gua_gpu_energy_seconds_total",
    "gua_user_gpu_seconds_total",
    "gua_user_gpu_idle_held_seconds_total",
    "gua_user_gpu_energy_joules_total",
    "gua_user_gpu_energy_unknown_seconds_total",
    "gua_user_gpu_present_seconds_total",
    "gua_observed_seconds_total",
    "gua_last_tick_timestamp_seconds",
    "gua_final_until_timestamp_seconds",
    "gua_interval_seconds",
    "gua_counting_since_timestamp_seconds",
];

/// What happens to a host; times are in seconds since Monday.
#[derive(Clone)]
pub(super) struct Plan {
    pub name: String,
    pub scenario: String,
    /// Time between ticks.
    pub interval: i64,
    /// When its recorder runs.
    pub runs: Vec<(i64, i64)>,
    /// When the engine reaches it.
    pub reached: Vec<(i64, i64)>,
    /// When its counters begin again.
    pub reset: Option<i64>,
}

/// All hosts, in a folder of their own.
pub(super) struct Hosts {
    dir: TempDir,
    pub names: Vec<String>,
}

/// The samples of all hosts as one file for each engine.
struct SampleFiles {
    prometheus: BufWriter<File>,
    victoria: BufWriter<File>,
}

impl Hosts {
    /// Records all of them, and scrapes them at an interval in seconds.
    pub fn new(plans: &[Plan], scrape: i64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let hosts = Self { dir, names: plans.iter().map(|plan| plan.name.clone()).collect() };
        let file = |name: &str| BufWriter::new(File::create(hosts.dir.path().join(name)).unwrap());
        let mut files = SampleFiles { prometheus: file("prometheus"), victoria: file("victoria") };
        for (place, plan) in plans.iter().enumerate() {
            let phase = i64::try_from(place).unwrap() * 7 % scrape;
            record(plan, &hosts.database(&plan.name), &mut files, scrape, phase);
        }
        writeln!(files.prometheus, "# EOF").unwrap();
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

    /// Returns a host's own report on a window.
    pub fn report(&self, name: &str, from: i64, until: i64) -> Value {
        let mut command = program(&["report", "--json", "--from", &at(from), "--until"]);
        command.arg(at(until)).arg("--db").arg(self.database(name));
        let output = run(command);
        assert_eq!(output.code, Some(0), "{output:?}");
        serde_json::from_str(&output.stdout).unwrap()
    }
}

/// Returns a time as it is typed.
pub(super) fn at(second: i64) -> String {
    jiff::Timestamp::from_second(MONDAY + second).unwrap().to_string()
}

fn record(plan: &Plan, path: &Path, files: &mut SampleFiles, scrape: i64, phase: i64) {
    let scenario = scenario::parse::from_str("host.toml", &plan.scenario).unwrap();
    let mut simulation = Simulation {
        cards: scenario.cards.iter().map(|card| (card.uuid.clone(), facts(card))).collect(),
        scenario,
        files,
        slot: Arc::default(),
        scrape,
        next: phase,
        plan,
    };
    for (from, to) in &plan.runs {
        let reset = plan.reset.filter(|reset| from < reset && reset < to);
        simulation.run(path, *from, reset.unwrap_or(*to));
        if let Some(reset) = reset {
            lose_counters(path, reset);
            simulation.run(path, reset, *to);
        }
    }
}

/// Lets the counters of a database begin again.
fn lose_counters(path: &Path, since: i64) {
    let db = rusqlite::Connection::open(path).unwrap();
    db.execute("DELETE FROM total", []).unwrap();
    db.execute("UPDATE store SET counting_since_ms = ?1", [wall(since).0]).unwrap();
}

fn wall(second: i64) -> UnixMillis {
    UnixMillis((MONDAY + second) * 1000)
}

fn clocks(second: i64) -> Clocks {
    let since_boot = Duration::from_secs((BOOT + second).unsigned_abs());
    Clocks { wall: wall(second), since_boot, awake: since_boot }
}

/// One host while it is recorded.
struct Simulation<'a> {
    plan: &'a Plan,
    scenario: Scenario,
    cards: HashMap<String, Arc<CardFacts>>,
    files: &'a mut SampleFiles,
    slot: Arc<Slot>,
    scrape: i64,
    /// Time of the next scrape.
    next: i64,
}

impl Simulation<'_> {
    fn run(&mut self, path: &Path, from: i64, to: i64) {
        let interval_ms = Some(self.plan.interval * 1000);
        let driver = DriverFacts {
            version: Reading::Known(self.scenario.driver.version.clone()),
            nvml_version: Reading::Unknown(Reason::NotAsked),
            cuda_version: Reading::Unknown(Reason::NotAsked),
            gpus: 3,
        };
        let host = Host { name: self.plan.name.clone(), driver_version: None, interval_ms };
        let totals = Totals::new(host, OwnerLabels::default());
        self.slot = totals.slot();
        let run = Run {
            host: self.plan.name.clone(),
            boot: "boot".to_owned(),
            driver: Some(self.scenario.driver.version.clone()),
            recorder: "gua 0.1.0".to_owned(),
            rule: "5 s".to_owned(),
            thresholds: Thresholds::default(),
            interval_ms,
            started: wall(from),
        };
        let (observers, log) = (vec![Box::new(totals) as _], Log::to_nothing());
        let mut recording =
            Recording::new(path.to_owned(), run, Retention::default(), observers, log);
        let poll = POLL.min(self.plan.interval);
        for second in (from..=to).step_by(usize::try_from(poll).unwrap()) {
            // A scrape before this tick gets the one before it.
            self.scrape_until(second, from);
            let cards = self.scenario.cards.iter().map(|card| self.card(card, second, poll));
            let cards = Ok(cards.collect());
            let poll = Poll { clocks: clocks(second), cards, exits: Vec::new() };
            recording.add_poll(poll, DriverNow { facts: Some(&driver), calls: 0 });
            for id in recording.unread_processes() {
                recording.set_process(id, self.seen(id));
            }
            if (second - from) % self.plan.interval == 0 {
                recording.tick().unwrap();
            }
        }
        recording.end("stopped").unwrap();
    }

    /// Reads a card as a driver with samples of a second has it.
    fn card(&self, card: &Card, second: i64, poll: i64) -> CardPoll {
        let (place, now) = (Place::card(card), Moment::from_secs(second));
        let processes: Vec<_> = self.scenario.processes_at(place, now).collect();
        let ends: Vec<_> = (second - poll + 1..=second).collect();
        let stamp = |end: i64| (BOOT + end).unsigned_abs() * 1_000_000;
        let sample = |end: &i64| {
            let (from, to) = (Moment::from_secs(end - 1), Moment::from_secs(*end));
            let percent = whole(self.scenario.mean_utilization(place, from, to));
            Sample { stamp: stamp(*end), percent }
        };
        let process_sample = |process: &&Process, end: i64| ProcessSample {
            pid: process.pid,
            stamp: stamp(end),
            percent: whole(process.mean_sm(Moment::from_secs(end - 1), Moment::from_secs(end))),
        };
        let ends_of_processes =
            ends.iter().flat_map(|end| processes.iter().map(|it| process_sample(it, *end)));
        let samples: Vec<_> = ends.iter().map(sample).collect();
        let percent = samples.last().map_or(0.0, |last| f64::from(last.percent));
        let covers = Duration::from_secs(1);
        let (used, total) =
            (Bytes(self.scenario.memory_used_at(place, now)), Bytes(place.memory_total()));
        let joules = self.scenario.joules_at(card, now);
        let reading = Vitals {
            utilization: Reading::Known(Utilization {
                percent: Percent(percent),
                basis: Basis::Samples { count: 1, covers },
            }),
            samples: Reading::Known(Samples { samples, is_full: false }),
            memory: Reading::Known(MemoryUse {
                total,
                used,
                free: total.saturating_sub(used),
                reserved: Reading::Known(Bytes(0)),
                source: MemorySource::Card,
            }),
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a day")]
            energy: Reading::Known(Millijoules((joules * 1000.0) as u64)),
            holders: Holders {
                seen: processes.iter().map(|process| holder(process)).collect(),
                unread: None,
            },
            process_samples: Reading::Known(
                ends_of_processes.filter(|sample| sample.percent > 0).collect(),
            ),
            ..Vitals::unknown(Reason::NotAsked)
        };
        let process = |process: &&Process| HolderProcess {
            id: process_id(process),
            started: None,
            cpu: Reading::Unknown(Reason::NotAsked),
        };
        CardPoll {
            card: Arc::clone(&self.cards[&card.uuid]),
            reading,
            processes: processes.iter().map(process).collect(),
        }
    }

    fn seen(&self, id: ProcessId) -> SeenProcess {
        let process = self.scenario.processes.iter().find(|it| it.pid == id.pid).unwrap();
        let user = process.owner.user.as_deref().map(Into::into);
        SeenProcess {
            pid: id.pid,
            presence: Presence::Here(Arc::new(ProcessFacts {
                pid: id.pid,
                parent: 1,
                start_ticks: 7,
                started: Reading::Known(wall(0)),
                program: "python".into(),
                uid: Reading::Known(process.owner.uid),
                user: Reading::Known(user),
                who: Reading::Unknown(Reason::NotAsked),
            })),
            command: Reading::Unknown(Reason::NotAsked),
        }
    }

    fn scrape_until(&mut self, second: i64, run_from: i64) {
        while self.next < second {
            let now = self.next;
            self.next += self.scrape;
            let is_reached = self.plan.reached.iter().any(|(from, to)| *from <= now && now < *to);
            if now < run_from || !is_reached {
                continue;
            }
            let scraper = Scraper("engine".to_owned());
            if let Ok(ServedFrame { frame, served }) = self.slot.newest(&scraper) {
                let text = format_text(&frame, served, Format::Prometheus);
                self.files.write(&text, &self.plan.name, now);
            }
        }
    }
}

fn facts(card: &Card) -> Arc<CardFacts> {
    let mut facts = CardFacts::unread(card.index, Reason::NotAsked);
    facts.uuid = Reading::Known(card.uuid.clone());
    facts.name = Reading::Known(card.name.clone());
    Arc::new(facts)
}

fn process_id(process: &Process) -> ProcessId {
    ProcessId { pid: process.pid, start_ticks: Some(7), uid: Some(process.owner.uid) }
}

fn holder(process: &Process) -> Holder {
    Holder {
        pid: process.pid,
        kinds: Kinds::COMPUTE,
        memory: process
            .memory
            .map_or(Reading::Unknown(Reason::NotTold), |bytes| Reading::Known(Bytes(bytes))),
        sm: Reading::Unknown(Reason::NotAsked),
        engines: Reading::Unknown(Reason::NotAsked),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a percentage")]
fn whole(percent: f64) -> u32 {
    percent.round() as u32
}

impl SampleFiles {
    fn write(&mut self, text: &str, host: &str, second: i64) {
        let seconds = MONDAY + second;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
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
