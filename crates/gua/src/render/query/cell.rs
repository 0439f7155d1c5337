//! One value in characters.

use gua_core::Reason;
use gua_core::unknowns::NullReason;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::report::query::{NoValue, Unit, Value};
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
pub(super) fn unknown(why: NoValue) -> String {
    let reason = match why {
        NoValue::Null(NullReason::Unread(reason)) => reason,
        NoValue::Null(NullReason::NoName) => return "[no name]".to_owned(),
        NoValue::Null(reason) => return format!("[{}]", reason.slug()),
        NoValue::NotJudged(reason) => return format!("[not judged: {reason}]"),
        NoValue::NoHolder => return "[no_holder]".to_owned(),
    };
    let words = match reason {
        Reason::NotSupported | Reason::NotTold => "N/A",
        Reason::NoPermission => "Insufficient Permissions",
        Reason::Lost => "GPU is lost",
        Reason::NeedsReset => "GPU requires reset",
        Reason::TimedOut => "Timeout",
        Reason::Gone => "Not Found",
        Reason::Foreign => "outside of this container",
        Reason::Code(999) => "Unknown Error",
        reason => return format!("[{reason}]"),
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
        let reasons =
            [Reason::NotSupported, Reason::Lost, Reason::NoTurn, Reason::Code(7), Reason::Code(42)];
        let no_name = NoValue::Null(NullReason::NoName);
        for reason in reasons.map(NoValue::from).into_iter().chain([no_name, NoValue::NoHolder]) {
            let words = unknown(reason);
            assert!(words.starts_with('[') && words.ends_with(']'), "{words}");
        }
    }
}
