//! Unix time of a scenario.

use gua_core::Period;
use gua_core::classifier::activity::{Micros, Stretch};
use gua_core::units::UnixMillis;
use scenario::Moment;

use crate::demo::play::Scene;

/// Maps a scenario's moments to microseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeline {
    origin: Micros,
}

impl Timeline {
    pub const fn new(scene: &Scene) -> Self {
        Self { origin: scene.origin.0.saturating_mul(1000) }
    }

    pub const fn moment(self, at: Micros) -> Moment {
        Moment::from_micros(at.saturating_sub(self.origin))
    }

    pub const fn micros(self, moment: Moment) -> Micros {
        moment.as_micros().saturating_add(self.origin)
    }
}

/// Returns the parts of a time between cuts, which may be in any order and lie outside of it.
pub(super) fn between(time: Stretch, mut cuts: Vec<Micros>) -> impl Iterator<Item = Stretch> {
    cuts.push(time.to);
    cuts.retain(|at| time.from < *at && *at <= time.to);
    cuts.sort_unstable();
    cuts.dedup();
    let mut from = time.from;
    cuts.into_iter().map(move |to| {
        let part = Stretch { from, to };
        from = to;
        part
    })
}

/// Returns the multiples of a length that lie within a time.
pub(super) fn multiples(length: Micros, time: Stretch) -> Vec<Micros> {
    let first = time.from.div_euclid(length) + 1;
    (first..).map(|number| number * length).take_while(|at| *at < time.to).collect()
}

pub(super) const fn stretch(period: Period) -> Stretch {
    Stretch { from: period.from.0.saturating_mul(1000), to: period.to.0.saturating_mul(1000) }
}

pub(super) const fn period(stretch: Stretch) -> Period {
    Period::new(UnixMillis(stretch.from.div_euclid(1000)), UnixMillis(stretch.to.div_euclid(1000)))
}
