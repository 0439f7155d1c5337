//! `sub-track`: combines, analyzes and compares.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use track::gpu_tracker::sub_tracking::{self, Comparison, Session, Statistic};
use track::gpu_tracker::{json, tracking_file};

use super::cli::SubTrack;
use super::refusal::{AnalysisError, Refusal};
use super::report::{Format, Report, Written, say};
use super::settings::SettingsError;
use crate::safe::safe;

/// Does it, and gives the exit code.
pub(super) fn run(command: SubTrack) -> Result<u8, Refusal> {
    match command {
        SubTrack::Combine { stf, paths } => {
            sub_tracking::combine(&sub_tracking::files_of(&paths)?, &stf)?;
            Ok(0)
        }
        SubTrack::Analyze { tf, stf, report } => analyze(&tf, &stf, &Report::settle(report)?),
        SubTrack::Compare { report, cconfig, map, stat } => {
            compare(&Report::settle(report)?, Asked::settle(cconfig, map, stat)?)
        }
    }
}

fn analyze(tracking: &Path, marks: &Path, report: &Report) -> Result<u8, Refusal> {
    let tracked = tracking_file::read(tracking)?;
    let analysis = sub_tracking::analyze(&tracked, &sub_tracking::read(marks)?)?;
    write(
        report,
        &match report.format {
            Format::Text => analysis.text(),
            Format::Json => json::json(&analysis.tree()),
        },
    )
}

fn compare(report: &Report, asked: Asked) -> Result<u8, Refusal> {
    let sessions = asked.sessions.into_iter().map(|(name, path)| session(name, path));
    let sessions = sessions.collect::<Result<Vec<_>, _>>()?;
    let comparison = sub_tracking::compare(&sessions, asked.statistic)?;
    tell_moved(&comparison);
    write(
        report,
        &match report.format {
            Format::Text => comparison.text(),
            Format::Json => json::json(&comparison.tree()),
        },
    )
}

fn session(name: String, path: PathBuf) -> Result<Session, Refusal> {
    let read =
        || -> Result<_, AnalysisError> { Ok(sub_tracking::parse(&fs::read_to_string(&path)?)?) };
    match read() {
        Ok(analysis) => Ok(Session { name, analysis }),
        Err(why) => Err(Refusal::Analysis { path, why }),
    }
}

fn tell_moved(comparison: &Comparison) {
    for moved in &comparison.moved {
        let words = format!(
            "{} is taken for {} of session {}: the same file, another line",
            moved.block, moved.there, moved.session
        );
        say(&format!("gpu-tracker: warning: {}", safe(&words)));
    }
}

fn write(report: &Report, answer: &str) -> Result<u8, Refusal> {
    // The file gets a line's end after the last line, which text has already.
    let written = report.write(answer.strip_suffix('\n').unwrap_or(answer))?;
    Ok(u8::from(written == Written::Instead))
}

/// What to compare.
struct Asked {
    /// By name.
    sessions: BTreeMap<String, PathBuf>,
    statistic: Statistic,
}

/// The file of `--cconfig`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Configured {
    file_path_map: BTreeMap<String, PathBuf>,
    statistic: Option<String>,
}

impl Asked {
    fn settle(
        config: Option<PathBuf>,
        map: Vec<OsString>,
        stat: Option<String>,
    ) -> Result<Self, Refusal> {
        let configured = config.map_or_else(|| Ok(Configured::default()), configured)?;
        let mut sessions = configured.file_path_map;
        for typed in map {
            let (name, path) = split(&typed).ok_or(Refusal::Session(typed))?;
            sessions.insert(name, path);
        }
        if sessions.is_empty() {
            return Err(Refusal::NoSessions);
        }
        let statistic = stat.or(configured.statistic);
        let statistic = statistic.map(|typed| typed.parse()).transpose()?.unwrap_or_default();
        Ok(Self { sessions, statistic })
    }
}

fn configured(path: PathBuf) -> Result<Configured, Refusal> {
    let read =
        || -> Result<_, SettingsError> { Ok(serde_json::from_str(&fs::read_to_string(&path)?)?) };
    read().map_err(|why| Refusal::Settings { path, why })
}

/// A name ends at the first `=`; a path may have more of them.
fn split(typed: &OsString) -> Option<(String, PathBuf)> {
    let bytes = typed.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=')?;
    let name = String::from_utf8(bytes[..at].to_vec()).ok()?;
    let path = PathBuf::from(OsString::from_vec(bytes[at + 1..].to_vec()));
    let is_whole = !name.is_empty() && !path.as_os_str().is_empty();
    is_whole.then_some((name, path))
}
