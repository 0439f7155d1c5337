//! What `gua track` is to do, settled before the command starts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::{self, Format, MemoryUnit};
use crate::failure::Failure;

/// What is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Track {
    pub target: Target,
    pub every: Duration,
    pub gpus: Gpus,
    pub cores: Option<u32>,
    pub timeline: Option<Timeline>,
    /// Stderr where nothing was typed.
    pub output: Option<cli::Output>,
    pub format: Format,
    pub unit: MemoryUnit,
    pub is_live: bool,
}

/// What is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A program and its arguments.
    Command(Vec<OsString>),
    /// A process that is running already.
    Pid(u32),
}

/// Which cards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gpus {
    All,
    None,
    /// To be held against the cards that there are.
    Named(String),
}

/// Where the time line is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    pub path: PathBuf,
    pub kind: TimelineKind,
    pub may_replace: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineKind {
    /// Every sample, in CSV or SQLite.
    Table,
    Svg,
    Html,
}

impl Track {
    /// What was typed, as it is meant.
    ///
    /// # Errors
    /// When it makes no sense.
    pub fn new(typed: &cli::Track) -> Result<Self, Failure> {
        let timeline = typed.timeline.as_deref().map(|path| timeline(path, typed.overwrite));
        let timeline = timeline.transpose()?;
        Ok(Self {
            target: target(typed)?,
            every: typed.every,
            gpus: gpus(&typed.gpus)?,
            cores: typed.cores,
            timeline,
            output: typed.output.clone(),
            format: if typed.json { Format::Json } else { typed.format },
            unit: typed.unit,
            is_live: typed.live,
        })
    }
}

fn target(typed: &cli::Track) -> Result<Target, Failure> {
    if let Some(pid) = typed.pid {
        return Ok(Target::Pid(pid));
    }
    match typed.command.first() {
        Some(program) if !program.is_empty() => Ok(Target::Command(typed.command.clone())),
        _ => Err(Failure::Usage {
            what: "the command is empty".to_owned(),
            next: "Write it after `--`, such as `gua track -- python train.py`.".to_owned(),
        }),
    }
}

fn gpus(typed: &str) -> Result<Gpus, Failure> {
    match typed.trim() {
        "all" => Ok(Gpus::All),
        "none" => Ok(Gpus::None),
        list if list.split(',').any(|one| one.trim().is_empty()) => Err(Failure::Usage {
            what: format!("--gpus `{typed}` names no card, or one without a name"),
            next: "Write all, none, or indices and UUIDs with commas between, such as 0,1."
                .to_owned(),
        }),
        list => Ok(Gpus::Named(list.to_owned())),
    }
}

fn timeline(path: &Path, may_replace: bool) -> Result<Timeline, Failure> {
    let kind = match path.extension().and_then(|ending| ending.to_str()) {
        Some("csv" | "sqlite") => TimelineKind::Table,
        Some("svg") => TimelineKind::Svg,
        Some("html") => TimelineKind::Html,
        _ => {
            return Err(Failure::Usage {
                what: format!("the name of the time line {} says no kind", path.display()),
                next: "End it in .csv or .sqlite for every sample, in .svg or .html for a picture."
                    .to_owned(),
            });
        }
    };
    Ok(Timeline { path: path.to_owned(), kind, may_replace })
}
