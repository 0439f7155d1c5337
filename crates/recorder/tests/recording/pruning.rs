//! Proof of time before anything is deleted.

use gua_store::Retention;

use crate::lab::{DAY, HOUR, Lab, MINUTE, SECOND, WALL};

/// A recorder that keeps spans for six hours and hours for two days, with a poll each minute.
struct PruningLab(Lab);

impl PruningLab {
    fn new() -> Self {
        let mut lab = Lab::new();
        lab.retention = Retention {
            exact_ms: 6 * HOUR,
            quarters_ms: DAY,
            hours_ms: 2 * DAY,
            samples_ms: 6 * HOUR,
        };
        lab.start(vec![]);
        Self(lab)
    }

    /// Records with a tick every five minutes. All but the last seconds of each is a gap.
    fn record(&mut self, length: i64) {
        let end = self.0.now + length;
        while self.0.now < end {
            self.0.poll();
            self.0.recording().tick().unwrap();
            self.0.now += 5 * MINUTE;
        }
    }

    fn oldest_sample(&self) -> i64 {
        (self.0.number("SELECT min(at_ms) FROM sample") - WALL) / HOUR
    }
}

#[test]
fn steady_recording_is_pruned_in_hourly_rounds() {
    let mut lab = PruningLab::new();
    lab.record(5 * HOUR);
    assert!(!lab.0.log().contains("prun"), "{}", lab.0.log());
    lab.record(15 * HOUR);
    let oldest = lab.oldest_sample();
    // A new file has to prove its time, too.
    let log = lab.0.log();
    let lines = log.lines().filter(|line| line.contains("prun"));
    assert!(lines.count() <= 20, "{log}");
    lab.record(2 * DAY);
    let now = lab.0.now / HOUR;
    assert!(
        oldest >= 0 && (6..=8).contains(&(now - lab.oldest_sample())),
        "{}",
        lab.oldest_sample()
    );
    assert!(lab.0.log().contains("pruned rows: "), "{}", lab.0.log());
}

/// Trap: the clock leapt ahead: nothing is deleted, also over restarts.
#[test]
fn clock_that_leapt_ahead_deletes_nothing() {
    let mut lab = PruningLab::new();
    lab.record(3 * DAY);
    let rows = |lab: &PruningLab| {
        ["sample", "card_span", "card_hour", "gap"]
            .map(|table| format!("SELECT count(*) FROM {table} WHERE 0 < "))
            .map(|sql| {
                let column = if sql.contains("sample") { "at_ms" } else { "from_ms" };
                lab.0.number(&format!("{sql} {column} AND {column} < {}", WALL + 3 * DAY))
            })
    };
    lab.0.stop();
    let before = rows(&lab);
    let length = lab.0.log().len();
    lab.0.step = 500 * DAY;
    for _ in 0..2 {
        lab.0.start(vec![]);
        lab.record(3 * HOUR);
        assert_eq!(rows(&lab), before);
        lab.0.stop();
        lab.0.now += SECOND;
    }
    let log = lab.0.log()[length..].to_owned();
    let waits: Vec<_> = log.lines().filter(|line| line.contains("pruning waits for")).collect();
    assert_eq!(waits.len(), 2, "one for each start: {log}");
    assert!(
        waits[0].contains("24 h of recording, as the clock may be wrong (it is 500 days ahead")
    );
    assert!(waits[1].contains("pruning waits for 21 h"), "{}", waits[1]);
}

#[test]
fn leap_while_recording_is_logged_at_once() {
    let mut lab = PruningLab::new();
    lab.record(3 * DAY);
    let before = lab.0.log().len();
    lab.0.step = 100 * DAY;
    lab.record(5 * MINUTE);
    let log = lab.0.log()[before..].to_owned();
    assert!(log.contains("(it is 100 days ahead of the last record)"), "{log}");
}
