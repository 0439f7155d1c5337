//! A program that is given so much time and no more, and leaves nothing behind.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// More than this of what it says is not read.
const MOST_BYTES: u64 = 64 << 10;

/// How long a killed program may take to go. One that waits for a failing card inside
/// the kernel does not go at all.
const FUNERAL: Duration = Duration::from_millis(500);

const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How it ended.
#[derive(Debug)]
pub(super) enum Ended {
    ByItself {
        status: ExitStatus,
        stdout: String,
        stderr: String,
    },
    NotStarted(io::Error),
    /// The time was up; `gone` says whether killing it worked.
    Stopped {
        gone: bool,
    },
}

/// Runs it in a process group of its own, so that what it starts ends with it.
pub(super) fn run(mut command: Command, patience: Duration) -> Ended {
    let until = Instant::now() + patience;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ended::NotStarted(error),
    };
    let (stdout, stderr) = (listen(child.stdout.take()), listen(child.stderr.take()));
    // It is not reaped before both have ended, so that its group's number stays its own.
    let said = wait_for(&stdout, until).zip(wait_for(&stderr, until));
    match said.and_then(|said| Some((said, reap(&mut child, until)?))) {
        Some(((stdout, stderr), status)) => Ended::ByItself { status, stdout, stderr },
        None => Ended::Stopped { gone: stop(&mut child) },
    }
}

/// Reads on a thread of its own what it says, up to a limit.
fn listen(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (tell, said) = mpsc::channel();
    // Without a thread the channel closes, and the program counts as silent.
    let _ = thread::Builder::new().name("listener".into()).spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // What came before an error is still worth showing.
            let _ = pipe.take(MOST_BYTES).read_to_end(&mut bytes);
        }
        let _ = tell.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    said
}

fn wait_for(said: &Receiver<String>, until: Instant) -> Option<String> {
    said.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
}

fn reap(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => thread::sleep(LOOK_EVERY),
            Ok(None) | Err(_) => return None,
        }
    }
}

fn stop(child: &mut Child) -> bool {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // It may have ended in this moment; reaping tells.
        let _ = kill_process_group(group, Signal::KILL);
    }
    reap(child, Instant::now() + FUNERAL).is_some()
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
            thread::sleep(LOOK_EVERY);
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
