//! What was used so far, in a file, in case that nobody lives to tell: a process that takes too
//! much memory is killed without a word.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use probe::nvml::is_left_in_the_loader;
use probe::threads;
use track::gpu_tracker::file::FileError;
use track::gpu_tracker::json::json;
use track::gpu_tracker::{Expected, Gap, ResourceUsage, Spelling, Units};
use track::{Asker, Usage};

/// From one writing to the next.
const EVERY: Duration = Duration::from_secs(1);

/// A file that is kept up to date until this is dropped, and is gone then.
#[derive(Debug)]
pub struct Backup {
    path: PathBuf,
    /// The thread ends when this is closed.
    open: Option<Sender<()>>,
    /// What it could not do at last.
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Backup {
    /// # Errors
    /// When there is no thread to be had.
    pub fn begin(
        path: PathBuf,
        asker: Asker,
        units: Units,
        expected: Expected,
    ) -> Result<Self, FileError> {
        let (open, closed) = mpsc::channel::<()>();
        let file = path.clone();
        // At once, too: the first second may be the last.
        let keep = move || {
            let mut newest = Ok(());
            while let Some(usage) = asker.so_far() {
                // The next one may not fail; who measures is told at the end.
                newest = write(&file, &usage, units, expected);
                if closed.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            newest
        };
        match threads::spawn(threads::named("backup"), keep) {
            Ok(thread) => Ok(Self { path, open: Some(open), thread: Some(thread) }),
            Err(source) => Err(FileError::Io { path, source }),
        }
    }

    /// Removes the file.
    ///
    /// # Errors
    /// When it was not up to date, or cannot be removed.
    pub fn end(mut self) -> Result<(), FileError> {
        self.close().map_err(|source| FileError::Io { path: self.path.clone(), source })
    }

    fn close(&mut self) -> io::Result<()> {
        self.open = None;
        // Where the driver hangs in the loader, it may never have begun.
        let Some(thread) = self.thread.take().filter(|_| !is_left_in_the_loader()) else {
            return self.remove();
        };
        // One that has panicked has said so itself.
        let kept = thread.join().unwrap_or(Ok(()));
        self.remove().and(kept)
    }

    /// Also what an earlier one has left; but nothing that somebody else has put there.
    fn remove(&self) -> io::Result<()> {
        if !may_replace(&self.path) {
            return Ok(());
        }
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Whether nothing of anybody else's is there: no file, an empty one, or what a measurement that
/// was killed has left.
pub fn may_replace(path: &Path) -> bool {
    match fs::read_to_string(path) {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        Ok(text) => text.is_empty() || is_usage(&text),
    }
}

fn is_usage(text: &str) -> bool {
    let told: Option<serde_json::Value> = serde_json::from_str(text).ok();
    told.is_some_and(|told| told.get("max_ram").is_some() && told.get("compute_time").is_some())
}

/// Beside its place first, so that there is a whole one at any time.
fn write(path: &Path, usage: &Usage, units: Units, expected: Expected) -> io::Result<()> {
    let usage = ResourceUsage::new(usage, units, expected);
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    fs::write(&beside, json(&usage.tree(Spelling::Descendents, Gap::Missing)) + "\n")?;
    fs::rename(&beside, path)
}

impl Drop for Backup {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.close();
    }
}
