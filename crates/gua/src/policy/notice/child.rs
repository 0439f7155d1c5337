//! A program that is run with a time limit, and what it said when it failed.

use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};

use super::NotDelivered;
use crate::process_handle::ProcessHandle;
use crate::safe::safe;

/// How much of what it said is told.
const MOST_SAID: u64 = 200;

/// How often it is asked whether it has ended, where its end cannot be waited for.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// Where programs are found.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What of our own surroundings a program may need to find its settings.
const HANDED_ON: [&str; 3] = ["HOME", "TZ", "SLURM_CONF"];

/// Runs the words of a command, never through a shell, with this input. What is read and
/// written is in memory, so neither can keep the other waiting.
///
/// # Errors
/// When it cannot be started, fails, or takes too long; then it is killed.
pub fn run(words: &[String], input: &[u8], most: Duration) -> Result<(), NotDelivered> {
    let (program, arguments) = words.split_first().ok_or_else(nothing)?;
    let mut said = bounded()?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PATH).env("LC_ALL", "C.UTF-8");
    command.envs(HANDED_ON.iter().filter_map(|name| Some((name, env::var_os(name)?))));
    command.stdin(memory(input)?).stdout(Stdio::null()).stderr(said.try_clone()?);
    // A group of its own, so that what it has started ends with it.
    command.process_group(0);
    let mut child = command
        .spawn()
        .map_err(|error| NotDelivered::NotStarted { program: program.clone(), error })?;
    let ends = ends_within(&mut child, most);
    if !matches!(ends, Ok(true)) {
        // Nobody has waited for it yet, so the group is still its own.
        let group = Pid::from_child(&child);
        kill_process_group(group, Signal::KILL).map_err(io::Error::from)?;
    }
    let status = child.wait()?;
    match ends? {
        false => Err(NotDelivered::TooSlow { program: program.clone(), most }),
        true if status.success() => Ok(()),
        true => Err(NotDelivered::Failed {
            program: program.clone(),
            status: status.to_string(),
            said: first_line(&mut said),
        }),
    }
}

/// Whether it ends in time.
fn ends_within(child: &mut Child, most: Duration) -> io::Result<bool> {
    let deadline = Instant::now() + most;
    let handle = ProcessHandle::open(child.id());
    match handle.and_then(|handle| handle.ends_within(most)) {
        Ok(ends) => Ok(ends),
        // An old kernel, or no file to be had: that is nothing that it has done.
        Err(_) => ends_until(child, deadline),
    }
}

/// The same without a handle, by asking again and again.
fn ends_until(child: &mut Child, deadline: Instant) -> io::Result<bool> {
    loop {
        match child.try_wait()? {
            Some(_) => return Ok(true),
            None if Instant::now() >= deadline => return Ok(false),
            None => thread::sleep(BETWEEN_LOOKS),
        }
    }
}

fn nothing() -> NotDelivered {
    NotDelivered::Io(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"))
}

/// A file that is nowhere but in memory, read from its beginning.
fn memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("gua", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// A file for what a program says, which cannot grow: one that talks without end only loses
/// its words.
fn bounded() -> io::Result<File> {
    let file = File::from(memfd_create("gua", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?);
    file.set_len(MOST_SAID)?;
    fcntl_add_seals(&file, SealFlags::GROW)?;
    Ok(file)
}

fn first_line(said: &mut File) -> String {
    let mut bytes = Vec::new();
    // What cannot be read was not said.
    let _ = said.rewind().and_then(|()| said.take(MOST_SAID).read_to_end(&mut bytes));
    let said = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(said);
    text.lines().next().map(safe).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &[&str], input: &str, most: Duration) -> String {
        let words: Vec<_> = words.iter().map(ToString::to_string).collect();
        match run(&words, input.as_bytes(), most) {
            Ok(()) => "done".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn how_it_ended_is_told() {
        assert_eq!(told(&["true"], "", LONG), "done");
        assert_eq!(told(&["grep", "-q", "x"], "axb", LONG), "done");
        assert_eq!(told(&["false"], "", LONG), "`false` ended with exit status: 1");
        let failed = told(&["sh", "-c", "printf 'no\\033[2J\\nmore' >&2; exit 3"], "", LONG);
        assert_eq!(failed, "`sh` ended with exit status: 3: no?[2J");
        let missing = told(&["/nowhere/tell"], "", LONG);
        assert!(missing.starts_with("`/nowhere/tell` could not be started: "), "{missing}");
    }

    #[test]
    fn what_hangs_is_ended() {
        let slow = told(&["sleep", "600"], "", Duration::from_millis(50));
        assert_eq!(slow, "`sleep` took longer than 0.05 s and was ended");
    }

    /// Trap: where the host gave no handle, it was killed at once and called too slow.
    #[test]
    fn without_a_handle_it_has_its_time_too() {
        let mut quick = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        assert!(ends_until(&mut quick, Instant::now() + LONG).unwrap());
        assert_eq!(quick.wait().unwrap().code(), Some(3), "how it ended is not lost");
        let mut slow = Command::new("sleep").arg("600").spawn().unwrap();
        let deadline = Instant::now() + Duration::from_millis(50);
        assert!(!ends_until(&mut slow, deadline).unwrap());
        assert!(Instant::now() >= deadline);
        slow.kill().unwrap();
        slow.wait().unwrap();
    }

    /// Trap: a script that was ended left behind what it had started.
    #[test]
    fn what_it_has_started_ends_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("kept");
        let script = format!("sleep 600 & echo $! > '{}'; wait", kept.display());
        let slow = told(&["sh", "-c", &script], "", Duration::from_secs(1));
        assert_eq!(slow, "`sh` took longer than 1 s and was ended");
        let pid: u32 = std::fs::read_to_string(kept).unwrap().trim().parse().unwrap();
        let deadline = Instant::now() + LONG;
        let lives = || {
            let stat = std::fs::read(format!("/proc/{pid}/stat")).ok();
            stat.and_then(|stat| probe::proc::stat::parse(&stat)).is_some_and(|it| !it.is_ended)
        };
        while lives() {
            assert!(Instant::now() < deadline, "it was left behind");
        }
    }

    #[test]
    fn what_talks_without_end_is_not_listened_to() {
        let script = "echo no >&2; head -c 100000000 /dev/zero >&2; exit 4";
        assert_eq!(told(&["sh", "-c", script], "", LONG), "`sh` ended with exit status: 4: no");
    }

    /// More than a pipe would hold.
    #[test]
    fn a_program_that_reads_nothing_keeps_nobody_waiting() {
        assert_eq!(told(&["true"], &"x".repeat(1 << 20), LONG), "done");
    }
}
