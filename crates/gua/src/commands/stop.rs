//! `gua stop`: end the recorder in the background.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::cli;
use crate::config::Files;
use crate::failure::Failure;
use crate::ledger::Period;
use crate::render::words;
use crate::service::{self, Found, PidFile, Places, Process, Stopped};
use crate::store::{Ending, History, RecorderLock};

const NOT_RECORDING: &str = "gua is not recording";

pub(super) fn run(files: &Files, typed: &cli::Stop) -> Result<u8, Failure> {
    // A config that cannot be used must not keep anybody from stopping a recorder.
    let (settings, _) = files.what_can_be_used();
    let places = Places::new(&settings.settled(), None, typed.pid_file.as_deref(), None)?;
    let pid_file = places.pid_file;
    let (text, code) = match service::find(&pid_file) {
        Found::None if typed.pid_file.is_none() => without_pid_file(files, &pid_file)?,
        Found::None => (NOT_RECORDING.to_owned(), 0),
        Found::Unreadable(error) => return Err(unreadable(&pid_file, &error)),
        Found::Empty => (cleared(&pid_file, "it was empty")?, 0),
        Found::Garbled => return Err(not_a_pid_file(&pid_file)),
        Found::Process(file, process) => stop(&pid_file, &file, process)?,
    };
    writeln!(io::stdout(), "{text}")?;
    Ok(code)
}

/// Somebody may have taken it away; then the lock of the usual database tells.
fn without_pid_file(files: &Files, pid_file: &Path) -> Result<(String, u8), Failure> {
    let not_recording = Ok((NOT_RECORDING.to_owned(), 0));
    let Some(database) = files.settings()?.settled().database else { return not_recording };
    match RecorderLock::is_taken(&database) {
        Some(true) => Err(nameless(pid_file, &database)),
        Some(false) => not_recording,
        None => Err(untold(pid_file, &database)),
    }
}

fn stop(pid_file: &Path, file: &PidFile, process: Process) -> Result<(String, u8), Failure> {
    let pid = file.pid;
    match process {
        Process::Recorder if file.start_ticks.is_none() => Err(not_ours(pid)),
        Process::Recorder => {
            match service::stop(file).map_err(|error| cannot_signal(pid, &error))? {
                Stopped::Ended { after } => Ok((ended(file, after.as_secs_f64()), 0)),
                Stopped::NotThere => Ok((cleared(pid_file, "its process is gone")?, 0)),
                Stopped::StillThere { after } => Err(Failure::Failed {
                    what: format!(
                        "the recorder (pid {pid}) was told to end {:.0} s ago, and still runs",
                        after.as_secs_f64()
                    ),
                    next: "`gua status` shows what it is at; it may wait for a disk.".to_owned(),
                }),
            }
        }
        Process::Gone => Ok((cleared(pid_file, &format!("process {pid} is gone"))?, 0)),
        Process::Other => {
            let why = format!("process {pid} is another program, which was left alone");
            Ok((cleared(pid_file, &why)?, 0))
        }
        Process::Hidden => Err(Failure::Failed {
            what: format!("process {pid} may be a recorder, but it is another user's"),
            next: "Stop it as that user.".to_owned(),
        }),
    }
}

/// How it ended, by what it wrote down last.
fn ended(file: &PidFile, seconds: f64) -> String {
    let Some(database) = file.database.as_deref() else {
        return format!("gua ended in {seconds:.1} s; its pid file did not name its database");
    };
    let run = match History::open(database) {
        Ok(history) => history.newest_run().cloned(),
        Err(error) => {
            let path = database.display();
            return format!(
                "gua ended in {seconds:.1} s; how cannot be told, as {path} cannot be read: {error}"
            );
        }
    };
    match run.map(|run| (run.started, run.ended, run.ending)) {
        Some((started, Some(ended), Some(Ending::Stopped))) => {
            let recorded = words::duration(Period::new(started, ended).seconds());
            format!(
                "gua stopped after {recorded} of recording; the last tick is stored ({seconds:.1} s)"
            )
        }
        _ => format!(
            "gua ended in {seconds:.1} s, but could not write down the end of its run; \
             `gua db check` looks at the database"
        ),
    }
}

fn cleared(pid_file: &Path, why: &str) -> Result<String, Failure> {
    fs::remove_file(pid_file).map_err(|error| unreadable(pid_file, &error))?;
    Ok(format!("gua is not recording; a stale pid file was cleared: {why}"))
}

fn cannot_signal(pid: u32, error: &io::Error) -> Failure {
    Failure::Failed {
        what: format!("cannot stop the recorder (pid {pid}): {error}"),
        next: "Stop it as the user who started it.".to_owned(),
    }
}

fn not_ours(pid: u32) -> Failure {
    Failure::Failed {
        what: format!("process {pid} is a recorder of another gua, maybe the Python one"),
        next: "Stop it with that program; it was left alone.".to_owned(),
    }
}

fn nameless(pid_file: &Path, database: &Path) -> Failure {
    Failure::Failed {
        what: format!(
            "a process has {} open for recording, but {} is not there to name it",
            database.display(),
            pid_file.display()
        ),
        next:
            "Name its own with --pid-file PATH, or look for it: `pgrep -af 'gua (daemon|start)'`."
                .to_owned(),
    }
}

fn untold(pid_file: &Path, database: &Path) -> Failure {
    Failure::CannotTell {
        what: format!(
            "whether gua is recording cannot be told: {} is not there, and {} cannot be looked at",
            pid_file.display(),
            database.display()
        ),
        next: "Stop it as the user who started it, or name its own with --pid-file PATH."
            .to_owned(),
    }
}

fn not_a_pid_file(path: &Path) -> Failure {
    Failure::Failed {
        what: format!("{} is not a pid file of gua; it was left alone", path.display()),
        next: "Look at it, and remove it if nobody needs it.".to_owned(),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed {
        what: format!("cannot use the pid file {}: {error}", path.display()),
        next: "Check who owns it; a recorder may be running.".to_owned(),
    }
}
