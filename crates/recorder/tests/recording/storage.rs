//! Disks that are full, files that are locked, moved, damaged or of another recorder.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};

use gua_core::units::UnixMillis;
use gua_core::{Period, Reason};
use gua_store::{Database, Problem};

use crate::lab::{HOUR, Lab, MINUTE, SECOND, WALL};

/// Trap: a locked database: nothing is lost, and state in memory advances only after COMMIT.
#[test]
fn locked_database_loses_nothing() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    let other = lab.other_program();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    lab.percent = 90;
    lab.lost = None;
    let errors = lab.record_in_vain(2 * MINUTE);
    assert_eq!(errors.len(), 4);
    assert!(errors.iter().all(|error| matches!(error.problem, Problem::Locked)));
    lab.percent = 0;
    other.execute_batch("ROLLBACK").unwrap();
    lab.record(10 * MINUTE);
    lab.stop();
    assert_eq!(lab.gaps(), []);
    assert_eq!(lab.card_seconds(), [120, 1200, 0]);
    let log = lab.log();
    assert_eq!(log.matches("cannot store: ").count(), 1, "{log}");
    assert!(log.contains("storing again; nothing is missing"), "{log}");
    let [reason] = &lab.events("storage")[..] else { panic!("{:?}", lab.events("storage")) };
    assert!(reason.contains("another program has it locked"), "{reason}");
    let since = lab.number("SELECT at_ms FROM event WHERE kind = 'storage'");
    assert_eq!(since, WALL + 10 * MINUTE, "the first tick that failed");
    assert_eq!(lab.read().runs().unwrap().len(), 1, "the same run goes on");
    lab.assert_sound();
}

/// Trap: time that cannot be stored for too long is a gap with its reason.
#[test]
fn time_not_stored_for_an_hour_is_a_gap_with_its_reason() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    let other = lab.other_program();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Most ticks are left out: each waits for the lock.
    for _ in 0..3 * 720 {
        lab.poll();
        lab.now += 5 * SECOND;
        if lab.now % (20 * MINUTE) == 0 {
            lab.recording().tick().unwrap_err();
        }
    }
    other.execute_batch("ROLLBACK").unwrap();
    lab.polls = 0;
    lab.record(10 * MINUTE);
    lab.stop();
    let [(from, to, reason)] = &lab.gaps()[..] else { panic!("{:?}", lab.gaps()) };
    assert_eq!(reason, "Storage");
    assert!((550..=600).contains(from), "where it was final: {from}");
    // The last try was at three hours: an hour before is kept, from a quarter hour on.
    assert_eq!(*to, 2 * 3600 - 900);
    let seconds: i64 = lab.card_seconds().iter().sum();
    assert_eq!(seconds + to - from, lab.now / SECOND);
    assert!(lab.log().contains("s are missing"), "{}", lab.log());
    let sessions = lab.read().sessions(Period::new(UnixMillis(0), UnixMillis(i64::MAX))).unwrap();
    assert_eq!(sessions.len(), 1, "it went on all the time");
    lab.assert_sound();
}

/// Trap: a full disk.
#[test]
fn full_disk_loses_nothing() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    lab.stop();
    let dir = lab.dir.path().join("disk");
    fs::create_dir(&dir).unwrap();
    let mut mount = std::process::Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=16m", "none"]).arg(&dir);
    if !mount.output().is_ok_and(|it| it.status.success()) {
        return nvidia_ml::skip::skipped("full_disk_loses_nothing", "nothing can be mounted here");
    }
    let _unmount = Unmount(dir.clone());
    fs::rename(lab.dir.path().join("data"), dir.join("data")).unwrap_or_else(|_| {
        fs::create_dir(dir.join("data")).unwrap();
        fs::copy(lab.path(), dir.join("data/gua.db")).unwrap();
        fs::remove_dir_all(lab.dir.path().join("data")).unwrap();
    });
    std::os::unix::fs::symlink(dir.join("data"), lab.dir.path().join("data")).unwrap();
    lab.start(vec![]);
    lab.record(10 * MINUTE);
    let mut ballast = File::create(dir.join("ballast")).unwrap();
    while ballast.write_all(&[0; 4096]).is_ok() {}
    while ballast.write_all(&[0]).is_ok() {}
    let errors = lab.record_in_vain(20 * MINUTE);
    assert!(errors.iter().any(|error| matches!(error.problem, Problem::Full)), "{errors:?}");
    drop(ballast);
    fs::remove_file(dir.join("ballast")).unwrap();
    lab.record(10 * MINUTE);
    lab.stop();
    assert_eq!(lab.gaps(), []);
    assert_eq!(lab.card_seconds().iter().sum::<i64>(), 50 * 60);
    let [reason] = &lab.events("storage")[..] else { panic!("{:?}", lab.events("storage")) };
    assert!(reason.contains("the disk is full"), "{reason}");
    lab.assert_sound();
}

struct Unmount(std::path::PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        std::process::Command::new("umount").arg("--lazy").arg(&self.0).status().unwrap();
    }
}

