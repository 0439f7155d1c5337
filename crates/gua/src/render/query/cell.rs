//! One value in characters.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use probe::Why;

use crate::report::query::{Unit, Value};
use crate::report::unknowns::Reason;
use crate::safe::safe;

/// A value without its unit, as nvidia-smi writes it.
pub(super) fn bare(value: &Value, unit: Unit, zone: &TimeZone) -> String {
    match (value, unit) {
        (Value::Text(text), _) => text.clone(),
        (Value::Name(name), _) => safe(name),
        (Value::Moment(at), _) => moment(*at, zone),
        (Value::Whole(bytes), Unit::Memory) => (bytes >> 20).to_string(),
        (Value::Whole(whole), _) => whole.to_string(),
        (Value::Real(watts), Unit::Watts) => format!("{watts:.2}"),
        (Value::Real(joules), Unit::Joules) => format!("{joules:.1}"),
        (Value::Real(real), _) => format!("{real:.0}"),
    }
}

/// A value with its unit, where it has one.
pub(super) fn with_unit(bare: String, unit: Unit) -> String {
    match unit.sign() {
        Some(sign) => format!("{bare} {sign}"),
        None => bare,
    }
}

fn moment(at: Timestamp, zone: &TimeZone) -> String {
    let at = at.to_zoned(zone.clone());
    format!("{}.{:03}", at.strftime("%Y/%m/%d %H:%M:%S"), at.millisecond())
}

/// Why there is no value, in nvidia-smi's words where it has some.
pub(super) fn unknown(reason: Reason) -> String {
    let words = match reason {
        Reason::Unread(Why::NotSupported | Why::NotTold) => "N/A",
        Reason::Unread(Why::NoPermission) => "Insufficient Permissions",
        Reason::Unread(Why::Lost) => "GPU is lost",
        Reason::Unread(Why::NeedsReset) => "GPU requires reset",
        Reason::Unread(Why::TimedOut) => "Timeout",
        Reason::Unread(Why::Gone) => "Not Found",
        Reason::Unread(Why::Code(999)) => "Unknown Error",
        Reason::Unread(why) => return format!("[{why}]"),
        Reason::NotJudged(why) => return format!("[not judged: {why}]"),
        Reason::Foreign => "outside of this container",
        Reason::NoName => "no name",
        other => other.slug(),
    };
    format!("[{words}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_nvidia_smi_writes_them() {
        let bare = |value, unit| bare(&value, unit, &TimeZone::UTC);
        assert_eq!(bare(Value::Whole((81_920 << 20) + 5), Unit::Memory), "81920");
        assert_eq!(bare(Value::Real(62.0), Unit::Watts), "62.00");
        assert_eq!(bare(Value::Real(45.5), Unit::Percent), "46");
        assert_eq!(
            bare(Value::Moment(Timestamp::UNIX_EPOCH), Unit::None),
            "1970/01/01 00:00:00.000"
        );
        assert_eq!(with_unit("45".into(), Unit::Percent), "45 %");
        assert_eq!(with_unit("60".into(), Unit::Celsius), "60");
    }

    #[test]
    fn an_unknown_is_never_a_number() {
        let reasons = [Why::NotSupported, Why::Lost, Why::NoTurn, Why::Code(7), Why::Code(42)];
        for reason in reasons.map(Reason::from).into_iter().chain([Reason::NoName]) {
            let words = unknown(reason);
            assert!(words.starts_with('[') && words.ends_with(']'), "{words}");
        }
    }
}
