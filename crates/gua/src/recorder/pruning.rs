//! Deletes history that is too old: a little at a time, as far as recorded time proves its age.

use probe::units::UnixMillis;

use super::log::Log;
use crate::ledger::{Entry, HOUR};
use crate::store::{self, Allowance, Counts, Database, Keep, Retention, StoreError, Writer};

/// Rows deleted after one tick, so that the next one is not late.
const MOST_ROWS: usize = 500;

/// Recording between two rounds, and before the first one, as a start is busy enough.
const PAUSE: i64 = HOUR;
const AFTER_START: i64 = HOUR / 6;

/// Recording after which the allowance is saved. A restart loses no more of it.
const SAVE_EVERY: i64 = HOUR / 60;

/// Prunes one database while it is recorded.
#[derive(Debug)]
pub(super) struct Pruning {
    keep: Keep,
    retention: Retention,
    allowance: Allowance,
    /// Recording left until the next round, and until the allowance is saved.
    pause: i64,
    unsaved: i64,
    /// Rows deleted and not logged yet.
    deleted: Counts,
    /// The notice last logged about rows that are held back; `None` once there are none.
    said: Option<Notice>,
}

/// Why rows that are too old are held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notice {
    ClockMayBeWrong,
    AllowanceUsedUp,
}

impl Pruning {
    /// Begins at the start of a run, before its first tick is stored.
    pub fn begin(
        keep: Keep,
        database: &Database,
        now: UnixMillis,
        log: &mut Log,
    ) -> Result<Self, StoreError> {
        let mut pruning = Self {
            keep,
            retention: Retention::new(keep),
            allowance: Allowance::load(database)?,
            pause: AFTER_START,
            unsaved: 0,
            deleted: Counts::default(),
            said: None,
        };
        let leap = pruning.allowance.recorded(now, 0);
        pruning.allowance.save(database)?;
        if pruning.allowance.wait_millis() > 0 {
            pruning.say_that_it_waits(database, now, leap, log)?;
        }
        Ok(pruning)
    }

    /// Called after each stored tick.
    pub fn step(
        &mut self,
        writer: &mut Writer,
        entry: &Entry,
        log: &mut Log,
    ) -> Result<(), StoreError> {
        let covered = entry.covers.millis();
        let leap = self.allowance.recorded(entry.at, covered);
        self.unsaved += covered;
        if leap.is_some() || self.unsaved >= SAVE_EVERY {
            self.allowance.save(writer.database())?;
            self.unsaved = 0;
            self.log_deleted(log);
        }
        if leap.is_some() {
            self.said = None;
            self.say_that_it_waits(writer.database(), entry.at, leap, log)?;
        }
        self.pause -= covered;
        if self.pause > 0 {
            return Ok(());
        }
        if self.allowance.wait_millis() > 0 {
            self.pause = PAUSE;
            return self.say_that_it_waits(writer.database(), entry.at, None, log);
        }
        self.prune(writer, entry.at, log)
    }

    fn prune(
        &mut self,
        writer: &mut Writer,
        now: UnixMillis,
        log: &mut Log,
    ) -> Result<(), StoreError> {
        let mut rows = 0;
        let step = loop {
            let (retention, allowance) = (&mut self.retention, &mut self.allowance);
            let step = writer.retain(retention, now, Some(allowance), MOST_ROWS - rows)?;
            self.deleted.extend(&step.deleted);
            if !step.more {
                break step;
            }
            rows += step.deleted.total();
            if step.deleted.total() == 0 || rows >= MOST_ROWS {
                return Ok(());
            }
        };
        self.pause = PAUSE;
        self.log_deleted(log);
        let notice = (!step.held_back.is_empty()).then_some(Notice::AllowanceUsedUp);
        let is_new = std::mem::replace(&mut self.said, notice) != notice;
        if notice.is_some() && is_new {
            log.say(&format!(
                "pruning goes on later, by at most two days of history per day of recording; \
                 kept until then: {}",
                step.held_back
            ));
        }
        Ok(())
    }

    /// Logs the rows that were deleted since it was last called.
    pub fn log_deleted(&mut self, log: &mut Log) {
        let deleted = std::mem::take(&mut self.deleted);
        if deleted.total() > 0 {
            log.say(&format!("pruned rows: {deleted}"));
        }
    }

