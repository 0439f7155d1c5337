//! Sessions in a window.

use gua_core::State;
use gua_core::identity::{Job, Source, Told, Who};
use gua_core::span::GapReason;
use gua_core::units::UnixMillis;
use gua_query::usage::{Usage, UsageRequest};
use gua_store::{Database, Retention};

use crate::lab::*;

/// Bob holds a card for 4 hours; beside him, alice works for the first of them.
fn shared() -> Lab {
    let lab = Lab::new();
    let job = Some(Told { value: Job { id: "4711".into(), step: None }, source: Source::Cgroup });
    let who = Who { job, script: Some("fit.py".into()), ..Who::default() };
    let alice = holder(100, "alice", 30_000).running_for(who);
    let bob = holder(200, "bob", 10_000);
    let mut recording = lab.begin(0);
    recording.record(HOUR, &[scene(0, State::Active, &[alice.clone().working(), bob.clone()])]);
    recording.record(3 * HOUR, &[scene(0, State::IdleHeld, &[alice, bob])]);
    lab
}

#[test]
fn session_within_the_window_has_its_own_sums() {
    let usage = shared().usage(&UsageRequest { viewer_uid: 1002, ..request(-HOUR, 4 * HOUR) });
    let [bob, alice] = usage.sessions.as_slice() else { panic!("{:?}", usage.sessions) };
    assert_eq!((bob.pid, bob.open, bob.from_seen, bob.to_seen), (200, Some(true), false, false));
    assert_eq!((bob.idle_seconds, bob.busy_card_seconds), (4.0 * 3600.0, 3600.0));
    assert_eq!(bob.idle_held_gpu_hours, 0.75, "a quarter of 3 hours");
    assert_eq!((bob.peak_memory_bytes, bob.bare_context), (Some(10_000 << 20), Some(false)));
    assert_eq!((bob.card_index, bob.card_uuid.as_deref()), (Some(0), Some("GPU-0")));
    assert_eq!(bob.from.to_string(), "2024-10-04T00:00:00Z");
    assert_eq!(bob.ask.as_deref(), Some("gua who --user bob"));
    assert_eq!(bob.end.as_deref(), Some("kill 200"));
    assert_eq!((alice.idle_seconds, alice.from_seen), (3.0 * 3600.0, true));
    assert_eq!(alice.end.as_deref(), Some("scancel 4711"));
    let identity = alice.identity.as_ref().unwrap();
    assert_eq!(identity.user.as_ref().unwrap().value.name.as_deref(), Some("alice"));
    assert_eq!(identity.script.as_deref(), Some("fit.py"));
}

#[test]
fn session_that_the_window_cuts_has_the_sums_of_its_rows_there() {
    let lab = shared();
    let usage = lab.usage(&UsageRequest {
        now: UnixMillis(START + 4 * HOUR),
        ..request(HOUR / 2, 2 * HOUR + 7)
    });
    let sessions: Vec<_> = usage
        .sessions
        .iter()
        .map(|it| (it.pid, it.open, it.idle_seconds, it.busy_card_seconds, it.idle_held_gpu_hours))
        .collect();
    let hours = |part: f64| (part * (HOUR + 7) as f64 / HOUR as f64 * 1e9).round() / 1e9;
    assert_eq!(
        sessions,
        [(200, None, 5400.007, 1800.0, hours(0.25)), (100, None, 3600.007, 0.0, hours(0.75)),]
    );
    assert_eq!(usage.sessions[0].to.to_string(), "2024-10-04T02:00:00.007Z");
    assert!(usage.sessions.iter().all(|it| it.end.is_none() && it.ask.is_none() && !it.to_seen));
    // Bob's began before the window, alice's in it.
    let begins: Vec<_> =
        usage.sessions.iter().map(|it| (it.from.to_string(), it.from_seen)).collect();
    assert_eq!(
        begins,
        [("2024-10-04T00:30:00Z".to_owned(), false), ("2024-10-04T01:00:00Z".to_owned(), true)]
    );
    // The two windows have together what the session has.
    let [early, late] = [(0, 2 * HOUR), (2 * HOUR, 4 * HOUR)].map(|(from, to)| {
        let request = UsageRequest { now: UnixMillis(START + 4 * HOUR), ..request(from, to) };
        let usage = lab.usage(&request);
        usage.sessions.iter().map(|it| it.idle_held_gpu_hours).sum::<f64>()
    });
    assert!((early + late - 3.0).abs() < 1e-6);
}

