//! `gua top`: all cards and holders on a whole screen, live.

use std::path::Path;
use std::time::SystemTime;

use jiff::tz::TimeZone;
use probe::nvml::Wants;
use probe::proc::Host;
use probe::units::UnixMillis;

use super::chosen::Chosen;
use super::history::{self, Detail};
use crate::classify::Thresholds;
use crate::cli;
use crate::config::{Config, Files, Machine, Screen};
use crate::demo;
use crate::failure::Failure;
use crate::ledger::{HOUR, Period};
use crate::safe::safe;
use crate::sampler::{Pretend, Sampler, Tick};
use crate::store::{History, StoreError};
use crate::tui::{self, Past, Pick, Played, ReadPast, Settings, Source, Theme};

pub(super) fn run(machine: cli::Machine, files: &Files, typed: &cli::Top) -> Result<u8, Failure> {
    let screen = Screen::of_stdout(&typed.color);
    if !screen.is_terminal || screen.rows.is_none() {
        return Err(no_terminal(screen));
    }
    // Before the driver is opened: what is wrong with it is told in the shell.
    let config = config(files, typed)?;
    let thresholds = config.thresholds.into();
    let past = past(typed, &config)?;
    let source = source(machine, typed, thresholds)?;
    let settings = Settings {
        every: typed.every,
        zone: TimeZone::system(),
        uid: rustix::process::geteuid().as_raw(),
        is_pretend: typed.demo || typed.scenario.is_some(),
        thresholds,
        began: now(),
    };
    let theme = Theme { color: screen.color, is_ascii: typed.ascii };
    tui::run(settings, theme, source, past)?;
    Ok(0)
}

/// A lab that does not exist has the usual settings.
fn config(files: &Files, typed: &cli::Top) -> Result<Config, Failure> {
    if typed.demo { Ok(Config::default()) } else { Ok(files.settings()?.settled()) }
}

fn now() -> UnixMillis {
    UnixMillis::from(SystemTime::now())
}

fn no_terminal(screen: Screen) -> Failure {
    let what = if screen.is_terminal {
        let term = std::env::var("TERM").unwrap_or_default();
        format!(
            "`gua top` draws on a terminal, and this one (TERM={}) cannot be drawn on",
            safe(&term)
        )
    } else {
        "`gua top` draws on a terminal, and this is none".to_owned()
    };
    Failure::Usage {
        what,
        next: "`gua stat` looks once, `gua stat --watch` again and again; `gua query` prints what \
               you choose, for a file or a program."
            .to_owned(),
    }
}

fn source(
    machine: cli::Machine,
    typed: &cli::Top,
    thresholds: Thresholds,
) -> Result<Box<dyn Source>, Failure> {
    let mut chosen = Chosen::new(&typed.id);
    let pick: Pick = Box::new(move |tick: Tick| chosen.among(tick));
    if typed.demo {
        let mut lab = demo::Live::lab().map_err(|error| broken(&error))?;
        let (every, host) = (typed.every, lab.host_name(now()));
        let play = move |at| Ok(lab.tick(at, every));
        return Ok(Box::new(Played::new(play, host, pick, thresholds)));
    }
    if let Some(path) = &typed.scenario {
        let scenario =
            scenario::parse::from_file(path).map_err(|refused| refused_file(&refused))?;
        let (every, host) = (typed.every, scenario.host_name.clone());
        let mut pretend = Pretend::new(scenario, now());
        let play = move |at| Ok(pretend.tick(at, every));
        return Ok(Box::new(Played::new(play, host, pick, thresholds)));
    }
    let machine = Machine::try_from(machine)?;
    let sampler = Sampler::open(&machine, WANTS)?.with_commands(typed.full_command).with_who(true);
    Ok(Box::new(tui::Machine::new(sampler, Host::new(machine.host_root), pick, thresholds)))
}

/// What is shown, and no more.
const WANTS: Wants = Wants { power: true, temperature: true, shares: true, ..Wants::ESSENTIALS };

fn broken(error: &demo::DemoError) -> Failure {
    Failure::Failed {
        what: error.to_string(),
        next: "This is a mistake of gua; please report it.".to_owned(),
    }
}

fn refused_file(refused: &scenario::parse::Refused) -> Failure {
    Failure::Usage {
        what: format!("this scenario cannot be played: {refused}"),
        next: "scenarios/README.md says what a scenario file may hold.".to_owned(),
    }
}

/// How to read what was recorded; `None` where there is nothing to read, which is usual.
fn past(typed: &cli::Top, config: &Config) -> Result<Option<ReadPast>, Failure> {
    if typed.demo {
        return Ok(Some(Box::new(made_up)));
    }
    let path = match &typed.db {
        Some(path) if !path.exists() => return Err(StoreError::Missing.failure(path)),
        Some(path) => path.clone(),
        // A machine that does not exist is not in the history of this one.
        None if typed.scenario.is_some() => return Ok(None),
        None => match history::path(None, config) {
            Ok(path) if path.exists() => path,
            _ => return Ok(None),
        },
    };
    Ok(Some(Box::new(move || recorded(&path))))
}

fn recorded(path: &Path) -> Result<Past, Failure> {
    let now = now();
    let window = Period::new(UnixMillis(now.0 - HOUR), now);
    let history = history::open(path, window, Detail::Samples)?;
    Past::read(&history, now).map_err(|error| error.failure(path))
}

/// What a recorder would have seen of the lab in the last day.
fn made_up() -> Result<Past, Failure> {
    let end = now();
    let plan = demo::Plan::of_the_last_day(end);
    let made = || {
        let history = History::of(demo::make(crate::store::temporary()?, &plan)?)?;
        Ok(Past::read(&history, end)?)
    };
    made().map_err(|error: demo::DemoError| broken(&error))
}
