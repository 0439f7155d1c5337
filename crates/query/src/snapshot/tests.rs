//! Idle times of holders, live and as the recorder last saw them.

use std::sync::Arc;

use gua_core::process::ProcessId;
use gua_core::snapshot::{
    HistoryState, HolderNow, IdleCertainty, IdleDoubt, IdleNow, IdleSource, Snapshot,
    SnapshotSource,
};
use gua_core::span::{HolderId, HolderTime, Integral, Work};
use gua_core::units::{Bytes, UnixMillis};
use gua_core::{Period, Reason, Session, Span, State};
use gua_store::Tick;
use jiff::Timestamp;

use super::fixtures::{
    BOOT, HOUR, LAST_TICK, MINUTE, NOW, Record, SECOND, UNTIL, card, card_of, facts, process_id,
    session, snapshot, vitals,
};
use super::{IdleWatch, add_idle_times, add_no_history, recorded};

const MUCH: u64 = 8_000;

fn idle_holder() -> Snapshot {
    snapshot(vec![card(0, 0.0, &[(200, "bob", MUCH, 0.0)])])
}

/// Bob sleeps beside carol, who works.
fn sleeper() -> Snapshot {
    snapshot(vec![card(0, 70.0, &[(200, "bob", MUCH, 0.0), (300, "carol", MUCH, 70.0)])])
}

/// Adds what the record says, and returns the first holder.
fn joined(mut snapshot: Snapshot, record: &Record, now: UnixMillis) -> (Snapshot, HolderNow) {
    add_idle_times(&mut snapshot, &record.open(), BOOT, now).unwrap();
    let holder = snapshot.cards[0].holders[0].clone();
    (snapshot, holder)
}

fn hours(idle: &IdleNow) -> f64 {
    (idle.idle_seconds.unwrap() / 36.0).round() / 100.0
}

#[test]
fn begin_that_was_seen_is_exact() {
    let mut record = Record::begin();
    record.tick(&[session(0, 200, 3 * HOUR, true)], &[]);
    let (snapshot, bob) = joined(idle_holder(), &record, NOW);
    let history = snapshot.history.unwrap();
    assert_eq!(history.state, HistoryState::Recording);
    assert_eq!(history.recorded_until, Some(UNTIL.into()));
    let IdleNow { idle_certainty, idle_source, idle_doubt, .. } = bob.idle;
    assert_eq!(
        (idle_certainty, idle_source, idle_doubt),
        (Some(IdleCertainty::Exact), Some(IdleSource::Record), None)
    );
    assert_eq!(bob.idle.idle_seconds, Some(3.0 * 3600.0 + 25.0), "up to now");
}

/// A session that is too short to be shown still says since when.
#[test]
fn short_session_says_since_when() {
    let mut record = Record::begin();
    record.tick(&[session(0, 200, MINUTE, true)], &[]);
    assert_eq!(joined(idle_holder(), &record, NOW).1.idle.idle_seconds, Some(85.0));
}

/// Trap: "at least" where the begin was not seen.
#[test]
fn begin_that_was_not_seen_makes_it_at_least() {
    let mut record = Record::begin();
    record.tick(&[session(0, 200, 30 * HOUR, false)], &[]);
    let idle = joined(idle_holder(), &record, NOW).1.idle;
    assert_eq!(idle.idle_certainty, Some(IdleCertainty::AtLeast));
    assert_eq!(idle.idle_doubt, Some(IdleDoubt::BeginningNotRecorded));
    assert_eq!(hours(&idle), 30.01);
}

/// Nobody knows what happened since: what is recorded is shown, and that it ends.
#[test]
fn recorder_that_ended_makes_it_at_least() {
    let mut record = Record::begin();
    record.tick(&[session(0, 200, 4 * HOUR, true)], &[]);
    let later = UnixMillis(NOW.0 + 2 * HOUR);
    let is_at_least = |record: &Record| {
        let mut snapshot = idle_holder();
        snapshot.time = later.into();
        let (snapshot, bob) = joined(snapshot, record, later);
        assert_eq!(snapshot.history.unwrap().state, HistoryState::Ended);
        assert_eq!(bob.idle.idle_doubt, Some(IdleDoubt::RecorderNotRunning));
        assert_eq!((hours(&bob.idle), bob.idle.idle_recorded_until), (4.0, Some(UNTIL.into())));
    };
    is_at_least(&record);
    let Record { path, writer, folder } = record;
    let database = writer.end("stopped").unwrap();
    let mut snapshot = idle_holder();
    add_idle_times(&mut snapshot, &database, BOOT, NOW).unwrap();
    assert_eq!(
        snapshot.history.as_ref().unwrap().state,
        HistoryState::Ended,
        "{path:?} in {folder:?}"
    );
    assert_eq!(hours(&snapshot.cards[0].holders[0].idle), 4.0);
}

