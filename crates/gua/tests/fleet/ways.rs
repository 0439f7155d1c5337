//! Hosts that are known in several ways, come and go, or begin anew: made-up samples with a known
//! answer, told by real engines.

use std::fmt::Write;

use serde_json::Value;
use tempfile::NamedTempFile;

use super::engine::{Engine, Kind, programs};
use super::hosts::{MONDAY, at};

const HOUR: i64 = 3600;

/// What one way tells of a host with one card and one person; times in seconds since Monday.
#[derive(Clone, Copy)]
struct Way {
    instance: &'static str,
    host: &'static str,
    /// From when to when it is told, and how often.
    told: (i64, i64),
    step: i64,
    /// From tick to tick.
    interval: i64,
    /// Since when is counted, and what was counted when it was first told.
    since: i64,
    counted: i64,
    /// When the counters begin anew.
    anew: Option<i64>,
    /// The card works until then, and is held from then on.
    works_until: i64,
}

impl Way {
    const fn new(instance: &'static str, host: &'static str, told: (i64, i64)) -> Self {
        Self {
            instance,
            host,
            told,
            step: 60,
            interval: 30,
            since: told.0,
            counted: 0,
            anew: None,
            works_until: 1000 * HOUR,
        }
    }

    const fn since(self, since: i64, counted: i64) -> Self {
        Self { since, counted, ..self }
    }

    /// What is counted, in which state, at a tick.
    fn counters(&self, tick: i64) -> (i64, i64, i64) {
        let anew = self.anew.filter(|anew| *anew <= tick);
        let (since, from, counted) =
            anew.map_or((self.since, self.told.0, self.counted), |anew| (anew, anew, 0));
        let active = counted + tick.min(self.works_until) - from.min(self.works_until);
        let held = (tick - self.works_until).max(0) - (from - self.works_until).max(0);
        (since, active, held)
    }

    fn lines(&self, unit: i64) -> String {
        let mut lines = String::new();
        let mut second = self.told.0;
        while second <= self.told.1 {
            let tick = second.div_euclid(self.interval) * self.interval;
            let tick = if self.interval <= self.step { second } else { tick.max(self.told.0) };
            let (since, active, held) = self.counters(tick);
            let Self { instance, host, interval, .. } = self;
            let mut line = |name: &str, labels: &str, value: i64| {
                let time = (MONDAY + second) * unit;
                let ours = format!("instance=\"{instance}\",job=\"gua\"{labels}");
                writeln!(lines, "gua_{name}{{{ours}}} {value} {time}").unwrap();
            };
            let card = format!(",UUID=\"GPU-{host}\"");
            line("build_info", &format!(",hostname=\"{host}\",version=\"0.1.0\""), 1);
            line("gpu_info", &format!("{card},gpu=\"0\",model_name=\"A100\""), 1);
            line("last_tick_timestamp_seconds", "", MONDAY + tick);
            line("final_until_timestamp_seconds", "", MONDAY + tick);
            line("interval_seconds", "", *interval);
            line("counting_since_timestamp_seconds", "", MONDAY + since);
            line("observed_seconds_total", "", active + held);
            for (state, value) in [("active", active), ("idle_held", held), ("truly_idle", 0)] {
                let labels = format!("{card},state=\"{state}\"");
                line("gpu_state_seconds_total", &labels, value);
                let labels = format!("{labels},user=\"alice\"");
                line("user_gpu_seconds_total", &labels, value);
                line("user_gpu_present_seconds_total", &labels, value);
            }
            for (part, value) in [("unused", held), ("low_use", 0)] {
                let labels = format!("{card},use=\"{part}\",user=\"alice\"");
                line("user_gpu_idle_held_seconds_total", &labels, value);
            }
            second += self.step;
        }
        lines
    }
}

/// The report of both engines about a window.
fn reports(test: &str, ways: &[Way], (from, until): (i64, i64)) -> Vec<Value> {
    let Some(programs) = programs(test) else { return Vec::new() };
    let kinds = [(Kind::Prometheus, 1, "# EOF\n"), (Kind::Victoria, 1000, "")];
    kinds
        .map(|(kind, unit, end)| {
            let lines: String = ways.iter().map(|way| way.lines(unit)).collect();
            let file = NamedTempFile::new().unwrap();
            std::fs::write(file.path(), lines + end).unwrap();
            let engine = Engine::with(&programs, kind, file.path());
            engine.json(&["report", "--from", &at(from), "--until", &at(until), "--tz", "UTC"])
        })
        .into()
}

/// Hours of everything that adds up to the time that was observed.
fn assert_told(report: &Value, hosts: usize, active: f64, held: f64) {
    let near = |what: &str, said: &Value, is: f64| {
        let said = said.as_f64().unwrap();
        assert!((said - is).abs() < 0.02, "{what}: said {said}, is {is}\n{report:#}");
    };
    let (states, alice) = (&report["states"], &report["accounts"][0]);
    assert_eq!(alice["name"], "alice", "{report:#}");
    near("active", &states["active"]["gpu_hours"], active);
    near("idle-held", &states["idle_held"]["gpu_hours"], held);
    near("alice", &alice["total_gpu_hours"], active + held);
    near("alice, unused", &alice["unused_gpu_hours"], held);
    near(
        "observed",
        &(report["window"]["observed_seconds"].as_f64().unwrap() / 3600.0).into(),
        active + held,
    );
    let cells = report["heatmap"].as_array().unwrap();
    let seconds: f64 = cells.iter().map(|it| it["observed_seconds"].as_f64().unwrap()).sum();
    near("heatmap", &(seconds / 3600.0).into(), active + held);
    assert_eq!(report["hosts"].as_array().unwrap().len(), hosts, "{report:#}");
    assert!(report["window"]["coverage"].as_f64().unwrap() <= 1.0, "{report:#}");
}

