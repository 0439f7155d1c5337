//! Traps of drivers, clocks and machines, one case each.

use std::time::Duration;

use gua_core::card::{Basis, MemorySource, MemoryUse, Utilization, Vitals};
use gua_core::poll::{CardPoll, Exit};
use gua_core::process::{Kinds, ProcessId};
use gua_core::span::{GapReason, HolderId, Work};
use gua_core::units::{Bytes, Milliwatts, Percent, UnixMillis};
use gua_core::{Clocks, Poll, Reading, Reason, State};

use crate::polls::{
    BOOT, Card, Millis, Run, TestHolder, WALL, busy, card, clocks, holder, idle, sampled,
};

const HELD: State = State::IdleHeld;
const ACTIVE: State = State::Active;

/// Returns the gaps as begin, end and reason.
fn gaps(run: &Run) -> Vec<(Millis, Millis, GapReason)> {
    let time = |at: UnixMillis| at.0 - WALL;
    let gap = |gap: &gua_core::span::Gap| (time(gap.period.from), time(gap.period.to), gap.reason);
    run.gaps.iter().map(gap).collect()
}

#[test]
fn first_poll_covers_no_time() {
    let mut run = Run::new();
    run.every_5_s(0, 60_000, idle);
    assert_eq!(run.finish().states(), [(0, 60_000, HELD)]);
    let mut run = Run::new();
    run.every_5_s(0, 0, idle);
    assert_eq!(run.finish().states(), []);
}

#[test]
fn nothing_is_handed_out_before_it_is_final() {
    let final_until = |card: &dyn Fn(Millis) -> Card| {
        let mut run = Run::new();
        run.every_5_s(0, 60_000, card);
        let until = run.classifier.final_until().unwrap();
        let open: Vec<_> = run.classifier.open_spans().collect();
        assert_eq!(open[0].period.to, until);
        until.0 - WALL
    };
    // 5 s and two samples.
    assert_eq!(final_until(&idle), 54_666);
    let shared = |at| idle(at).with(|card| card.holders.push(holder(2, 500)));
    assert_eq!(final_until(&shared), 44_000);
    let unlisted = |at| idle(at).with(|card| card.used = Some(9000));
    assert_eq!(final_until(&unlisted), 44_000);
    let without_buffer = |at| idle(at).with(|card| card.samples = None);
    assert_eq!(final_until(&without_buffer), 45_000, "two more means make an edge");
}

#[test]
fn late_poll_leaves_a_gap() {
    let mut run = Run::new();
    run.every_5_s(0, 60_000, idle);
    run.every_5_s(80_000, 120_000, idle);
    let run = run.finish();
    assert_eq!(gaps(&run), [(60_000, 72_500, GapReason::Late)]);
    assert_eq!(run.states(), [(0, 60_000, HELD), (72_500, 120_000, HELD)]);
}

#[test]
fn suspended_machine_leaves_a_gap() {
    let mut run = Run::new();
    run.every_5_s(0, 60_000, idle);
    let night = 8 * 3_600_000;
    for at in (65_000..120_000).step_by(5000) {
        let awake = Duration::from_millis((BOOT + at).unsigned_abs());
        let clocks = Clocks { awake, ..clocks(night + at) };
        run.add(clocks, Ok(vec![idle(night + at).poll()]));
    }
    let run = run.finish();
    let woken = night + 65_000;
    assert_eq!(gaps(&run), [(60_000, woken, GapReason::Suspended)]);
    assert_eq!(run.time_in(|_| true), 60_000 + 50_000);
    assert!(run.spans.iter().all(|span| span.state == HELD));
}

/// The time between the two polls around a step is a gap; samples are stamped by the boot clock here.
#[test]
fn clock_set_ahead_or_back_cuts_the_record() {
    for step in [600_000, -600_000] {
        let mut run = Run::new();
        run.every_5_s(0, 60_000, |at| busy(at, 90));
        for at in (65_000..=120_000).step_by(5000) {
            let wall = UnixMillis(WALL + at + step);
            run.add(Clocks { wall, ..clocks(at) }, Ok(vec![busy(at, 90).poll()]));
        }
        let run = run.finish();
        let expected: Vec<_> = (step > 0)
            .then_some((60_000, 65_000 + step, GapReason::ClockSet))
            .into_iter()
            .collect();
        assert_eq!(gaps(&run), expected);
        assert_eq!(run.states(), [(0, 60_000, ACTIVE), (65_000 + step, 120_000 + step, ACTIVE)]);
    }
}

/// Samples stamped with Unix time follow the step of the clock.
#[test]
fn unix_stamps_follow_a_clock_that_was_set_back() {
    let mut run = Run::new();
    let unix = |poll_at: Millis, step: Millis, percent: u32| {
        let mut poll = busy(poll_at, percent).poll();
        if let Reading::Known(samples) = &mut poll.reading.samples {
            for sample in &mut samples.samples {
                sample.stamp += (WALL + step - BOOT).unsigned_abs() * 1000;
            }
        }
        poll
    };
    for at in (0..=60_000).step_by(5000) {
        run.add(clocks(at), Ok(vec![unix(at, 0, 0)]));
    }
    for at in (65_000..=120_000).step_by(5000) {
        let wall = UnixMillis(WALL + at - 600_000);
        run.add(Clocks { wall, ..clocks(at) }, Ok(vec![unix(at, -600_000, 65)]));
    }
    let run = run.finish();
    assert_eq!(run.time_in(|state| state == HELD), 60_000);
    assert_eq!(run.time_in(|state| state == ACTIVE), 55_000);
}

