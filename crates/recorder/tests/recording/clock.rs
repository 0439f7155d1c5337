//! Clocks that are set, a machine that is suspended, polls that come late, a driver that goes away.

use gua_core::Reason;

use crate::lab::{DAY, HOUR, Lab, MINUTE, POLL, SECOND, WALL};

/// Trap: the first poll of a run covers no time.
#[test]
fn first_poll_covers_no_time() {
    let mut lab = Lab::started();
    lab.poll_and_tick().unwrap();
    assert_eq!(lab.card_seconds(), [0; 3]);
    let runs = lab.read().runs().unwrap();
    assert_eq!((runs[0].run.started.0, runs[0].until.0, runs[0].polls), (WALL, WALL, 1));
    lab.stop();
    assert_eq!(lab.card_seconds(), [0, 5, 0]);
    lab.assert_sound();
}

#[test]
fn clean_stop_stores_everything() {
    let mut lab = Lab::started();
    lab.record(MINUTE);
    lab.percent = 90;
    lab.record(MINUTE + 7 * POLL);
    lab.stop();
    let runs = lab.read().runs().unwrap();
    assert_eq!(runs[0].ending.as_deref(), Some("stopped"));
    assert_eq!(runs[0].until.0, WALL + lab.now);
    assert_eq!((runs[0].polls, runs[0].calls), (32, 5 * 31));
    assert_eq!(runs[0].run.driver.as_deref(), Some("550.54"));
    // Samples of the poll after the change stand for the time since the poll before it.
    assert_eq!(lab.card_seconds(), [100, 55, 0]);
    assert_eq!(lab.gaps().len(), 0, "{:?}", lab.gaps());
    lab.assert_sound();
}

/// Trap: after a crash a run ends at its last tick.
#[test]
fn crash_ends_the_run_at_its_last_tick() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    lab.crash();
    let run = &lab.read().runs().unwrap()[0];
    assert_eq!(run.ending, None);
    let last_tick = 10 * MINUTE - 6 * POLL;
    assert_eq!(run.last_tick.0, WALL + last_tick);
    let lost = last_tick - (run.until.0 - WALL);
    assert!((5 * SECOND..=8 * SECOND).contains(&lost), "{lost} ms");
    lab.now += 20 * MINUTE;
    lab.start(vec![]);
    lab.record(10 * MINUTE);
    lab.stop();
    let gaps = lab.gaps();
    assert_eq!(gaps, [((last_tick - lost) / SECOND, 30 * 60, "none".to_owned())]);
    lab.assert_sound();
}

/// Trap: the clock was set: forward it is a gap, and the run goes on.
#[test]
fn clock_set_forward_is_a_gap() {
    for step in [10 * MINUTE, HOUR, 500 * DAY] {
        let mut lab = Lab::started();
        lab.record(10 * MINUTE);
        lab.step = step;
        lab.record(10 * MINUTE);
        lab.stop();
        assert_eq!(lab.read().runs().unwrap().len(), 1, "{step}");
        let end = (600_000 + step) / SECOND;
        assert_eq!(lab.gaps(), [(595, end, "ClockSet".to_owned())]);
        let detail = format!("The clock was set forward by {} s.", step / SECOND);
        assert_eq!(lab.events("clock-set"), [detail]);
        assert_eq!(lab.card_seconds(), [0, 595 + 600, 0], "{step}");
        assert!(lab.log().contains("set forward by"));
        lab.assert_sound();
    }
}

/// Trap: the clock was set back: a new run begins, and each time counts once.
#[test]
fn clock_set_back_begins_a_run() {
    for step in [10 * MINUTE, HOUR] {
        let mut lab = Lab::started();
        lab.record(2 * HOUR);
        lab.step = -step;
        lab.record(30 * MINUTE);
        lab.stop();
        let runs = lab.read().runs().unwrap();
        assert_eq!(runs.len(), 2);
        assert_eq!(runs[0].ending.as_deref(), Some("clock_set_back"));
        assert_eq!(runs[0].until.0, WALL + 2 * HOUR - POLL);
        assert!(runs[1].goes_back);
        assert_eq!((runs[1].run.started.0, runs[1].polls), (WALL + 2 * HOUR - step, 361));
        assert_eq!(runs[1].ending.as_deref(), Some("stopped"));
        let end = (2 * HOUR - POLL).max(2 * HOUR - step + 30 * MINUTE);
        let observed: i64 = lab.card_seconds().iter().sum();
        let gap: i64 = lab.gaps().iter().map(|(from, to, _)| to - from).sum();
        assert!(
            (end / SECOND - observed - gap).abs() <= 1,
            "{step}: {observed} s, {gap} s of gaps"
        );
        assert_eq!(
            lab.events("clock-set"),
            [format!("The clock was set back by {} s.", step / SECOND)]
        );
        lab.assert_sound();
    }
}

