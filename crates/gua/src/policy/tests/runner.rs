//! Rules beside a recorder: what they store, and what outlasts a restart.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gua_core::process::ProcessId;
use gua_core::sign::Sign as StoredSign;
use gua_core::span::Gap;
use gua_core::units::UnixMillis;
use gua_core::{Classifier, Period, Span, Thresholds};
use gua_recorder::{Log, RecordedTick, TickObserver};
use gua_store::{Database, LogKind, Problem, ProcessEntry, Tick, Writer};
use tempfile::TempDir;

use super::lab::{Held, Moment, POLL_MS, Polls, START, entry, id, run};
use crate::config::policy::{Action, Notify, Policy, Rule};
use crate::failure::Failure;
use crate::policy::input::{LiveFacts, step_ms};
use crate::policy::{
    Look, Looked, Order, PolicyRunner, Rules, RunnerPlaces, Settled, SnoozePlace, Subject,
};

const MINUTE: i64 = 60_000;

#[derive(Debug)]
struct Unchanged;

impl Rules for Unchanged {
    fn changed(&mut self) -> Option<Result<Settled, Failure>> {
        None
    }
}

/// Notes that somebody was about to be ended.
struct Noting(Arc<AtomicBool>);

impl Look for Noting {
    fn look(&mut self, _: &Order) -> Looked {
        self.0.store(true, Ordering::Relaxed);
        Looked::LetGo
    }
}

/// A host with one process of a person.
fn host() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let ProcessId { pid, start_ticks, uid } = id(1);
    let (start, uid) = (start_ticks.unwrap(), uid.unwrap());
    let folder = dir.path().join(format!("proc/{pid}"));
    let task = folder.join(format!("task/{pid}"));
    fs::create_dir_all(&task).unwrap();
    fs::write(task.join("children"), "").unwrap();
    let rest = "17 4242 4242 34816 4242 4194304 5 0 0 0 7 3 0 0 20 0 4 0";
    fs::write(folder.join("stat"), format!("{pid} (python) S {rest} {start} 1 1 1 1 1\n")).unwrap();
    let uids = format!("Name:\tpython\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n");
    fs::write(folder.join("status"), uids).unwrap();
    fs::write(folder.join("cmdline"), "python\0train.py\0").unwrap();
    let cgroup = format!("0::/user.slice/user-{uid}.slice/session-1.scope\n");
    fs::write(folder.join("cgroup"), cgroup).unwrap();
    dir
}

struct Lab {
    host: TempDir,
    policy: Policy,
    runner: PolicyRunner,
    polls: Polls,
    classifier: Classifier,
    writer: Option<Writer>,
    closed: Vec<Span>,
    gaps: Vec<Gap>,
    now: i64,
    ticked: i64,
    began_an_end: Arc<AtomicBool>,
    /// Nothing can be stored.
    is_full: bool,
}

fn runner(host: &Path, policy: &Policy, flag: &Arc<AtomicBool>) -> PolicyRunner {
    let settled = Settled {
        policy: policy.clone(),
        notify: Notify::default(),
        thresholds: Thresholds::default(),
    };
    let places =
        RunnerPlaces { host: "lab".into(), boot: "boot".into(), database: host.join("gua.db") };
    let keeper = rustix::process::geteuid().as_raw();
    let snoozes = SnoozePlace { folder: host.join("snoozes"), keeper };
    let facts = LiveFacts::new(host.to_owned(), snoozes);
    let by = (step_ms(Some(30_000)), Thresholds::default());
    let flag = Arc::clone(flag);
    let look = move || -> Box<dyn Look> { Box::new(Noting(Arc::clone(&flag))) };
    PolicyRunner::new(settled, Box::new(Unchanged), places, facts, by, look)
}

impl Lab {
    fn new(policy: Policy) -> Self {
        let host = host();
        let began_an_end = Arc::default();
        Self {
            runner: runner(host.path(), &policy, &began_an_end),
            policy,
            host,
            polls: Polls::new(),
            classifier: Classifier::new(Thresholds::default()),
            writer: Some(Writer::begin(Database::in_memory().unwrap(), run(START)).unwrap()),
            closed: Vec::new(),
            gaps: Vec::new(),
            now: START,
            ticked: START,
            began_an_end,
            is_full: false,
        }
    }

    fn record(&mut self, until: i64, sm: impl Fn(i64) -> u32) {
        let held = |at: i64| Held { mib: 9000, sm: sm(at - START) };
        let moment =
            |at| Moment { held: BTreeMap::from([((0, 1), held(at))]), ..Moment::default() };
        while self.now < START + until {
            self.polls.pass(self.now, &moment);
            let poll = self.polls.poll(self.now, &moment(self.now));
            self.classifier.add(&poll);
            self.closed.extend(self.classifier.take_spans());
            self.gaps.extend(self.classifier.take_gaps());
            self.runner.polled(&poll);
            if self.now - self.ticked >= 30_000 {
                self.tick(&poll);
            }
            self.now += POLL_MS;
        }
    }

    fn tick(&mut self, poll: &gua_core::Poll) {
        let open: Vec<_> = self.classifier.open_spans().collect();
        let at = UnixMillis(self.now);
        let tick = Tick {
            closed: &self.closed,
            open: &open,
            gaps: &self.gaps,
            recorded_ms: self.now - self.ticked,
            ..Tick::new(at, self.classifier.final_until().unwrap_or(at))
        };
        let processes: HashMap<ProcessId, ProcessEntry> = HashMap::from([(id(1), entry(1))]);
        let thresholds = Thresholds::default();
        let recorded = RecordedTick { tick: &tick, poll, processes: &processes, thresholds };
        let (runner, writer) = (&mut self.runner, self.writer.as_mut().unwrap());
        let is_full = self.is_full;
        let stored = writer.tick_with(&tick, |transaction| {
            runner.write(&recorded, transaction)?;
            if is_full { Err(Problem::Full) } else { Ok(()) }
        });
        if stored.is_ok() {
            runner.stored(&recorded, writer, &mut Log::to_nothing());
            self.closed.clear();
            self.gaps.clear();
        }
        self.ticked = self.now;
    }

