//! The end of a recorder's log.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// How many lines are shown when a start failed.
const MOST_LINES: usize = 20;
/// No line is looked for further back; a log may be large.
const MOST_BYTES: u64 = 64 << 10;

/// The last line; `None` where nothing was logged.
///
/// # Errors
/// When the log cannot be read.
pub fn last_line(path: &Path) -> io::Result<Option<String>> {
    // A pipe would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let length = fs::metadata(path)?.len();
    let text = from(path, length.saturating_sub(MOST_BYTES))?;
    Ok(text.lines().next_back().map(str::to_owned))
}

/// The last lines, of those that were written since it was so long.
///
/// # Errors
/// When the log cannot be read.
pub(super) fn lines_since(path: &Path, since: u64) -> io::Result<String> {
    let text = from(path, since)?;
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(MOST_LINES)..].join("\n"))
}

fn from(path: &Path, place: u64) -> io::Result<String> {
    let mut log = File::open(path)?;
    // A log that has become shorter was begun anew.
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
    fn the_last_line_of_a_large_log_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.log");
        assert_eq!(last_line(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(last_line(dir.path()).is_err(), "a folder");
        fs::write(&path, "").unwrap();
        assert_eq!(last_line(&path).unwrap(), None);
        fs::write(&path, "a line\n".repeat(100_000) + "the last\n").unwrap();
        assert_eq!(last_line(&path).unwrap().as_deref(), Some("the last"));
    }
}