#[test]
fn driver_away_is_a_gap_that_goes_on_until_it_is_back() {
    let mut run = Run::new();
    run.every_5_s(0, 60_000, idle);
    for at in (65_000..=90_000).step_by(5000) {
        run.add(clocks(at), Err(Reason::DriverGone));
    }
    let open = run.classifier.open_gap().unwrap();
    assert_eq!((open.period.from.0 - WALL, open.period.to.0 - WALL), (60_000, 90_000));
    run.every_5_s(95_000, 120_000, idle);
    let run = run.finish();
    assert_eq!(gaps(&run), [(60_000, 95_000, GapReason::Driver(Reason::DriverGone))]);
    assert_eq!(run.states(), [(0, 60_000, HELD), (95_000, 120_000, HELD)]);
}

#[test]
fn lost_card_is_unknown_and_the_others_go_on() {
    let mut run = Run::new();
    let other = |at: Millis| idle(at).with(|it| it.facts = card("GPU-2")).poll();
    for at in (0..=120_000).step_by(5000) {
        let lost = (60_000..90_000).contains(&at);
        let first = if lost { Card::unread(Reason::Lost) } else { busy(at, 80).poll() };
        run.add(clocks(at), Ok(vec![first, other(at)]));
    }
    let run = run.finish();
    assert_eq!(run.time_in(|state| state == State::Unknown(Reason::Lost)), 35_000);
    assert_eq!(run.time_in(|state| state == ACTIVE), 85_000);
    assert_eq!(run.time_in(|state| state == HELD), 120_000);
    assert_eq!(run.gaps, []);
}

#[test]
fn card_that_appears_or_vanishes_is_recorded_while_it_is_listed() {
    let mut run = Run::new();
    for at in (0..=120_000).step_by(5000) {
        let is_there = (40_000..=80_000).contains(&at);
        let second = is_there.then(|| idle(at).with(|it| it.facts = card("GPU-2")).poll());
        run.add(clocks(at), Ok([Some(idle(at).poll()), second].into_iter().flatten().collect()));
    }
    let run = run.finish();
    let of_second = run.spans.iter().filter(|span| span.card.uuid == card("GPU-2").uuid);
    let times: Vec<_> = of_second.map(|span| span.period.from.0 - WALL).collect();
    assert_eq!(times, [40_000]);
    assert_eq!(run.time_in(|_| true), 120_000 + 40_000);
}

/// Whether its time is handed out already depends on the other cards, its spans do not.
#[test]
fn card_that_returns_begins_at_its_poll() {
    for others in [1, 2] {
        let mut run = Run::new();
        for at in (0..=120_000).step_by(5000) {
            let first = idle(at)
                .with(|card| card.holders = (1..=others).map(|pid| holder(pid, 500)).collect());
            let second = idle(at).with(|it| it.facts = card("GPU-2")).poll();
            let is_there = !(40_000..50_000).contains(&at);
            let second = is_there.then_some(second);
            let cards = [Some(first.poll()), second].into_iter().flatten().collect();
            run.add(clocks(at), Ok(cards));
            assert_eq!(run.classifier.now().len(), 1 + usize::from(is_there));
        }
        let run = run.finish();
        let of_second = run.spans.iter().filter(|span| span.card.uuid == card("GPU-2").uuid);
        let times: Vec<_> = of_second.map(|span| span.period.from.0 - WALL).collect();
        assert_eq!(times, [0, 50_000]);
    }
}

#[test]
fn two_cards_with_one_uuid_are_unknown() {
    let mut run = Run::new();
    for at in (0..=60_000).step_by(5000) {
        let index = |index| gua_core::card::CardFacts { index, ..(*card("GPU-1")).clone() };
        let cards = [0, 1].map(|number| busy(at, 80).with(|it| it.facts = index(number).into()));
        let third = busy(at, 80).with(|it| it.facts = card("GPU-2"));
        run.add(clocks(at), Ok(cards.into_iter().chain([third]).map(Card::poll).collect()));
    }
    let run = run.finish();
    assert_eq!(run.time_in(|state| state == State::Unknown(Reason::Garbled)), 120_000);
    assert_eq!(run.time_in(|state| state == ACTIVE), 60_000);
}

#[test]
fn card_without_uuid_is_known_by_its_place() {
    let mut run = Run::new();
    let unnamed = |index: u32| {
        let facts = gua_core::card::CardFacts::unread(index, Reason::NoPermission);
        std::sync::Arc::new(facts)
    };
    for at in (0..=60_000).step_by(5000) {
        let cards = [0, 1].map(|index| idle(at).with(|it| it.facts = unnamed(index)).poll());
        run.add(clocks(at), Ok(cards.into()));
    }
    assert_eq!(run.finish().time_in(|state| state == HELD), 120_000);
}

