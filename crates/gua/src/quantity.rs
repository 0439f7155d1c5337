//! Quantities in few characters.

pub use gua_core::text::{format_duration as duration, format_gib as gib, format_memory as memory};

/// The same where it may be unknown: `? GiB`.
#[must_use]
pub fn memory_or_unknown(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "? GiB".to_owned(), memory)
}

/// How much of a card's memory is used, each known or not: `8.0/80.0 GiB`.
#[must_use]
pub fn memory_of(used: Option<u64>, total: Option<u64>) -> String {
    let used = used.map_or_else(|| "?".to_owned(), gib);
    format!("{used}/{}", memory_or_unknown(total))
}

/// A size of a file in the largest unit of which there is at least one: `812.0 KiB`, `41.3 MiB`.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub fn size(bytes: u64) -> String {
    let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let large = units.into_iter().find(|(unit, _)| bytes >= *unit);
    large.map_or_else(
        || format!("{bytes} B"),
        |(unit, name)| format!("{:.1} {name}", bytes as f64 / unit as f64),
    )
}

/// Digits in groups of three: `5,382`.
#[must_use]
pub fn thousands(digits: &str) -> String {
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// A number of things: `5,382`.
#[must_use]
pub fn count(number: u64) -> String {
    thousands(&number.to_string())
}

/// An interval as it is typed: `30s`, `1m30s`, `250ms`.
#[must_use]
pub fn interval(interval: std::time::Duration) -> String {
    let units = [("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
    let mut rest = interval.as_millis();
    let mut text = String::new();
    for (unit, millis) in units {
        if rest >= millis {
            text.push_str(&format!("{}{unit}", rest / millis));
            rest %= millis;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_two_units_at_most() {
        let shown = [0.4, 59.0, 60.0, 3599.0, 18_720.0, 86_400.0, 266_400.0, -5.0].map(duration);
        assert_eq!(shown, ["0s", "59s", "1m", "59m", "5h12m", "1d00h", "3d02h", "0s"]);
    }

    #[test]
    fn file_sizes_are_binary() {
        let shown = [1_023, 1_024, 5_300_000, 3 << 30].map(size);
        assert_eq!(shown, ["1023 B", "1.0 KiB", "5.1 MiB", "3.0 GiB"]);
    }

    #[test]
    fn a_little_memory_is_not_none() {
        assert_eq!([0, 1, 64 << 20, 80 << 30].map(gib), ["0.0", "<0.1", "0.1", "80.0"]);
    }

    #[test]
    fn memory_is_told_in_one_unit_known_or_not() {
        assert_eq!([1, 455 << 20, 80 << 30].map(memory), ["<0.1 GiB", "0.4 GiB", "80.0 GiB"]);
        assert_eq!(memory_or_unknown(None), "? GiB");
        assert_eq!(memory_of(Some(8 << 30), Some(80 << 30)), "8.0/80.0 GiB");
        assert_eq!(memory_of(None, Some(80 << 30)), "?/80.0 GiB");
        assert_eq!(memory_of(Some(0), None), "0.0/? GiB");
    }
}