/// Of an hour only its quarters are kept: bob is idle for 7 minutes, with a gap of one, and works before and
/// after. A window begins after 4 of them.
#[test]
fn parts_of_a_session_add_up_though_only_sums_of_rows_are_kept() {
    let lab = Lab::new();
    let bob = [holder(200, "bob", 10_000)];
    let work = [scene(0, State::Active, &[bob[0].clone().working()])];
    let idle = [scene(0, State::IdleHeld, &bob)];
    let mut recording = lab.begin(0);
    recording.record(11 * MINUTE, &work).record(2 * MINUTE, &idle);
    recording.miss(MINUTE, GapReason::Late).record(4 * MINUTE, &idle);
    recording.record(42 * MINUTE, &work);
    recording.end("stopped");
    let quarters = Retention { exact_ms: 0, ..Retention::default() };
    let mut file = Database::open_to_prune(&lab.path()).unwrap();
    file.prune_now(&quarters, UnixMillis(START + HOUR), usize::MAX).unwrap();
    let minutes = [(0, 60), (0, 15), (15, 60), (13, 14)].map(|(from, to)| {
        let usage = lab.usage(&request(from * MINUTE, to * MINUTE));
        usage.sessions.iter().map(|it| it.idle_seconds / 60.0).collect::<Vec<_>>()
    });
    assert_eq!(minutes, [[6.0], [3.0], [3.0], [0.0]]);
}

#[test]
fn session_that_ended_is_not_open() {
    let lab = Lab::new();
    let bob = holder(200, "bob", 10_000);
    let mut recording = lab.begin(0);
    recording.record(HOUR, &[scene(0, State::IdleHeld, std::slice::from_ref(&bob))]);
    recording.record(HOUR, &[scene(0, State::Active, &[bob.clone().working()])]);
    recording.record(HOUR, &[scene(0, State::IdleHeld, &[bob])]);
    recording.end("stopped");
    let usage =
        lab.usage(&UsageRequest { now: UnixMillis(START + 5 * HOUR), ..request(0, 5 * HOUR) });
    let ends: Vec<_> = usage.sessions.iter().map(|it| (it.open, it.to_seen)).collect();
    // The second one was on when recording ended.
    assert_eq!(ends, [(Some(false), true), (Some(false), false)]);
    assert!(usage.sessions.iter().all(|it| it.end.is_none()));
}

#[test]
fn largest_sessions_are_listed_even_if_few_sessions_are_asked_for() {
    let lab = Lab::new();
    let scenes: Vec<_> = (0..6)
        .map(|card| scene(card, State::IdleHeld, &[holder(100 + card, "bob", 9_000)]))
        .collect();
    let mut recording = lab.begin(0);
    for count in (1..=6).rev() {
        recording.record(HOUR, &scenes[..count]);
        // All cards go on to be seen.
    }
    recording.end("stopped");
    let all = lab.report(0, 6 * HOUR);
    assert_eq!(all.sessions.len(), 6);
    let few = lab.usage(&UsageRequest { most_sessions: Some(1), ..request(0, 6 * HOUR) });
    assert_eq!((few.sessions.len(), few.sessions_left_out), (3, 3));
    let largest = |usage: Usage| usage.verdict.unwrap().largest_sessions.unwrap();
    let [few, all] = [few, all].map(largest);
    assert_eq!((few.sessions, few.idle_held_share), (vec![0, 1, 2], 0.714_286));
    assert_eq!(all.idle_held_share, 0.714_286);
}

#[test]
fn person_is_shown_how_to_end_and_not_whom_to_ask() {
    let user = Some("bob".to_owned());
    let usage = shared().usage(&UsageRequest { user, ..request(0, 4 * HOUR) });
    let [bob] = usage.sessions.as_slice() else { panic!("{:?}", usage.sessions) };
    assert_eq!((bob.ask.as_deref(), bob.end.as_deref()), (None, Some("kill 200")));
}
