//! Which time a question is about, as it was typed.

use std::time::Duration;

use clap::Args;

use super::duration::duration;
use super::moment::{Moment, moment};
use super::period::{CalendarPeriod, period};
use super::zone::Tz;

/// Named with each option: what comes after a group of options would go by its heading else.
const HEADING: &str = "Which time";

#[derive(Debug, Args)]
pub struct Window {
    /// How far back to look, such as 90m, 24h, 7d, 1w or 1mo (30 days)
    #[arg(help_heading = HEADING, long, value_name = "DURATION", value_parser = duration, conflicts_with = "from",
          allow_hyphen_values = true)]
    pub since: Option<Duration>,
    /// Where the time begins: 2026-11-08, '2026-11-08 20:00', 2026-11-08T20:00:00Z
    #[arg(help_heading = HEADING, long, value_name = "TIME", value_parser = moment)]
    pub from: Option<Moment>,
    /// Where the time ends; now when left out
    #[arg(help_heading = HEADING, long, value_name = "TIME", value_parser = moment)]
    pub until: Option<Moment>,
    /// A period of the calendar: today, yesterday, this-week, last-week, this-month, last-month, a month
    /// such as 2026-10, or a week such as 2026-W46
    #[arg(help_heading = HEADING, long, value_name = "PERIOD", value_parser = period,
          conflicts_with_all = ["since", "from", "until"])]
    pub period: Option<CalendarPeriod>,
    #[command(flatten)]
    pub tz: Tz,
}
