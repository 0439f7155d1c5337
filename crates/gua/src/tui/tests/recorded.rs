//! What a history adds.

use std::time::Duration;

use probe::units::UnixMillis;

use super::{COLOR, LAB, Machine, NOON, press, settings, text};
use crate::classify::Thresholds;
use crate::ledger::Clocks;
use crate::recorder::Observer;
use crate::sampler::Pretend;
use crate::store::{self, Ending, History, Run, Writer};
use crate::tui::idle::Idle;
use crate::tui::past::Past;
use crate::tui::state::{Remembers, State};

const TICK: i64 = 30_000;

/// What a recorder saw of a scenario from so many minutes before noon up to some seconds
/// before it.
fn recorded(scenario: &str, minutes: i64, until_seconds: i64) -> Past {
    let scenario = scenario::parse::from_str("test", scenario).unwrap();
    let mut pretend = Pretend::new(scenario, NOON);
    let interval = Duration::from_millis(TICK.unsigned_abs());
    let run = Run {
        host: "lab-a100".into(),
        boot: "pretend".into(),
        driver: None,
        recorder: "test".into(),
        interval_millis: Some(TICK),
        started: UnixMillis(NOON.0 - minutes * 60_000),
    };
    let mut writer = Writer::begin(store::in_memory().unwrap(), &run).unwrap();
    let mut observer = Observer::new(interval, Thresholds::default());
    let mut at = run.started;
    while at.0 <= NOON.0 - until_seconds * 1000 {
        let since_boot = Duration::from_millis(at.0.unsigned_abs());
        let clocks = Clocks { wall: at, since_boot, awake: since_boot };
        let (entry, events) = observer.see(&pretend.tick(at, interval), clocks, None);
        writer.record(&entry, &events).unwrap();
        at = UnixMillis(at.0 + TICK);
    }
    let history = History::of(writer.end(Ending::Stopped).unwrap()).unwrap();
    Past::read(&history, NOON).unwrap()
}

fn with(past: Past) -> State {
    let mut machine = Machine::new(LAB);
    let mut state = State::new(settings());
    state.see(machine.look());
    state.remember(past);
    state.see(machine.look());
    state
}

fn idle_minutes(state: &State, pid: u32) -> Option<(i64, bool)> {
    let now = state.look.as_ref().unwrap().at();
    let holding = state.lines.iter().find_map(|line| match &line.what {
        crate::tui::tree::What::Holder(holding) if holding.key.pid == pid => Some(holding),
        _ => None,
    });
    match holding?.idle {
        Idle::Since(stretch) => Some(((now.0 - stretch.from.0) / 60_000, stretch.is_whole)),
        Idle::No | Idle::Unknown(_) => None,
    }
}

#[test]
fn the_last_hour_is_drawn_when_it_opens() {
    let mut state = with(recorded(LAB, 90, 20));
    assert_eq!(state.remembers, Remembers::From(UnixMillis(NOON.0 - 3_600_000)));
    assert_eq!(state.span_millis(), 3_600_000);
    insta::assert_snapshot!(text(&mut state, COLOR, 120, 32));
}

#[test]
fn idleness_goes_on_from_what_was_recorded() {
    let state = with(recorded(LAB, 40 * 60, 20));
    let jupyter = idle_minutes(&state, 5_678).unwrap();
    assert_eq!(jupyter, (40 * 60, false), "idle when the recorder began, and maybe before");
    assert_eq!(idle_minutes(&state, 9_999).unwrap().0, 40, "since it began");
    assert_eq!(idle_minutes(&state, 31_337), None, "it works");
}

/// Regression: of a holder whose memory is not told, on a card that is held idle, the record said
/// since when, and the view `?`.
#[test]
fn what_is_idle_in_the_record_is_idle_in_the_view() {
    assert_eq!(idle_minutes(&with(recorded(LAB, 30, 20)), 2_211), Some((30, false)));
    assert_eq!(idle_minutes(&with(recorded(LAB, 90, 600)), 2_211), Some((0, false)));
}

#[test]
fn a_recorder_that_ended_long_ago_says_nothing_about_now() {
    let state = with(recorded(LAB, 90, 600));
    assert_eq!(idle_minutes(&state, 5_678), Some((0, false)));
    assert_ne!(state.remembers, Remembers::OnlyWhatWasSeen, "its graph is drawn all the same");
}

#[test]
fn an_empty_history_is_none() {
    let history = History::of(store::in_memory().unwrap()).unwrap();
    let mut state = with(Past::read(&history, NOON).unwrap());
    assert_eq!(state.remembers, Remembers::OnlyWhatWasSeen);
    press(&mut state, "j");
    assert!(text(&mut state, COLOR, 80, 24).contains("seen since 12:00"));
}
