//! `gua pick`, as it was typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::duration::duration;
use super::number;
use super::size::size;

/// What `gua pick` was asked.
#[derive(Debug, Args)]
#[command(
    after_help = "The cards are named by UUID, which means the same to CUDA whatever the order it \
                  counts in:\n  \
                  gua pick -- python train.py\n  \
                  cards=$(gua pick -n 2 --min-free 20GB) && export $cards\n\
                  A card is only taken when nobody holds it, unless --min-free or --max-util say how \
                  much must be left. Cards that are unknown, reserved or busy over the time are never \
                  taken, nor are those that CUDA_VISIBLE_DEVICES leaves out where it is set already. \
                  With a command, the cards stay reserved as long as it runs.\n\
                  Exit codes: 0 chosen, 1 not enough cards, 2 wrong usage; with a command its own, or \
                  126 and 127 when it cannot be run."
)]
pub struct Pick {
    /// How many cards
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, allow_hyphen_values = true,
          value_parser = number::cards)]
    pub count: u32,
    /// Share cards that have so much memory left, such as 20GB or 20GiB
    #[arg(long, value_name = "SIZE", value_parser = size, allow_hyphen_values = true)]
    pub min_free: Option<u64>,
    /// Share cards that worked no more than so much, in percent [default: less than 10, or
    /// than the config says]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_hyphen_values = true)]
    pub max_util: Option<f64>,
    /// Judge by this time until now, as far as it is recorded
    #[arg(long, value_name = "D", default_value = "5m", value_parser = duration,
          allow_hyphen_values = true)]
    pub over: Duration,
    /// Wait until there are enough cards, without a value for ever
    // No hyphens in its value: it would take the next option for it.
    #[arg(long, value_name = "D", num_args = 0..=1, value_parser = duration)]
    pub wait: Option<Option<Duration>>,
    /// How to print the cards
    #[arg(long, value_name = "FORMAT", default_value = "env", conflicts_with_all = ["json", "command"])]
    pub format: PickFormat,
    /// Choose only from these cards: indices, INDEX:SLOT, UUIDs or bus ids, separated by commas
    #[arg(long, visible_alias = "gpus", value_name = "CARDS", value_delimiter = ',')]
    pub id: Vec<String>,
    /// Choose from all cards of the host, also beyond an inherited CUDA_VISIBLE_DEVICES
    #[arg(long)]
    pub all_cards: bool,
    /// How long the cards stay reserved for who asked, up to 1h; without --wait, who asks again may be
    /// given the same cards if there are no others
    #[arg(long, value_name = "D", default_value = "30s", value_parser = reservation,
          allow_hyphen_values = true)]
    pub reserve: Duration,
    /// Only look: reserve nothing. The next who asks may be given the same cards
    #[arg(long, conflicts_with_all = ["reserve", "command"])]
    pub no_reserve: bool,
    /// The history to judge by instead of the usual one, as `gua config show` names it
    #[arg(long, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// Print JSON: the chosen cards, and why the others were not
    #[arg(long, conflicts_with = "command")]
    pub json: bool,
    /// Run this with CUDA_VISIBLE_DEVICES set to the cards
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Whether a command was announced and none came: `gua pick -- $COMMAND`, with nothing in it.
#[must_use]
pub fn is_without_its_command(args: &[OsString]) -> bool {
    let is_pick = super::query::command(args).is_some_and(|command| command == "pick");
    let ends = args.iter().position(|word| word == "--").map(|place| place + 1);
    is_pick && ends == Some(args.len())
}

/// How the cards are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PickFormat {
    /// As nvidia-smi counts them; CUDA does so only with CUDA_DEVICE_ORDER=PCI_BUS_ID
    Indices,
    Uuids,
    /// CUDA_VISIBLE_DEVICES=… with UUIDs, for `export` and `env`
    Env,
}

fn percent(typed: &str) -> Result<f64, String> {
    let expected = "expected a percentage from 0 to 100";
    let percent: f64 = typed.parse().map_err(|_| expected.to_owned())?;
    if (0.0..=100.0).contains(&percent) { Ok(percent) } else { Err(expected.to_owned()) }
}

fn reservation(typed: &str) -> Result<Duration, String> {
    let reserve = duration(typed)?;
    let longest = Duration::from_secs(3600);
    if reserve <= longest { Ok(reserve) } else { Err("expected at most 1h".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_announced_has_to_come() {
        let is_without = |line: &str| {
            is_without_its_command(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
        };
        assert!(is_without("gua pick --") && is_without("gua --nvml x pick -n 2 --"));
        for line in ["gua pick", "gua pick -- sh --", "gua pick -- sh", "gua track --", "gua"] {
            assert!(!is_without(line), "{line}");
        }
    }
}
