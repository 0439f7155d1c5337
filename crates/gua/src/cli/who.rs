//! `gua who`, as it was typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::duration::{self, duration};
use super::{Color, Engine, Tz};

/// What `gua who` was asked.
#[derive(Debug, Args)]
#[command(
    after_help = "A holder is idle when it does not work itself, by the history (`gua daemon` records \
                  one) also on a card that others work on. Since when comes from there: `≥` is at \
                  least so long, as what was before is not recorded; `now` is all that one look can \
                  tell."
)]
pub struct Who {
    /// Show only who has held a card idle for at least so long
    #[arg(long, value_name = "DURATION", value_parser = duration, allow_hyphen_values = true)]
    pub idle: Option<Duration>,
    /// Show only this user's, by name or uid; may be given several times
    #[arg(
        short, long, value_name = "USER", value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub user: Vec<String>,
    /// Show only these cards: indices, INDEX:SLOT, UUIDs or bus ids, separated by commas
    #[arg(
        long,
        visible_alias = "gpus",
        value_name = "CARDS",
        value_delimiter = ',',
        conflicts_with = "prometheus"
    )]
    pub id: Vec<String>,
    /// Look again every so often (seconds, or such as 500ms or 1m), without a value every 2 s
    // No hyphens in its value: it would take the next option for it.
    #[arg(
        short = 'i', long, visible_alias = "interval", value_name = "D", num_args = 0..=1,
        default_missing_value = "2s", value_parser = duration::refresh,
        conflicts_with = "prometheus"
    )]
    pub watch: Option<Duration>,
    /// The history to read instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH", conflicts_with = "prometheus")]
    pub db: Option<PathBuf>,
    /// Print JSON, with --watch one object a line; null is what is not known
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub engine: Engine,
    #[command(flatten)]
    pub tz: Tz,
    #[command(flatten)]
    pub color: Color,
}
