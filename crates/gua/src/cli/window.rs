//! Which time a question is about, as it was typed.

use std::time::Duration;

use clap::Args;

use super::duration::duration;
use super::moment::{Moment, moment};
use super::zone::{Zone, zone};

/// Named with each option: what comes after a group of options would go by its heading else.
const HEADING: &str = "Which time";

#[derive(Debug, Args)]
pub struct Window {
    /// How far back to look, such as 90m, 24h or 7d
    #[arg(help_heading = HEADING, long, value_name = "DURATION", value_parser = duration, conflicts_with = "from",
          allow_hyphen_values = true)]
    pub since: Option<Duration>,
    /// Where the time begins: 2026-11-08, '2026-11-08 20:00', 2026-11-08T20:00:00Z
    #[arg(help_heading = HEADING, long, value_name = "TIME", value_parser = moment)]
    pub from: Option<Moment>,
    /// Where the time ends; now when left out
    #[arg(help_heading = HEADING, long, value_name = "TIME", value_parser = moment)]
    pub until: Option<Moment>,
    /// The time zone of times without an offset and of what is shown: UTC, local, a name
    /// such as Europe/Berlin, or an offset such as +02:00
    // An offset may begin with a minus.
    #[arg(help_heading = HEADING, long, value_name = "ZONE", value_parser = zone, default_value = "UTC",
          allow_hyphen_values = true)]
    pub tz: Zone,
}
