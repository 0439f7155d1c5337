//! What the recorder says about itself: a line each, with the time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jiff::{Timestamp, Unit};

/// Lines that are shown when a start failed.
const MOST_LINES: usize = 20;

/// Bytes before the end of a log in which lines are looked for.
const MOST_BYTES: u64 = 64 << 10;

/// A log.
#[derive(Debug)]
pub struct Log(Output);

#[derive(Debug)]
enum Output {
    Nothing,
    Stderr,
    File(PathBuf, File),
}

impl Log {
    #[must_use]
    pub const fn to_stderr() -> Self {
        Self(Output::Stderr)
    }

    /// Returns a log that keeps nothing.
    #[must_use]
    pub const fn to_nothing() -> Self {
        Self(Output::Nothing)
    }

    /// Opens a file to append to. Only its owner may read it.
    pub fn to_file(path: &Path) -> io::Result<Self> {
        Ok(Self(Output::File(path.to_owned(), open_log(path)?)))
    }

    /// Opens the file again: it may have been moved away.
    pub fn reopen(&mut self) {
        let Output::File(path, file) = &mut self.0 else { return };
        match open_log(path) {
            Ok(new) => *file = new,
            Err(error) => self.write(&format!("cannot reopen the log: {error}")),
        }
    }

    /// Writes a line. A line that cannot be written is lost: the recorder goes on.
    pub fn write(&mut self, text: &str) {
        let now = Timestamp::now();
        let line = format!("{}  {}\n", now.round(Unit::Second).unwrap_or(now), printable(text));
        let _ = match &mut self.0 {
            Output::Nothing => Ok(()),
            Output::Stderr => io::stderr().write_all(line.as_bytes()),
            Output::File(_, file) => file.write_all(line.as_bytes()),
        };
    }
}

/// Replaces control characters and those that change the direction of text: names of cards and
/// processes come from outside.
fn printable(text: &str) -> String {
    let is_printable = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            && !matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().map(|c| if is_printable(c) { c } else { '?' }).collect()
}

/// Opens a log to append to it, and creates it if there is none.
pub fn open_log(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Returns the last line of a log; `None` if it is empty.
pub fn last_line(path: &Path) -> io::Result<Option<String>> {
    let metadata = fs::metadata(path)?;
    // Opening a pipe would block until somebody writes to it.
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    let text = read_from(path, metadata.len().saturating_sub(MOST_BYTES))?;
    Ok(text.lines().next_back().map(str::to_owned))
}

/// Returns the last lines of those that were written since a log had a length.
pub fn lines_since(path: &Path, length: u64) -> io::Result<String> {
    let text = read_from(path, length)?;
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(MOST_LINES)..].join("\n"))
}

fn read_from(path: &Path, place: u64) -> io::Result<String> {
    let mut log = File::open(path)?;
    // A log that is shorter now was replaced.
    let place = if log.metadata()?.len() < place { 0 } else { place };
    log.seek(SeekFrom::Start(place))?;
    let mut bytes = Vec::new();
    log.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_line_of_a_large_log_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.log");
        assert_eq!(last_line(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(last_line(dir.path()).is_err(), "a folder");
        fs::write(&path, "").unwrap();
        assert_eq!(last_line(&path).unwrap(), None);
        fs::write(&path, "a line\n".repeat(100_000) + "the last\n").unwrap();
        assert_eq!(last_line(&path).unwrap().as_deref(), Some("the last"));
    }

    #[test]
    fn lines_have_a_time_and_no_control_characters() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.log");
        let mut log = Log::to_file(&path).unwrap();
        log.write("py\x1b[2Jth\non\u{202e} 学習");
        let line = last_line(&path).unwrap().unwrap();
        assert!(line.ends_with("Z  py?[2Jth?on? 学習"), "{line}");
    }

    #[test]
    fn log_that_was_moved_away_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.log");
        let mut log = Log::to_file(&path).unwrap();
        log.write("one");
        fs::rename(&path, dir.path().join("gua.log.1")).unwrap();
        log.write("two");
        log.reopen();
        log.write("three");
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 1);
        let moved = fs::read_to_string(dir.path().join("gua.log.1")).unwrap();
        assert_eq!(moved.lines().count(), 2);
    }
}
