//! A scenario recorded by the real pipeline.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gua::classify::Thresholds;
use gua::ledger::Clocks;
use gua::recorder::Observer;
use gua::sampler::Pretend;
use gua::store::{self, Ending, Run, Writer};
use probe::units::UnixMillis;
use scenario::Scenario;
use serde_json::Value;
use tempfile::TempDir;

use crate::machine::{program, run};

/// 2026-11-09, a Monday.
const MONDAY: i64 = 1_794_182_400;

/// A scenario that was recorded.
pub(super) struct Recorded {
    dir: TempDir,
    seconds: i64,
}

impl Recorded {
    pub(super) fn new(scenario: &Scenario, ticks: &[i64]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let new = Self { dir, seconds: *ticks.last().unwrap() };
        store::create(&new.path()).unwrap();
        record(&new.path(), scenario, ticks);
        new
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("gua.db")
    }

    pub(super) fn report(&self) -> Value {
        let at = |second| jiff::Timestamp::from_second(MONDAY + second).unwrap().to_string();
        let mut command = program(&["report", "--json", "--from", &at(0), "--until"]);
        command.arg(at(self.seconds)).arg("--db").arg(self.path());
        let run = run(command);
        assert_eq!(run.code, Some(0), "{run:?}");
        serde_json::from_str(&run.stdout).unwrap()
    }
}

/// A run for each interval: a recorder is begun anew to have another.
fn record(path: &Path, scenario: &Scenario, ticks: &[i64]) {
    let mut rest = ticks;
    while rest.len() > 1 {
        let interval = rest[1] - rest[0];
        let changes = rest.windows(2).position(|pair| pair[1] - pair[0] != interval);
        let last = changes.unwrap_or(rest.len() - 1);
        record_run(path, scenario, &rest[..=last], interval);
        rest = &rest[last..];
    }
}

fn record_run(path: &Path, scenario: &Scenario, ticks: &[i64], interval: i64) {
    let wall = |second: i64| UnixMillis((MONDAY + second) * 1000);
    let run = Run {
        host: scenario.host_name.clone(),
        boot: "boot".to_owned(),
        driver: Some(scenario.driver.version.clone()),
        recorder: "gua 0.1.0".to_owned(),
        interval_millis: Some(interval * 1000),
        started: wall(ticks[0]),
    };
    let interval = Duration::from_secs(interval.unsigned_abs());
    let mut writer = Writer::begin(store::open_to_write(path).unwrap(), &run).unwrap();
    let mut pretend = Pretend::new(scenario.clone(), wall(0));
    let mut observer = Observer::new(interval, Thresholds::default());
    writer.begin_batch().unwrap();
    for second in ticks {
        let tick = pretend.tick(wall(*second), interval);
        let since = Duration::from_secs((86_400 + second).unsigned_abs());
        let clocks = Clocks { wall: wall(*second), since_boot: since, awake: since };
        let (entry, events) = observer.see(&tick, clocks, None);
        writer.record(&entry, &events).unwrap();
    }
    writer.end(Ending::Stopped).unwrap();
}
