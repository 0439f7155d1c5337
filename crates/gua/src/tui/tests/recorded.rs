//! What a record adds.

use std::sync::Arc;

use gua_core::card::CardFacts;
use gua_core::process::ProcessId;
use gua_core::units::{Bytes, Percent, UnixMillis};
use gua_core::{Period, Reading, Reason, Session, SessionUpdate, Thresholds};
use gua_query::snapshot::add_idle_times;
use gua_store::{CardSample, Database, Run, Tick, Writer};
use scenario::Scenario;

use super::{COLOR, LAB, Machine, NOON, press, settings, text};
use crate::tui::past::Past;
use crate::tui::state::{Remembers, State};

const TICK: i64 = 30_000;
const MINUTE: i64 = 60_000;
const BOOT: &str = "simulated";

/// A record of so many minutes that goes on until some seconds before noon: utilization of all cards of
/// the lab in waves, and since when some processes are idle.
fn recorded(minutes: i64, until_seconds: i64) -> Writer {
    let lab = scenario::parse::from_str("test", LAB).unwrap();
    let started = UnixMillis(NOON.0 - minutes * MINUTE);
    let run = Run {
        host: "lab-a100".to_owned(),
        boot: BOOT.to_owned(),
        driver: None,
        recorder: "test".to_owned(),
        rule: "by hand".to_owned(),
        thresholds: Thresholds::default(),
        interval_ms: Some(TICK),
        started,
    };
    let mut writer = Writer::begin(Database::in_memory().unwrap(), run).unwrap();
    let end = UnixMillis(NOON.0 - until_seconds * 1000);
    let mut at = UnixMillis(started.0.max(end.0 - 90 * MINUTE));
    while at <= end {
        let samples: Vec<_> = (0..6).map(|index| sample(&lab, index, at)).collect();
        let is_last = at.0 + TICK > end.0;
        let sessions = if is_last { sessions(&lab, started, at) } else { Vec::new() };
        let tick =
            Tick { samples: &samples, sessions: &sessions, recorded_ms: TICK, ..Tick::new(at, at) };
        writer.tick(&tick).unwrap();
        at = UnixMillis(at.0 + TICK);
    }
    writer
}

fn facts(lab: &Scenario, index: u32) -> Arc<CardFacts> {
    let uuid = Reading::Known(lab.cards[index as usize].uuid.clone());
    Arc::new(CardFacts { uuid, ..CardFacts::unread(index, Reason::NotAsked) })
}

fn sample(lab: &Scenario, index: u32, at: UnixMillis) -> CardSample {
    let minutes = at.0 / MINUTE;
    #[expect(clippy::cast_precision_loss, reason = "below 100")]
    let percent = ((minutes * 7 + i64::from(index) * 20) % 100) as f64;
    CardSample {
        card: facts(lab, index),
        utilization: Some(Percent(percent)),
        memory: Some(Bytes::from_mib(8000 * u64::from(index + 1))),
        memory_total: Some(Bytes::from_mib(80_000)),
        power: None,
        temperature: None,
    }
}

/// The notebook has been idle since the record began, process 2211 for 40 minutes.
fn sessions(lab: &Scenario, started: UnixMillis, until: UnixMillis) -> Vec<SessionUpdate> {
    let session = |pid: u32, card: u32, from: UnixMillis, is_begin_seen: bool| {
        let process = lab.processes.iter().find(|process| process.pid == pid).unwrap();
        let begin = NOON.0 + process.begin.as_micros() / 1000;
        let start_ticks = Some(u64::try_from(begin / 10).unwrap());
        SessionUpdate::Open(Session {
            card: facts(lab, card),
            process: ProcessId { pid, start_ticks, uid: Some(process.owner.uid) },
            period: Period::new(from, until),
            is_begin_seen,
            doubt_ms: 0,
            unused_share_ms: 0,
            idle_beside_ms: 0,
            memory: 0.0,
            peak: None,
        })
    };
    let held = UnixMillis(NOON.0 - 40 * MINUTE).max(started);
    vec![session(5_678, 1, started, false), session(2_211, 4, held, true)]
}

fn with(record: Database) -> State {
    let scenario = scenario::parse::from_str("test", LAB).unwrap();
    let past = Past::read(&record, NOON).unwrap();
    let add = move |snapshot: &mut _| add_idle_times(snapshot, &record, BOOT, NOON).unwrap();
    let mut machine = Machine::with_record(scenario, Box::new(add));
    let mut state = State::new(settings());
    state.see(machine.look());
    state.remember(past);
    state.see(machine.look());
    state
}

/// Minutes for which a process is shown as idle, as text.
fn idle(state: &State, pid: u32) -> Option<String> {
    let holding = state.lines.iter().find_map(|line| match &line.what {
        crate::tui::tree::What::Holder(holding) if holding.key.pid == pid => Some(holding),
        _ => None,
    });
    holding?.format_idle()
}

#[test]
fn last_hour_is_drawn_when_it_opens() {
    let mut state = with(recorded(90, 20).into_database());
    assert_eq!(state.remembers, Remembers::From(UnixMillis(NOON.0 - 3_600_000 + TICK)));
    assert_eq!(state.span_millis(), 3_600_000);
    insta::assert_snapshot!(text(&mut state, COLOR, 120, 32));
}

#[test]
fn idle_times_go_on_from_what_was_recorded() {
    let state = with(recorded(40 * 60, 20).into_database());
    assert_eq!(idle(&state, 5_678).as_deref(), Some("≥1d16h"), "idle when the recorder began");
    assert_eq!(idle(&state, 2_211).as_deref(), Some("40m"));
    assert_eq!(idle(&state, 9_999).as_deref(), Some("≥1s"), "not recorded");
    assert_eq!(idle(&state, 31_337), None, "it works");
}

#[test]
fn record_that_ended_makes_it_at_least() {
    let state = with(recorded(90, 600).end("stopped").unwrap());
    assert_eq!(idle(&state, 2_211).as_deref(), Some("≥30m"));
    assert_ne!(state.remembers, Remembers::OnlyWhatWasSeen, "its graph is drawn all the same");
}

#[test]
fn empty_record_is_none() {
    let past = Past::read(&Database::in_memory().unwrap(), NOON).unwrap();
    let mut state = State::new(settings());
    state.see(Machine::new(LAB).look());
    state.remember(past);
    assert_eq!(state.remembers, Remembers::OnlyWhatWasSeen);
    press(&mut state, "j");
    assert!(text(&mut state, COLOR, 80, 24).contains("seen since 12:00"));
}