/// It began within the window, and is scraped by another name since then.
#[test]
fn a_young_host_that_moves_counts_once() {
    let ways = [
        Way::new("a1:7071", "a", (3 * HOUR, 6 * HOUR)),
        Way::new("a2:7071", "a", (6 * HOUR + 60, 8 * HOUR)).since(3 * HOUR, 3 * HOUR + 60),
    ];
    for report in reports("a_young_host_that_moves_counts_once", &ways, (0, 8 * HOUR)) {
        assert_told(&report, 1, 5.0, 0.0);
    }
}

/// Its counters, which are old, begin anew after it came back.
#[test]
fn a_host_that_was_away_and_begins_anew_counts_what_was_seen() {
    let way = Way::new("b:7071", "b", (2 * HOUR, 8 * HOUR)).since(-200 * HOUR, 100 * HOUR);
    let ways = [Way { anew: Some(6 * HOUR), ..way }];
    let test = "a_host_that_was_away_and_begins_anew_counts_what_was_seen";
    for report in reports(test, &ways, (0, 8 * HOUR)) {
        assert_told(&report, 1, 6.0, 0.0);
    }
}

/// It begins anew twice as it is told twice, and is moved in between.
#[test]
fn a_host_that_begins_anew_and_moves_counts_once() {
    let scraped = Way::new("h:7071", "h", (-HOUR, 5 * HOUR)).since(-9 * HOUR, 8 * HOUR);
    let ways = [
        Way { anew: Some(3 * HOUR), ..scraped },
        Way::new("h", "h", (4 * HOUR, 8 * HOUR)).since(3 * HOUR, HOUR),
    ];
    let test = "a_host_that_begins_anew_and_moves_counts_once";
    for report in reports(test, &ways, (0, 8 * HOUR)) {
        assert_told(&report, 1, 8.0, 0.0);
    }
}

/// Scraped, and pushes as well.
#[test]
fn a_host_that_is_told_twice_counts_once() {
    let way = Way::new("c:7071", "c", (-HOUR, 8 * HOUR));
    let ways = [way, Way { instance: "c", ..way }];
    for report in reports("a_host_that_is_told_twice_counts_once", &ways, (0, 8 * HOUR)) {
        assert_told(&report, 1, 8.0, 0.0);
    }
}

/// Scraped for the first hours, pushes for the last, and both in between.
#[test]
fn a_host_that_goes_from_scrapes_to_pushes_counts_all_the_time() {
    let ways = [
        Way::new("f:7071", "f", (-HOUR, 4 * HOUR)),
        Way::new("f", "f", (3 * HOUR, 8 * HOUR)).since(-HOUR, 4 * HOUR),
    ];
    let test = "a_host_that_goes_from_scrapes_to_pushes_counts_all_the_time";
    for report in reports(test, &ways, (0, 8 * HOUR)) {
        assert_told(&report, 1, 8.0, 0.0);
    }
}

/// Down for two days: the hours in which nobody saw it are none of the heatmap's.
#[test]
fn hours_that_nobody_saw_are_empty() {
    let ways = [
        Way::new("i:7071", "i", (-HOUR, 2 * HOUR)),
        Way::new("i:7071", "i", (49 * HOUR + 1800, 51 * HOUR)).since(-HOUR, 3 * HOUR),
    ];
    for report in reports("hours_that_nobody_saw_are_empty", &ways, (0, 51 * HOUR)) {
        assert_told(&report, 1, 3.5, 0.0);
        let seen = report["heatmap"].as_array().unwrap().iter();
        let seen = seen.filter(|it| it["observed_seconds"].as_f64().unwrap() > 60.0).count();
        assert!(seen <= 6, "{seen} hours\n{:#}", report["heatmap"]);
    }
}

/// Pushed every half hour; and a tick every quarter of an hour, which is scraped every minute.
#[test]
fn rare_ticks_count_exactly() {
    let pushed = Way::new("e", "e", (-4 * HOUR, 4 * HOUR));
    let pushed = Way { step: 1800, interval: 1800, works_until: 900, ..pushed };
    for report in reports("rare_ticks_count_exactly", &[pushed], (900, HOUR + 900)) {
        // Half an hour that began with work and ended held is told as one.
        assert_told(&report, 1, 0.25 / 2.0, 1.0 - 0.25 / 2.0);
    }
    let scraped = Way::new("j:7071", "j", (-4 * HOUR, 4 * HOUR));
    let scraped = Way { interval: 900, works_until: 900, ..scraped };
    for report in reports("rare_ticks_count_exactly", &[scraped], (600, HOUR + 600)) {
        assert_told(&report, 1, 300.0 / 3600.0, 3300.0 / 3600.0);
    }
}
