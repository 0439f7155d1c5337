//! Sizes, loads and lengths of time in few characters.

use crate::cli::MemoryUnit;
use crate::render::words::thousands;

const DECIMAL: [(f64, &str); 6] =
    [(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];

/// A size in a unit, with three figures: `2.51 GB`, `17 GB`, `512 MiB`.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
pub fn size(bytes: u64, unit: MemoryUnit) -> String {
    let binary = |power: i32| 1024_f64.powi(power);
    let (size, name) = match unit {
        MemoryUnit::Auto => auto(bytes),
        MemoryUnit::Bytes => return format!("{} B", thousands(&bytes.to_string())),
        MemoryUnit::Kb => (1e3, "kB"),
        MemoryUnit::Mb => (1e6, "MB"),
        MemoryUnit::Gb => (1e9, "GB"),
        MemoryUnit::Tb => (1e12, "TB"),
        MemoryUnit::Kib => (binary(1), "KiB"),
        MemoryUnit::Mib => (binary(2), "MiB"),
        MemoryUnit::Gib => (binary(3), "GiB"),
        MemoryUnit::Tib => (binary(4), "TiB"),
    };
    format!("{} {name}", three_figures(bytes as f64 / size))
}

/// The largest unit that leaves something before the point, rounding included.
#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn auto(bytes: u64) -> (f64, &'static str) {
    let fits = |(size, _): &(f64, &str)| bytes as f64 >= size * 0.999_5;
    DECIMAL.into_iter().find(fits).unwrap_or((1.0, "B"))
}

/// With as many decimals as make three figures; none where they are nothing.
#[must_use]
pub fn three_figures(value: f64) -> String {
    let decimals = match value.abs() {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    let shown = format!("{value:.decimals$}");
    let is_a_little = value > 0.0 && shown == "0.00";
    let is_whole = decimals > 0 && shown.bytes().rev().take(decimals).all(|b| b == b'0');
    match shown.split_once('.') {
        _ if is_a_little => "<0.01".to_owned(),
        Some((whole, _)) if is_whole => whole.to_owned(),
        Some(_) => shown,
        None => thousands(&shown),
    }
}

/// A load: `512 %`, `0.3 %`. A little is not nothing.
#[must_use]
pub fn percent(percent: f64) -> String {
    match percent {
        p if p > 0.0 && p < 0.05 => "<0.1 %".to_owned(),
        p if p > 0.0 && p < 9.95 => format!("{} %", format!("{p:.1}").trim_end_matches(".0")),
        p => format!("{} %", thousands(&format!("{p:.0}"))),
    }
}

/// A length of time: `1.24 ms`, `8.05 s`, `4m09s`, `1h29m42s`, `3d02h11m`.
#[must_use]
pub fn length(seconds: f64) -> String {
    if !seconds.is_finite() {
        return "?".to_owned();
    }
    if seconds < 0.9995 {
        return format!("{} ms", three_figures(seconds * 1000.0));
    }
    if seconds < 59.95 {
        return format!("{} s", three_figures(seconds));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let all = seconds.round() as u64;
    let (days, hours, minutes, rest) = (all / 86_400, all / 3_600 % 24, all / 60 % 60, all % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes}m{rest:02}s"),
        (0, hours) => format!("{hours}h{minutes:02}m{rest:02}s"),
        (days, hours) => format!("{days}d{hours:02}h{minutes:02}m"),
    }
}

/// How many: `5,382`.
#[must_use]
pub fn count(count: u64) -> String {
    thousands(&count.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_have_three_figures() {
        let auto = |bytes| size(bytes, MemoryUnit::Auto);
        assert_eq!(
            [0, 999, 1_000, 2_510_000_000, 17_000_000_000, 999_600_000, 1 << 40].map(auto),
            ["0 B", "999 B", "1 kB", "2.51 GB", "17 GB", "1 GB", "1.10 TB"]
        );
        assert_eq!(size(3 << 29, MemoryUnit::Gib), "1.50 GiB");
        assert_eq!(size(1 << 30, MemoryUnit::Bytes), "1,073,741,824 B");
        assert_eq!(size(12_345_678_900, MemoryUnit::Mb), "12,346 MB");
        assert_eq!(size(1, MemoryUnit::Gb), "<0.01 GB");
    }

    #[test]
    fn a_little_load_is_not_none() {
        assert_eq!(
            [0.0, 0.01, 0.3, 4.0, 9.96, 120.0, 6_400.0].map(percent),
            ["0 %", "<0.1 %", "0.3 %", "4 %", "10 %", "120 %", "6,400 %"]
        );
    }

    #[test]
    fn lengths_have_the_units_that_fit() {
        assert_eq!(
            [0.001_24, 0.25, 8.05, 59.96, 249.0, 5_382.0, 266_400.0].map(length),
            ["1.24 ms", "250 ms", "8.05 s", "1m00s", "4m09s", "1h29m42s", "3d02h00m"]
        );
    }

    proptest! {
        #[test]
        fn any_figure_can_be_shown(bytes in any::<u64>(), figure in proptest::num::f64::ANY) {
            prop_assert!(size(bytes, MemoryUnit::Auto).len() <= 10);
            prop_assert!([length(figure), percent(figure)].iter().all(|text| !text.is_empty()));
        }
    }
}
