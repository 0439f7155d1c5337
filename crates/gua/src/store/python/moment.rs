//! The times of a file: ISO 8601 text, the same for all rows of a tick.

use probe::units::UnixMillis;
use rusqlite::types::ValueRef;

use crate::calendar;

/// Reads times, each text once as long as it repeats.
#[derive(Debug, Default)]
pub(super) struct Moments {
    text: String,
    at: Option<UnixMillis>,
}

impl Moments {
    /// `None` for what is no time.
    pub fn read(&mut self, value: ValueRef<'_>) -> Option<UnixMillis> {
        let text = value.as_str().ok()?;
        if self.text != text || text.is_empty() {
            text.clone_into(&mut self.text);
            self.at = parse(text);
        }
        self.at
    }

    /// The text that was read last.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// A time without an offset is none: it could be anywhere within a day.
fn parse(text: &str) -> Option<UnixMillis> {
    let at: jiff::Timestamp = text.parse().ok()?;
    Some(UnixMillis(at.as_millisecond()))
}

/// The day so many days from a moment, as the texts begin: for comparing texts.
pub(super) fn day(at: UnixMillis, days: i64) -> String {
    let moved = at.0.saturating_add(days.saturating_mul(86_400_000));
    // Outside of what can be written, nothing is left out.
    let Some(moment) = calendar::timestamp(UnixMillis(moved)) else {
        return if moved < 0 { String::new() } else { "~".to_owned() };
    };
    moment.strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<i64> {
        Moments::default().read(ValueRef::Text(text.as_bytes())).map(|at| at.0)
    }

    #[test]
    fn times_are_read_in_every_offset() {
        for text in [
            "2026-11-15T20:00:00+00:00",
            "2026-11-15T20:00:00Z",
            "2026-11-15 20:00:00.000000+00:00",
            "2026-11-16T05:00:00+09:00",
            "2026-11-15T14:30:00-05:30",
        ] {
            assert_eq!(read(text), Some(1_794_772_800_000), "{text}");
        }
        assert_eq!(read("2026-11-15T20:00:00.732447+00:00"), Some(1_794_772_800_732));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in ["", "2026-11-15T20:00:00", "2026-02-30T20:00:00Z", "now", "1794772800"] {
            assert_eq!(read(text), None, "{text}");
        }
        let mut moments = Moments::default();
        for value in [ValueRef::Null, ValueRef::Integer(5), ValueRef::Text(b"\xff")] {
            assert_eq!(moments.read(value), None);
        }
    }
}
