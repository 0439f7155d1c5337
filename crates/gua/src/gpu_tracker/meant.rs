//! What is meant: options and settings as one, checked before anything starts.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use track::gpu_tracker::tracking_file::{self, Existing};
use track::gpu_tracker::units::NoSuchUnit;
use track::gpu_tracker::{Expected, Spelling, Units};
use track::{Cards, Options};

use super::cli::Track;
use super::refusal::Refusal;
use super::report::Report;
use super::settings::{self, Settings, Uuids};
use crate::destination;

/// The longest time from one sample to the next, as in `gua track`.
const LONGEST: Duration = Duration::from_secs(3600);

/// A command to be tracked.
#[derive(Debug)]
pub(super) struct Meant {
    /// At least one.
    pub words: Vec<OsString>,
    pub options: Options,
    pub units: Units,
    pub expected: Expected,
    pub spelling: Spelling,
    pub is_quiet: bool,
    pub report: Report,
    pub tracking_file: Option<TrackingFile>,
}

/// Where every sample goes.
#[derive(Debug, Clone)]
pub(super) struct TrackingFile {
    pub path: PathBuf,
    pub existing: Existing,
}

impl Meant {
    /// Options come before settings.
    pub(super) fn settle(typed: Track) -> Result<Self, Refusal> {
        let report = Report::settle(typed.report)?;
        let settings = typed.tconfig.map_or_else(|| Ok(Settings::default()), read_settings)?;
        let ram = typed.ru.or(settings.ram_unit);
        let gpu_ram = typed.gru.or(settings.gpu_ram_unit);
        let time = typed.tu.or(settings.time_unit);
        let default = Units::default();
        let units = Units {
            ram: unit("RAM", ram, default.ram)?,
            gpu_ram: unit("GPU RAM", gpu_ram, default.gpu_ram)?,
            time: unit("time", time, default.time)?,
        };
        brand(typed.gb.or(settings.gpu_brand).as_deref())?;
        let every = typed.st.or(settings.sleep_time.map(|seconds| seconds.to_string()));
        let cores = typed.nec.or(settings.n_expected_cores.map(|count| count.to_string()));
        let cards = typed.guuids.map(Uuids::Text).or(settings.gpu_uuids);
        let overwrite = typed.overwrite || settings.overwrite.unwrap_or(false);
        let path = typed.tf.or(settings.tracking_file);
        Ok(Self {
            words: words(&typed.execute.unwrap_or_default())?,
            options: Options {
                every: every.map_or(Ok(Options::default().every), |typed| sleep_time(&typed))?,
                cards: cards.map_or(Cards::All, chosen),
                library: env::var_os("GUA_NVML").filter(|path| !path.is_empty()).map(Into::into),
            },
            units,
            expected: Expected { cores: cores.map(|typed| core_count(&typed)).transpose()? },
            spelling: typed.keys.into(),
            is_quiet: typed.disable_logs || settings.disable_logs.unwrap_or(false),
            tracking_file: path.map(|path| tracking_file(path, overwrite, &report)).transpose()?,
            report,
        })
    }
}

fn read_settings(path: PathBuf) -> Result<Settings, Refusal> {
    settings::read(&path).map_err(|why| Refusal::Settings { path, why })
}

fn unit<T: FromStr<Err = NoSuchUnit>>(
    kind: &'static str,
    typed: Option<String>,
    default: T,
) -> Result<T, Refusal> {
    let parsed = typed.map(|typed| typed.parse()).transpose();
    Ok(parsed.map_err(|source| Refusal::Unit { kind, source })?.unwrap_or(default))
}

fn sleep_time(typed: &str) -> Result<Duration, Refusal> {
    let seconds: Option<f64> = typed.trim().parse().ok();
    if seconds.is_some_and(|seconds| seconds > LONGEST.as_secs_f64()) {
        return Err(Refusal::LongSleepTime(typed.to_owned()));
    }
    let every = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let every = every.filter(|every| *every >= Options::SHORTEST);
    every.ok_or_else(|| Refusal::SleepTime(typed.to_owned()))
}

