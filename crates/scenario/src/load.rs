//! A percentage over time: constant, duty cycle, ramp or points, with optional noise.

use std::time::Duration;

use crate::moment::{Moment, micros};
use crate::noise;

/// What a card or a process does over time, in percent.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    pub shape: Shape,
    /// Half the width of the noise added to each driver sample, in percent points.
    pub noise: f64,
}

/// The course without its noise.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    Constant(f64),
    /// `high` for the first `duty` of each period, `low` for the rest.
    Duty {
        duty: f64,
        period: Duration,
        high: f64,
        low: f64,
        phase: Duration,
    },
    /// A straight line from one value at `begin` to another at `end`, held outside.
    Ramp {
        from: f64,
        to: f64,
        begin: Moment,
        end: Moment,
    },
    /// Steps: each value holds until the next one. Sorted by time, never empty.
    Points {
        points: Vec<(Moment, f64)>,
        repeat: Option<Duration>,
    },
}

impl Load {
    #[must_use]
    pub const fn constant(percent: f64) -> Self {
        Self { shape: Shape::Constant(percent), noise: 0.0 }
    }

    /// The value at one moment, without noise.
    #[must_use]
    pub fn at(&self, t: Moment) -> f64 {
        self.shape.at(t)
    }

    /// The mean between two moments, without noise; the value itself when they are the same.
    #[must_use]
    pub fn mean(&self, from: Moment, to: Moment) -> f64 {
        let seconds = to.as_secs_f64() - from.as_secs_f64();
        if seconds <= 0.0 { self.at(to) } else { self.integral(from, to) / seconds }
    }

    /// Percent-seconds between two moments, the earlier one first, without noise.
    #[must_use]
    pub fn integral(&self, from: Moment, to: Moment) -> f64 {
        self.shape.integral(from, to)
    }

    /// Returns the moments between two at which the value changes, in order. A ramp changes every second.
    #[must_use]
    pub fn changes(&self, from: Moment, to: Moment) -> Vec<Moment> {
        let mut changes = self.shape.changes(from, to);
        changes.retain(|at| from < *at && *at < to);
        changes
    }

    /// What a driver that averages over `from..to` would report, noise included.
    #[must_use]
    pub fn sampled(&self, from: Moment, to: Moment, seed: u64, place: u64) -> f64 {
        let noise = self.noise * noise::at(seed, place, to.as_micros());
        (self.mean(from, to) + noise).clamp(0.0, 100.0)
    }
}

