//! A recorder at work on a host with the simulated library, in real time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use gua_core::snapshot::CardNow;
use gua_core::units::UnixMillis;
use gua_core::{Period, State, Thresholds};
use gua_recorder::{Log, Options, Outcome, Recorder, Signals};
use gua_store::{Database, Retention, Run, StoredRun};
use probe::nvml::{Patience, Prober};
use probe::poller::Poller;
use probe::proc::Host;
use rustix::process::{Signal, getpid, getppid, kill_process};

use crate::machine::{Machine, on};

const INTERVAL: Duration = Duration::from_secs(1);

/// A card that is busy, and one that is held by a process of this host.
fn cards() -> String {
    format!(
        "[[card]]\n[[card]]\n[[process]]\npid = 9000001\ncard = 0\nmemory = \"8GiB\"\nsm = 80\n\
         begin = \"-1h\"\n[[process]]\npid = {}\ncard = 1\nmemory = \"4GiB\"\n",
        std::process::id()
    )
}

/// A recorder in this process.
struct TestRecorder {
    dir: tempfile::TempDir,
}

impl TestRecorder {
    fn path(&self) -> PathBuf {
        self.dir.path().join("gua.db")
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("gua.log")
    }

    /// Records until a signal, while `meanwhile` runs on another thread once the first tick is stored.
    fn run(
        &self,
        machine: &Machine,
        patience: Patience,
        meanwhile: impl FnOnce() + Send,
        give_up: impl Fn() + Send + 'static,
    ) {
        let options =
            Options { interval: INTERVAL, retention: Retention::default(), store_command: true };
        let log = Log::to_file(&self.log()).unwrap();
        let recorder = Recorder::new(self.path(), run_facts(), options, vec![], log);
        let options = probe::nvml::Options { patience, ..machine.options() };
        let host = Host::new(Some("/".into())).with_identities(true);
        let poller = Poller::new(Prober::open(options).unwrap(), host, INTERVAL);
        let signals = Signals::catch().unwrap();
        let (ready, is_ready) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                is_ready.recv().unwrap();
                meanwhile();
            });
            let outcome = recorder.run(poller, signals, || ready.send(()).unwrap(), give_up);
            assert!(matches!(outcome.unwrap(), Outcome::Stopped));
        });
    }
}

fn run_facts() -> Run {
    Run {
        host: "lab".into(),
        boot: "boot-1".into(),
        driver: None,
        recorder: "gua test".into(),
        rule: "5 s".into(),
        thresholds: Thresholds::default(),
        interval_ms: None,
        started: UnixMillis(0),
    }
}

