//! Holding sessions: stretches of a history in which a process held a card without using it.

use std::path::PathBuf;

use gua_core::Period;
use gua_core::units::UnixMillis;
use gua_query::usage::{Session, UsageRequest, usage};
use gua_store::Database;
use jiff::Timestamp;
use tempfile::TempDir;

use crate::history::{CardUse, MINUTE, Recording, card};

/// Ten minutes before a full hour.
const START: i64 = 1_794_182_400_000 - 10 * MINUTE;
const HOUR: i64 = 60 * MINUTE;

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

    /// Returns the sessions from one minute to another, as they were known then.
    fn sessions(&self, from: i64, to: i64) -> Vec<Session> {
        let at = |minutes: i64| UnixMillis(START + minutes * MINUTE);
        let request = UsageRequest {
            is_recording: Some(true),
            ..UsageRequest::new(Period::new(at(from), at(to)), at(to))
        };
        usage(&Database::open(&self.path()).unwrap(), &request).unwrap().sessions
    }
}

/// Who, from and to in minutes, minutes idle and beside work, whether it goes on, and whether its
/// beginning was seen.
type Figures = (String, i64, i64, i64, i64, Option<bool>, bool);

fn figures(session: &Session) -> Figures {
    let minutes = |at: Timestamp| (at.as_millisecond() - START) / MINUTE;
    #[expect(clippy::cast_possible_truncation, reason = "minutes")]
    let length = |seconds: f64| (seconds / 60.0).round() as i64;
    (
        session.user.clone().unwrap(),
        minutes(session.from),
        minutes(session.to),
        length(session.idle_seconds),
        length(session.busy_card_seconds),
        session.open,
        session.from_seen,
    )
}

fn all(sessions: &[Session]) -> Vec<Figures> {
    sessions.iter().map(figures).collect()
}

/// A training job, and a notebook that sleeps beside it.
fn shared(job_sm: f64, notebook_sm: f64) -> Vec<CardUse> {
    let busy = card("A100", job_sm + notebook_sm);
    let busy = busy.held_at_work("job", (100, 1), 40 << 10, job_sm);
    vec![busy.held_at_work("bob", (200, 2), 8 << 10, notebook_sm)]
}

/// Twenty minutes of work, three hours of sleep beside the job, one after it.
#[test]
fn notebook_that_sleeps_beside_a_job_is_in_one_session() {
    let lab = Lab::new();
    let mut recording = lab.begin(0);
    let minute = |at: i64| (at - START) / MINUTE;
    recording.until(START + 20 * MINUTE, 1, |_| shared(60.0, 30.0));
    recording.until(START + 260 * MINUTE, 1, |at| {
        shared(if minute(at) < 200 { 60.0 } else { 0.0 }, 0.0)
    });
    let open = lab.sessions(0, 260);
    let expected = [
        ("bob".to_owned(), 20, 260, 240, 180, Some(true), true),
        ("job".to_owned(), 200, 260, 60, 0, Some(true), true),
    ];
    assert_eq!(all(&open), expected);
    assert_eq!(open[0].peak_memory_bytes, Some(8 << 30));
    assert_eq!(open[0].bare_context, Some(false));
    assert_eq!((open[0].pid, open[0].program.as_deref()), (200, Some("python")));
    recording.until(START + 270 * MINUTE, 1, |_| shared(0.0, 50.0));
    recording.end("stopped");
    let ended = lab.sessions(0, 300);
    let bob = ended.iter().find(|session| session.user.as_deref() == Some("bob")).unwrap();
    assert_eq!(figures(bob), ("bob".to_owned(), 20, 260, 240, 180, Some(false), true));
}

/// What a report says of a session is within its window.
#[test]
fn session_is_cut_to_the_window() {
    let lab = Lab::new();
    let mut recording = lab.begin(0);
    recording.until(START + 30 * MINUTE, 1, |_| shared(60.0, 30.0));
    recording.until(START + 40 * HOUR, 1, |_| shared(60.0, 0.0));
    let sessions = lab.sessions(35 * 60, 40 * 60);
    assert_eq!(
        all(&sessions),
        [("bob".to_owned(), 35 * 60, 40 * 60, 5 * 60, 5 * 60, Some(true), false)]
    );
    // What came after a window is not in it.
    let earlier = lab.sessions(0, 60);
    assert_eq!(all(&earlier), [("bob".to_owned(), 30, 60, 30, 30, None, true)]);
}

#[test]
fn short_gap_is_bridged_and_a_long_one_is_not() {
    let lab = Lab::new();
    let mut recording = lab.begin(0);
    recording.until(START + 60 * MINUTE, 1, |_| shared(0.0, 0.0));
    recording.skip(2 * MINUTE);
    recording.until(START + 90 * MINUTE, 1, |_| shared(0.0, 0.0));
    recording.end("stopped");
    let mut recording = lab.begin(100 * MINUTE);
    recording.until(START + 120 * MINUTE, 1, |_| shared(0.0, 0.0));
    recording.end("stopped");
    let sessions = all(&lab.sessions(0, 200));
    let mut bob: Vec<_> = sessions.into_iter().filter(|it| it.0 == "bob").collect();
    bob.sort_by_key(|it| it.1);
    let lengths: Vec<_> = bob.iter().map(|it| (it.1, it.2, it.3)).collect();
    assert_eq!(lengths, [(0, 90, 88), (100, 120, 20)]);
}

/// Trap: the next one with that pid is another.
#[test]
fn pid_that_is_used_again_is_another_session() {
    let lab = Lab::new();
    let mut recording = lab.begin(0);
    let held =
        |user: &str, start| vec![card("A100", 0.0).held_at_work(user, (200, start), 500, 0.0)];
    recording.until(START + 30 * MINUTE, 1, |_| held("ann", 1));
    recording.until(START + 50 * MINUTE, 1, |_| held("bob", 2));
    let sessions = lab.sessions(0, 50);
    let expected = [
        ("bob".to_owned(), 30, 50, 20, 0, Some(true), true),
        ("ann".to_owned(), 0, 30, 30, 0, Some(false), false),
    ];
    assert_eq!(all(&sessions), expected);
    assert!(sessions.iter().all(|session| session.bare_context == Some(true)));
}
