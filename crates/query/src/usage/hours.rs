//! Hours of the week as a clock in a time zone shows them.

use gua_core::Period;
use gua_core::period::HOUR;
use gua_core::units::UnixMillis;
use gua_store::{CardHours, Grain};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::states::{float, seconds, share};

/// One hour of the week, in the zone of the window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeatCell {
    /// 0 is Sunday.
    pub weekday: u8,
    pub hour: u8,
    pub active_share: f64,
    /// Card time observed in that hour, over all weeks and cards.
    pub observed_seconds: f64,
}

/// Card time by the hour of the week.
#[derive(Debug, Clone)]
pub struct Week {
    zone: TimeZone,
    /// Active and observed milliseconds by hour, from Sunday 0:00 on.
    hours: Vec<[f64; 2]>,
    /// The last hour that was looked up. Rows come in the order of time, and looking up takes a while.
    last: Option<(Period, usize)>,
}

impl Week {
    #[must_use]
    pub fn new(zone: TimeZone) -> Self {
        Self { zone, hours: vec![[0.0; 2]; 7 * 24], last: None }
    }

    /// Adds card time. Where the clock begins another hour within it, it is split in proportion. What is
    /// too far off for a calendar is left out.
    pub fn add(&mut self, time: &CardHours) {
        let mut rest = time.period;
        while let Some((hour, place)) = self.hour_at(rest.from).filter(|_| !rest.is_empty()) {
            let end = rest.to.min(hour.to);
            let part = float(end.0 - rest.from.0) / float(time.period.millis());
            if let Some([active, observed]) = self.hours.get_mut(place) {
                *active += time.active_ms * part;
                *observed += time.observed_ms * part;
            }
            rest.from = end;
        }
    }

    /// Returns the hours of which anything was observed.
    #[must_use]
    pub fn cells(&self) -> Vec<HeatCell> {
        let places = (0_u8..7).flat_map(|weekday| (0_u8..24).map(move |hour| (weekday, hour)));
        let cell = |((weekday, hour), [active, observed]): ((u8, u8), &[f64; 2])| {
            let active_share = share(*active, *observed)?;
            Some(HeatCell { weekday, hour, active_share, observed_seconds: seconds(*observed) })
        };
        places.zip(&self.hours).filter_map(cell).collect()
    }

    /// Returns the hour that the clock shows at a time, from there to its end, and its place.
    fn hour_at(&mut self, at: UnixMillis) -> Option<(Period, usize)> {
        let last = self.last.filter(|(hour, _)| hour.from <= at && at < hour.to);
        self.last = last.or_else(|| self.find_hour(at));
        self.last
    }

    fn find_hour(&self, at: UnixMillis) -> Option<(Period, usize)> {
        let moment = Timestamp::from_millisecond(at.0).ok()?;
        let offset = self.zone.to_offset(moment);
        let local = offset.to_datetime(moment);
        let since_full_hour = (at.0 + i64::from(offset.seconds()) * 1000).rem_euclid(HOUR);
        let full_hour = at.0 - since_full_hour + HOUR;
        // It ends earlier if the clock is set within it.
        let change = self.zone.following(moment).next();
        let change = change.map(|change| change.timestamp().as_millisecond());
        let end = change.map_or(full_hour, |change| change.min(full_hour));
        let weekday = usize::try_from(local.weekday().to_sunday_zero_offset()).ok()?;
        let place = weekday * 24 + usize::try_from(local.hour()).ok()?;
        Some((Period::new(at, UnixMillis(end)), place))
    }
}

/// Returns the rows that are needed for the hours of a zone: fine ones if some do not begin at a full
/// hour of UTC.
pub(super) fn grain(zone: &TimeZone, window: Period) -> Grain {
    let offset = |at: UnixMillis| {
        let moment = Timestamp::from_millisecond(at.0).ok()?;
        Some(i64::from(zone.to_offset(moment).seconds()) * 1000)
    };
    // Half a year apart, as on Lord Howe Island only winter time is off by half an hour.
    let is_whole = |at| offset(at).is_none_or(|offset| offset % HOUR == 0);
    let middle = UnixMillis(window.from.0.midpoint(window.to.0));
    let is_half_a_year = window.millis() > 90 * 24 * HOUR;
    let times = [Some(window.from), Some(window.to), is_half_a_year.then_some(middle)];
    match times.into_iter().flatten().all(is_whole) {
        true => Grain::Hours,
        false => Grain::Fine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minutes(zone: &str, from: &str, to: &str) -> Vec<(u8, u8, f64)> {
        let at = |text: &str| UnixMillis(text.parse::<Timestamp>().unwrap().as_millisecond());
        let period = Period::new(at(from), at(to));
        let mut week = Week::new(TimeZone::get(zone).unwrap());
        let millis = period.millis() as f64;
        week.add(&CardHours { period, active_ms: millis / 2.0, observed_ms: millis });
        assert!(week.cells().iter().all(|cell| cell.active_share == 0.5));
        let cells = week.cells().into_iter();
        cells.map(|cell| (cell.weekday, cell.hour, cell.observed_seconds / 60.0)).collect()
    }

    /// Trap: DST and half-hour zones in the heatmap.
    #[test]
    fn heatmap_of_a_half_hour_zone_is_cut_in_the_middle_of_utc_hours() {
        // 23:15 on Saturday in UTC is 04:45 on Sunday in Calcutta.
        let found = minutes("Asia/Kolkata", "2026-11-07T23:15:00Z", "2026-11-08T00:45:00Z");
        assert_eq!(found, [(0, 4, 15.0), (0, 5, 60.0), (0, 6, 15.0)]);
    }

    #[test]
    fn heatmap_counts_the_hour_twice_that_dst_repeats() {
        let found = minutes("Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T03:00:00Z");
        assert_eq!(found, [(0, 2, 120.0), (0, 3, 60.0)]);
    }

    #[test]
    fn heatmap_leaves_out_the_hour_that_dst_skips() {
        let found = minutes("Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z");
        assert_eq!(found, [(0, 1, 60.0), (0, 3, 60.0)]);
    }

    /// On Lord Howe Island the clock is set by half an hour.
    #[test]
    fn heatmap_is_cut_where_dst_is_half_an_hour() {
        let found = minutes("Australia/Lord_Howe", "2026-10-03T14:30:00Z", "2026-10-03T17:00:00Z");
        assert_eq!(found, [(0, 1, 60.0), (0, 2, 30.0), (0, 3, 60.0)]);
    }

    #[test]
    fn time_beyond_every_calendar_is_left_out() {
        let mut week = Week::new(TimeZone::UTC);
        let period = Period::new(UnixMillis(i64::MAX - 10), UnixMillis(i64::MAX));
        week.add(&CardHours { period, active_ms: 1.0, observed_ms: 1.0 });
        assert!(week.cells().is_empty());
    }

    #[test]
    fn fine_rows_are_needed_for_zones_off_the_hour() {
        let day = |day: i64| UnixMillis((20_000 + day) * 24 * HOUR);
        let grain =
            |zone, days| grain(&TimeZone::get(zone).unwrap(), Period::new(day(0), day(days)));
        assert_eq!([grain("UTC", 7), grain("Europe/Berlin", 365)], [Grain::Hours; 2]);
        assert_eq!([grain("Asia/Kolkata", 1), grain("Asia/Kathmandu", 9)], [Grain::Fine; 2]);
        assert_eq!(grain("Australia/Lord_Howe", 365), Grain::Fine);
    }
}
