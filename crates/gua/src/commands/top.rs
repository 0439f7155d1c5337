//! `gua top`: all cards and holders on a whole screen, live.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use gua_core::Period;
use gua_core::period::HOUR;
use gua_query::snapshot::{CardSelection, Snapshot, add_idle_times, add_no_history};
use gua_store::Database;
use probe::nvml::Wants;
use probe::proc::Host;
use probe::units::UnixMillis;

use super::record::Record;
use super::{history, live};
use crate::cli;
use crate::config::{Config, Files, Machine};
use crate::context::{Clock, Context, Screen};
use crate::demo;
use crate::env::Env;
use crate::failure::Failure;
use crate::safe::safe;
use crate::simulated::SimulatedHost;
use crate::tui::{self, AddRecord, Completion, Past, Played, ReadPast, Settings, Source, Theme};

pub(super) fn run(
    machine: cli::Machine,
    files: &Files,
    typed: &cli::Top,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let screen = context.screen(&typed.color);
    if !screen.is_terminal || screen.rows.is_none() {
        return Err(no_terminal(screen, &context.env));
    }
    // Before the driver is opened: what is wrong with it is told in the shell.
    let config = config(files, typed)?;
    let thresholds = config.thresholds.into();
    let history = History::find(typed, &config)?;
    let source = source(machine, typed, config, &history)?;
    let settings = Settings {
        every: typed.every,
        zone: typed.tz.zone.clone(),
        uid: rustix::process::geteuid().as_raw(),
        is_pretend: typed.demo || typed.scenario.is_some(),
        thresholds,
        began: now(),
    };
    let theme = Theme { color: screen.color, is_ascii: typed.ascii };
    tui::run(settings, theme, source, history.read_past())?;
    Ok(0)
}

/// A lab that does not exist has the usual settings.
fn config(files: &Files, typed: &cli::Top) -> Result<Config, Failure> {
    if typed.demo { Ok(Config::default()) } else { Ok(files.settings()?.settled()) }
}

fn now() -> UnixMillis {
    Clock::System.unix_millis()
}

fn no_terminal(screen: Screen, env: &Env) -> Failure {
    let what = if screen.is_terminal {
        let term = env.text("TERM").unwrap_or_default();
        format!(
            "`gua top` draws on a terminal, and this one (TERM={}) cannot be drawn on",
            safe(term)
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
    config: Config,
    history: &History,
) -> Result<Box<dyn Source>, Failure> {
    let selection = CardSelection::new(&typed.id);
    if typed.demo {
        let mut lab = demo::Live::lab().map_err(|error| broken(&error))?;
        let every = typed.every;
        let play = move |at| lab.snapshot(at, every);
        let completion = Completion::new(selection, history.add_record(config));
        return Ok(Box::new(Played::new(play, completion)));
    }
    if let Some(path) = &typed.scenario {
        let scenario =
            scenario::parse::from_file(path).map_err(|refused| refused_file(&refused))?;
        let every = typed.every;
        let mut host = SimulatedHost::new(scenario, now(), config.thresholds.into());
        let play = move |at| host.snapshot(at, every);
        let completion = Completion::new(selection, history.add_record(config));
        return Ok(Box::new(Played::new(play, completion)));
    }
    let machine = Machine::try_from(machine)?;
    let source = live::open_driver(&machine, &config, WANTS)?.with_commands(typed.full_command);
    let completion = Completion::new(selection, history.add_record(config));
    Ok(Box::new(tui::Machine::new(source, Host::new(machine.host_root), completion)))
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

/// Where the history is that is shown beside the cards.
enum History {
    None,
    File {
        path: PathBuf,
        is_named: bool,
    },
    /// The demo's, once it has been made.
    Demo {
        database: Arc<Mutex<Option<Database>>>,
        end: UnixMillis,
    },
}

impl History {
    fn find(typed: &cli::Top, config: &Config) -> Result<Self, Failure> {
        if typed.demo {
            return Ok(Self::Demo { database: Arc::default(), end: now() });
        }
        Ok(match &typed.db {
            Some(path) if matches!(path.try_exists(), Ok(false)) => {
                return Err(gua_store::Problem::Missing.at(path).into());
            }
            Some(path) => Self::File { path: path.clone(), is_named: true },
            // A simulated machine is not in the history of this one.
            None if typed.scenario.is_some() => Self::None,
            None => match history::path(None, config) {
                Ok(path) if !matches!(path.try_exists(), Ok(false)) => {
                    Self::File { path, is_named: false }
                }
                _ => Self::None,
            },
        })
    }

    /// Returns how to read the last hour; `None` if there is nothing to read, which is usual.
    fn read_past(self) -> Option<ReadPast> {
        match self {
            Self::None => None,
            Self::File { path, .. } => Some(Box::new(move || {
                let now = now();
                let window = Period::new(UnixMillis(now.0 - HOUR), now);
                Ok(Past::read(&history::open_record(&path, window, None)?, now)?)
            })),
            Self::Demo { database, end } => Some(Box::new(move || {
                let plan = demo::Plan::of_the_last_day(end);
                let made = demo::record::write_unended(Database::in_memory()?, &plan);
                let made = made.map_err(|error| broken(&error))?;
                let past = Past::read(&made, end)?;
                *database.lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
                Ok(past)
            })),
        }
    }

    /// Returns what adds idle times to a snapshot.
    fn add_record(&self, config: Config) -> AddRecord {
        match self {
            Self::None => Box::new(|snapshot| {
                add_no_history(snapshot, None, "nothing is recorded".to_owned());
            }),
            Self::File { is_named: false, .. } => add_file(None, config),
            Self::File { path, .. } => add_file(Some(path.clone()), config),
            Self::Demo { database, end } => {
                let (database, end) = (Arc::clone(database), *end);
                Box::new(move |snapshot| {
                    let database = database.lock().unwrap_or_else(PoisonError::into_inner);
                    let added = database.as_ref().map(|database| {
                        add_idle_times(snapshot, database, demo::record::BOOT, end)
                    });
                    if !matches!(added, Some(Ok(()))) {
                        add_no_history(snapshot, None, "it is being made".to_owned());
                    }
                })
            }
        }
    }
}

fn add_file(named: Option<PathBuf>, config: Config) -> AddRecord {
    let mut record = Record::new(named, config);
    Box::new(move |snapshot: &mut Snapshot| {
        if let Err(failure) = record.add_to(snapshot) {
            add_no_history(snapshot, None, failure.to_string());
        }
    })
}
