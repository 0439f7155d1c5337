//! When ticks come: in step, and never two at once.

use super::{Recorder, TWO_CARDS};
use crate::machine::Machine;

/// Times of ticks, from what was last seen at each.
fn tick_times(recorder: &Recorder, count: usize) -> Vec<i64> {
    let mut times = Vec::new();
    super::until("it ticks", || {
        let at = super::ask::<i64>(&recorder.database, "SELECT max(tick_ms) FROM run").ok();
        times.extend(at.filter(|at| times.last() != Some(at)));
        times.len() >= count
    });
    times
}

#[test]
fn ticks_do_not_drift() {
    let machine = Machine::new(TWO_CARDS);
    let recorder = Recorder::start(&machine);
    let times = tick_times(&recorder, 20);
    // How far behind its step each is. If each took longer than its step, this would grow.
    let mut behind: Vec<i64> = times.iter().map(|at| (at - times[1]).rem_euclid(100)).collect();
    behind.iter_mut().for_each(|behind| *behind = (*behind).min(100 - *behind));
    behind.sort_unstable();
    assert!(behind[behind.len() / 2] < 20, "{behind:?} of {times:?}");
    recorder.end();
}

/// A driver that takes three intervals for a look: recording goes on from there, and no time is lost.
#[test]
fn slow_polls_are_not_caught_up_on() {
    let slow = "[[fault]]\ncall = \"nvmlDeviceGetMemoryInfo*\"\ncard = 0\nlatency = \"330ms\"\n";
    let machine = Machine::new(&format!("{TWO_CARDS}\n{slow}"));
    let mut recorder = Recorder::start(&machine);
    let times = tick_times(&recorder, 6);
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 300), "{times:?}");
    recorder.goes_on();
    let path = recorder.database.clone();
    recorder.end();
    assert_eq!(super::gaps(&path), []);
}