/// Trap: a process is (pid, start time, boot, identity): after setuid it is another one.
#[test]
fn pid_of_another_process_has_no_idle_time() {
    let ProcessId { pid, .. } = process_id(200);
    for other in [
        ProcessId { pid, start_ticks: Some(7), uid: Some(1000) },
        ProcessId { pid, start_ticks: Some(1200), uid: Some(0) },
    ] {
        let mut record = Record::begin();
        record.tick(&[Session { process: other, ..session(0, 200, HOUR, true) }], &[]);
        let idle = joined(idle_holder(), &record, NOW).1.idle;
        assert_eq!(idle, IdleNow::doubtful(IdleDoubt::NotRecorded), "{other:?}");
    }
    let mut record = Record::begin();
    record.tick(&[session(0, 200, HOUR, true)], &[]);
    let mut snapshot = idle_holder();
    add_idle_times(&mut snapshot, &record.open(), "boot-2", NOW).unwrap();
    assert_eq!(snapshot.cards[0].holders[0].idle.idle_doubt, Some(IdleDoubt::NotRecorded));
}

/// A process without a start time may have had the pid after another one.
#[test]
fn session_without_a_start_time_is_at_least() {
    let gone = ProcessId { start_ticks: None, ..process_id(200) };
    let of = |session: Session| {
        let mut record = Record::begin();
        record.tick(&[session], &[]);
        let mut snapshot = idle_holder();
        snapshot.cards[0].holders[0].start_ticks = None;
        joined(snapshot, &record, NOW).1.idle
    };
    let idle = of(Session { process: gone, ..session(0, 200, HOUR, true) });
    assert_eq!(idle.idle_certainty, Some(IdleCertainty::AtLeast));
    assert_eq!(idle.idle_doubt, Some(IdleDoubt::BeginningNotRecorded));
    assert_eq!(of(session(0, 200, HOUR, true)).idle_since, None, "another's, as far as is known");
}

#[test]
fn session_of_another_card_is_not_that_of_this_one() {
    let mut record = Record::begin();
    record.tick(&[session(1, 200, HOUR, true)], &[]);
    assert_eq!(joined(idle_holder(), &record, NOW).1.idle.idle_since, None);
}

#[test]
fn without_a_record_it_is_idle_now() {
    let mut snapshot = idle_holder();
    add_no_history(&mut snapshot, None, "no database".to_owned());
    let idle = snapshot.cards[0].holders[0].idle;
    assert_eq!(idle, IdleNow::doubtful(IdleDoubt::NoHistory));
    assert_eq!(snapshot.history.unwrap().reason.as_deref(), Some("no database"));
}

#[test]
fn holder_that_works_has_no_idle_time() {
    let mut record = Record::begin();
    record.tick(&[session(0, 200, HOUR, true)], &[]);
    let busy = snapshot(vec![card(0, 50.0, &[(200, "bob", MUCH, 50.0)])]);
    let bob = joined(busy, &record, NOW).1;
    assert_eq!((bob.state, bob.idle), (State::Active, IdleNow::default()));
}

#[test]
fn sleeper_on_a_busy_card_is_idle_by_its_session() {
    let mut record = Record::begin();
    record.tick(&[session(0, 200, 3 * HOUR, true)], &[]);
    let (snapshot, bob) = joined(sleeper(), &record, NOW);
    assert_eq!((bob.state, hours(&bob.idle)), (State::IdleHeld, 3.01));
    assert_eq!(snapshot.cards[0].state, State::Active);
    assert_eq!(snapshot.cards[0].holders[1].state, State::Active);
}

