//! Sessions, signs and what was last seen.

use gua_core::session::SHORTEST_SESSION_MS;
use gua_core::sign::{Sign, SignSpan};
use gua_core::units::{Bytes, UnixMillis};
use gua_core::{Session, SessionUpdate, State};
use gua_store::{Latest, Tick, Writer};

use crate::lab::{self, HOUR, Lab, MINUTE, START, card, period, process, span, spans};

fn session(from: i64, to: i64) -> Session {
    Session {
        card: card(0),
        process: process(2),
        period: period(from, to),
        is_begin_seen: true,
        doubt_ms: 0,
        unused_share_ms: (to - from) / 2,
        idle_beside_ms: 0,
        memory: 8.0 * (to - from) as f64,
        peak: Some(Bytes::from_mib(8192)),
    }
}

fn tick(writer: &mut Writer, at: i64, sessions: &[SessionUpdate]) {
    let at = UnixMillis(at);
    writer.tick(&Tick { sessions, ..Tick::new(at, at) }).unwrap();
}

#[test]
fn session_is_written_while_it_lasts() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let all = period(0, i64::MAX);
    tick(&mut writer, START + MINUTE, &[SessionUpdate::Open(session(START, START + MINUTE))]);
    assert_eq!(lab.read().sessions(all).unwrap(), [], "short yet");
    assert_eq!(lab.read().open_sessions("boot-1").unwrap(), [session(START, START + MINUTE)]);
    assert_eq!(lab.read().open_sessions("boot-2").unwrap(), []);
    let to = START + SHORTEST_SESSION_MS;
    tick(&mut writer, to, &[SessionUpdate::Open(session(START, to))]);
    let stored = lab.read().sessions(all).unwrap()[0];
    assert_eq!((stored.period, stored.is_open), (period(START, to), true));
    tick(&mut writer, to + HOUR, &[SessionUpdate::Ended(session(START, to))]);
    let stored = lab.read().sessions(all).unwrap()[0];
    assert_eq!((stored.period, stored.is_open), (period(START, to), false));
    assert_eq!(lab.read().sessions(period(to, to + 1)).unwrap(), []);
    assert_eq!(lab.read().open_sessions("boot-1").unwrap(), []);
}

#[test]
fn short_session_is_deleted_when_it_ends() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let to = START + SHORTEST_SESSION_MS - 1;
    tick(&mut writer, to, &[SessionUpdate::Open(session(START, to))]);
    tick(&mut writer, to + MINUTE, &[SessionUpdate::Ended(session(START, to))]);
    assert_eq!(lab.number("SELECT count(*) FROM session"), 0);
}

/// Trap: the clock was set back.
#[test]
fn clock_set_back_cuts_sessions_in_time_recorded_again() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let at = |minutes| START + minutes * MINUTE;
    let updates = [
        SessionUpdate::Ended(session(at(0), at(20))),
        // A half of these is not a whole number.
        SessionUpdate::Ended(Session { doubt_ms: 777, memory: 999.0, ..session(at(30), at(50)) }),
        SessionUpdate::Ended(session(at(40), at(60))),
        SessionUpdate::Open(Session { process: process(1), ..session(at(37), at(60)) }),
    ];
    tick(&mut writer, at(60), &updates);
    drop(writer);
    let mut writer = lab.begin(at(40));
    tick(&mut writer, at(41), &[]);
    let sessions = lab.read().sessions(period(0, i64::MAX)).unwrap();
    let periods: Vec<_> = sessions.iter().map(|it| (it.period, it.unused_share_ms)).collect();
    assert_eq!(
        periods,
        [(period(at(0), at(20)), 10 * MINUTE), (period(at(30), at(40)), 5 * MINUTE)]
    );
    assert_eq!((sessions[1].doubt_ms, sessions[1].memory), (389, 500));
    assert_eq!(lab.number("SELECT count(*) FROM session"), 2, "what is left is too short");
}