impl Shape {
    fn at(&self, t: Moment) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Duty { duty, period, high, low, phase } => {
                let (_, into) = cycle(t + *phase, *period);
                if into < duty / 100.0 * period.as_secs_f64() { *high } else { *low }
            }
            Self::Ramp { from, to, begin, end } => {
                let (begin, end) = (begin.as_secs_f64(), end.as_secs_f64());
                let share = ((t.as_secs_f64() - begin) / (end - begin)).clamp(0.0, 1.0);
                from + (to - from) * share
            }
            Self::Points { points, repeat } => {
                let t = match repeat {
                    Some(repeat) => Moment::from_micros(t.as_micros().rem_euclid(micros(*repeat))),
                    None => t,
                };
                let after = points.partition_point(|(at, _)| *at <= t);
                points[after.saturating_sub(1)].1
            }
        }
    }

    /// Returns the changes of the periods that lie between two moments, at least in part.
    #[expect(clippy::cast_possible_truncation, reason = "a part of a period is shorter than it")]
    fn changes(&self, from: Moment, to: Moment) -> Vec<Moment> {
        let periods = |period: Duration, phase: Duration| {
            let period = micros(period).max(1);
            let number = |at: Moment| (at + phase).as_micros().div_euclid(period);
            (number(from)..=number(to)).map(move |number| number * period - micros(phase))
        };
        match self {
            Self::Constant(_) => Vec::new(),
            Self::Duty { duty, period, phase, .. } => {
                let on = (duty / 100.0 * period.as_secs_f64() * 1e6) as i64;
                let begins = periods(*period, *phase);
                begins.flat_map(|begin| [begin, begin + on].map(Moment::from_micros)).collect()
            }
            Self::Ramp { begin, end, .. } => {
                let (begin, end) = (begin.as_micros(), end.as_micros());
                let first = begin.max(from.as_micros());
                let steps = (first..end.min(to.as_micros())).step_by(1_000_000);
                steps.chain([end]).map(Moment::from_micros).collect()
            }
            Self::Points { points, repeat: None } => {
                let first = points.partition_point(|(at, _)| *at <= from);
                let changes = points.iter().skip(first).map(|(at, _)| *at);
                changes.take_while(|at| *at < to).collect()
            }
            Self::Points { points, repeat: Some(repeat) } => {
                let change = |begin: i64, at: Moment| Moment::from_micros(begin + at.as_micros());
                let begins = periods(*repeat, Duration::ZERO);
                let in_one = |begin| points.iter().map(move |(at, _)| change(begin, *at));
                begins.flat_map(in_one).collect()
            }
        }
    }

    /// Percent-seconds between two moments.
    fn integral(&self, from: Moment, to: Moment) -> f64 {
        let between =
            |antiderivative: &dyn Fn(Moment) -> f64| antiderivative(to) - antiderivative(from);
        match self {
            Self::Constant(value) => between(&|t| value * t.as_secs_f64()),
            Self::Duty { duty, period, high, low, phase } => between(&|t| {
                let on = duty / 100.0 * period.as_secs_f64();
                let (cycles, into) = cycle(t + *phase, *period);
                let whole = on * high + (period.as_secs_f64() - on) * low;
                cycles * whole + into.min(on) * high + (into - on).max(0.0) * low
            }),
            Self::Ramp { from, to, begin, end } => between(&|t| {
                let (x, begin, end) = (t.as_secs_f64(), begin.as_secs_f64(), end.as_secs_f64());
                let sloped = x.clamp(begin, end) - begin;
                let slope = (to - from) / (end - begin);
                from * x.min(begin)
                    + (from + slope * sloped / 2.0) * sloped
                    + to * (x - end).max(0.0)
            }),
            Self::Points { points, repeat: None } => {
                steps(points, from.as_secs_f64(), to.as_secs_f64())
            }
            Self::Points { points, repeat: Some(repeat) } => {
                let ((first, begin), (last, end)) = (cycle(from, *repeat), cycle(to, *repeat));
                let cycles = last - first;
                if cycles < 1.0 {
                    return steps(points, begin, end);
                }
                let length = repeat.as_secs_f64();
                let edges = steps(points, begin, length) + steps(points, 0.0, end);
                if cycles < 2.0 {
                    edges
                } else {
                    edges + (cycles - 1.0) * steps(points, 0.0, length)
                }
            }
        }
    }
}

/// How many whole periods lie before `t`, and how many seconds into the current one it is.
#[expect(clippy::cast_precision_loss, reason = "cycle counts are far below 2^53")]
fn cycle(t: Moment, period: Duration) -> (f64, f64) {
    let period = micros(period);
    let cycles = t.as_micros().div_euclid(period);
    let into = Moment::from_micros(t.as_micros().rem_euclid(period));
    (cycles as f64, into.as_secs_f64())
}

