//! The names of a host's accounts.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{name_service, passwd, why};
use crate::directory::Directory;
use crate::reading::{Reading, Why};

/// How long a look waits for a directory service.
const PATIENCE: Duration = Duration::from_millis(500);

/// Knows names, and notices when they change.
#[derive(Debug)]
pub struct Accounts {
    root: PathBuf,
    listed: Option<Listed>,
    directory: Directory<u32, Option<Arc<str>>>,
    /// Whether a name was not told since it was last asked for.
    has_missed: bool,
}

/// What the host's own file lists.
#[derive(Debug)]
struct Listed {
    stamp: Stamp,
    names: HashMap<u32, Arc<str>>,
}

/// What changes when somebody writes to the file, or puts another one in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl From<&Metadata> for Stamp {
    fn from(file: &Metadata) -> Self {
        let changed = (file.ctime(), file.ctime_nsec());
        Self { inode: file.ino(), size: file.size(), changed }
    }
}

impl Accounts {
    /// Those of the host below this root.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        let directory = Directory::new("names", root.clone(), told_by_the_system, PATIENCE);
        Self { root, listed: None, directory, has_missed: false }
    }

    /// The name of a uid; `None` where it has none. The file first: it needs no network.
    /// Accounts of a directory service come from the C library, which knows only the machine it
    /// runs on.
    ///
    /// # Errors
    /// When the names cannot be read, or the directory service does not answer.
    pub fn name(&mut self, uid: u32) -> Result<Option<Arc<str>>, Why> {
        let is_own = self.root == Path::new("/");
        match self.listed() {
            Ok(names) => {
                if let Some(name) = names.get(&uid) {
                    return Ok(Some(Arc::clone(name)));
                }
            }
            // The C library may still know; elsewhere nobody does.
            Err(_) if is_own => {}
            Err(why) => return Err(why),
        }
        if !is_own {
            return Ok(None);
        }
        match self.directory.ask(&uid, Instant::now()) {
            Reading::Known(name) => Ok(name),
            Reading::Unknown(why) => {
                self.has_missed = true;
                Err(why)
            }
        }
    }

    /// Whether a directory service left a name open since this was last asked. What was made of
    /// the answers is not to be kept then.
    pub fn has_missed_one(&mut self) -> bool {
        mem::take(&mut self.has_missed)
    }

    /// Read again when it is not the file that it was.
    fn listed(&mut self) -> Result<&HashMap<u32, Arc<str>>, Why> {
        let path = self.root.join("etc/passwd");
        let stamp = Stamp::from(&fs::metadata(&path).map_err(|error| why(&error))?);
        let listed = match self.listed.take().filter(|listed| listed.stamp == stamp) {
            Some(listed) => listed,
            None => {
                let bytes = fs::read(&path).map_err(|error| why(&error))?;
                Listed { stamp, names: passwd::parse(&String::from_utf8_lossy(&bytes)) }
            }
        };
        Ok(&self.listed.insert(listed).names)
    }
}

fn told_by_the_system(_: &Path, uid: &u32) -> Reading<Option<Arc<str>>> {
    Reading::from(name_service::by_uid(*uid)).map(|account| account.map(|account| account.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_added_or_renamed_later_is_known_then() {
        let dir = tempfile::tempdir().unwrap();
        let etc = dir.path().join("etc");
        let mut accounts = Accounts::new(dir.path().to_owned());
        assert_eq!(accounts.name(7), Err(Why::Gone));
        fs::create_dir(&etc).unwrap();
        fs::write(etc.join("passwd"), "ann:x:7:7::/:\n").unwrap();
        assert_eq!(accounts.name(7), Ok(Some("ann".into())));
        assert_eq!(accounts.name(8), Ok(None));
        // As the tools for accounts do it: a new file takes the place of the old one.
        fs::write(etc.join("passwd+"), "eve:x:7:7::/:\nbob:x:8:8::/:\n").unwrap();
        fs::rename(etc.join("passwd+"), etc.join("passwd")).unwrap();
        assert_eq!(accounts.name(7), Ok(Some("eve".into())));
        assert_eq!(accounts.name(8), Ok(Some("bob".into())));
    }

    #[test]
    fn an_account_that_nobody_knows_has_no_name() {
        let mut accounts = Accounts::new("/".into());
        assert_eq!(accounts.name(0), Ok(Some("root".into())));
        assert_eq!(accounts.name(3_999_999_999), Ok(None));
        assert!(!accounts.has_missed_one());
    }

    /// Trap: while the directory service was down, people had no name.
    #[test]
    fn an_account_that_nobody_could_be_asked_for_is_not_known() {
        let down = |_: &Path, _: &u32| Reading::Unknown(Why::TimedOut);
        let mut accounts = Accounts::new("/".into());
        accounts.directory = Directory::new("test", "/".into(), down, Duration::from_secs(60));
        assert_eq!(accounts.name(0), Ok(Some("root".into())));
        assert!(!accounts.has_missed_one());
        assert_eq!(accounts.name(3_999_999_999), Err(Why::TimedOut));
        assert!(accounts.has_missed_one() && !accounts.has_missed_one());
    }
}