    /// Starts the recorder again after a pause. Without a clean stop nothing is stored at the end.
    fn restart(&mut self, is_clean: bool, pause: i64) {
        let mut writer = self.writer.take().unwrap();
        if is_clean {
            self.runner.close(&mut writer, &mut Log::to_nothing());
        }
        let database = writer.end("stopped").unwrap();
        self.now += pause;
        self.ticked = self.now;
        self.classifier = Classifier::new(Thresholds::default());
        (self.closed, self.gaps) = (Vec::new(), Vec::new());
        self.runner = runner(self.host.path(), &self.policy, &self.began_an_end);
        self.runner.opened(&database).unwrap();
        self.writer = Some(Writer::begin(database, run(self.now)).unwrap());
    }

    fn log(&self) -> Vec<LogKind> {
        let log = self.writer.as_ref().unwrap().database().policy_log(forever()).unwrap();
        log.into_iter().map(|entry| entry.kind).collect()
    }

    fn idle_ms(&self) -> i64 {
        let standing = self.runner.engine().standing(Subject::from(id(1)));
        standing.map_or(0, |standing| standing.idle_millis)
    }
}

fn forever() -> Period {
    Period::new(UnixMillis(0), UnixMillis(i64::MAX / 2))
}

/// Ends after 40 minutes, and notifies after 10.
fn policy(action: Action) -> Policy {
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let rule = Rule { notices: vec![minutes(10)], idle_for: minutes(40), ..super::rule(action) };
    super::policy(vec![rule])
}

#[test]
fn rules_are_followed_and_logged() {
    let mut lab = Lab::new(policy(Action::Observe));
    lab.record(45 * MINUTE, |_| 0);
    assert_eq!(lab.log(), [LogKind::WouldNotice, LogKind::WouldEnd]);
    let log = lab.writer.as_ref().unwrap().database().policy_log(forever()).unwrap();
    let first = &log[0];
    assert_eq!((first.pid, first.start_ticks, first.uid), (Some(101), Some(5001), Some(1002)));
    assert_eq!(first.program.as_deref(), Some("python"));
    assert!(first.evidence.contains("\"cards\":[\"GPU-0\"]"), "{}", first.evidence);
    let signs = lab.writer.as_ref().unwrap().database().signs(forever()).unwrap();
    let signs: Vec<_> = signs.iter().map(|sign| sign.sign).collect();
    assert_eq!(signs, [StoredSign::Unknown, StoredSign::Quiet], "CPU needs two readings");
}

/// Trap: idle counts and delivered notices survive a restart.
#[test]
fn idle_counts_and_delivered_notices_survive_a_restart() {
    for is_clean in [true, false] {
        let mut lab = Lab::new(policy(Action::Observe));
        lab.record(15 * MINUTE, |_| 0);
        assert_eq!(lab.log(), [LogKind::WouldNotice]);
        lab.restart(is_clean, MINUTE / 2);
        lab.record(48 * MINUTE, |_| 0);
        assert_eq!(lab.log(), [LogKind::WouldNotice, LogKind::WouldEnd], "{is_clean}");
    }
    // Too long a pause: all begins again.
    let mut lab = Lab::new(policy(Action::Observe));
    lab.record(15 * MINUTE, |_| 0);
    lab.restart(true, 5 * MINUTE);
    lab.record(25 * MINUTE, |_| 0);
    assert_eq!(lab.log(), [LogKind::WouldNotice, LogKind::Relieved]);
}

/// A tick that is not stored changes nothing: its time counts with a later one, once.
#[test]
fn time_of_a_failed_tick_counts_later() {
    let idle = |failing: bool| {
        let mut lab = Lab::new(policy(Action::Observe));
        lab.record(3 * MINUTE, |_| 0);
        lab.is_full = failing;
        lab.record(6 * MINUTE, |_| 0);
        lab.is_full = false;
        lab.record(9 * MINUTE, |_| 0);
        lab.idle_ms()
    };
    assert_eq!(idle(true), idle(false));
    assert!(idle(true) > 7 * MINUTE);
}

/// Work is not final yet when the end is due: it counts at once.
#[test]
fn work_after_the_final_time_stops_an_end() {
    let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
    let end = Rule { notices: Vec::new(), idle_for: minutes(10), ..super::rule(Action::End) };
    let policy = super::policy(vec![end]);
    let due = {
        let mut lab = Lab::new(policy.clone());
        let mut until = 10 * MINUTE;
        while !lab.log().contains(&LogKind::EndBegun) {
            until += POLL_MS;
            lab.record(until, |_| 0);
        }
        lab.now - START - POLL_MS
    };
    // A single sample just before that tick.
    let mut lab = Lab::new(policy);
    let sample = move |at: i64| if (due - 1000..due - 833).contains(&at) { 20 } else { 0 };
    lab.record(due + POLL_MS, sample);
    assert_eq!(lab.log(), [LogKind::EndBegun, LogKind::NotEnded]);
    assert!(!lab.began_an_end.load(Ordering::Relaxed));
    assert_eq!(lab.runner.engine().saved().watches[0].1.idle_millis, 0);
    // The count begins again with that sample.
    lab.record(due + 9 * MINUTE, sample);
    assert_eq!(lab.log().len(), 2);
    assert!(lab.idle_ms() > 7 * MINUTE);
}
