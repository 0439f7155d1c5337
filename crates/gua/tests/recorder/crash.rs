//! Kills of the recorder at any moment: time that is not final yet is lost, a stored row never is.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use super::{OBSERVED, Recorder, TWO_CARDS, at_home, is_clean, number};
use crate::machine::Machine;

/// Kills with one database; a long run of benches/ has 200.
const KILLS: i64 = 10;

/// Most time that a kill may cost besides the interval: what is not final yet.
const NOT_FINAL_MS: i64 = 8_000;

/// The same where several processes may have worked, which only later samples tell.
const NOT_FINAL_SHARED_MS: i64 = 17_000;

/// Room for a machine that is busy with other tests.
const BUSY_MS: i64 = 5_000;

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

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
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

/// Kills a recorder some time after so much is final. Rows that were stored when somebody looked are
/// there after the kill, and the file keeps its promises. Returns the time from the end of what is final to the kill.
fn kill_once(machine: &Machine, run: i64, recorded_ms: i64, after: Duration) -> i64 {
    let mut recorder = Recorder::spawn(machine, &["--interval", "100ms"], |_| ());
    super::until("its first tick is stored", || {
        let ended = recorder.child.try_wait().unwrap();
        assert!(ended.is_none(), "run {run}: {ended:?}: {}", recorder.said());
        stored(&recorder.database, run).is_some()
    });
    let path = recorder.database.clone();
    let final_ms = format!("SELECT until_ms - started_ms FROM run WHERE id = {run}");
    super::until("it is recorded", || number(&path, &final_ms) >= recorded_ms);
    thread::sleep(after);
    let seen = stored(&path, run).unwrap();
    let spans = number(&path, OBSERVED);
    let killed = now_ms();
    recorder.child.kill().unwrap();
    recorder.child.wait().unwrap();
    is_clean(&path);
    let left = stored(&path, run).unwrap();
    assert!(left.iter().zip(seen).all(|(left, seen)| *left >= seen), "{left:?} after {seen:?}");
    assert!(number(&path, OBSERVED) >= spans, "run {run}, {after:?}: stored time is gone");
    assert_eq!(number(&path, "SELECT count(*) FROM run"), run, "each start is a run");
    assert_eq!(number(&path, "SELECT count(*) FROM run WHERE ending IS NULL"), run);
    killed - left[1]
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
fn kills_lose_nothing_that_was_stored() {
    let machine = Machine::new(TWO_CARDS);
    while_others_read(&at_home(&machine, "gua.db"), || {
        (1..=KILLS).for_each(|run| {
            kill_once(&machine, run, 0, random_time(250));
        });
    });
    // One last time, as if nothing had happened.
    let mut recorder = Recorder::start(&machine);
    recorder.goes_on();
    recorder.end();
}

#[test]
fn kill_loses_no_more_than_what_is_not_final() {
    let lanes = [(TWO_CARDS, NOT_FINAL_MS), (SHARED_CARD, NOT_FINAL_SHARED_MS)];
    thread::scope(|scope| {
        for (scenario, most) in lanes {
            scope.spawn(move || {
                let machine = Machine::new(scenario);
                let lost = kill_once(&machine, 1, 10_000, random_time(5_000));
                assert!(lost <= 100 + most + BUSY_MS, "{lost} ms of at most {most} ms");
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