/// A moment is short: who worked at the last tick is not called idle for it.
#[test]
fn holder_that_worked_at_the_last_tick_is_not_idle_yet() {
    let seen = card(0, 80.0, &[(200, "bob", MUCH, 10.0), (300, "carol", MUCH, 70.0)]);
    let mut record = Record::begin();
    record.tick(&[], &[seen]);
    let bob = joined(sleeper(), &record, NOW).1;
    assert_eq!((bob.state, bob.work), (State::Active, Work::Working));
    let mut record = Record::begin();
    record.tick(&[], &[]);
    let bob = joined(sleeper(), &record, NOW).1;
    let undecided = State::Unknown(Reason::FirstLook);
    assert_eq!((bob.state, bob.work), (undecided, Work::Unknown), "it was not seen");
    let seen = card(0, 80.0, &[(200, "bob", MUCH, 10.0), (300, "carol", MUCH, 70.0)]);
    let mut record = Record::begin();
    record.tick(&[], &[seen]);
    let ended = UnixMillis(NOW.0 + HOUR);
    let bob = joined(sleeper(), &record, ended).1;
    assert_eq!((bob.state, bob.work), (State::IdleHeld, Work::Idle), "nobody records");
    let mut none = sleeper();
    add_no_history(&mut none, None, String::new());
    assert_eq!(none.cards[0].holders[0].state, State::IdleHeld);
}

/// A process that is newer than the record is judged by its own samples.
#[test]
fn new_process_is_judged_by_its_own_samples() {
    let mut record = Record::begin();
    record.tick(&[], &[card(0, 80.0, &[(300, "carol", MUCH, 70.0)])]);
    let mut snapshot = sleeper();
    snapshot.cards[0].holders[0].started = Some(LAST_TICK.into());
    let bob = joined(snapshot, &record, NOW).1;
    assert_eq!(bob.state, State::IdleHeld);
    assert_eq!(bob.idle, IdleNow::doubtful(IdleDoubt::NotRecorded));
}

/// Work after the time up to which the record is final ends what the record says.
#[test]
fn work_since_the_record_counts() {
    let mut seen = card(0, 0.0, &[(200, "bob", MUCH, 0.0)]);
    let since = Timestamp::from(UnixMillis(NOW.0 - 10 * SECOND));
    seen.holders[0].idle = IdleNow::since(since, LAST_TICK.into(), IdleSource::Samples);
    let mut record = Record::begin();
    record.tick(&[session(0, 200, 3 * HOUR, true)], &[seen]);
    let idle = joined(idle_holder(), &record, NOW).1.idle;
    assert_eq!((idle.idle_seconds, idle.idle_source), (Some(10.0), Some(IdleSource::Samples)));
    let recorded = recorded(&record.open(), NOW).unwrap().unwrap();
    assert_eq!(recorded.cards[0].holders[0].idle.idle_seconds, Some(5.0), "up to the last tick");
}

#[test]
fn recorded_snapshot_is_what_the_recorder_last_saw() {
    let mut record = Record::begin();
    assert!(recorded(&record.open(), NOW).unwrap().is_none());
    let cards = sleeper().cards;
    record.tick(&[session(0, 200, 3 * HOUR, true)], &cards);
    let snapshot = recorded(&record.open(), NOW).unwrap().unwrap();
    assert_eq!((snapshot.source, snapshot.time), (SnapshotSource::Recorded, LAST_TICK.into()));
    assert_eq!(snapshot.host.host.as_deref(), Some("four"));
    assert_eq!(snapshot.host.driver_version.as_deref(), Some("550.54"));
    assert_eq!(snapshot.history.as_ref().unwrap().state, HistoryState::Recording);
    let bob = &snapshot.cards[0].holders[0];
    assert_eq!((bob.user.as_deref(), hours(&bob.idle)), (Some("bob"), 3.01));
    let mut without_idle = snapshot.cards;
    without_idle[0].holders[0].idle = IdleNow::default();
    assert_eq!(without_idle, cards);
}

