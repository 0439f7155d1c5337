//! It is killed at any moment, again and again: that costs a tick at most, and never the file.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use super::{Recorder, TWO_CARDS, at_home, is_clean, number};
use crate::machine::Machine;

const KILLS: i64 = 200;
/// Databases that are recorded at the same time.
const LANES: i64 = 2;

/// Some time up to here; where a run fails, the moment is in what it says.
fn some(most: u64) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    Duration::from_micros(random % (most * 1000))
}

fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// What was stored when somebody looked is there after the kill, the last tick is whole, and
/// the file is as it must be. Gives the time from the last stored tick to the kill.
fn kill_once(machine: &Machine, run: i64) -> i64 {
    let mut recorder = Recorder::spawn(machine, &["--interval", "100ms"], |_| ());
    let ticks = format!("SELECT count(*) FROM tick WHERE run = {run}");
    super::until("its first tick is stored", || {
        let ended = recorder.child.try_wait().unwrap();
        assert!(ended.is_none(), "run {run}: {ended:?}: {}", recorder.said());
        super::ask::<i64>(&recorder.database, &ticks).is_ok_and(|ticks| ticks > 0)
    });
    let moment = some(250);
    thread::sleep(moment);
    let seen = recorder.number(&ticks);
    let killed = now_millis();
    let path = recorder.database.clone();
    recorder.child.kill().unwrap();
    recorder.child.wait().unwrap();
    is_clean(&path);
    assert!(number(&path, &ticks) >= seen, "run {run}, {moment:?}: a stored tick is gone");
    is_whole(&path, run);
    killed - number(&path, "SELECT max(at_ms) FROM tick")
}

/// A tick has both its cards; the run before was ended where its last tick was.
fn is_whole(path: &Path, run: i64) {
    let torn = "SELECT count(*) FROM tick
                    WHERE (SELECT count(*) FROM sample WHERE tick = tick.id) != 2";
    assert_eq!(number(path, torn), 0, "run {run}: half a tick");
    assert_eq!(number(path, "SELECT count(*) FROM run"), run, "every start is a run");
    let settled = "SELECT count(*) FROM run WHERE ending = 'crashed'
                       AND ended_ms = (SELECT max(at_ms) FROM tick WHERE run = run.id)";
    assert_eq!(number(path, settled), run - 1);
}

/// Somebody opens the database again and again: whoever comes first after a kill has to put
/// its log in order.
fn while_others_read<T>(path: &Path, work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // Before the first start there is none.
                let _ = super::ask::<i64>(path, "SELECT count(*) FROM run");
                thread::sleep(Duration::from_millis(1));
            }
        });
        // Also when it falls over: the other one must not go on for ever.
        let worked = panic::catch_unwind(AssertUnwindSafe(work));
        done.store(true, Ordering::Relaxed);
        worked.unwrap_or_else(|fell| panic::resume_unwind(fell))
    })
}

#[test]
fn two_hundred_kills_lose_nothing_that_was_stored() {
    let lane = || {
        let machine = Machine::new(TWO_CARDS);
        let lost: Vec<i64> = while_others_read(&at_home(&machine, "gua.db"), || {
            (1..=KILLS / LANES).map(|run| kill_once(&machine, run)).collect()
        });
        // One last time, as if nothing had happened.
        let mut recorder = Recorder::start(&machine);
        recorder.goes_on();
        recorder.end();
        lost
    };
    let mut lost: Vec<i64> = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    // A machine that is busy with other tests stretches some, but not most of them.
    lost.sort_unstable();
    let middle = lost[lost.len() / 2];
    assert!(middle < 200, "time since the last stored tick, in ms: {lost:?}");
}

/// Whatever a start was at, the next one goes on from there.
#[test]
fn a_start_that_is_killed_leaves_nothing_in_the_way() {
    for round in 0..40 {
        let machine = Machine::new(TWO_CARDS);
        let moment = some(60);
        let recorder = Recorder::spawn(&machine, &["--interval", "100ms"], |_| ());
        thread::sleep(moment);
        recorder.kill();
        let path = at_home(&machine, "gua.db");
        if path.exists() {
            is_clean(&path);
        }
        let recorder = Recorder::start(&machine);
        assert_eq!(recorder.said().matches("gua: ").count(), 0, "{round} {moment:?}");
        recorder.end();
    }
}