/// A ring that runs dry while the card idles: 4 s of work in a minute are 4 s.
#[test]
fn dry_buffer_is_idle_time_and_not_unknown() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| {
        idle(at).with(|card| {
            let all = sampled(60_100, 64_100, 80);
            card.samples = Some(all.into_iter().filter(|(end, _)| *end <= at).collect());
            let rate = if (60_100..64_100).contains(&at) { 80.0 } else { 0.0 };
            set_rate(card, rate, Basis::Instant);
        })
    });
    let run = run.finish();
    assert_eq!(run.time_in(|state| matches!(state, State::Unknown(_))), 0);
    let active = run.time_in(|state| state == ACTIVE);
    assert!((3900..=4100).contains(&active), "{active}");
}

/// A ring that gets nothing although the card works: the rate stands in from the second poll on.
#[test]
fn busy_card_with_a_dry_buffer_is_classified_by_its_rate() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| {
        idle(at).with(|card| {
            card.samples = Some(Vec::new());
            set_rate(card, if at >= 60_000 { 80.0 } else { 0.0 }, Basis::Instant);
        })
    });
    let run = run.finish();
    // The first busy rate stands for the time since the poll before it, too.
    let active = run.time_in(|state| state == ACTIVE);
    assert!((60_000..=66_000).contains(&active), "{active}");
}

/// Two samples with a long hole between them say nothing of the distance of samples.
#[test]
fn old_sample_in_a_dry_buffer_is_not_the_begin_of_work() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| {
        idle(at).with(|card| {
            let all = [(-20_000, 30), (-200, 30), (59_900, 30)].into_iter();
            card.samples = Some(all.filter(|(end, _)| *end <= at).collect());
            set_rate(card, 0.0, Basis::Instant);
        })
    });
    assert_eq!(run.classifier.final_until().map(|until| until.0 - WALL > 110_000), Some(true));
    assert_eq!(run.finish().time_in(|state| state == HELD), 120_000);
}

/// A ring that keeps its samples while the card idles is full, and has lost none.
#[test]
fn full_buffer_that_got_nothing_is_idle_time() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| {
        idle(at).with(|card| {
            let all = sampled(-20_000, 0, 50).into_iter().chain(sampled(60_000, 70_000, 50));
            let mut newest: Vec<_> = all.filter(|(end, _)| *end <= at).rev().take(100).collect();
            newest.reverse();
            card.samples = Some(newest);
            card.is_full = true;
            set_rate(card, if (60_000..70_000).contains(&at) { 50.0 } else { 0.0 }, Basis::Instant);
        })
    });
    let run = run.finish();
    assert_eq!(run.time_in(|state| matches!(state, State::Unknown(_))), 0);
    let active = run.time_in(|state| state == ACTIVE);
    assert!((9_900..=10_200).contains(&active), "{active}");
}

#[test]
fn empty_buffer_with_an_unknown_rate_is_unknown() {
    let mut run = Run::new();
    run.every_5_s(0, 60_000, |at| {
        idle(at).with(|card| {
            card.samples = Some(Vec::new());
            let utilization = Reading::Unknown(Reason::NotSupported);
            card.reading = Vitals { utilization, ..card.reading.clone() };
        })
    });
    assert_eq!(run.finish().states(), [(0, 60_000, State::Unknown(Reason::NotSupported))]);
}

#[test]
fn unknown_utilization_is_not_bridged_at_short_polls() {
    let mut run = Run::new();
    for at in (0..=60_000).step_by(2000) {
        let card = idle(at).with(|card| {
            card.samples = None;
            set_rate(card, 80.0, Basis::Instant);
            if at % 10_000 == 0 {
                card.reading.utilization = Reading::Unknown(Reason::NotSupported);
            }
        });
        run.add(clocks(at), Ok(vec![card.poll()]));
    }
    let run = run.finish();
    assert_eq!(run.time_in(|state| state == State::Unknown(Reason::NotSupported)), 12_000);
    assert_eq!(run.time_in(|state| state == ACTIVE), 48_000);
}

/// Steps of the wall clock that are too small to be noticed add up; samples are stamped by it.
#[test]
fn small_steps_of_the_clock_lose_no_samples() {
    let mut run = Run::new();
    let mut step = 0;
    for at in (0..=3_600_000).step_by(5000) {
        step += if at % 60_000 == 0 { 150 } else { 0 };
        let mut poll = busy(at, if at % 600_000 > 300_000 { 60 } else { 0 }).poll();
        if let Reading::Known(samples) = &mut poll.reading.samples {
            for sample in &mut samples.samples {
                sample.stamp += (WALL + step - BOOT).unsigned_abs() * 1000;
            }
        }
        run.add(Clocks { wall: UnixMillis(WALL + at + step), ..clocks(at) }, Ok(vec![poll]));
    }
    let run = run.finish();
    let active = run.time_in(|state| state == ACTIVE);
    // Six times 295 s, and the steps.
    assert!((1_770_000..=1_780_000).contains(&active), "{active}");
    assert_eq!(run.gaps, []);
}

/// Edges are mapped to wall time once. The clock is corrected by 0.18 %, which is no step.
#[test]
fn spans_abut_while_the_wall_clock_drifts() {
    for drift in [9, -9] {
        let mut run = Run::new();
        for (poll, at) in (0..=3_600_000).step_by(5000).enumerate() {
            let percent = if at % 47_000 < 20_000 { 60 } else { 0 };
            let wall = UnixMillis(WALL + at + drift * i64::try_from(poll).unwrap());
            run.add(Clocks { wall, ..clocks(at) }, Ok(vec![busy(at, percent).poll()]));
        }
        let run = run.finish();
        let states = run.states();
        assert!(states.len() > 100, "{}", states.len());
        assert!(states.windows(2).all(|pair| pair[0].1 == pair[1].0), "{states:?}");
        assert_eq!((states[0].0, states[states.len() - 1].1), (0, 3_600_000 + 720 * drift));
        assert_eq!(run.gaps, []);
    }
}

