//! `gua query`, as it was typed.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::duration::duration;
use super::number;
use super::output::Output;
use super::size::size;
use super::zone::Tz;

/// What `gua query` was asked.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch that was typed or not")]
#[command(after_help = "nvidia-smi's words are understood too: --query-gpu=FIELDS, \
                  --query-compute-apps=FIELDS, --format=csv,noheader,nounits, -l, -lms, -t, -i, -f FILE, \
                  --help-query-gpu.")]
pub struct Query {
    /// What to ask, separated by commas; --list-fields explains each
    #[arg(long, value_name = "FIELDS", value_delimiter = ',', group = "asked")]
    pub fields: Option<Vec<String>>,
    /// The same as --fields
    #[arg(
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        group = "asked",
        hide = true,
        conflicts_with = "apps"
    )]
    pub query_gpu: Option<Vec<String>>,
    /// The same as --apps --fields, of holders that compute only
    #[arg(
        long,
        value_name = "FIELDS",
        value_delimiter = ',',
        group = "asked",
        hide = true,
        conflicts_with = "apps"
    )]
    pub query_compute_apps: Option<Vec<String>>,
    /// The percentages of `nvidia-smi dmon` or `pmon`, every second unless told otherwise
    #[arg(long, value_name = "PRESET", group = "asked", conflicts_with = "apps")]
    pub preset: Option<Preset>,
    /// Ask about the holders, a row each, instead of the cards
    #[arg(long)]
    pub apps: bool,
    /// Explain the fields, with --json for programs
    // nvidia-smi's words for it lead here.
    #[arg(long, aliases = ["help-query-gpu", "help-query-compute-apps"],
          conflicts_with_all = ["asked", "apps", "format", "output"])]
    pub list_fields: bool,
    /// How to print: csv, json or table, and with csv or table noheader and nounits [default: csv]
    #[arg(long, value_name = "FORMAT", value_delimiter = ',')]
    pub format: Vec<FormatWord>,
    /// The same as --format json; null is what is not known, and `unknown` says why
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Tell the time first: the field timestamp, where it is not among those asked for
    #[arg(short = 't', long, hide = true, conflicts_with = "preset")]
    pub timestamp: bool,
    /// Leave out the names of the fields
    #[arg(long)]
    pub noheader: bool,
    /// Leave out the units behind the values
    #[arg(long)]
    pub nounits: bool,
    /// Ask again every so many seconds, without a value every 5
    // No hyphens in its value: it would take the next option for it.
    #[arg(short = 'l', long = "loop", value_name = "SECONDS", value_parser = seconds,
          group = "pace", num_args = 0..=1, default_missing_value = "5")]
    pub loop_seconds: Option<Duration>,
    /// Ask again every so many milliseconds
    #[arg(long, value_name = "MS", value_parser = milliseconds, group = "pace", hide = true,
          allow_hyphen_values = true)]
    pub loop_ms: Option<Duration>,
    /// Ask again every so often, from 10ms to 1d
    #[arg(long, value_name = "D", value_parser = every, group = "pace",
          allow_hyphen_values = true)]
    pub every: Option<Duration>,
    /// End after so many looks; every second unless told otherwise
    #[arg(short = 'n', long, visible_short_alias = 'c', value_name = "COUNT",
          value_parser = number::looks, allow_hyphen_values = true)]
    pub count: Option<u64>,
    /// End after this time, such as 10m; every second unless told otherwise
    #[arg(long = "for", value_name = "D", value_parser = duration, conflicts_with = "count",
          allow_hyphen_values = true)]
    pub for_time: Option<Duration>,
    /// Write the lines to FILE as well, each as soon as it is known; - is stdout alone
    #[arg(short = 'o', long, visible_short_alias = 'f', alias = "filename", value_name = "FILE")]
    pub output: Option<Output>,
    /// Add to the file if it is there already
    #[arg(long, requires = "output")]
    pub append: bool,
    /// Replace the file if it is there already
    #[arg(long, requires = "output", conflicts_with_all = ["append", "rotate"])]
    pub force: bool,
    /// Begin another file when this one would get larger, such as 10MB; FILE.1 is the last full
    /// one, FILE.2 the one before
    #[arg(long, value_name = "SIZE", value_parser = room, requires = "output",
          allow_hyphen_values = true)]
    pub rotate: Option<u64>,
    /// How many full files to keep
    #[arg(long, value_name = "N", default_value = "5", requires = "rotate",
          value_parser = number::files, allow_hyphen_values = true)]
    pub keep: u32,
    #[command(flatten)]
    pub tz: Tz,
    /// Only these cards: indices, INDEX:SLOT, UUIDs or bus ids, separated by commas
    #[arg(short = 'i', long, value_name = "CARDS", value_delimiter = ',')]
    pub id: Vec<String>,
}

/// A choice of fields that people know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// A line a card: sm, mem, enc, dec
    Dmon,
    /// A line a holder: pid, type, sm, mem, enc, dec, command
    Pmon,
}

/// One of the words of --format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatWord {
    Csv,
    Json,
    Table,
    Noheader,
    Nounits,
}

/// The arguments with nvidia-smi's `-lms`, which is no short option of ours, spelled out.
pub fn with_habits(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<_> = args.collect();
    let is_query = command(&args).is_some_and(|command| command == "query");
    for word in args.iter_mut().filter(|_| is_query) {
        let rest = word.to_str().and_then(|word| word.strip_prefix("-lms"));
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('=')) {
            *word = format!("--loop-ms{rest}").into();
        }
    }
    args
}

/// The first word that is neither an option nor its value. What follows it may be anybody's.
pub(super) fn command(args: &[OsString]) -> Option<&OsString> {
    let mut words = args.iter().skip(1);
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--nvml" | "--host-root" | "--config") => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            _ => return Some(word),
        }
    }
    None
}

/// The shortest and the longest pause that make sense.
const PAUSE: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(10)..=Duration::from_secs(86_400);

fn every(typed: &str) -> Result<Duration, String> {
    let every = duration(typed)?;
    if PAUSE.contains(&every) { Ok(every) } else { Err("expected 10ms to 1d".to_owned()) }
}

fn seconds(typed: &str) -> Result<Duration, String> {
    every(&format!("{typed}s")).map_err(|_| "expected seconds from 0.01 to 86400".to_owned())
}

fn milliseconds(typed: &str) -> Result<Duration, String> {
    every(&format!("{typed}ms")).map_err(|_| "expected milliseconds from 10 to 86400000".to_owned())
}

/// A file has to hold some lines to be worth one.
fn room(typed: &str) -> Result<u64, String> {
    let room = size(typed)?;
    if room >= 1000 { Ok(room) } else { Err("expected at least 1kB".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_arguments_are_spelled_out() {
        let with_habits = |line: &str| {
            let words = with_habits(line.split(' ').map(OsString::from)).into_iter();
            words.map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(with_habits("gua query -lms 5"), "gua query --loop-ms 5");
        assert_eq!(with_habits("gua --nvml x query -lms=5"), "gua --nvml x query --loop-ms=5");
        for same in
            ["gua track -- nvidia-smi query -lms 5", "gua stat -lms", "gua query -l 5", "gua"]
        {
            assert_eq!(with_habits(same), same);
        }
    }
}
