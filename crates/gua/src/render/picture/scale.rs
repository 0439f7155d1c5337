//! Where the ticks of an axis are, and what they say.

use crate::cli::MemoryUnit;
use crate::render::tracked::figures::{percent, size};

/// Room above the highest value, for its label.
const ROOM: f64 = 1.16;

/// Lengths of time that people count in, in seconds.
const TIMES: [f64; 21] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0,
    10_800.0, 21_600.0, 43_200.0, 86_400.0, 172_800.0, 432_000.0, 604_800.0,
];

/// An axis from zero on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scale {
    /// Its far end.
    pub top: f64,
    pub ticks: Vec<Tick>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub at: f64,
    pub label: String,
}

impl Scale {
    /// Of memory, in bytes.
    pub fn memory(most: f64, unit: MemoryUnit) -> Self {
        let top = sane(most, 1_000.0) * ROOM;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let label = |bytes: f64| match bytes {
            0.0 => "0".to_owned(),
            bytes => size(bytes.round() as u64, unit),
        };
        // Whole figures in the unit that is shown, also where that is a binary one.
        let one = match unit {
            MemoryUnit::Kib | MemoryUnit::Mib | MemoryUnit::Gib | MemoryUnit::Tib => binary(top),
            _ => 1.0,
        };
        Self::new(top, round(top / one / 4.0) * one, label)
    }

    /// Of a load: one core or one card is 100.
    pub fn load(most: f64) -> Self {
        let most = sane(most, 100.0).max(100.0);
        Self::new(most * ROOM, round(most / 4.0), percent)
    }

    /// Of time, in seconds, with about so many ticks.
    pub fn time(end: f64, ticks: f64) -> Self {
        let end = sane(end, 0.001);
        let wanted = end / ticks;
        let counted = TIMES.into_iter().find(|step| *step >= wanted);
        let step = match counted {
            Some(step) if wanted > 0.5 => step,
            Some(_) => round(wanted),
            // Weeks and weeks.
            None => round(wanted / 86_400.0) * 86_400.0,
        };
        Self::new(end, step, |seconds| moment(seconds, step))
    }

    fn new(top: f64, step: f64, label: impl Fn(f64) -> String) -> Self {
        let ticks = (0_u32..100).map(|count| f64::from(count) * step);
        let ticks = ticks.take_while(|at| *at <= top * (1.0 + 1e-9));
        Self { top, ticks: ticks.map(|at| Tick { at, label: label(at) }).collect() }
    }
}

/// A measure that is none, or nothing, or beyond all sense, has an axis all the same.
fn sane(most: f64, instead: f64) -> f64 {
    const SENSE: std::ops::RangeInclusive<f64> = 1e-9..=1e24;
    if most.is_nan() || most <= 0.0 { instead } else { most.clamp(*SENSE.start(), *SENSE.end()) }
}

/// The largest power of 1024 that is not above it.
fn binary(top: f64) -> f64 {
    let powers = (0..6).map(|power| 1024_f64.powi(power));
    powers.take_while(|power| *power <= top).last().unwrap_or(1.0)
}

/// The next of 1, 2, 5 and their tens.
fn round(step: f64) -> f64 {
    let tens = 10_f64.powf(step.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|of| of * tens);
    steps.into_iter().find(|round| *round >= step * (1.0 - 1e-9)).unwrap_or(10.0 * tens)
}

/// `15m`, `1h`, `1h15m`, `2d06h`, `250ms`: as fine as the step is.
fn moment(seconds: f64, step: f64) -> String {
    if seconds == 0.0 {
        return "0".to_owned();
    }
    if step < 1.0 {
        return fraction(seconds, step);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let all = seconds.round() as u64;
    let units = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let mut rest = all;
    let mut text = String::new();
    for (length, sign) in units {
        if rest >= length {
            let count = rest / length;
            text.push_str(&if text.is_empty() {
                format!("{count}{sign}")
            } else {
                format!("{count:02}{sign}")
            });
            rest %= length;
        }
    }
    text
}

fn fraction(seconds: f64, step: f64) -> String {
    let millis = seconds * 1000.0;
    match seconds {
        s if s < 1.0 - 1e-9 && step >= 0.001 => format!("{millis:.0}ms"),
        s if s < 1.0 - 1e-9 => format!("{}ms", format!("{millis:.4}").trim_end_matches('0')),
        s => {
            let text = format!("{s:.3}");
            format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn ticks_are_figures_that_people_count_in() {
        let auto = MemoryUnit::Auto;
        assert_eq!(labels(&Scale::memory(2.51e9, auto)), ["0", "1 GB", "2 GB"]);
        assert_eq!(labels(&Scale::memory(17e9, auto)), ["0", "5 GB", "10 GB", "15 GB"]);
        assert_eq!(
            labels(&Scale::memory(3.2e9, MemoryUnit::Gib)),
            ["0", "1 GiB", "2 GiB", "3 GiB"]
        );
        assert_eq!(labels(&Scale::load(4.0)), ["0 %", "50 %", "100 %"]);
        assert_eq!(labels(&Scale::load(512.0)), ["0 %", "200 %", "400 %"]);
        assert_eq!(labels(&Scale::time(5_382.0, 8.0)), ["0", "15m", "30m", "45m", "1h", "1h15m"]);
        assert_eq!(labels(&Scale::time(0.2, 5.0)), ["0", "50ms", "100ms", "150ms", "200ms"]);
        assert_eq!(
            labels(&Scale::time(3.0, 6.0)),
            ["0", "500ms", "1s", "1.5s", "2s", "2.5s", "3s"]
        );
        assert_eq!(labels(&Scale::time(200_000.0, 5.0)), ["0", "12h", "1d", "1d12h", "2d"]);
    }

    proptest! {
        #[test]
        fn ticks_cover_the_range(most in 1e-3_f64..1e18, ticks in 5.0_f64..12.0) {
            for scale in [
                Scale::memory(most, MemoryUnit::Auto),
                Scale::memory(most, MemoryUnit::Gib),
                Scale::load(most),
                Scale::time(most, ticks),
            ] {
                prop_assert!(scale.top >= most.min(scale.top));
                prop_assert!((2..=40).contains(&scale.ticks.len()), "{:?}", scale);
                prop_assert_eq!(scale.ticks[0].at, 0.0);
                let step = scale.ticks[1].at;
                let last = scale.ticks.last().unwrap().at;
                prop_assert!(last <= scale.top * 1.001 && last + step > scale.top, "{:?}", scale);
            }
        }

        #[test]
        fn no_figure_is_too_much(most in proptest::num::f64::ANY) {
            for scale in [
                Scale::memory(most, MemoryUnit::Tib), Scale::load(most), Scale::time(most, 8.0),
            ] {
                prop_assert!(!scale.ticks.is_empty() && scale.ticks.len() <= 100);
            }
        }
    }
}