/// A third of a second of work on both sides of two seconds is not enough on each, and would be together.
#[test]
fn window_restarts_after_the_driver_was_away_or_the_machine_slept() {
    #[derive(Clone, Copy, PartialEq)]
    enum Trouble {
        Nothing,
        DriverAway,
        Sleep,
    }
    let active = |trouble: Trouble| {
        let mut run = Run::new();
        for at in (0..=60_000).step_by(1000) {
            let percent = |end: Millis| {
                let is_busy = (29_700..=30_000).contains(&end) || (32_100..32_500).contains(&end);
                if is_busy { 100 } else { 0 }
            };
            let ends = sampled(at - 1000, at, 0).into_iter();
            let mut samples: Vec<_> = ends.map(|(end, _)| (end, percent(end))).collect();
            let mut now = clocks(at);
            match trouble {
                Trouble::DriverAway if at == 31_000 => {
                    run.add(now, Err(Reason::DriverGone));
                    continue;
                }
                Trouble::Sleep if at == 31_000 => continue,
                Trouble::Sleep if at > 31_000 => now.awake -= Duration::from_secs(2),
                _ => {}
            }
            if trouble != Trouble::Nothing && at == 32_000 {
                samples.clear();
            }
            run.add(now, Ok(vec![idle(at).with(|it| it.samples = Some(samples)).poll()]));
        }
        let run = run.finish();
        assert_eq!(run.gaps.len(), usize::from(trouble != Trouble::Nothing));
        run.time_in(|state| state == ACTIVE)
    };
    assert!(active(Trouble::Nothing) > 2000);
    assert_eq!(active(Trouble::DriverAway), 0);
    assert_eq!(active(Trouble::Sleep), 0);
}

/// Another card, whose time is final later, changes nothing.
#[test]
fn spans_do_not_depend_on_other_cards() {
    for basis in [Basis::Instant, Basis::Counters { covers: Duration::from_secs(5) }] {
        let spans = |has_other: bool| {
            let mut run = Run::new();
            for at in (0..=300_000).step_by(5000) {
                let percent = [0.0, 20.0, 80.0, 80.0, 30.0, 0.0, 0.0][at as usize / 5000 % 7];
                let first = idle(at).with(|card| {
                    card.samples = None;
                    set_rate(card, percent, basis);
                });
                let other = idle(at).with(|it| {
                    it.facts = card("GPU-2");
                    it.holders.push(holder(2, 500));
                });
                let cards = [Some(first), has_other.then_some(other)].into_iter().flatten();
                run.add(clocks(at), Ok(cards.map(Card::poll).collect()));
            }
            let spans = run.finish().spans.into_iter();
            spans.filter(|span| span.card.uuid == card("GPU-1").uuid).collect::<Vec<_>>()
        };
        assert_eq!(spans(false), spans(true));
    }
}

fn set_rate(card: &mut Card, percent: f64, basis: Basis) {
    let utilization = Reading::Known(Utilization { percent: Percent(percent), basis });
    card.reading = Vitals { utilization, ..card.reading.clone() };
}

#[test]
fn buffer_that_ran_over_leaves_unknown_time() {
    let mut run = Run::new();
    run.every_5_s(0, 60_000, |at| {
        busy(at, 90).with(|card| {
            // The buffer holds three seconds.
            card.samples = Some(sampled(at - 3000, at, 90));
            card.is_full = true;
        })
    });
    let run = run.finish();
    let unknown = run.time_in(|state| state == State::Unknown(Reason::NotTold));
    // Two of every five seconds, less what is bridged.
    assert!((20_000..=24_000).contains(&unknown), "{unknown}");
    assert_eq!(run.of_holder(Some(1), State::Unknown(Reason::NotTold)).2, unknown);
}

#[test]
fn lost_samples_are_bridged_and_late_and_repeated_ones_count_once() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| {
        busy(at, 50).with(|card| {
            // The whole ring of 16 s each time; one sample comes a poll late, one never.
            let all = sampled((at - 16_000).max(-5000), at, 50).into_iter();
            let is_there = |end: Millis| match (end / 1000) % 10 {
                3 => end % 1000 > 100,
                7 => end % 1000 > 100 || at - end > 5000,
                _ => true,
            };
            card.samples = Some(all.filter(|(end, _)| is_there(*end)).rev().collect());
        })
    });
    let run = run.finish();
    assert_eq!(run.states(), [(0, 120_000, ACTIVE)]);
    assert_eq!(run.spans[0].busy.mean().map(f64::round), Some(50.0));
}

#[test]
fn samples_from_the_future_are_dropped_and_hide_nothing() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| {
        busy(at, if at <= 60_000 { 0 } else { 70 }).with(|card| {
            let ahead = (at + 3_600_000, 90);
            card.samples.as_mut().unwrap().push(ahead);
        })
    });
    assert_eq!(run.finish().states(), [(0, 60_000, HELD), (60_000, 120_000, ACTIVE)]);
}

