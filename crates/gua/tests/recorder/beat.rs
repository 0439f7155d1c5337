//! When ticks come: in step, never two for one, and marked when they are late.

use super::{Recorder, TWO_CARDS, ask};
use crate::machine::Machine;

#[test]
fn ticks_do_not_drift() {
    let machine = Machine::new(TWO_CARDS);
    let mut recorder = Recorder::start(&machine);
    recorder.has_ticked(25);
    let moments: String = ask(&recorder.database, "SELECT group_concat(at_ms) FROM tick").unwrap();
    let moments: Vec<i64> = moments.split(',').map(|at| at.parse().unwrap()).collect();
    // How far behind its step each is. One that takes longer every time would wander.
    let mut behind: Vec<i64> = moments.iter().map(|at| (at - moments[1]).rem_euclid(100)).collect();
    behind.iter_mut().for_each(|behind| *behind = (*behind).min(100 - *behind));
    behind.sort_unstable();
    assert!(behind[behind.len() / 2] < 20, "{behind:?} of {moments:?}");
    recorder.end();
}

/// A driver that takes three intervals for a look: the beat goes on from there.
#[test]
fn what_overruns_is_late_and_is_not_caught_up_on() {
    let slow = "[[fault]]\ncall = \"nvmlDeviceGetMemoryInfo*\"\ncard = 0\nlatency = \"330ms\"\n";
    let machine = Machine::new(&format!("{TWO_CARDS}\n{slow}"));
    let mut recorder = Recorder::start(&machine);
    recorder.has_ticked(6);
    let too_close = "SELECT count(*) FROM tick AS one JOIN tick AS next ON next.id = one.id + 1
                         WHERE next.at_ms - one.at_ms < 300";
    assert_eq!(recorder.number(too_close), 0);
    let late = "SELECT count(*) FROM tick WHERE id > 1 AND (late_ms IS NULL OR late_ms < 300)";
    assert_eq!(recorder.number(late), 0);
    assert_eq!(recorder.number("SELECT count(*) FROM tick WHERE covers_ms > 150"), 0);
    recorder.event("late");
    recorder.end();
}
