//! A notice on the terminals of a person: only on those that are theirs.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};

use super::{Letter, NotDelivered, terminals};
use crate::config::policy::Template;

/// A terminal on which nothing was typed for so long is one that nobody sits at: that of a
/// program that was left alone, or of a session that was detached.
const SOMEBODY_IS_THERE: Duration = Duration::from_secs(12 * 3600);

/// Writes to all of them; one that somebody sits at is enough.
pub(super) fn deliver(
    root: &Path,
    template: &Template,
    letter: &Letter,
    timeout: Duration,
) -> Result<(), NotDelivered> {
    let text = on_a_screen(&letter.fields.fill(template));
    let lines = terminals::of(root, letter.to.uid, letter.to.name.as_deref());
    let mut failed = Vec::new();
    let mut is_reached = false;
    for line in &lines {
        let path = root.join("dev").join(line);
        match write(&path, letter.to.uid, text.as_bytes(), timeout) {
            Ok(quiet) if quiet <= SOMEBODY_IS_THERE => is_reached = true,
            Ok(quiet) => {
                let hours = quiet.as_secs() / 3600;
                failed.push(format!("{line}: nothing was typed there for {hours} h"));
            }
            Err(error) => failed.push(format!("{line}: {error}")),
        }
    }
    match is_reached {
        true => Ok(()),
        false if failed.is_empty() => Err(NotDelivered::NoTerminal),
        false => Err(NotDelivered::Terminals(failed.join(", "))),
    }
}

/// On lines of its own, with a bell.
fn on_a_screen(text: &str) -> String {
    format!("\r\n\x07{}\r\n", text.trim_end().replace('\n', "\r\n"))
}

/// A terminal that is somebody else's by now, or no terminal, is not written to. One that
/// takes nothing, as its person has stopped it, is not waited for. Tells for how long nothing was
/// typed on it, which is when it was last read from.
fn write(path: &Path, uid: u32, text: &[u8], timeout: Duration) -> io::Result<Duration> {
    let flags =
        OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::CharacterDevice || stat.st_uid != uid {
        return Err(io::Error::other("it is not theirs"));
    }
    let typed = UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_atime).unwrap_or(0));
    write_within(&mut File::from(file), text, timeout)?;
    Ok(SystemTime::now().duration_since(typed).unwrap_or_default())
}

fn write_within(file: &mut File, mut text: &[u8], timeout: Duration) -> io::Result<()> {
    let deadline = Instant::now() + timeout;
    while !text.is_empty() {
        match file.write(text) {
            Ok(written) => text = text.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => wait(file, deadline)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wait(file: &File, deadline: Instant) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let mut files = [PollFd::new(file, PollFlags::OUT)];
    let time = Timespec::try_from(left).ok();
    let ready = poll(&mut files, time.as_ref())?;
    if ready == 0 { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
}