/// Stamps that fit neither clock of the host: the newest sample is as old as the poll.
#[test]
fn stamps_of_an_unknown_clock_are_followed() {
    let mut run = Run::new();
    for at in (0..=120_000).step_by(5000) {
        let mut poll = busy(at, if at <= 60_000 { 0 } else { 70 }).poll();
        if let Reading::Known(samples) = &mut poll.reading.samples {
            samples.samples.iter_mut().for_each(|sample| sample.stamp -= 4_000_000_000_000);
        }
        run.add(clocks(at), Ok(vec![poll]));
    }
    let active = run.finish().time_in(|state| state == ACTIVE);
    assert!((59_500..=60_500).contains(&active), "{active}");
}

/// The driver's own clock is set back: its stamps are older than before.
#[test]
fn driver_clock_that_is_set_back_hides_no_samples() {
    let mut run = Run::new();
    for at in (0..=120_000).step_by(5000) {
        let mut poll = busy(at, if at <= 60_000 { 0 } else { 70 }).poll();
        if let (Reading::Known(samples), true) = (&mut poll.reading.samples, at > 60_000) {
            samples.samples.iter_mut().for_each(|sample| sample.stamp -= 4_000_000_000_000);
        }
        run.add(clocks(at), Ok(vec![poll]));
    }
    let active = run.finish().time_in(|state| state == ACTIVE);
    assert!((59_000..=61_000).contains(&active), "{active}");
}

#[test]
fn without_a_buffer_a_poll_stands_for_the_time_since_the_last() {
    for basis in [Basis::Instant, Basis::Counters { covers: Duration::from_secs(5) }] {
        let mut run = Run::new();
        run.every_5_s(0, 120_000, |at| {
            idle(at).with(|card| {
                card.samples = None;
                set_rate(card, if (40_000..80_000).contains(&at) { 60.0 } else { 0.0 }, basis);
            })
        });
        assert_eq!(
            run.finish().states(),
            [(0, 35_000, HELD), (35_000, 75_000, ACTIVE), (75_000, 120_000, HELD)]
        );
    }
}

/// A MIG instance without counters: unknown while it is held, free while it is not.
#[test]
fn unknown_utilization_is_unknown_unless_nobody_holds_the_card() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| {
        idle(at).with(|card| {
            card.samples = None;
            let utilization = Reading::Unknown(Reason::NotSupported);
            card.reading = Vitals { utilization, ..card.reading.clone() };
            card.holders.truncate(usize::from(at > 60_000));
        })
    });
    let now = run.classifier.now();
    assert_eq!(now[0].holders[0].work, Work::Unknown, "it may work");
    let run = run.finish();
    let unknown = State::Unknown(Reason::NotSupported);
    assert_eq!(run.states(), [(0, 62_500, State::TrulyIdle), (62_500, 120_000, unknown)]);
    assert_eq!(run.of_holder(Some(1), unknown), (57_500, 0, 57_500));
}

/// Returns the state of a card that idles for a minute, with changes to its polls.
fn idle_state(change: impl Fn(&mut CardPoll)) -> State {
    let mut run = Run::new();
    for at in (0..=60_000).step_by(5000) {
        let mut poll = idle(at).poll();
        change(&mut poll);
        run.add(clocks(at), Ok(vec![poll]));
    }
    let states = run.finish().states();
    assert_eq!(states.len(), 1, "{states:?}");
    states[0].2
}

/// Returns the state of an idle card with these holders and this used memory.
fn held_state(holders: &[TestHolder], used: u64, change: impl Fn(&mut CardPoll)) -> State {
    idle_state(|poll| {
        let card = idle(0).with(|card| {
            card.holders = holders.to_vec();
            card.used = Some(used);
        });
        let CardPoll { reading, processes, .. } = card.poll();
        poll.reading.memory = reading.memory;
        poll.reading.holders = reading.holders;
        poll.processes = processes;
        change(poll);
    })
}

fn set_memory(poll: &mut CardPoll, change: impl Fn(&mut MemoryUse)) {
    poll.reading.memory = poll.reading.memory.map(|mut memory| {
        change(&mut memory);
        memory
    });
}

#[test]
fn card_is_held_above_the_threshold_of_memory() {
    let with = |holders: &[TestHolder], used: u64| held_state(holders, used, |_| ());
    let unknown = |pid| TestHolder { mib: None, ..holder(pid, 0) };
    assert_eq!(with(&[holder(1, 101)], 101), HELD);
    assert_eq!(with(&[holder(1, 100)], 100), State::TrulyIdle);
    assert_eq!(with(&[holder(1, 60), holder(2, 60)], 120), HELD);
    assert_eq!(with(&[], 5), State::TrulyIdle);
    assert_eq!(with(&[], 40_000), HELD, "unlisted memory");
    assert_eq!(with(&[holder(1, 60)], 150), State::TrulyIdle);
    assert_eq!(with(&[unknown(1)], 40_000), HELD);
    assert_eq!(with(&[unknown(1)], 50), State::Unknown(Reason::NotTold));
}

#[test]
fn unreadable_process_list_never_makes_a_card_free() {
    let denied = |used: Option<u64>| {
        held_state(&[], used.unwrap_or(0), |poll| {
            poll.reading.holders.unread = Some(Reason::NoPermission);
            if used.is_none() {
                poll.reading.memory = Reading::Unknown(Reason::NotSupported);
            }
        })
    };
    assert_eq!(denied(Some(40_000)), HELD);
    assert_eq!(denied(Some(4)), State::Unknown(Reason::NoPermission));
    assert_eq!(denied(None), State::Unknown(Reason::NoPermission));
}

