//! Figures that do not depend on the interval.

use std::time::Duration;

use gua_core::poll::ProcessPoll;
use gua_core::units::UnixMillis;
use gua_core::{Period, Poll, Reading, Thresholds};
use gua_recorder::schedule::poll_interval;
use gua_recorder::{DriverNow, Log, Recording};
use gua_store::{Database, Retention, Run};

use crate::driver::{Driver, USUAL, WALL, clocks};
use crate::workload::{self, Workload};

const HOUR: u64 = 3_600_000_000;
const SECOND: u64 = 1_000_000;

/// Sums of an hour: active and idle-held time of the card; working time and shares of each holder.
fn figures(workload: &Workload, interval: u64) -> Vec<f64> {
    // Thousands of ticks: a disk would take minutes.
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = dir.path().join("gua.db");
    let run = Run {
        host: "lab".into(),
        boot: "boot-1".into(),
        driver: None,
        recorder: "gua test".into(),
        rule: String::new(),
        thresholds: Thresholds::default(),
        interval_ms: None,
        started: UnixMillis(0),
    };
    let mut recording =
        Recording::new(path.clone(), run, Retention::default(), vec![], Log::to_nothing());
    let mut driver = Driver::new(workload, USUAL);
    let poll_every = poll_interval(Duration::from_secs(interval)).as_micros();
    let poll_every = u64::try_from(poll_every).unwrap();
    for at in (0..=HOUR).step_by(usize::try_from(SECOND).unwrap()) {
        if at % poll_every == 0 {
            let poll =
                Poll { clocks: clocks(at), cards: Ok(vec![driver.poll(at)]), exits: Vec::new() };
            recording.add_poll(poll, DriverNow::default());
        } else {
            for card in recording.several_workers() {
                let samples = Reading::Known(driver.process_samples(at));
                recording.add_samples(&ProcessPoll { clocks: clocks(at), card, samples });
            }
        }
        if at % (interval * SECOND) == 0 {
            recording.tick().unwrap();
        }
    }
    recording.end("stopped").unwrap();
    let database = Database::open(&path).unwrap();
    assert_eq!(database.check().unwrap(), []);
    let window = Period::new(UnixMillis(WALL), UnixMillis(WALL + 3_600_000));
    let sums = database.usage(window).unwrap();
    let card = sums.cards.values().next().unwrap().times;
    let holders = sums.holders.values().flat_map(|holder| {
        let times = holder.times;
        [times.working_ms, times.active_share_ms, times.low_use_share_ms, times.unused_share_ms]
    });
    [card.active_ms, card.idle_held_ms, card.free_ms].into_iter().chain(holders).collect()
}

/// Workloads with one holder and with several, with long and short phases.
const WORKLOADS: [&str; 5] = [
    "phases 41/53 at 90",
    "notebook, random",
    "inference 1/s",
    "three people",
    "two alternately, 40 s apart",
];

/// Every figure of an hour recorded with ticks at 1 s, 5 s and 10 s is that at 30 s, within 0.5 % of the
/// hour.
#[test]
fn figures_of_a_workload_do_not_depend_on_the_interval() {
    for workload in workload::all().iter().filter(|it| WORKLOADS.contains(&it.name)) {
        let reference = figures(workload, 30);
        for interval in [1, 5, 10] {
            let found = figures(workload, interval);
            let differences = found.iter().zip(&reference).map(|(a, b)| (a - b).abs() / 36_000.0);
            let worst = differences.fold(0.0, f64::max);
            println!("{} at {interval} s: {worst:.3} %", workload.name);
            assert_eq!(found.len(), reference.len(), "{}", workload.name);
            assert!(worst <= 0.5, "{} at {interval} s: {worst:.3} %", workload.name);
        }
    }
}