/// Trap: the clock was set back, and then the driver was away: what was observed before stays, and is no gap.
#[test]
fn clock_set_back_while_the_driver_is_away_counts_time_once() {
    let mut lab = Lab::started();
    lab.record(2 * HOUR);
    lab.step = -HOUR;
    lab.record(5 * MINUTE);
    lab.away = Some(Reason::DriverGone);
    lab.record(10 * MINUTE);
    lab.away = None;
    lab.record(5 * MINUTE);
    lab.stop();
    let observed: i64 = lab.card_seconds().iter().sum();
    let gap: i64 = lab.gaps().iter().map(|(from, to, _)| to - from).sum();
    assert_eq!(gap, 0, "{:?}", lab.gaps());
    let end = (2 * HOUR - POLL) / SECOND;
    assert!((end - observed).abs() <= 1, "{observed} s");
    lab.assert_sound();
}

/// A clock that is wrong for a moment costs nothing of the record between.
#[test]
fn clock_set_back_for_a_moment_keeps_what_was_observed_before() {
    for step in [10 * MINUTE, HOUR] {
        let mut lab = Lab::started();
        lab.record(2 * HOUR);
        lab.step = -step;
        lab.record(MINUTE);
        lab.step = 0;
        lab.record(10 * MINUTE);
        lab.stop();
        let observed: i64 = lab.card_seconds().iter().sum();
        let gaps = lab.gaps();
        let gap: i64 = gaps.iter().map(|(from, to, _)| to - from).sum();
        // From the last poll before the clock was set back to the first one after it was right again.
        assert!((60..=75).contains(&gap), "{step}: {gaps:?}");
        assert!((lab.now / SECOND - observed - gap).abs() <= 1, "{observed} s, {gap} s of gaps");
        lab.assert_sound();
    }
}

/// A step back that is shorter than the time since the last poll records no time twice.
#[test]
fn small_step_back_is_no_new_run() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    lab.step = -3 * SECOND;
    lab.record(10 * MINUTE);
    lab.stop();
    assert_eq!(lab.read().runs().unwrap().len(), 1);
    assert_eq!(lab.gaps(), [(595, 597, "ClockSet".to_owned())]);
    lab.assert_sound();
}

/// Trap: the machine slept; the classifier's window restarts.
#[test]
fn suspended_machine_is_a_gap() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    lab.now += 8 * HOUR;
    lab.slept = 8 * HOUR;
    lab.record(10 * MINUTE);
    lab.stop();
    assert_eq!(lab.gaps(), [(595, 8 * 3600 + 600, "Suspended".to_owned())]);
    assert_eq!(lab.card_seconds(), [0, 1195, 0]);
    assert!(lab.log().contains("The machine slept for 28805 s."), "{}", lab.log());
    lab.assert_sound();
}

/// Trap: a late tick; a poll covers at most 7.5 s.
#[test]
fn late_poll_is_a_gap() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    lab.now += 40 * SECOND;
    lab.record(10 * MINUTE);
    lab.stop();
    let [(from, to, reason)] = &lab.gaps()[..] else { panic!("{:?}", lab.gaps()) };
    assert_eq!((*from, *to, reason.as_str()), (595, 632, "Late"));
    lab.assert_sound();
}

/// Trap: the driver was away, counted from the second poll on.
#[test]
fn driver_away_is_a_gap_and_an_event() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    lab.away = Some(Reason::DriverGone);
    lab.record(2 * MINUTE);
    let gap = (595, 715 - 30, "Driver(DriverGone)".to_owned());
    let open = lab.gaps();
    assert_eq!((open[0].0, &open[0].2), (gap.0, &gap.2), "{open:?}");
    assert_eq!(lab.events("driver-away"), ["The driver is away: the driver went away."]);
    let host = lab.read().last_seen().unwrap().unwrap().host.unwrap();
    assert!(host.contains("\"driver_error\":\"the driver went away\""), "{host}");
    lab.away = None;
    lab.driver.version = gua_core::Reading::Known("560.1".into());
    lab.record(10 * MINUTE);
    lab.stop();
    assert_eq!(lab.gaps(), [(595, 720, "Driver(DriverGone)".to_owned())]);
    assert_eq!(lab.events("driver"), ["The driver is back; it is 560.1."]);
    assert_eq!(lab.card_seconds(), [0, 595 + 600, 0]);
    lab.assert_sound();
}

#[test]
fn lost_card_is_unknown_with_an_event() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    lab.lost = Some(Reason::Lost);
    lab.record(5 * MINUTE);
    lab.lost = None;
    lab.record(5 * MINUTE);
    lab.stop();
    assert_eq!(lab.gaps(), []);
    let [_, held, unknown] = lab.card_seconds();
    assert!((300..=305).contains(&unknown) && held + unknown == 1200, "{held} {unknown}");
    let expected =
        ["Card 0 (GPU-1) cannot be read: lost from the bus.", "Card 0 (GPU-1) can be read again."];
    assert_eq!(lab.events("card"), expected);
    lab.assert_sound();
}
