//! Follows a command to its end, or a process for as long as it is asked to.

use std::ffi::{OsStr, OsString};
use std::process::Command;

use probe::proc::Host;
use probe::process::Presence;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use track::{SpawnError, StartError, Tracker, Usage};

use crate::config::Target;
use crate::failure::Failure;
use crate::following::interpreter::{interpreter, is_a_path};
use crate::following::{Heard, Listener};
use crate::report::tracked::{Ending, Subject, command_name};

/// What became of it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub subject: Subject,
    pub ending: Ending,
    pub usage: Usage,
    /// How many of its descendants had to be ended by force.
    pub killed: u32,
}

pub(super) fn follow(tracker: Tracker, target: &Target) -> Result<Outcome, Failure> {
    let listener = Listener::catch().map_err(|error| Failure::Failed {
        what: format!("signals cannot be caught: {error}"),
        next: "Without that, Ctrl-C would lose the summary; run the command by itself.".to_owned(),
    })?;
    match target {
        Target::Command(words) => command(tracker, listener, words),
        Target::Pid(pid) => process(tracker, listener, *pid),
    }
}

fn command(tracker: Tracker, listener: Listener, words: &[OsString]) -> Result<Outcome, Failure> {
    let (program, arguments) =
        words.split_first().map_or((None, words), |(p, rest)| (Some(p), rest));
    let mut command = Command::new(program.cloned().unwrap_or_default());
    command.args(arguments);
    let running = tracker.spawn(command);
    let running = running.map_err(|error| not_started(&error, program))?;
    let pid = running.pid();
    let followed = listener.follow(running);
    let finished = followed.finished;
    Ok(Outcome {
        subject: Subject { name: command_name(words), pid, is_attached: false },
        ending: Ending::of(finished.status),
        usage: finished.usage,
        killed: followed.killed,
    })
}

fn not_started(error: &SpawnError, program: Option<&OsString>) -> Failure {
    let typed = program.map(OsString::as_os_str).unwrap_or_default();
    let program = typed.to_string_lossy();
    let (what, next, code) = match error {
        SpawnError::NotFound => return not_found(typed),
        SpawnError::NotExecutable => (
            format!("the command `{program}` may not be executed"),
            "Is it a program? `chmod +x` makes a file one; a script can be given to its \
             interpreter."
                .to_owned(),
            126,
        ),
        SpawnError::Other(error) => (
            format!("the command `{program}` cannot be run: {error}"),
            "Does it run by itself?".to_owned(),
            126,
        ),
    };
    Failure::NotStarted { what, next, code }
}

/// The kernel says the same of a script and of what it is to be given to.
fn not_found(typed: &OsStr) -> Failure {
    let program = typed.to_string_lossy();
    let (what, next) = match interpreter(typed) {
        Some(interpreter) => (
            format!("the interpreter of `{program}` was not found: `{}`", interpreter.display()),
            "Is the first line of the script right? It can be given to another interpreter."
                .to_owned(),
        ),
        None if is_a_path(typed) => {
            (format!("the command `{program}` was not found"), "Is it spelled right?".to_owned())
        }
        None => (
            format!("the command `{program}` was not found"),
            format!("Is it spelled right and in the PATH? One in this folder is `./{program}`."),
        ),
    };
    Failure::NotStarted { what, next, code: 127 }
}

/// Until it ends, or a signal says that it is enough. It is never sent one itself.
fn process(tracker: Tracker, listener: Listener, pid: u32) -> Result<Outcome, Failure> {
    let name = name(pid);
    let tracking = tracker.start(pid).map_err(|error| not_followed(&error))?;
    let stopper = tracking.stopper();
    let hearing = listener.tell(move |heard| {
        if is_enough(heard) {
            stopper.stop();
        }
    });
    let usage = tracking.wait();
    let is_stopped = hearing.end().into_iter().any(is_enough);
    Ok(Outcome {
        subject: Subject { name, pid, is_attached: true },
        ending: if is_stopped { Ending::GoesOn } else { Ending::Gone },
        usage,
        killed: 0,
    })
}

const fn is_enough(heard: Heard) -> bool {
    matches!(heard.signal, SIGINT | SIGTERM | SIGHUP | SIGQUIT)
}

fn name(pid: u32) -> Option<String> {
    match Host::new(None).process(pid) {
        Presence::Here(facts) => Some(facts.program.to_string()),
        Presence::Gone | Presence::Foreign | Presence::Hidden(_) => None,
    }
}

fn not_followed(error: &StartError) -> Failure {
    let what = error.to_string();
    match error {
        StartError::Gone(_) => {
            Failure::Usage { what, next: "`ps -e` lists those that there are.".to_owned() }
        }
        StartError::Thread { process, .. } => {
            Failure::Usage { what, next: format!("`gua track --pid {process}` follows it whole.") }
        }
        StartError::Hidden(_) => {
            Failure::Failed { what, next: "Its owner can follow it, and so can root.".to_owned() }
        }
        StartError::System(_) => Failure::Failed {
            what,
            next: "It needs Linux 5.3 or later, and a seccomp profile that allows pidfd_open."
                .to_owned(),
        },
    }
}