/// An old driver counts its reserve as used: up to a sixteenth of the card.
#[test]
fn driver_reserve_is_not_a_holder() {
    let old = |used: u64| {
        held_state(&[], used, |poll| {
            set_memory(poll, |memory| memory.reserved = Reading::Unknown(Reason::NotSupported));
        })
    };
    assert_eq!(old(700), State::TrulyIdle);
    assert_eq!(old(5100), State::TrulyIdle);
    assert_eq!(old(5101), HELD);
    assert_eq!(held_state(&[], 700, |_| ()), HELD, "a newer one does not");
}

#[test]
fn host_memory_is_not_a_holder() {
    let shared = |poll: &mut CardPoll| set_memory(poll, |it| it.source = MemorySource::System);
    assert_eq!(held_state(&[], 40_000, shared), State::TrulyIdle);
    assert_eq!(held_state(&[holder(1, 60)], 40_000, shared), State::TrulyIdle);
    assert_eq!(held_state(&[holder(1, 500)], 40_000, shared), HELD);
}

/// A byte or a thousandth of a percent below a threshold is below it, and the threshold itself is not.
#[test]
fn rounding_never_calls_a_card_busier_or_freer_than_it_was() {
    let at_rate = |percent: f64| {
        idle_state(|poll| {
            let basis = Basis::Counters { covers: Duration::from_secs(5) };
            poll.reading.samples = Reading::Unknown(Reason::NotSupported);
            poll.reading.utilization =
                Reading::Known(Utilization { percent: Percent(percent), basis });
        })
    };
    assert_eq!(at_rate(9.999), HELD);
    assert_eq!(at_rate(10.0), ACTIVE);
    let with_bytes = |bytes: u64| {
        held_state(&[holder(1, 100)], 100, |poll| {
            poll.reading.holders.seen[0].memory = Reading::Known(Bytes(bytes));
        })
    };
    assert_eq!(with_bytes(100 << 20), State::TrulyIdle);
    assert_eq!(with_bytes((100 << 20) + 1), HELD);
}

/// Without any samples of its own.
#[test]
fn one_holder_alone_works_while_its_card_does() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| busy(at, if at <= 60_000 { 80 } else { 0 }));
    let run = run.finish();
    assert_eq!(run.of_holder(Some(1), ACTIVE), (60_000, 60_000, 60_000));
    assert_eq!(run.of_holder(Some(1), HELD), (60_000, 0, 60_000));
}

/// Power is known for half of the time: what is missing is not zero.
#[test]
fn integral_keeps_the_time_for_which_its_quantity_was_known() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| {
        idle(at).with(|card| {
            if at <= 60_000 {
                card.reading.power = Reading::Known(Milliwatts(100_000));
            }
        })
    });
    let run = run.finish();
    let known: i64 = run.spans.iter().map(|span| span.energy.known_ms).sum();
    let joules: f64 = run.spans.iter().map(|span| span.energy.sum).sum();
    assert_eq!((known, joules.round()), (60_000, 6000.0));
    assert_eq!(run.time_in(|_| true), 120_000);
}

#[test]
fn unlisted_memory_has_a_share_of_its_own() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| idle(at).with(|card| card.used = Some(12_000)));
    let run = run.finish();
    assert_eq!(run.of_holder(Some(1), HELD), (120_000, 0, 80_000));
    assert_eq!(run.of_holder(None, HELD), (120_000, 0, 40_000));
}

#[test]
fn unknown_process_memory_gets_what_nobody_else_holds() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| {
        idle(at).with(|card| {
            card.holders.push(TestHolder { mib: None, ..holder(2, 0) });
            card.holders.push(TestHolder { mib: None, ..holder(3, 0) });
            card.used = Some(16_000);
        })
    });
    let run = run.finish();
    let shares = [1, 2, 3].map(|pid| run.of_holder(Some(pid), HELD).2);
    assert_eq!(shares, [60_000, 30_000, 30_000]);
}

#[test]
fn work_that_nobody_was_seen_to_do_is_unknown_and_split_by_memory() {
    let mut run = Run::new();
    let two = |at: Millis, cpu: [f64; 2]| {
        busy(at, 80).with(|card| {
            card.holders = vec![holder(1, 3000), holder(2, 9000)];
            card.holders.iter_mut().zip(cpu).for_each(|(holder, cpu)| holder.cpu = cpu);
        })
    };
    run.every_5_s(0, 120_000, |at| two(at, [0.0, 0.0]));
    let run = run.finish();
    assert_eq!(run.of_holder(Some(1), ACTIVE), (120_000, 0, 30_000));
    assert_eq!(run.of_holder(Some(2), ACTIVE), (120_000, 0, 90_000));
    assert!(run.spans[0].holders.iter().all(|holder| holder.work == Work::Unknown));
    // The only one whose CPU moved did it.
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| two(at, [90.0, 0.0]));
    let run = run.finish();
    assert_eq!(run.of_holder(Some(1), ACTIVE), (120_000, 120_000, 120_000));
    assert_eq!(run.of_holder(Some(2), ACTIVE), (120_000, 0, 0));
}

