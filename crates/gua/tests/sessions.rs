//! Holding sessions: stretches of a history in which a process held a card idle.

use std::path::PathBuf;

use gua::classify::Kib;
use gua::ledger::{Beginning, Period};
use gua::store::{Ending, History, Session};
use probe::units::UnixMillis;
use tempfile::TempDir;

use crate::report::record::{Doing, MINUTE, Recording, card};

/// Ten minutes before a full hour.
const START: i64 = 1_794_182_400_000 - 10 * MINUTE;
const HOUR: i64 = 60 * MINUTE;
const GIB: u64 = 1 << 20;

struct Lab {
    dir: TempDir,
}

impl Lab {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("gua.db")
    }

    fn begin(&self, at: i64) -> Recording {
        Recording::begin(&self.path(), START + at, MINUTE / 2)
    }

    /// The sessions of so many minutes.
    fn sessions(&self, from: i64, to: i64) -> Vec<Session> {
        let at = |minutes: i64| UnixMillis(START + minutes * MINUTE);
        let history = History::open(&self.path()).unwrap();
        history.sessions(Period::new(at(from), at(to))).unwrap()
    }
}

/// Who, from and to in minutes, minutes idle and on a busy card, whether it goes on, and whether
/// its beginning was seen.
type Told = (String, i64, i64, i64, i64, bool, bool);

fn told(session: &Session) -> Told {
    let minutes = |at: UnixMillis| (at.0 - START) / MINUTE;
    let spell = &session.spell;
    (
        session.holder.identity.user.as_deref().unwrap().to_owned(),
        minutes(spell.from),
        minutes(spell.to),
        spell.idle_millis / MINUTE,
        spell.busy_millis / MINUTE,
        session.is_open,
        spell.beginning == Beginning::Seen,
    )
}

fn all(sessions: &[Session]) -> Vec<Told> {
    sessions.iter().map(told).collect()
}

/// A training job, and a notebook that sleeps beside it.
fn shared(job_sm: f64, notebook_sm: f64) -> Vec<Doing> {
    let busy = card("A100", job_sm + notebook_sm);
    let busy = busy.held_at_work("job", (100, 1), 40 << 10, job_sm);
    vec![busy.held_at_work("bob", (200, 2), 8 << 10, notebook_sm)]
}

/// Twenty minutes of work, three hours of sleep beside the job, one after it.
#[test]
fn a_notebook_that_sleeps_beside_a_job_is_in_one_session() {
    let lab = Lab::new();
    let mut recording = lab.begin(0);
    let minute = |at: i64| (at - START) / MINUTE;
    recording.until(START + 20 * MINUTE, 1, |_| shared(60.0, 30.0));
    recording.until(START + 260 * MINUTE, 1, |at| {
        shared(if minute(at) < 200 { 60.0 } else { 0.0 }, 0.0)
    });
    let open = lab.sessions(0, 300);
    let expected = [
        ("bob".to_owned(), 20, 260, 240, 180, true, true),
        ("job".to_owned(), 200, 260, 60, 0, true, true),
    ];
    assert_eq!(all(&open), expected);
    assert_eq!(open[0].spell.peak, Some(Kib(8 * GIB)));
    assert!(!open[0].is_bare_context(Kib(600 << 10)));
    assert_eq!((open[0].holder.pid, open[0].holder.program.as_deref()), (200, Some("python")));
    recording.until(START + 270 * MINUTE, 1, |_| shared(0.0, 50.0));
    recording.end(Ending::Stopped);
    let ended = lab.sessions(0, 300);
    assert_eq!(told(&ended[0]), ("bob".to_owned(), 20, 260, 240, 180, false, true));
}

/// A window in the middle of it does not make it shorter.
#[test]
fn one_that_began_before_the_window_is_told_from_its_beginning() {
    let lab = Lab::new();
    let mut recording = lab.begin(0);
    recording.until(START + 30 * MINUTE, 1, |_| shared(60.0, 30.0));
    recording.until(START + 40 * HOUR, 1, |_| shared(60.0, 0.0));
    let sessions = lab.sessions(35 * 60, 50 * 60);
    assert_eq!(
        all(&sessions),
        [("bob".to_owned(), 30, 40 * 60, 40 * 60 - 30, 40 * 60 - 30, true, true)]
    );
    // What came after a window is not in it.
    let earlier = lab.sessions(0, 60);
    assert_eq!(all(&earlier), [("bob".to_owned(), 30, 60, 30, 30, false, true)]);
}

#[test]
fn a_short_gap_is_bridged_and_a_long_one_is_not() {
    let lab = Lab::new();
    let mut recording = lab.begin(0);
    recording.until(START + 60 * MINUTE, 1, |_| shared(0.0, 0.0));
    recording.skip(2 * MINUTE);
    recording.until(START + 90 * MINUTE, 1, |_| shared(0.0, 0.0));
    recording.end(Ending::Stopped);
    let mut recording = lab.begin(100 * MINUTE);
    recording.until(START + 120 * MINUTE, 1, |_| shared(0.0, 0.0));
    recording.end(Ending::Stopped);
    let bob: Vec<_> =
        all(&lab.sessions(0, 200)).into_iter().filter(|told| told.0 == "bob").collect();
    let name = || "bob".to_owned();
    assert_eq!(bob, [(name(), 0, 90, 88, 0, false, false), (name(), 100, 120, 20, 0, true, false)]);
}

/// Trap: the next one with that pid is another.
#[test]
fn a_pid_that_is_used_again_is_another_session() {
    let lab = Lab::new();
    let mut recording = lab.begin(0);
    let held =
        |user: &str, start| vec![card("A100", 0.0).held_at_work(user, (200, start), 500, 0.0)];
    recording.until(START + 30 * MINUTE, 1, |_| held("ann", 1));
    recording.until(START + 50 * MINUTE, 1, |_| held("bob", 2));
    let sessions = lab.sessions(0, 100);
    let expected = [
        ("ann".to_owned(), 0, 30, 30, 0, false, false),
        ("bob".to_owned(), 30, 50, 20, 0, true, true),
    ];
    assert_eq!(all(&sessions), expected);
    assert!(sessions.iter().all(|session| session.is_bare_context(Kib(600 << 10))));
    assert!(sessions.iter().all(|session| session.spell.held_more_than(Kib(100 << 10))));
}

/// What holds next to nothing is in a session only where somebody keeps the card from others.
#[test]
fn how_much_was_held_is_told() {
    let lab = Lab::new();
    let mut recording = lab.begin(0);
    recording.until(START + 30 * MINUTE, 1, |_| {
        vec![card("A100", 0.0).held_at_work("ann", (1, 1), 50, 0.0)]
    });
    assert_eq!(lab.sessions(0, 100), []);
    recording.until(START + 60 * MINUTE, 1, |_| {
        let held = card("A100", 0.0).held_at_work("ann", (1, 1), 50, 0.0);
        vec![held.held_at_work("bob", (2, 2), 9000, 0.0)]
    });
    let sessions = lab.sessions(0, 100);
    let much: Vec<_> = sessions
        .iter()
        .filter(|session| session.spell.held_more_than(Kib(100 << 10)))
        .map(told)
        .collect();
    assert_eq!(much, [("bob".to_owned(), 30, 60, 30, 0, true, true)]);
}
