//! Kills a process that records, at any moment.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, io};

use gua_core::units::UnixMillis;
use gua_store::{Database, Event, Retention, Tick, Writer};
use rusqlite::Connection;

use crate::lab::*;

/// Names the database in the environment of a child.
const CHILD_PATH: &str = "GUA_STORE_CRASH_PATH";

const INTERVAL: i64 = 30_000;

/// The child: records until it is killed, and prints the time of each tick after it was committed. Without
/// its variable in the environment it does nothing.
#[test]
fn recording_child() {
    let Some(path) = env::var_os(CHILD_PATH).map(PathBuf::from) else { return };
    if !path.exists() {
        Database::create(&path).unwrap();
    }
    let database = Database::open_to_write(&path).unwrap();
    let mut now = database.final_until().unwrap().map_or(START, |until| until.0);
    let mut writer = Writer::begin(database, run(now)).unwrap();
    loop {
        now = tick(&mut writer, now);
        // Not captured, unlike what `println` writes.
        writeln!(io::stdout(), "\ncommitted {now}").unwrap();
        if now % (20 * INTERVAL) == 0 {
            writer.prune(&Retention { exact_ms: HOUR, ..Retention::default() }, 100).unwrap();
        }
    }
}

/// Records one interval of both cards: a closed span and an open one, which the next tick closes.
fn tick(writer: &mut Writer, from: i64) -> i64 {
    let now = from + INTERVAL;
    let closed = [0, 1].map(|index| spans(&card(index), from, &[(7000, 0), (INTERVAL - 7000, 1)]));
    let at = UnixMillis(now);
    let event = Event { at, until: None, kind: "tick".into(), detail: now.to_string() };
    let tick = Tick {
        closed: &closed.concat(),
        events: &[event],
        recorded_ms: INTERVAL,
        ..Tick::new(at, at)
    };
    writer.tick(&tick).unwrap();
    now
}

fn spawn(path: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "crash::recording_child", "--nocapture"])
        .env(CHILD_PATH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills a recording process after so many ticks. Returns the ticks that it reported.
fn kill_after(path: &Path, ticks: usize) -> Vec<i64> {
    let mut child = spawn(path);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let mut committed = Vec::new();
    let number =
        |line: String| line.strip_prefix("committed ").map(|at| at.parse::<i64>().unwrap());
    while committed.len() < ticks {
        let line = lines.next().unwrap();
        committed.extend(number(line));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it printed before it was killed, but for a line that is cut.
    let mut rest: Vec<String> = lines.collect();
    rest.pop();
    committed.extend(rest.into_iter().filter_map(number));
    committed
}

fn kill_often(kills: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gua.db");
    let mut committed = Vec::new();
    for round in 0..kills {
        // The first is killed while it creates the file, others at various distances from an hour.
        committed.extend(kill_after(&path, round * 37 % 90));
        if !path.exists() {
            assert!(committed.is_empty());
            continue;
        }
        let database = Database::open(&path).unwrap();
        assert_eq!(database.check().unwrap(), [], "after {} kills", round + 1);
        let stored = stored_ticks(&path);
        let lost: Vec<_> = committed.iter().filter(|at| !stored.contains(at)).collect();
        assert!(lost.is_empty(), "after {} kills: {lost:?}", round + 1);
        // Each tick is there as a whole: its event and the time of both cards.
        let until = database.final_until().unwrap().map_or(START, |until| until.0);
        let sums = database.usage(period(START, until)).unwrap();
        for card in sums.cards.values() {
            assert_eq!(card.times.observed_ms(), (until - START) as f64);
        }
        assert_eq!(i64::try_from(stored.len()).unwrap() * INTERVAL, until - START);
    }
    assert!(committed.len() > kills, "{committed:?}");
}

fn stored_ticks(path: &Path) -> Vec<i64> {
    let db = Connection::open(path).unwrap();
    let mut query = db.prepare("SELECT at_ms FROM event WHERE kind = 'tick'").unwrap();
    let ticks = query.query_map([], |row| row.get(0)).unwrap();
    ticks.collect::<Result<_, _>>().unwrap()
}

/// Trap: a database is made beside its path and linked there: a kill leaves a whole one or none.
#[test]
fn kill_while_a_database_is_made_leaves_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gua.db");
    // While the folder is locked, no database gets its path.
    let lock = File::open(folder.path()).unwrap();
    lock.lock().unwrap();
    let mut child = spawn(&path);
    while fs::read_dir(folder.path()).unwrap().next().is_none() {
        assert_eq!(child.try_wait().unwrap(), None);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!path.exists());
    drop(lock);
    Database::create(&path).unwrap();
    assert_eq!(Database::open(&path).unwrap().check().unwrap(), []);
}

/// Trap: after a crash a run ends at its last tick, and no stored row is lost.
#[test]
fn ten_kills_lose_no_committed_tick() {
    kill_often(10);
}

#[test]
#[ignore = "takes minutes"]
fn two_hundred_kills_lose_no_committed_tick() {
    kill_often(200);
}
