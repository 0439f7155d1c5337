//! A program that is run with a time limit, and what it said when it failed.

use std::env;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};

use super::NotDelivered;
use crate::process_handle::ProcessHandle;
use crate::safe::safe;

/// How much of what it said is told.
const MOST_SAID: u64 = 200;

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
    let mut said = memory(b"")?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PATH).env("LC_ALL", "C.UTF-8");
    command.envs(HANDED_ON.iter().filter_map(|name| Some((name, env::var_os(name)?))));
    command.stdin(memory(input)?).stdout(Stdio::null()).stderr(said.try_clone()?);
    let mut child = command
        .spawn()
        .map_err(|error| NotDelivered::NotStarted { program: program.clone(), error })?;
    let ends = ProcessHandle::open(child.id()).is_ok_and(|handle| handle.ends_within(most));
    if !ends {
        child.kill()?;
    }
    let status = child.wait()?;
    match ends {
        false => Err(NotDelivered::TooSlow { program: program.clone(), most }),
        true if status.success() => Ok(()),
        true => Err(NotDelivered::Failed {
            program: program.clone(),
            status: status.to_string(),
            said: first_line(&mut said),
        }),
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

fn first_line(said: &mut File) -> String {
    let mut bytes = Vec::new();
    // What cannot be read was not said.
    let _ = said.rewind().and_then(|()| said.take(MOST_SAID).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
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

    /// More than a pipe would hold.
    #[test]
    fn a_program_that_reads_nothing_keeps_nobody_waiting() {
        assert_eq!(told(&["true"], &"x".repeat(1 << 20), LONG), "done");
    }
}
