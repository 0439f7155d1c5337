//! The config files: where they are, and what they say.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Settings;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, accessat, open};
use rustix::io::Errno;

use super::mistake::Mistake;
use super::origin::Whose;
use super::reader::Source;
use super::surroundings::Surroundings;
use crate::cli;
use crate::env::Env;
use crate::failure::Failure;

/// Where the system's is.
const SYSTEM: &str = "/etc/gua/config.toml";

/// More than this is no config file.
const MOST_BYTES: u64 = 1 << 20;

/// So long a pipe that was named is waited for: somebody may be about to write into it.
const PATIENCE: Duration = Duration::from_secs(2);

/// The files that count, where they are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    pub system: ConfigFile,
    /// `None` for a user without a home.
    pub user: Option<ConfigFile>,
    pub around: Surroundings,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    pub path: Arc<Path>,
    pub whose: Whose,
    /// Whether somebody asked for this one, which must be there then.
    pub is_named: bool,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("there is no config file {}", .0.display())]
    Missing(Arc<Path>),
    #[error("cannot read the config file {}: {error}", path.display())]
    Unreadable { path: Arc<Path>, error: io::Error },
    #[error("cannot use the config file {}: {}", path.display(), summary(mistakes))]
    Wrong { path: Arc<Path>, mistakes: Vec<Mistake> },
}

fn summary(mistakes: &[Mistake]) -> String {
    match mistakes {
        [] => "it has a mistake".to_owned(),
        [one] => one.to_string(),
        [first, more @ ..] => format!("{first} (and {} more)", more.len()),
    }
}

impl FileError {
    /// What a person can do about it.
    #[must_use]
    pub fn next_step(&self) -> String {
        match self {
            Self::Missing(_) => {
                "Name another one with --config FILE or GUA_CONFIG, or none.".to_owned()
            }
            Self::Unreadable { .. } => "Let this user read it, or name another one with --config \
                                        FILE; /dev/null stands for none."
                .to_owned(),
            Self::Wrong { path, .. } => {
                format!("Mend it: `gua config check {}` names every mistake.", path.display())
            }
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::Usage { what: error.to_string(), next: error.next_step() }
    }
}

impl Files {
    /// Those that were named, else those at their usual places.
    #[must_use]
    pub fn new(typed: &cli::Files, env: &Env) -> Self {
        let around = Surroundings::new(env);
        let set =
            |path: &std::ffi::OsString| (!path.is_empty()).then(|| Arc::from(Path::new(path)));
        let named: Option<Arc<Path>> = typed.config.as_ref().and_then(set);
        let is_named = named.is_some();
        let path = named.or_else(|| around.file("config.toml").map(Arc::from));
        let user = path.map(|path| ConfigFile { path, whose: Whose::User, is_named });
        let system = env.path("GUA_SYSTEM_CONFIG").unwrap_or_else(|| PathBuf::from(SYSTEM));
        let system = ConfigFile { path: system.into(), whose: Whose::System, is_named: false };
        Self { system, user, around }
    }

    /// Those that count, the stronger last.
    pub fn all(&self) -> impl Iterator<Item = &ConfigFile> {
        std::iter::once(&self.system).chain(&self.user)
    }

    /// What is in force with all of them.
    ///
    /// # Errors
    /// When one of them cannot be used.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let (settings, errors) = self.what_can_be_used();
        errors.into_iter().next().map_or(Ok(settings), |error| Err(error.into()))
    }

    /// What is in force without those that cannot be used, and why they cannot.
    #[must_use]
    pub fn what_can_be_used(&self) -> (Settings, Vec<FileError>) {
        let mut settings = Settings::usual(&self.around);
        let mut errors = Vec::new();
        for file in self.all() {
            let mut with = settings.clone();
            match file.read_over(&mut with, &self.around) {
                Ok(_) => settings = with,
                Err(error) => errors.push(error),
            }
        }
        (settings, errors)
    }

    /// The same, with another file in the place of the user's.
    #[must_use]
    pub fn with_user(&self, file: ConfigFile) -> Self {
        Self { user: Some(file), ..self.clone() }
    }

    /// Whether a file could be used, whichever it is.
    ///
    /// # Errors
    /// When it could not.
    pub fn check(&self, file: &ConfigFile) -> Result<Presence, FileError> {
        file.read_over(&mut Settings::usual(&self.around), &self.around)
    }
}

/// Whether a file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Here,
    Missing,
    /// The usual folder is somebody else's, such as where `HOME` was kept while the user was
    /// changed. So is what is in it, if anything is.
    OutOfReach,
}

impl Presence {
    /// `None` where nobody can tell.
    #[must_use]
    pub const fn is_here(self) -> Option<bool> {
        match self {
            Self::Here => Some(true),
            Self::Missing => Some(false),
            Self::OutOfReach => None,
        }
    }
}

impl ConfigFile {
    /// A file that somebody asks about.
    #[must_use]
    pub fn named(path: &Path) -> Self {
        Self { path: Arc::from(path), whose: Whose::User, is_named: true }
    }

    /// What the system says counts for all, and what was named was meant.
    fn is_of_somebody_else(&self) -> bool {
        let may_enter = |folder: &Path| accessat(CWD, folder, Access::EXEC_OK, AtFlags::EACCESS);
        let is_closed = self.path.parent().is_some_and(|it| may_enter(it) == Err(Errno::ACCESS));
        self.whose == Whose::User && !self.is_named && is_closed
    }

    fn read_over(
        &self,
        settings: &mut Settings,
        around: &Surroundings,
    ) -> Result<Presence, FileError> {
        let path = Arc::clone(&self.path);
        let bytes = match bytes(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if is_missing(&error) && self.is_named => {
                return Err(FileError::Missing(path));
            }
            Err(error) if is_missing(&error) => return Ok(Presence::Missing),
            Err(_) if self.is_of_somebody_else() => return Ok(Presence::OutOfReach),
            Err(error) => return Err(FileError::Unreadable { path, error }),
        };
        let mistakes = match std::str::from_utf8(&bytes) {
            Ok(text) => {
                let home = around.home.as_deref();
                Source { text, path: &self.path, whose: self.whose, home }.read(settings)
            }
            Err(error) => vec![no_text(&bytes, error.valid_up_to())],
        };
        if mistakes.is_empty() {
            Ok(Presence::Here)
        } else {
            Err(FileError::Wrong { path, mistakes })
        }
    }
}

/// A folder that is none cannot hold it either.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    let bytes = if file.metadata()?.file_type().is_fifo() { piped(&file) } else { whole(&file) }?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB"));
    }
    Ok(bytes)
}

fn whole(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A pipe may be what a shell makes of `<(…)`, and it may be one that nobody writes into.
fn piped(mut pipe: &File) -> io::Result<Vec<u8>> {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    let until = Instant::now() + PATIENCE;
    while bytes.len() as u64 <= MOST_BYTES {
        if !is_ready(pipe, until.saturating_duration_since(Instant::now()))? {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody writes into this pipe"));
        }
        match pipe.read(&mut part) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(part.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

fn is_ready(pipe: &File, within: Duration) -> io::Result<bool> {
    let mut waiting = [PollFd::new(pipe, PollFlags::IN)];
    match poll(&mut waiting, Timespec::try_from(within).ok().as_ref()) {
        Ok(ready) => Ok(ready > 0),
        // The time is counted by who asks.
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn no_text(bytes: &[u8], valid_up_to: usize) -> Mistake {
    let text = String::from_utf8_lossy(bytes.get(..valid_up_to).unwrap_or_default());
    Mistake::at(&text, valid_up_to, "this is no text in UTF-8")
}