#[test]
fn unreadable_card_of_the_record_is_an_error() {
    let mut record = Record::begin();
    let latest = gua_store::Latest { card: Some(Arc::new(facts(0))), body: "{}".to_owned() };
    let tick = Tick { latest: Some(&[latest]), ..Tick::new(LAST_TICK, UNTIL) };
    record.writer.tick(&tick).unwrap();
    let error = recorded(&record.open(), NOW).unwrap_err().to_string();
    assert!(error.starts_with("cannot read what the recorder last saw of a card: "), "{error}");
}

fn unlisted_span(from: i64, to: i64, work: Work) -> Span {
    let memory = Integral { sum: 8_000.0, known_ms: to - from };
    let state = if work == Work::Working { State::Active } else { State::IdleHeld };
    Span {
        card: Arc::new(facts(0)),
        period: Period::new(UnixMillis(from), UnixMillis(to)),
        state,
        holders: vec![HolderTime {
            holder: HolderId::Unlisted,
            work,
            share_ms: to - from,
            memory,
            peak: Some(Bytes::from_mib(8_000)),
            energy: 0.0,
        }],
        busy: Integral { sum: 0.0, known_ms: to - from },
        memory,
        energy: Integral::default(),
        energy_estimated_ms: 0,
    }
}

#[test]
fn unlisted_memory_is_idle_since_the_newest_work() {
    let mut record = Record::begin();
    let quarter = UnixMillis(NOW.0 - 15 * MINUTE);
    let closed = [
        unlisted_span(quarter.0 - 2 * MINUTE, quarter.0 - MINUTE, Work::Working),
        unlisted_span(quarter.0 - MINUTE, quarter.0, Work::Idle),
        unlisted_span(quarter.0, UNTIL.0, Work::Idle),
    ];
    record.writer.tick(&Tick { closed: &closed, ..Tick::new(LAST_TICK, UNTIL) }).unwrap();
    let mut snapshot = snapshot(vec![card_of(facts(0), &vitals(0.0, &[], 8_000), &[])]);
    add_idle_times(&mut snapshot, &record.open(), BOOT, NOW).unwrap();
    let idle = snapshot.cards[0].unlisted.as_ref().unwrap().idle;
    assert_eq!((idle.idle_seconds, idle.idle_doubt), (Some(16.0 * 60.0), None));
}

#[test]
fn view_that_stays_open_knows_since_when() {
    let mut watch = IdleWatch::default();
    let mut look = |mut snapshot: Snapshot, second: i64| {
        snapshot.time = Timestamp::from(UnixMillis(NOW.0 + second * SECOND));
        add_no_history(&mut snapshot, None, String::new());
        watch.add(&mut snapshot);
        snapshot.cards[0].holders[0].idle
    };
    let busy = || snapshot(vec![card(0, 50.0, &[(200, "bob", MUCH, 50.0)])]);
    assert_eq!(look(idle_holder(), 0), IdleNow::doubtful(IdleDoubt::NoHistory));
    let idle = look(idle_holder(), 10);
    assert_eq!((idle.idle_seconds, idle.idle_doubt), (Some(10.0), Some(IdleDoubt::NoHistory)));
    assert_eq!(idle.idle_certainty, Some(IdleCertainty::AtLeast));
    assert_eq!(look(busy(), 20), IdleNow::default());
    look(idle_holder(), 30);
    let idle = look(idle_holder(), 40);
    assert_eq!((idle.idle_seconds, idle.idle_certainty), (Some(10.0), Some(IdleCertainty::Exact)));
}

#[test]
fn process_that_starts_while_a_view_is_open_has_an_exact_idle_time() {
    let mut watch = IdleWatch::default();
    let mut look = |started: i64, second: i64| {
        let mut snapshot = idle_holder();
        snapshot.time = Timestamp::from(UnixMillis(NOW.0 + second * SECOND));
        let holder = &mut snapshot.cards[0].holders[0];
        holder.started = Some(UnixMillis(NOW.0 + started * SECOND).into());
        holder.start_ticks = Some(started.unsigned_abs());
        add_no_history(&mut snapshot, None, String::new());
        watch.add(&mut snapshot);
        snapshot.cards[0].holders[0].idle
    };
    look(1, 5);
    look(7, 10);
    let idle = look(7, 20);
    assert_eq!((idle.idle_seconds, idle.idle_certainty), (Some(10.0), Some(IdleCertainty::Exact)));
}