fn core_count(typed: &str) -> Result<u32, Refusal> {
    let count: Option<u32> = typed.trim().parse().ok();
    count.filter(|count| *count > 0).ok_or_else(|| Refusal::Cores(typed.to_owned()))
}

fn brand(typed: Option<&str>) -> Result<(), Refusal> {
    match typed {
        None | Some("nvidia") => Ok(()),
        Some("amd") => Err(Refusal::Amd),
        Some(other) => Err(Refusal::Brand(other.to_owned())),
    }
}

/// Each once, however often it was named.
fn chosen(typed: Uuids) -> Cards {
    let named = match typed {
        Uuids::List(list) => list,
        Uuids::Text(text) => text.split(',').map(|uuid| uuid.trim().to_owned()).collect(),
    };
    let mut uuids: Vec<String> = Vec::new();
    for uuid in named {
        if !uuids.contains(&uuid) {
            uuids.push(uuid);
        }
    }
    Cards::Only(uuids)
}

/// As a shell splits them, but nothing is expanded.
fn words(command: &OsStr) -> Result<Vec<OsString>, Refusal> {
    let words = shlex::bytes::split(command.as_bytes());
    let words = words.ok_or_else(|| Refusal::Quote(command.to_owned()))?;
    let words: Vec<OsString> = words.into_iter().map(OsString::from_vec).collect();
    let is_empty = words.first().is_none_or(|program| program.is_empty());
    if is_empty { Err(Refusal::EmptyCommand) } else { Ok(words) }
}

fn tracking_file(path: PathBuf, overwrite: bool, report: &Report) -> Result<TrackingFile, Refusal> {
    if report.path().is_some_and(|report| destination::is_one_file(report, &path)) {
        return Err(Refusal::OneFileForTwo(path));
    }
    let existing = if overwrite { Existing::Replace } else { Existing::Refuse };
    tracking_file::check(&path, existing)?;
    destination::check(&path)?;
    destination::check_folder(&path)?;
    Ok(TrackingFile { path, existing })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(command: &str) -> Vec<String> {
        let words = words(OsStr::new(command)).unwrap();
        words.into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn words_are_split_as_a_shell_does() {
        assert_eq!(split("ls -l -a"), ["ls", "-l", "-a"]);
        assert_eq!(split("sh -c 'echo \"a  b\"'"), ["sh", "-c", "echo \"a  b\""]);
        assert_eq!(split(r#"echo "" a\ b $HOME *"#), ["echo", "", "a b", "$HOME", "*"]);
        assert_eq!(split("  ls\n"), ["ls"]);
    }

    #[test]
    fn nothing_is_no_command() {
        for command in ["", "  ", "''", "\"\" x"] {
            assert!(matches!(words(OsStr::new(command)), Err(Refusal::EmptyCommand)), "{command}");
        }
        assert!(matches!(words(OsStr::new("echo 'a")), Err(Refusal::Quote(_))));
    }

    #[test]
    fn a_sleep_time_is_from_a_millisecond_to_an_hour() {
        assert_eq!(sleep_time("0.001").unwrap(), Duration::from_millis(1));
        assert_eq!(sleep_time("1e1").unwrap(), Duration::from_secs(10));
        assert_eq!(sleep_time("3600").unwrap(), LONGEST);
        for typed in ["3600.1", "1e19", "1e300", "inf"] {
            assert!(matches!(sleep_time(typed), Err(Refusal::LongSleepTime(_))), "{typed}");
        }
        for typed in ["0.0009", "0", "-1", "nan", "-inf", "fast", ""] {
            assert!(sleep_time(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn cards_are_taken_once_each() {
        let typed = Uuids::Text("GPU-1, GPU-2,GPU-1".to_owned());
        assert_eq!(chosen(typed), Cards::Only(vec!["GPU-1".to_owned(), "GPU-2".to_owned()]));
    }
}