/// The integral of a step function between two times in seconds; the first value holds before it.
/// Reads only the points between them, since a list can be long and a sample's period is short.
fn steps(points: &[(Moment, f64)], from: f64, to: f64) -> f64 {
    let first = points.partition_point(|(at, _)| at.as_secs_f64() <= from).saturating_sub(1);
    let (mut sum, mut at) = (0.0, from);
    for (i, (_, value)) in points.iter().enumerate().skip(first) {
        let until = points.get(i + 1).map_or(to, |next| next.0.as_secs_f64().min(to));
        sum += value * (until - at);
        at = until;
        if at >= to {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn s(secs: i64) -> Moment {
        Moment::from_secs(secs)
    }

    fn duty() -> Load {
        let shape = Shape::Duty {
            duty: 40.0,
            period: Duration::from_secs(10),
            high: 90.0,
            low: 2.0,
            phase: Duration::ZERO,
        };
        Load { shape, noise: 0.0 }
    }

    fn any_load() -> impl Strategy<Value = Load> {
        let percent = 0.0..100.0_f64;
        let shape = prop_oneof![
            percent.clone().prop_map(Shape::Constant),
            (percent.clone(), 1_u64..100, percent.clone(), percent.clone(), 0_u64..50).prop_map(
                |(duty, period, high, low, phase)| Shape::Duty {
                    duty,
                    period: Duration::from_secs(period),
                    high,
                    low,
                    phase: Duration::from_secs(phase),
                }
            ),
            (percent.clone(), percent.clone(), -50_i64..50, 1_i64..50).prop_map(
                |(from, to, begin, length)| Shape::Ramp {
                    from,
                    to,
                    begin: s(begin),
                    end: s(begin + length)
                }
            ),
            (prop::collection::vec(percent, 1..6), prop::option::of(10_u64..60)).prop_map(
                |(values, repeat)| Shape::Points {
                    points: values.iter().zip(0..).map(|(v, i)| (s(i * 3), *v)).collect(),
                    repeat: repeat.map(|r| Duration::from_secs(r + 20)),
                }
            ),
        ];
        shape.prop_map(|shape| Load { shape, noise: 0.0 })
    }

    #[test]
    fn a_duty_cycle_is_high_first() {
        assert_eq!(
            [0, 3, 4, 9, 10, -1].map(|t| duty().at(s(t))),
            [90.0, 90.0, 2.0, 2.0, 90.0, 2.0]
        );
        assert!((duty().mean(s(-20), s(30)) - (0.4 * 90.0 + 0.6 * 2.0)).abs() < 1e-9);
    }

    #[test]
    fn points_repeat_exactly() {
        let points = vec![(s(0), 90.0), (s(41), 0.0)];
        let phases = Load {
            shape: Shape::Points { points, repeat: Some(Duration::from_secs(94)) },
            noise: 0.0,
        };
        let work = |from, to| phases.integral(s(from), s(to));
        assert_eq!(
            [work(0, 41), work(40, 50), work(41, 94), work(90, 96)],
            [3690.0, 90.0, 0.0, 180.0]
        );
        assert_eq!([work(0, 94 * 3), work(-94, 94)], [3.0 * 3690.0, 2.0 * 3690.0]);
        assert_eq!([40, 41, 93, 94, -1].map(|t| phases.at(s(t))), [90.0, 0.0, 0.0, 90.0, 0.0]);
    }

    #[test]
    fn noise_is_bounded_and_repeats_with_the_seed() {
        let load = Load { noise: 5.0, ..Load::constant(50.0) };
        let run = |seed| (0..50).map(|t| load.sampled(s(t), s(t + 1), seed, 3)).collect::<Vec<_>>();
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
        assert!(run(7).iter().all(|v| (45.0..=55.0).contains(v)));
    }

    proptest! {
        /// Between two changes, a load without a ramp has one value.
        #[test]
        fn changes_are_where_the_value_changes(load in any_load(), from in -100_i64..100, length in 1_i64..50) {
            let (from, to) = (s(from), s(from + length));
            let edges: Vec<_> = [from].into_iter().chain(load.changes(from, to)).chain([to]).collect();
            prop_assert!(edges.is_sorted());
            if matches!(load.shape, Shape::Ramp { .. }) {
                return Ok(());
            }
            for pair in edges.windows(2) {
                let length = pair[1].as_micros() - pair[0].as_micros();
                for part in [1, 2, 5, 9] {
                    let at = Moment::from_micros(pair[0].as_micros() + length * part / 10);
                    let mean = load.mean(pair[0], pair[1]);
                    // A change is known to the microsecond, so the mean is off by one of them.
                    let off = 100.0 / length.max(1) as f64 + 1e-9;
                    prop_assert!(length < 10 || (load.at(at) - mean).abs() < off, "{at:?}");
                }
            }
        }

        /// The closed form of the integral agrees with a straight sum over small steps.
        #[test]
        fn the_integral_is_the_sum_of_the_values(load in any_load(), from in -100_i64..100, length in 1_i64..50) {
            let step = 1_000;
            let sum: f64 = (0..length * 1_000)
                .map(|i| load.at(Moment::from_micros(from * 1_000_000 + i * step + step / 2)) * 1e-3)
                .sum();
            let exact = load.integral(s(from), s(from + length));
            // A step that a jump falls into is off by at most the jump times its length, and
            // no shape here jumps more often than twice a second.
            let jumps = 2.0 * length as f64 + 2.0;
            prop_assert!((sum - exact).abs() < jumps * 100.0 * 1e-3, "{sum} {exact}");
        }
    }
}
