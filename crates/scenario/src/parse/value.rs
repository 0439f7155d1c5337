//! Values as they are written in a scenario: durations, moments, sizes, percentages.

use std::time::Duration;

use bytesize::ByteSize;

use crate::moment::Moment;

/// The longest time that a scenario can speak of: what a [`Moment`] holds exactly.
const CENTURY: Duration = Duration::from_secs(100 * 31_557_600);

/// Reads a length of time, such as `167ms` or `1h30m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let span = humantime::parse_duration(text)
        .map_err(|_| format!("`{text}` is not a duration; expected one like 500ms or 1h30m"))?;
    if span > CENTURY {
        return Err(format!("`{text}` is too long; expected at most 100 years"));
    }
    Ok(span)
}

/// Reads a moment relative to the origin, such as `90s` or `-5h12m`.
pub fn moment(text: &str) -> Result<Moment, String> {
    match text.strip_prefix('-') {
        Some(before) => Ok(Moment::ORIGIN - duration(before)?),
        None => Ok(Moment::ORIGIN + duration(text)?),
    }
}

/// Reads a number of bytes, such as `80GiB` or `500MB`.
pub fn size(text: &str) -> Result<u64, String> {
    let size = text.parse::<ByteSize>().map(|size| size.as_u64());
    size.map_err(|_| format!("`{text}` is not a size; expected one like 80GiB or 500MB"))
}

/// Refuses what is not watts, degrees or MHz.
pub fn quantity(value: f64) -> Result<f64, String> {
    if value.is_finite() && value >= 0.0 {
        return Ok(value);
    }
    Err(format!("{value} cannot be; expected a number from 0 up"))
}

pub fn percentage(value: f64) -> Result<f64, String> {
    if (0.0..=100.0).contains(&value) {
        return Ok(value);
    }
    Err(format!("{value} is not a percentage; expected 0 to 100"))
}

/// Reads two numbers with a point between them, neither below zero.
pub fn version(text: &str) -> Option<(i32, i32)> {
    let (major, minor) = text.split_once('.')?;
    let number = |part: &str| part.parse().ok().filter(|number| *number >= 0);
    Some((number(major)?, number(minor)?))
}