/// Trap: the database was moved while recording: the run ends there, another file begins at the path.
#[test]
fn moved_file_ends_its_run_and_another_one_begins() {
    let mut lab = Lab::started();
    // Into a quarter hour, so that some spans have ended and others go on.
    lab.record(20 * MINUTE);
    let moved = lab.dir.path().join("moved.db");
    fs::rename(lab.path(), &moved).unwrap();
    lab.record(7 * MINUTE);
    assert!(!lab.dir.path().join("moved.db-wal").exists());
    let old = Database::open(&moved).unwrap();
    let run = &old.runs().unwrap()[0];
    assert_eq!(run.ending.as_deref(), Some("moved"));
    assert_eq!(old.check().unwrap(), []);
    lab.stop();
    let new = lab.read().runs().unwrap();
    assert_eq!(new.len(), 1);
    assert_eq!(new[0].run.started, run.until, "nothing is lost, and nothing is in both");
    assert_eq!(new[0].until.0, WALL + lab.now);
    assert_eq!(lab.gaps(), []);
    let all = Period::new(UnixMillis(0), UnixMillis(i64::MAX));
    let observed = [&old, &lab.read()].map(|file| {
        let sums = file.usage(all).unwrap();
        let observed_ms = sums.cards[&1].times.observed_ms();
        let missing: i64 = sums.gaps.iter().map(|gap| gap.period.millis()).sum();
        let recorded_ms = sums.window.millis() - missing;
        assert_eq!(observed_ms, recorded_ms as f64, "each file has rows for what it recorded");
        observed_ms
    });
    assert_eq!(observed.iter().sum::<f64>(), lab.now as f64, "no time is in both");
    let sessions = [&old, &lab.read()].map(|file| file.sessions(all).unwrap());
    let [[before], [after]] = sessions.each_ref().map(Vec::as_slice) else {
        panic!("{sessions:?}")
    };
    assert_eq!(before.period, Period::new(UnixMillis(WALL), run.until));
    assert_eq!(after.period, Period::new(run.until, UnixMillis(WALL + lab.now)));
    assert_eq!(after.unused_share_ms, after.period.millis());
    assert!(!after.is_begin_seen);
    lab.assert_sound();
}

/// Trap: the database was deleted while recording.
#[test]
fn deleted_file_is_created_again() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    fs::remove_dir_all(lab.path().parent().unwrap()).unwrap();
    lab.record(10 * MINUTE);
    lab.stop();
    assert_eq!(lab.read().runs().unwrap().len(), 1);
    lab.assert_sound();
}

/// What somebody put in its place is not written to.
#[test]
fn replaced_file_is_not_overwritten() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    let notes = lab.dir.path().join("notes");
    fs::write(&notes, "my notes\n").unwrap();
    fs::rename(&notes, lab.path()).unwrap();
    let errors = lab.record_in_vain(2 * MINUTE);
    assert!(errors.iter().all(|error| matches!(error.problem, Problem::Foreign(_))), "{errors:?}");
    assert!(!errors.is_empty());
    assert_eq!(fs::read_to_string(lab.path()).unwrap(), "my notes\n");
    fs::remove_file(lab.path()).unwrap();
    lab.record(2 * MINUTE);
    lab.stop();
    assert_eq!(lab.events("storage").len(), 1);
    lab.assert_sound();
}

/// Trap: two recorders on one file.
#[test]
fn second_recorder_is_refused() {
    let mut lab = Lab::started();
    lab.record(MINUTE);
    let first = lab.recording.take().unwrap();
    lab.start(vec![]);
    let error = lab.poll_and_tick().unwrap_err();
    assert!(matches!(error.problem, Problem::Recorded), "{error}");
    drop(first);
    lab.recording().tick().unwrap();
}

#[test]
fn damaged_database_is_an_error() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    lab.stop();
    let mut file = File::options().read(true).write(true).open(lab.path()).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    file.seek(SeekFrom::Start(4096)).unwrap();
    file.write_all(&vec![0x5a; bytes.len() - 4096]).unwrap();
    lab.start(vec![]);
    let error = lab.poll_and_tick().unwrap_err();
    assert!(matches!(error.problem, Problem::Damaged(_)), "{error}");
}

/// The clock is set back while nothing can be stored: both runs are stored later.
#[test]
fn run_that_ended_while_nothing_could_be_stored_is_stored_later() {
    let mut lab = Lab::started();
    lab.record(HOUR);
    let other = lab.other_program();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    lab.percent = 90;
    lab.record_in_vain(2 * MINUTE);
    lab.step = -10 * MINUTE;
    lab.record_in_vain(2 * MINUTE);
    other.execute_batch("ROLLBACK").unwrap();
    lab.record(20 * MINUTE);
    lab.stop();
    let runs = lab.read().runs().unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0].until.0, WALL + 62 * MINUTE - 5 * SECOND);
    assert_eq!(runs[1].run.started.0, WALL + 52 * MINUTE);
    let active = lab.card_seconds()[0];
    assert_eq!(active, 22 * 60);
    lab.assert_sound();
}

/// Trap: cards that cannot be read while nothing can be stored stay unknown with their reason.
#[test]
fn events_are_kept_until_they_can_be_stored() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    let other = lab.other_program();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    lab.lost = Some(Reason::Lost);
    lab.record_in_vain(MINUTE);
    lab.lost = None;
    lab.record_in_vain(MINUTE);
    other.execute_batch("ROLLBACK").unwrap();
    lab.record(MINUTE);
    assert_eq!(lab.events("card").len(), 2);
    assert!((60..=65).contains(&lab.card_seconds()[2]));
}
