//! Which time a question is about, as it was typed.

use std::time::Duration;

use clap::Args;

use super::duration::duration;
use super::moment::{Moment, moment};
use super::zone::{Zone, zone};

#[derive(Debug, Args)]
#[command(next_help_heading = "Which time")]
pub struct Window {
    /// How far back to look, such as 90m, 24h or 7d
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "from",
          allow_hyphen_values = true)]
    pub since: Option<Duration>,
    /// Where the time begins: 2026-11-08, '2026-11-08 20:00', 2026-11-08T20:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub from: Option<Moment>,
    /// Where the time ends; now when left out
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub until: Option<Moment>,
    /// The time zone of times without an offset and of what is shown: UTC, local, a name
    /// such as Europe/Berlin, or an offset such as +02:00
    // An offset may begin with a minus.
    #[arg(long, value_name = "ZONE", value_parser = zone, default_value = "UTC",
          allow_hyphen_values = true)]
    pub tz: Zone,
}
