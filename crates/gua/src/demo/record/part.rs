//! Everything that a recorder would know of a time.

use gua_core::classifier::activity::{Micros, Stretch};
use gua_core::span::Gap;
use gua_core::units::UnixMillis;
use gua_core::{Period, Span, Thresholds};
use gua_store::{CardSample, ProcessEntry};

use super::classify::{classify, classify_unpartitioned, classify_unread};
use super::course::{Course, energy};
use super::identity::entry;
use super::observed::{Condition, conditions};
use super::timeline::{Timeline, multiples, period, stretch};
use crate::demo::play::{Scene, Shift};
use crate::simulated::Unit;

/// Time around a part that is looked at, too: work there may be one with work in the part.
const AROUND: Micros = 30_000_000;

/// Time between two samples for plots.
const SAMPLES: Micros = 30_000_000;

/// A part of a run that one scene covers.
#[derive(Debug, Default)]
pub(super) struct Part {
    /// In order of time.
    pub spans: Vec<Span>,
    pub gaps: Vec<Gap>,
    pub samples: Vec<(UnixMillis, CardSample)>,
}

impl Part {
    /// Classifies a time of a run. Samples are taken from `samples_from` on.
    pub fn new(
        scene: &Scene,
        units: &[Unit],
        shift: &Shift,
        time: Period,
        samples_from: UnixMillis,
        thresholds: &Thresholds,
    ) -> Self {
        let mut part = Self::default();
        let asleep: Vec<Stretch> = shift.asleep.iter().map(|sleep| stretch(*sleep)).collect();
        let time = stretch(time);
        for (time, condition) in conditions(scene, None, time, &asleep) {
            if let Condition::Gap(reason) = condition {
                part.gaps.push(Gap { period: period(time), reason });
            }
        }
        let run = stretch(shift.period);
        let around = Stretch {
            from: (time.from - AROUND).max(run.from),
            to: (time.to + AROUND).min(run.to),
        };
        let samples_from = samples_from.0.saturating_mul(1000);
        for unit in units {
            let Some(place) = unit.place(&scene.scenario) else { continue };
            for (observed, condition) in conditions(scene, Some(place.uuid()), around, &asleep) {
                let inside = overlap(observed, time);
                if inside.length() <= 0 {
                    continue;
                }
                match condition {
                    Condition::Gap(_) => {}
                    Condition::Unread(reason) => {
                        classify_unread(reason, &unit.facts, inside, &mut part.spans);
                    }
                    Condition::Observed if unit.facts.is_unpartitioned() => {
                        let timeline = Timeline::new(scene);
                        let (card, slices) = (place.card, unit.facts.slices());
                        let energy = |time| energy(&scene.scenario, card, slices, time, timeline);
                        classify_unpartitioned(energy, &unit.facts, inside, &mut part.spans);
                    }
                    Condition::Observed => {
                        let place = (place, unit.facts.slices());
                        let course = Course::new(scene, place, observed, thresholds);
                        classify(&course, &unit.facts, inside, thresholds, &mut part.spans);
                        let times = sample_times(observed, inside, samples_from);
                        course.sample(&unit.facts, times, |at, sample| {
                            part.samples.push((UnixMillis(at.div_euclid(1000)), sample));
                        });
                    }
                }
            }
        }
        // In the order of the rows.
        part.spans.sort_by_key(|span| span.period.from);
        part.samples.sort_by_key(|(at, _)| *at);
        part
    }
}

/// Returns the processes that are there in a time and begin from `begin` on.
pub(super) fn processes(scene: &Scene, begin: UnixMillis, time: Period) -> Vec<ProcessEntry> {
    let timeline = Timeline::new(scene);
    let [from, to] = [time.from, time.to].map(|at| timeline.moment(at.0.saturating_mul(1000)));
    let begin = timeline.moment(begin.0.saturating_mul(1000));
    let processes = scene.scenario.processes.iter();
    let known = processes.filter(|process| process.touches(from, to) && process.begin >= begin);
    known.map(|process| entry(process, &scene.scenario, timeline)).collect()
}

/// Returns the times that samples speak for: those that end in `inside`.
fn sample_times(
    observed: Stretch,
    inside: Stretch,
    samples_from: Micros,
) -> impl Iterator<Item = Stretch> {
    let ends = Stretch { from: inside.from.max(samples_from), to: inside.to + 1 };
    let times = multiples(SAMPLES, ends).into_iter().map(|to| Stretch { from: to - SAMPLES, to });
    times.filter(move |time| observed.covers(*time))
}

fn overlap(one: Stretch, other: Stretch) -> Stretch {
    Stretch { from: one.from.max(other.from), to: one.to.min(other.to) }
}
