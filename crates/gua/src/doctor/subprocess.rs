//! A program that is run with a time limit and leaves no process behind.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Output beyond this is not read.
const MAX_BYTES: u64 = 64 << 10;

/// Time for a killed program to go. One that waits for a failing card inside the kernel
/// does not go at all.
const KILL_WAIT: Duration = Duration::from_millis(500);

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How a program ended.
#[derive(Debug)]
pub(super) enum Ended {
    ByItself {
        status: ExitStatus,
        stdout: String,
        stderr: String,
    },
    NotStarted(io::Error),
    /// The time was up; `gone` is false if it could not be killed.
    Stopped {
        gone: bool,
    },
}

/// Runs a program in a process group of its own, so that what it starts ends with it.
pub(super) fn run(mut command: Command, time_limit: Duration) -> Ended {
    let until = Instant::now() + time_limit;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ended::NotStarted(error),
    };
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let receive = |output: Receiver<String>| {
        output.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
    };
    // Reaped only when both pipes are closed: until then nobody else can get its group's number.
    let output = receive(stdout).zip(receive(stderr));
    match output.and_then(|output| Some((output, reap(&mut child, until)?))) {
        Some(((stdout, stderr), status)) => Ended::ByItself { status, stdout, stderr },
        None => Ended::Stopped { gone: kill(&mut child) },
    }
}

/// Reads output on a thread of its own.
fn read(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, output) = mpsc::channel();
    // Without a thread the channel closes, and the program counts as one that hangs.
    let _ = thread::Builder::new().name("listener".into()).spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // Output before an error is still worth showing.
            let _ = pipe.take(MAX_BYTES).read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    output
}

fn reap(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => thread::sleep(POLL_INTERVAL),
            Ok(None) | Err(_) => return None,
        }
    }
}

/// Kills the whole group; returns false if the program does not end.
fn kill(child: &mut Child) -> bool {
    // An error means that it has just ended; reaping it shows that.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    reap(child, Instant::now() + KILL_WAIT).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(200);

    #[test]
    fn what_it_says_and_how_it_ends_is_kept() {
        let ended = run(shell("echo out; echo err >&2; exit 3"), LONG);
        let Ended::ByItself { status, stdout, stderr } = ended else { panic!("{ended:?}") };
        assert_eq!((status.code(), stdout.as_str(), stderr.as_str()), (Some(3), "out\n", "err\n"));
    }

    #[test]
    fn a_program_that_does_not_exist_is_no_panic() {
        assert!(matches!(run(Command::new("/nowhere/x"), LONG), Ended::NotStarted(_)));
    }

    /// A shell that starts a sleeper: both go, and quickly.
    #[test]
    fn a_hanging_family_is_stopped_whole() {
        let dir = tempfile::tempdir().unwrap();
        let pids = dir.path().join("pids");
        let script = format!("sleep 61 & echo $$ $! > {}; wait", pids.display());
        let begun = Instant::now();
        assert!(matches!(run(shell(&script), SHORT), Ended::Stopped { gone: true }));
        assert!(begun.elapsed() < Duration::from_secs(5));
        let pids = std::fs::read_to_string(pids).unwrap();
        for pid in pids.split_whitespace() {
            assert!(is_over(pid), "{pid} still runs");
        }
    }

    /// A sleeper that outlives its parent belongs to init, which reaps it when it likes.
    fn is_over(pid: &str) -> bool {
        (0..200).any(|_| {
            thread::sleep(POLL_INTERVAL);
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z "))
        })
    }

    #[test]
    fn one_that_never_stops_talking_is_cut_off() {
        let begun = Instant::now();
        let ended = run(shell("yes"), LONG);
        assert!(matches!(ended, Ended::ByItself { .. }), "{ended:?}");
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}
