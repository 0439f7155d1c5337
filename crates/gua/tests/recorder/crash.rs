//! Kills of the recorder at any moment: time that is not final yet is lost, a stored row never is.

use std::env;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Row};

use super::{Recorder, TWO_CARDS, at_home, is_clean, number};
use crate::machine::Machine;

/// Names the number of kills, half of them on each machine: `GUA_TEST_KILLS=200` takes a quarter of an hour.
const KILLS_VARIABLE: &str = "GUA_TEST_KILLS";

/// Number of kills without that variable.
const KILLS: i64 = 10;

/// Most time that a kill may cost besides the interval: what is not final yet.
const NOT_FINAL_MS: u64 = 8_000;

/// The same where several processes may have worked, which only later samples tell.
const NOT_FINAL_SHARED_MS: u64 = 17_000;

const HALF_MINUTE_MS: i64 = 30_000;

/// Two cards, one of which several processes hold.
const SHARED_CARD: &str = r#"
[[card]]
uuid = "GPU-a"
utilization = 80

[[card]]
uuid = "GPU-b"

[[process]]
pid = 100
card = 0
user = "alice"
program = "python"
memory = "30000MiB"
sm = 40

[[process]]
pid = 101
card = 0
user = "bob"
program = "python"
memory = "30000MiB"
sm = 40
"#;

/// A moment up to here; where a run fails, it is in the message.
fn random_time(most: u64) -> Duration {
    let random = RandomState::new().build_hasher().finish();
    Duration::from_micros(random % (most * 1000))
}

/// What is stored of a run: polls, end of what is final, and time of the last tick.
fn stored(path: &Path, run: i64) -> Option<[i64; 3]> {
    ["polls", "until_ms", "tick_ms"]
        .map(|column| super::ask(path, &format!("SELECT {column} FROM run WHERE id = {run}")).ok())
        .into_iter()
        .collect::<Option<Vec<i64>>>()?
        .try_into()
        .ok()
}

/// All rows of spans that end by a time: they do not change any more.
fn rows(path: &Path, until_ms: i64) -> Vec<Vec<Value>> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    database.busy_timeout(Duration::from_secs(5)).unwrap();
    let mut all = Vec::new();
    for table in ["card_span", "holder_span"] {
        let sql = format!("SELECT * FROM {table} WHERE from_ms + length_ms <= ?1 ORDER BY 1, 2, 3");
        let mut query = database.prepare(&sql).unwrap();
        let columns = query.column_count();
        let row = |row: &Row<'_>| (0..columns).map(|column| row.get(column)).collect();
        let found = query.query_map([until_ms], row).unwrap();
        all.extend(found.collect::<Result<Vec<Vec<Value>>, _>>().unwrap());
    }
    all
}

/// Kills a recorder some time after its first tick. Rows that were stored when somebody looked are there
/// after the kill, and the file keeps its promises. Returns the time that was not final at the last tick, by
/// the recorder's own clock: when the next one comes depends on how busy the machine is.
fn kill_once(machine: &Machine, run: i64, after: Duration) -> i64 {
    let mut recorder = Recorder::spawn(machine, &["--interval", "100ms"], |_| ());
    super::until("its first tick is stored", || {
        let ended = recorder.child.try_wait().unwrap();
        assert!(ended.is_none(), "run {run}: {ended:?}: {}", recorder.said());
        stored(&recorder.database, run).is_some()
    });
    let path = recorder.database.clone();
    thread::sleep(after);
    let seen = stored(&path, run).unwrap();
    let started = number(&path, &format!("SELECT started_ms FROM run WHERE id = {run}"));
    // Spans of the newest half minute may become one row.
    let unchanged_until = started.max(seen[1] - HALF_MINUTE_MS);
    let before = rows(&path, unchanged_until);
    recorder.child.kill().unwrap();
    recorder.child.wait().unwrap();
    is_clean(&path);
    let left = stored(&path, run).unwrap();
    assert!(left.iter().zip(seen).all(|(left, seen)| *left >= seen), "{left:?} after {seen:?}");
    assert!(rows(&path, unchanged_until) == before, "run {run}, {after:?}: stored rows changed");
    assert_eq!(number(&path, "SELECT count(*) FROM run"), run, "each start is a run");
    assert_eq!(number(&path, "SELECT count(*) FROM run WHERE ending IS NULL"), run);
    let [_, until, tick] = left;
    tick - until
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

/// Every second kill comes right after the start, the others after all that may be lost.
#[test]
fn kills_lose_no_stored_row_and_only_what_is_not_final() {
    let kills = env::var(KILLS_VARIABLE).map_or(KILLS, |kills| kills.parse().unwrap());
    let lanes = [(TWO_CARDS, NOT_FINAL_MS), (SHARED_CARD, NOT_FINAL_SHARED_MS)];
    thread::scope(|scope| {
        for (scenario, not_final) in lanes {
            scope.spawn(move || {
                let machine = Machine::new(scenario);
                let mut most = 0;
                while_others_read(&at_home(&machine, "gua.db"), || {
                    for run in 1..=kills / 2 {
                        let after = match run % 2 {
                            0 => Duration::from_millis(not_final) + random_time(3_000),
                            _ => random_time(250),
                        };
                        let lost = kill_once(&machine, run, after);
                        let may_lose = i64::try_from(not_final).unwrap();
                        assert!(
                            lost <= may_lose,
                            "run {run}, {after:?}: {lost} ms of {may_lose} ms"
                        );
                        most = most.max(lost);
                    }
                });
                println!(
                    "{} kills lose at most {most} ms and the interval; promised: {not_final} ms",
                    kills / 2
                );
                // One last time, as if nothing had happened.
                let mut recorder = Recorder::start(&machine);
                recorder.goes_on();
                recorder.end();
            });
        }
    });
}

/// Whatever a start was at, the next one goes on from there.
#[test]
fn a_start_that_is_killed_leaves_nothing_in_the_way() {
    for round in 0..20 {
        let machine = Machine::new(TWO_CARDS);
        let moment = random_time(60);
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