fn last_run(path: &Path) -> StoredRun {
    Database::open(path).unwrap().runs().unwrap().pop().unwrap()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn recorder_stores_what_the_library_says() {
    on(&cards(), |machine| {
        let recorder = TestRecorder { dir: tempfile::tempdir().unwrap() };
        let meanwhile = || {
            wait_until("ten polls", || last_run(&recorder.path()).polls >= 10);
            fs::rename(recorder.log(), recorder.dir.path().join("moved.log")).unwrap();
            kill_process(getpid(), Signal::HUP).unwrap();
            wait_until("a log again", || recorder.log().exists());
            kill_process(getpid(), Signal::TERM).unwrap();
        };
        recorder.run(machine, Patience::default(), meanwhile, || panic!("it stops in time"));
        let log = fs::read_to_string(recorder.log()).unwrap();
        assert!(log.contains("stopping"), "{log}");
        check(&recorder.path());
    });
}

fn check(path: &Path) {
    let database = Database::open(path).unwrap();
    assert_eq!(database.check().unwrap(), []);
    let run = last_run(path);
    assert_eq!(run.ending.as_deref(), Some("stopped"));
    assert!(run.run.driver.is_some() && run.polls >= 10);
    let per_poll = run.calls / run.polls;
    assert!((4..=40).contains(&per_poll), "{} calls in {} polls", run.calls, run.polls);
    let length = (run.until.0 - run.run.started.0) as f64;
    assert!(length >= 9000.0, "{length}");
    let sums = database.usage(Period::new(run.run.started, UnixMillis(i64::MAX))).unwrap();
    assert_eq!(sums.gaps, []);
    let cards: Vec<_> = sums.cards.values().map(|card| card.times).collect();
    assert!(cards[0].active_ms > 0.9 * length, "{cards:?}");
    assert_eq!((cards[1].active_ms, cards[1].idle_held_ms), (0.0, length));
    let seen = database.last_seen().unwrap().unwrap();
    let card: CardNow = serde_json::from_str(&seen.cards[1]).unwrap();
    let [holder] = &card.holders[..] else { panic!("{card:?}") };
    // The process that started this one wrote the scenario.
    let pid = getppid().unwrap().as_raw_nonzero().get().unsigned_abs();
    assert_eq!((card.state, holder.pid), (State::IdleHeld, pid));
    let program = holder.program.as_ref().unwrap();
    assert!(program.starts_with("recording"), "{program}");
    let other = rusqlite::Connection::open(path).unwrap();
    let command = "SELECT command FROM workload JOIN process ON process.workload = workload.id";
    let command: String = other.query_row(command, [], |row| row.get(0)).unwrap();
    assert!(command.contains("recorder_stores_what_the_library_says"), "{command}");
}

/// A driver call that hangs does not keep the run from being ended.
#[test]
fn recorder_ends_its_run_while_a_card_hangs() {
    on(&cards(), |machine| {
        let recorder = TestRecorder { dir: tempfile::tempdir().unwrap() };
        let path = recorder.path();
        let long = Duration::from_secs(8);
        let patience = Patience { card: long, look: long, ..Patience::default() };
        let meanwhile = || {
            let fault = "[[fault]]\ncall = \"nvmlDeviceGet*\"\ncard = 1\nlatency = \"60s\"\n";
            machine.becomes(&format!("{}{fault}", cards()));
            wait_until("a poll that hangs", || {
                let polls = last_run(&path).polls;
                thread::sleep(3 * INTERVAL);
                last_run(&path).polls == polls
            });
            kill_process(getpid(), Signal::TERM).unwrap();
        };
        let (gave_up, has_given_up) = mpsc::channel();
        let at_give_up = path.clone();
        recorder.run(machine, patience, meanwhile, move || {
            gave_up.send(last_run(&at_give_up).ending).unwrap();
        });
        let ending = has_given_up.recv().unwrap();
        assert_eq!(ending.as_deref(), Some("stopped"));
    });
}

/// Path of the database in a process that records until it is killed.
const KILLED: &str = "RECORDER_TEST_KILLED";

/// Trap: kill -9 at any moment costs no stored row, and a run ends at its last tick.
#[test]
fn killed_recorder_loses_nothing_that_was_stored() {
    on(&cards(), |machine| {
        if let Some(dir) = std::env::var_os(KILLED) {
            return record_until_killed(machine, Path::new(&dir));
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.db");
        for kill in 1..=10 {
            let mut command = Command::new(std::env::current_exe().unwrap());
            let this_test = thread::current().name().unwrap().to_owned();
            command.args(["--exact", &this_test, "--nocapture"]).env(KILLED, dir.path());
            let mut child = command.stdout(Stdio::null()).spawn().unwrap();
            wait_until("a tick of the new run", || {
                let runs = Database::open(&path).and_then(|database| database.runs());
                runs.is_ok_and(|runs| runs.len() == kill)
            });
            // Another moment in each round, up to half a second.
            thread::sleep(Duration::from_millis(u64::try_from(kill).unwrap() * 47));
            let seen = last_run(&path);
            child.kill().unwrap();
            child.wait().unwrap();
            let run = last_run(&path);
            assert!((run.until, run.polls) >= (seen.until, seen.polls), "{run:?} after {seen:?}");
            assert_eq!((run.ending, run.until <= run.last_tick), (None, true));
            assert_eq!(Database::open(&path).unwrap().check().unwrap(), []);
        }
    });
}

fn record_until_killed(machine: &Machine, dir: &Path) {
    let options = Options {
        interval: Duration::from_millis(100),
        retention: Retention::default(),
        store_command: false,
    };
    let recorder =
        Recorder::new(dir.join("gua.db"), run_facts(), options, vec![], Log::to_nothing());
    let host = Host::new(Some("/".into()));
    let poller = Poller::new(machine.prober(), host, options.interval);
    recorder.run(poller, Signals::catch().unwrap(), || (), || ()).unwrap();
}
