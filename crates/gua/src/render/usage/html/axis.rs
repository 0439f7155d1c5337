//! Where a clock shows round times, between two moments.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Unit, ZonedRound};

/// A round time: how far along it is, from 0 to 1, and what is said there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tick {
    pub at: f64,
    pub label: String,
}

impl Tick {
    /// Returns which part of the label is at the tick: at the ends of the axis it must not stand out.
    pub fn anchor(&self) -> &'static str {
        match self.at {
            ..0.02 => "start",
            0.98.. => "end",
            _ => "middle",
        }
    }
}

/// Distances that people count in, in minutes, and how they are said.
const STEPS: [(i64, &str); 13] = [
    (1, "%H:%M"),
    (5, "%H:%M"),
    (10, "%H:%M"),
    (15, "%H:%M"),
    (30, "%H:%M"),
    (60, "%H:%M"),
    (180, "%H:%M"),
    (360, "%H:%M"),
    (HALF_DAY, "%H:%M"),
    (1_440, DAY),
    (2_880, "%-d %b"),
    (7_200, "%-d %b"),
    (14_400, "%-d %b"),
];

/// Step at which every other label is a day. Both in one label would run into the next one.
const HALF_DAY: i64 = 720;
const DAY: &str = "%a %-d";

/// More are not told apart.
const MOST: i64 = 8;

/// The round times from one moment to another.
pub(super) fn ticks(from: Timestamp, to: Timestamp, tz: &TimeZone) -> Vec<Tick> {
    let all = to.as_second() - from.as_second();
    let step = STEPS.iter().find(|(minutes, _)| all / (minutes * 60) <= MOST);
    let Some((minutes, format)) = step.copied().or(Some((all / 60 / MOST, "%-d %b %Y"))) else {
        return Vec::new();
    };
    let mut ticks = Vec::new();
    let mut next = from.to_zoned(tz.clone()).round(ZonedRound::new().smallest(Unit::Day)).ok();
    next = next.and_then(|day| day.checked_sub(1.day()).ok());
    // From the midnight before on, by the clock: a day may have 23 hours.
    while let Some(at) = next.take().filter(|at| at.timestamp() <= to) {
        let is_day = minutes == HALF_DAY && at.hour() == 0;
        if at.timestamp() >= from {
            let part = at.timestamp().as_millisecond() - from.as_millisecond();
            ticks.push(Tick {
                at: ratio(part, to.as_millisecond() - from.as_millisecond()),
                label: at.strftime(if is_day { DAY } else { format }).to_string(),
            });
        }
        let step = if minutes % 1_440 == 0 { (minutes / 1_440).days() } else { minutes.minutes() };
        next = at.checked_add(step).ok().filter(|_| minutes > 0);
    }
    ticks
}

#[expect(clippy::cast_precision_loss, reason = "a part of a picture")]
pub(super) fn ratio(part: i64, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { part as f64 / whole as f64 }
}
