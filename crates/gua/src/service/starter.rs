//! Starts a recorder in the background, and waits until it records.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::log_end::lines_since;
use super::places::Places;
use crate::recorder;

/// What a recorder says to whoever started it, once its first tick is stored.
const READY: &str = "ready";

/// What became of a start.
#[derive(Debug)]
pub enum Started {
    Recording {
        pid: u32,
    },
    /// It ended before it recorded anything.
    Failed {
        code: u8,
        /// The end of what it has logged.
        log: String,
    },
}

/// Starts this program again with the arguments of a recorder in the foreground, which is
/// then left alone.
///
/// # Errors
/// When it cannot be started at all.
pub fn start(places: &Places, arguments: &[std::ffi::OsString]) -> io::Result<Started> {
    make_folder(&places.log_file)?;
    let log = recorder::open_log(&places.log_file)?;
    let before = log.metadata()?.len();
    let mut child = Command::new(std::env::current_exe()?)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()?;
    let mut line = String::new();
    if let Some(said) = child.stdout.take() {
        BufReader::new(said).read_line(&mut line)?;
    }
    if line.trim_end() == READY {
        return Ok(Started::Recording { pid: child.id() });
    }
    let code = child.wait()?.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(Started::Failed { code: code.max(1), log: lines_since(&places.log_file, before)? })
}

/// Tells whoever started us that we record. Nobody may be listening.
pub fn report_ready() {
    let mut out = io::stdout();
    let _ = writeln!(out, "{READY}").and_then(|()| out.flush());
}

/// The folder of a file, where it is still to be made.
///
/// # Errors
/// When it cannot be made.
pub fn make_folder(of: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    match of.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => fs::DirBuilder::new().recursive(true).mode(0o700).create(folder),
        None => Ok(()),
    }
}
