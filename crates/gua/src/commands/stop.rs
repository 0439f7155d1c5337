//! `gua stop`: stops the recorder in the background.

use std::fs;
use std::io;
use std::path::Path;

use gua_recorder::pid_file::NamedProcess;
use gua_recorder::places::GivenPaths;
use gua_recorder::{FoundPidFile, PidFile, Stop, background};
use gua_store::lock::RecorderLock;
use gua_store::{Database, StoreError, StoredRun};

use super::places::places;
use crate::cli;
use crate::config::Files;
use crate::context::Context;
use crate::failure::Failure;
use crate::render::words;

const NOT_RECORDING: &str = "gua is not recording";

pub(super) fn run(
    files: &Files,
    typed: &cli::Stop,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    // A config that cannot be used must not keep anybody from stopping a recorder.
    let (settings, _) = files.what_can_be_used();
    let given = GivenPaths { pid_file: typed.pid_file.as_deref(), ..GivenPaths::default() };
    let pid_file = places(&settings.settled(), given, &context.env)?.pid_file;
    let text = match PidFile::find(&pid_file) {
        FoundPidFile::Missing if typed.pid_file.is_none() => without_pid_file(files, &pid_file)?,
        FoundPidFile::Missing => NOT_RECORDING.to_owned(),
        FoundPidFile::Unreadable(error) => return Err(unreadable(&pid_file, &error)),
        FoundPidFile::Empty => delete_stale(&pid_file, "it was empty")?,
        FoundPidFile::Garbled => return Err(not_a_pid_file(&pid_file)),
        FoundPidFile::Names(file, process) => stop(&pid_file, &file, process)?,
    };
    writeln!(context.out, "{text}")?;
    context.out.flush()?;
    Ok(0)
}

/// Somebody may have deleted it. Then the lock of the default database tells.
fn without_pid_file(files: &Files, pid_file: &Path) -> Result<String, Failure> {
    let Some(database) = files.settings()?.settled().database else {
        return Ok(NOT_RECORDING.to_owned());
    };
    match RecorderLock::is_taken(&database) {
        Some(true) => Err(unnamed_recorder(pid_file, &database)),
        Some(false) => Ok(NOT_RECORDING.to_owned()),
        None => Err(unknown_recorder(pid_file, &database)),
    }
}

fn stop(pid_file: &Path, file: &PidFile, process: NamedProcess) -> Result<String, Failure> {
    let pid = file.pid;
    match process {
        NamedProcess::Recorder if file.start_ticks.is_none() => Err(other_gua(pid)),
        NamedProcess::Recorder => match background::stop(file)? {
            Stop::Stopped { after } => Ok(how_it_ended(file, after.as_secs_f64())),
            Stop::NotRunning => delete_stale(pid_file, "its process is gone"),
            Stop::StillRunning { after } => Err(Failure::Failed {
                what: format!(
                    "the recorder (pid {pid}) was told to stop {:.0} s ago, and still runs",
                    after.as_secs_f64()
                ),
                next: "`gua status` shows how it does; it may wait for a disk.".to_owned(),
            }),
        },
        NamedProcess::Gone => delete_stale(pid_file, &format!("process {pid} is gone")),
        NamedProcess::Other => {
            let why = format!("process {pid} is another program, which was left alone");
            delete_stale(pid_file, &why)
        }
        NamedProcess::Hidden => Err(Failure::Failed {
            what: format!("process {pid} may be a recorder, but it belongs to another user"),
            next: "Stop it as that user.".to_owned(),
        }),
    }
}

/// Returns a sentence on how the recorder ended, by what it stored last.
fn how_it_ended(file: &PidFile, seconds: f64) -> String {
    let Some(database) = file.database.as_deref() else {
        return format!("gua ended in {seconds:.1} s; its pid file did not name its database");
    };
    match newest_run(database) {
        Err(error) => format!("gua ended in {seconds:.1} s; how is unknown: {error}"),
        Ok(Some(run)) if run.ending.as_deref() == Some("stopped") => format!(
            "gua stopped after {} of recording; everything is stored ({seconds:.1} s)",
            words::duration(run.period().seconds())
        ),
        Ok(_) => format!(
            "gua ended in {seconds:.1} s, but could not store the end of its run; \
             `gua db check` checks the database"
        ),
    }
}

fn newest_run(database: &Path) -> Result<Option<StoredRun>, StoreError> {
    Ok(Database::open(database)?.runs()?.pop())
}

fn delete_stale(pid_file: &Path, why: &str) -> Result<String, Failure> {
    fs::remove_file(pid_file).map_err(|error| unreadable(pid_file, &error))?;
    Ok(format!("gua is not recording; a stale pid file was deleted: {why}"))
}

fn other_gua(pid: u32) -> Failure {
    Failure::Failed {
        what: format!("process {pid} is a recorder of another gua, maybe the Python one"),
        next: "Stop it with that program; it was left alone.".to_owned(),
    }
}

fn unnamed_recorder(pid_file: &Path, database: &Path) -> Failure {
    Failure::Failed {
        what: format!(
            "a process records into {}, but there is no pid file {} that names it",
            database.display(),
            pid_file.display()
        ),
        next:
            "Name its pid file with --pid-file PATH, or find it: `pgrep -af 'gua (daemon|start)'`."
                .to_owned(),
    }
}

fn unknown_recorder(pid_file: &Path, database: &Path) -> Failure {
    Failure::CannotTell {
        what: format!(
            "it is unknown whether gua is recording: there is no {}, and {} cannot be opened",
            pid_file.display(),
            database.display()
        ),
        next: "Stop it as the user who started it, or name its pid file with --pid-file PATH."
            .to_owned(),
    }
}

fn not_a_pid_file(path: &Path) -> Failure {
    Failure::Failed {
        what: format!("{} is not a pid file of gua; it was left alone", path.display()),
        next: "Look at it, and delete it if nobody needs it.".to_owned(),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed {
        what: format!("cannot use the pid file {}: {error}", path.display()),
        next: "Check who owns it; a recorder may be running.".to_owned(),
    }
}
