//! Quantities as short text.

/// Formats bytes as gibibytes with one decimal: `8.0`.
#[must_use]
pub fn format_gib(bytes: u64) -> String {
    let gib = bytes as f64 / f64::from(1 << 30);
    // A small holder is not nothing.
    if bytes > 0 && gib < 0.05 { "<0.1".to_owned() } else { format!("{gib:.1}") }
}

/// Formats memory of a card or a process: `8.0 GiB`.
#[must_use]
pub fn format_memory(bytes: u64) -> String {
    format!("{} GiB", format_gib(bytes))
}

/// Formats a length of time in at most two units: `5h12m`, `3d02h`, `47m`, `9s`.
#[must_use]
pub fn format_duration(seconds: f64) -> String {
    let units = [(86_400, 'd', 3_600, 'h'), (3_600, 'h', 60, 'm')];
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let seconds = seconds.max(0.0) as u64;
    for (large, large_sign, small, small_sign) in units {
        if seconds >= large {
            let rest = seconds % large / small;
            return format!("{}{large_sign}{rest:02}{small_sign}", seconds / large);
        }
    }
    if seconds >= 60 { format!("{}m", seconds / 60) } else { format!("{seconds}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_short() {
        assert_eq!([0, 1, 8 << 30].map(format_memory), ["0.0 GiB", "<0.1 GiB", "8.0 GiB"]);
        let seconds = [-1.0, 9.9, 300.0, 18_720.0, 266_400.0];
        assert_eq!(seconds.map(format_duration), ["0s", "9s", "5m", "5h12m", "3d02h"]);
    }
}