#[test]
fn holder_sums_are_those_of_their_rows() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let card = card(0);
    let spans = spans(&card, START, &[(90 * MINUTE, 1), (30 * MINUTE, 0)]);
    lab::record(&mut writer, &spans, 5 * MINUTE);
    let sums = lab.read().usage(period(START, START + 2 * HOUR)).unwrap();
    let holders: Vec<_> = sums.holders.keys().copied().collect();
    let [begin, cut, end] = [START, START + 7 * MINUTE, START + 2 * HOUR];
    for holder in holders {
        let periods = [period(begin, end), period(begin, cut), period(cut, end)];
        let found = lab.read().holder_sums(&periods.map(|it| (holder, it))).unwrap();
        let unused: Vec<_> = found.iter().map(|it| it.times.unused_share_ms).collect();
        assert_eq!(unused[0], sums.holders[&holder].times.unused_share_ms);
        assert!((unused[1] + unused[2] - unused[0]).abs() < 1e-6);
        assert!(unused[1] > 0.0);
    }
}

#[test]
fn signs_are_stored_in_the_transaction_of_a_tick() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let at = UnixMillis(START + MINUTE);
    let mut sign =
        SignSpan { process: process(1), sign: Sign::Cpu, from: UnixMillis(START), to: None };
    writer.tick_with(&Tick::new(at, at), |transaction| transaction.write_sign(&sign)).unwrap();
    assert_eq!(lab.read().signs(period(START, START + 1)).unwrap(), [sign]);
    sign.to = Some(at);
    writer.write_between(|transaction| transaction.write_sign(&sign)).unwrap();
    assert_eq!(lab.read().signs(period(START, START + 1)).unwrap(), [sign]);
    assert_eq!(lab.read().signs(period(START + HOUR, START + 2 * HOUR)).unwrap(), []);
}

/// Trap: state in memory advances only after COMMIT; ids of rolled-back rows are forgotten.
#[test]
fn ids_of_rolled_back_rows_are_forgotten() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let at = UnixMillis(START + MINUTE);
    let closed = [span(&card(0), START, START + MINUTE, State::Active)];
    let tick = Tick { closed: &closed, ..Tick::new(at, at) };
    let failed = writer.tick_with(&tick, |_| Err(gua_store::Problem::Full));
    assert!(failed.unwrap_err().to_string().contains("the disk is full"));
    assert_eq!(lab.number("SELECT count(*) FROM card"), 0);
    writer.tick(&tick).unwrap();
    assert_eq!(lab.number("SELECT count(*) FROM card_span"), 1);
    lab.assert_sound();
}

#[test]
fn last_seen_is_replaced() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    assert_eq!(lab.read().last_seen().unwrap(), None);
    let rows = |text: &str| {
        [None, Some(card(0)), Some(card(1))]
            .map(|card| Latest { card, body: format!("\"{text}\"") })
    };
    for (minute, text) in [(1, "a"), (2, "b")] {
        let at = UnixMillis(START + minute * MINUTE);
        writer.tick(&Tick { latest: Some(&rows(text)), ..Tick::new(at, at) }).unwrap();
    }
    writer.tick(&Tick::new(UnixMillis(START + HOUR), UnixMillis(START + HOUR))).unwrap();
    let seen = lab.read().last_seen().unwrap().unwrap();
    assert_eq!(seen.at, UnixMillis(START + 2 * MINUTE));
    assert_eq!((seen.host.as_deref(), seen.cards.len()), (Some("\"b\""), 2));
}

#[test]
fn runs_come_back() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    tick(&mut writer, START + MINUTE, &[]);
    writer.end("stopped").unwrap();
    let runs = lab.read().runs().unwrap();
    let run = &runs[0];
    assert_eq!(run.period(), period(START, START + MINUTE));
    assert_eq!((&*run.run.host, run.ending.as_deref()), ("lab", Some("stopped")));
    assert_eq!(run.run.thresholds, gua_core::Thresholds::default());
    assert!(!run.is_imported && !run.goes_back);
}