    /// Logs why nothing is pruned, once, if there is anything to prune.
    fn say_that_it_waits(
        &mut self,
        database: &Database,
        now: UnixMillis,
        leap: Option<i64>,
        log: &mut Log,
    ) -> Result<(), StoreError> {
        let held_back = store::due(database, &self.keep, now)?;
        let notice = Some(Notice::ClockMayBeWrong);
        if self.said == notice || held_back.is_empty() {
            return Ok(());
        }
        self.said = notice;
        let hours = (self.allowance.wait_millis() + HOUR - 1) / HOUR;
        let why = leap.map_or_else(String::new, |leap| {
            format!(" (it is {} days ahead of the last record)", leap / (24 * HOUR))
        });
        log.say(&format!(
            "pruning waits for {hours} h of recording, as the clock may be wrong{why}; \
             kept until then: {held_back}; if the clock is right, `gua db prune --yes` deletes it now"
        ));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;
    use crate::ledger::Period;
    use crate::store::{Ending, Run};

    const DAY: i64 = 24 * HOUR;
    const START: i64 = 20_000 * DAY;
    const TICK: i64 = HOUR / 12;

    /// A recorder with a tick every five minutes that keeps everything for ten days.
    struct Lab {
        dir: TempDir,
        now: i64,
        recorder: Option<(Writer, Pruning)>,
        log: Log,
    }

    impl Lab {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            store::create(&dir.path().join("gua.db")).unwrap();
            let log = Log::to_file(&dir.path().join("log")).unwrap();
            Self { dir, now: START, recorder: None, log }
        }

        fn start(&mut self) {
            let database = store::open_to_write(&self.dir.path().join("gua.db")).unwrap();
            let days = Duration::from_secs(10 * 86_400);
            let (keep, now) = (Keep { samples: days, spans: days }, UnixMillis(self.now));
            let pruning = Pruning::begin(keep, &database, now, &mut self.log).unwrap();
            let run = Run {
                host: "lab".into(),
                boot: "boot-1".into(),
                driver: None,
                recorder: "gua".into(),
                interval_millis: None,
                started: now,
            };
            self.recorder = Some((Writer::begin(database, &run).unwrap(), pruning));
        }

        fn end(&mut self) {
            let (writer, mut pruning) = self.recorder.take().unwrap();
            pruning.log_deleted(&mut self.log);
            writer.end(Ending::Stopped).unwrap();
        }

        fn tick(&mut self, covers: i64) {
            let (from, at) = (UnixMillis(self.now), UnixMillis(self.now + covers));
            self.now += covers;
            let covers = Period::new(from, at);
            let entry = Entry { at, covers, late: None, cards: Vec::new() };
            let (writer, pruning) = self.recorder.as_mut().unwrap();
            writer.record(&entry, &[]).unwrap();
            pruning.step(writer, &entry, &mut self.log).unwrap();
        }

        fn record(&mut self, millis: i64) {
            (0..millis / TICK).for_each(|_| self.tick(TICK));
        }

        /// Hours from that of the oldest tick, and from that of the oldest span, until now.
        fn kept_hours(&mut self) -> [i64; 2] {
            let (writer, _) = self.recorder.as_mut().unwrap();
            let now = self.now;
            ["at_ms) FROM tick", "from_ms) FROM observed"].map(|of| {
                let query = format!("SELECT min({of}");
                let oldest: i64 =
                    writer.database().query_row(&query, [], |row| row.get(0)).unwrap();
                now / HOUR - oldest / HOUR
            })
        }

        /// The logged lines that contain a text.
        fn logged(&self, text: &str) -> Vec<String> {
            let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap();
            log.lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
        }
    }

    #[test]
    fn steady_recording_is_pruned_and_logged_every_hour() {
        let mut lab = Lab::new();
        lab.start();
        lab.record(10 * DAY);
        assert_eq!(lab.logged(""), Vec::<String>::new());
        lab.record(3 * DAY);
        assert_eq!(lab.kept_hours(), [241, 241]);
        let pruned = lab.logged("pruned rows: ");
        assert!(pruned.len() > 60, "{pruned:?}");
        assert!(pruned[30].ends_with("pruned rows: observed 1, tick 12"), "{}", pruned[30]);
        assert_eq!(lab.logged("").len(), pruned.len(), "nothing is held back");
    }

    #[test]
    fn leap_waits_over_restarts_and_then_deletes_two_days_per_day() {
        let mut lab = Lab::new();
        lab.start();
        lab.record(8 * DAY);
        lab.end();
        lab.now += 500 * DAY;
        for _ in 0..4 {
            lab.start();
            lab.record(5 * HOUR);
            assert_eq!(lab.kept_hours(), [(lab.now - START) / HOUR; 2]);
            lab.end();
        }
        let waits = lab.logged("pruning waits for ");
        assert_eq!(waits.len(), 4, "one for each start: {waits:?}");
        let first = "24 h of recording, as the clock may be wrong (it is 500 days ahead of the \
                     last record); kept until then: samples from 2024-10-04T00:05:00Z to ";
        assert!(waits[0].contains(first), "{}", waits[0]);
        assert!(waits[3].contains("9 h of recording, as the clock may be wrong; "), "{}", waits[3]);
        assert_eq!(lab.logged("").len(), 4);
        lab.start();
        lab.record(4 * HOUR);
        assert_eq!(lab.kept_hours(), [509 * 24; 2]);
        // The wait is over: two days were saved up.
        lab.record(HOUR);
        assert_eq!(lab.kept_hours(), [509 * 24 + 1 - 48; 2]);
        assert!(!lab.logged("pruned rows: ").is_empty());
        let later = lab.logged("at most two days of history per day of recording");
        assert_eq!(later.len(), 1, "{later:?}");
        lab.record(2 * DAY);
        assert_eq!(lab.kept_hours(), [511 * 24 + 1 - 48 - 96; 2]);
        assert_eq!(lab.logged("at most two days of history").len(), 1, "it is said once");
    }

    #[test]
    fn leap_while_recording_is_logged_at_once() {
        let mut lab = Lab::new();
        lab.start();
        lab.record(9 * DAY);
        lab.now += 100 * DAY;
        lab.tick(0);
        assert_eq!(lab.logged("(it is 100 days ahead").len(), 1);
        lab.record(23 * HOUR);
        assert_eq!(lab.kept_hours(), [(lab.now - START) / HOUR; 2]);
        assert_eq!(lab.logged("").len(), 1);
    }
}