/// The CPU time that a poll reads was used since the poll before.
#[test]
fn work_between_two_polls_is_that_of_the_holder_who_used_cpu_then() {
    let mut run = Run::new();
    run.every_5_s(0, 600_000, |at| {
        let has_worked = at > 0 && at % 60_000 == 0;
        idle(at).with(|card| {
            card.holders = vec![holder(1, 3000), holder(2, 9000)];
            if has_worked {
                card.holders[0].cpu = 80.0;
                let mut samples = sampled(at - 5000, at - 4500, 0);
                samples.extend(sampled(at - 4500, at - 500, 85));
                samples.extend(sampled(at - 500, at, 0));
                card.samples = Some(samples);
            }
        })
    });
    let run = run.finish();
    let (_, worked, active) = run.of_holder(Some(1), ACTIVE);
    assert!((39_000..=41_000).contains(&active), "{active} ms of ten times 4 s");
    assert_eq!(worked, active);
    assert_eq!(run.of_holder(Some(2), ACTIVE).2, 0, "a share of somebody who never worked");
}

/// One unbroken sleep stays one, whatever the others do.
#[test]
fn sleeper_beside_a_worker_is_never_credited_with_work() {
    let mut run = Run::new();
    run.every_5_s(0, 600_000, |at| {
        let works = at / 40_000 % 2 == 0;
        busy(at, if works { 90 } else { 0 }).with(|card| {
            card.holders = vec![holder(1, 3000), holder(2, 9000)];
            card.process_samples = if works { vec![(1, at, 90)] } else { Vec::new() };
        })
    });
    let run = run.finish();
    let is_idle = |span: &gua_core::Span| {
        let is_it = |it: &&gua_core::span::HolderTime| matches!(it.holder, HolderId::Process(id) if id.pid == 2);
        span.holders.iter().find(is_it).is_some_and(|holder| holder.work == Work::Idle)
    };
    assert!(run.spans.iter().all(is_idle));
}

/// A driver that repeats an old entry at every query.
#[test]
fn repeated_process_sample_is_no_work() {
    let mut run = Run::new();
    run.every_5_s(0, 300_000, |at| {
        busy(at, 80).with(|card| {
            card.holders = vec![holder(1, 3000), holder(2, 9000)];
            card.process_samples = vec![(1, at, 80), (2, -20_000, 60)];
            if at >= 100_000 {
                card.process_samples.push((2, 92_000, 60));
            }
        })
    });
    let run = run.finish();
    assert_eq!(run.of_holder(Some(1), ACTIVE).1, 300_000);
    // The late entry counts once.
    assert!(run.of_holder(Some(2), ACTIVE).1 <= 5000);
}

/// Stamps of the newest process samples vary by some milliseconds, and one of them spans the moment at
/// which one worker takes over from the other.
#[test]
fn workers_who_take_over_do_not_work_at_once() {
    let mut run = Run::new();
    let worker = |at: Millis| if at / 20_000 % 2 == 0 { 1 } else { 2 };
    for second in 0..=600 {
        let at = second * 1000;
        let stamp = at - 50 + second % 4;
        let mut samples = vec![(worker(stamp), stamp, 80)];
        if at % 20_000 == 0 && at > 0 {
            // A third of the sample is the next worker's.
            samples = vec![(worker(at - 1000), stamp, 54), (worker(at + 1000), stamp, 26)];
        }
        let card = busy(at, 80).with(|card| {
            card.holders = vec![holder(1, 3000), holder(2, 9000)];
            card.samples = Some(sampled(at - 1000, at, 80));
            card.process_samples = samples;
        });
        run.add(clocks(at), Ok(vec![card.poll()]));
    }
    let run = run.finish();
    let both = |span: &&gua_core::Span| span.holders.iter().all(|it| it.work == Work::Working);
    let at_once: i64 = run.spans.iter().filter(both).map(|span| span.period.millis()).sum();
    assert!(at_once < 3000, "{at_once} ms of 30 changes");
    let working = run.of_holder(Some(1), ACTIVE).1;
    assert!((297_000..=303_000).contains(&working), "{working}");
}

/// The driver counts the work of a client of MPS for the server.
#[test]
fn work_of_mps_clients_is_unknown_while_the_card_works() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| {
        let percent = if at <= 60_000 { 80 } else { 0 };
        busy(at, percent).with(|card| {
            let client = TestHolder { kinds: Kinds::MPS, ..holder(2, 6000) };
            card.holders = vec![holder(1, 2000), client];
            card.process_samples = if percent > 0 { vec![(1, at, 80)] } else { Vec::new() };
        })
    });
    let run = run.finish();
    let of = |state: State, place: usize| {
        let span = run.spans.iter().find(|span| span.state == state).unwrap();
        (span.holders[place].work, span.holders[place].share_ms * 4 / span.period.millis())
    };
    assert_eq!((of(ACTIVE, 0), of(ACTIVE, 1)), ((Work::Working, 1), (Work::Unknown, 3)));
    assert_eq!((of(HELD, 0).0, of(HELD, 1).0), (Work::Idle, Work::Idle));
}

#[test]
fn exit_that_was_noticed_ends_a_holder_exactly() {
    let mut run = Run::new();
    for at in (0..=120_000).step_by(5000) {
        let card = idle(at).with(|card| card.holders.truncate(usize::from(at <= 60_000)));
        let exit = Exit { id: holder(1, 0).id, at: clocks(61_000).since_boot };
        let exits = if at == 65_000 { vec![exit] } else { Vec::new() };
        run.classifier.add(&Poll { clocks: clocks(at), cards: Ok(vec![card.poll()]), exits });
    }
    let run = run.finish();
    // Its memory is that of the poll before, up to its end.
    assert_eq!(run.of_holder(Some(1), HELD).0, 61_000);
}

#[test]
fn holder_comes_between_its_start_and_the_first_poll_that_lists_it() {
    let mut run = Run::new();
    for at in (0..=60_000).step_by(5000) {
        let mut poll = idle(at).with(|it| it.holders.truncate(usize::from(at >= 30_000))).poll();
        for process in &mut poll.processes {
            process.started = Some(clocks(29_000).since_boot);
        }
        run.add(clocks(at), Ok(vec![poll]));
    }
    let run = run.finish();
    assert_eq!(run.states(), [(0, 29_500, State::TrulyIdle), (29_500, 60_000, HELD)]);
}

/// Memory that is not known of a holder does not make the card held before it came.
#[test]
fn holder_of_unknown_memory_holds_nothing_before_it_comes() {
    let mut run = Run::new();
    for at in (0..=60_000).step_by(5000) {
        let card = idle(at).with(|card| {
            card.holders = vec![TestHolder { mib: None, ..holder(1, 0) }];
            card.holders.truncate(usize::from(at >= 30_000));
            card.used = Some(if at >= 30_000 { 8000 } else { 5 });
        });
        let mut poll = card.poll();
        for process in &mut poll.processes {
            process.started = Some(clocks(29_000).since_boot);
        }
        run.add(clocks(at), Ok(vec![poll]));
    }
    assert_eq!(run.finish().states(), [(0, 29_500, State::TrulyIdle), (29_500, 60_000, HELD)]);
}

#[test]
fn process_that_changes_its_owner_or_start_is_another_one() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| {
        idle(at).with(|card| {
            let id = &mut card.holders[0].id;
            match at {
                ..40_000 => {}
                40_000..80_000 => id.uid = Some(1001),
                _ => *id = ProcessId { start_ticks: Some(99), ..*id },
            }
        })
    });
    let run = run.finish();
    assert_eq!(run.spans.len(), 3);
    let times: Vec<_> = run.states().iter().map(|(from, to, _)| (*from, *to)).collect();
    assert_eq!(times, [(0, 37_500), (37_500, 77_500), (77_500, 120_000)]);
}

/// The host has the process no longer, the driver still lists it.
#[test]
fn process_that_is_gone_is_the_same_holder() {
    let mut run = Run::new();
    run.every_5_s(0, 120_000, |at| {
        idle(at).with(|card| {
            if at > 60_000 {
                card.holders[0].id = ProcessId::unread(1);
            } else if at > 30_000 {
                card.holders[0].id.uid = None;
            }
        })
    });
    assert_eq!(run.finish().states(), [(0, 120_000, HELD)]);
}

#[test]
fn now_says_who_works_and_since_when_nobody_does() {
    let mut run = Run::new();
    run.every_5_s(0, 60_000, |at| busy(at, if at <= 30_000 { 90 } else { 0 }));
    let now = run.classifier.now();
    assert_eq!(now[0].state, HELD);
    assert_eq!(now[0].last_busy.map(|at| at.0 - WALL), Some(30_000));
    assert_eq!(now[0].holders[0].work, Work::Idle);
    assert_eq!(now[0].holders[0].last_busy, now[0].last_busy);
    run.every_5_s(65_000, 65_000, |at| busy(at, 90));
    let now = run.classifier.now();
    assert_eq!((now[0].state, now[0].holders[0].work), (ACTIVE, Work::Working));
    // It is kept over hours and gaps, and is not that of a holder who comes later.
    run.every_5_s(70_000, 3_600_000, idle);
    run.every_5_s(3_700_000, 3_800_000, idle);
    let last = |run: &Run| {
        let now = run.classifier.now();
        [now[0].last_busy, now[0].holders[0].last_busy].map(|at| at.map(|at| at.0 - WALL))
    };
    assert_eq!(last(&run), [Some(65_000); 2]);
    run.every_5_s(3_805_000, 3_900_000, |at| {
        idle(at).with(|it| it.holders = vec![holder(2, 9000)])
    });
    assert_eq!(last(&run), [Some(65_000), None]);
}

#[test]
fn cards_with_two_recent_workers_ask_for_process_samples() {
    let mut run = Run::new();
    let shared = |at: Millis, workers: &[u32]| {
        busy(at, 80).with(|card| {
            card.holders = vec![holder(1, 3000), holder(2, 9000)];
            card.process_samples = workers.iter().map(|pid| (*pid, at, 40)).collect();
        })
    };
    run.every_5_s(0, 30_000, |at| shared(at, &[1]));
    assert!(!run.classifier.has_several_workers(&card("GPU-1")));
    run.every_5_s(35_000, 35_000, |at| shared(at, &[1, 2]));
    assert!(run.classifier.has_several_workers(&card("GPU-1")));
    run.every_5_s(40_000, 100_000, |at| shared(at, &[1]));
    assert!(!run.classifier.has_several_workers(&card("GPU-1")));
}
