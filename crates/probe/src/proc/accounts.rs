//! Names of a host's accounts, and the groups of its users.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{name_service, why};
use crate::directory::Directory;
use crate::reading::{Reading, Why};

/// Longest time that a look waits for a directory service.
const PATIENCE: Duration = Duration::from_millis(500);

/// Names of accounts. It notices when they change.
#[derive(Debug)]
pub struct Accounts {
    root: PathBuf,
    listed: Option<Listed>,
    directory: Directory<u32, Option<Arc<str>>>,
    /// True if a directory service did not return a name.
    has_missed: bool,
}

/// Content of the host's `/etc/passwd`.
#[derive(Debug)]
struct Listed {
    version: FileVersion,
    names: HashMap<u32, Arc<str>>,
}

/// Version of a file: it changes when the file is written or replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileVersion {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl From<&Metadata> for FileVersion {
    fn from(file: &Metadata) -> Self {
        let changed = (file.ctime(), file.ctime_nsec());
        Self { inode: file.ino(), size: file.size(), changed }
    }
}

impl Accounts {
    /// Returns the accounts of the host below this root.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        let directory = Directory::new("names", root.clone(), name_from_system, PATIENCE);
        Self { root, listed: None, directory, has_missed: false }
    }

    /// Returns the name of a uid; `None` if it has none. It is looked up in the file first, which needs
    /// no network. Accounts of a directory service come from the C library, which has only those of the
    /// machine that it runs on.
    ///
    /// # Errors
    /// If the names cannot be read, or the directory service does not answer.
    pub fn name(&mut self, uid: u32) -> Result<Option<Arc<str>>, Why> {
        let is_own = self.root == Path::new("/");
        match self.listed() {
            Ok(names) => {
                if let Some(name) = names.get(&uid) {
                    return Ok(Some(Arc::clone(name)));
                }
            }
            // The C library may still have it, but only on our own host.
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

    /// Returns true if a directory service did not return a name since the last call. Facts with
    /// missing names are not to be kept.
    pub fn has_missed_one(&mut self) -> bool {
        mem::take(&mut self.has_missed)
    }

    /// Returns the names in the file. It is read again when it has changed.
    fn listed(&mut self) -> Result<&HashMap<u32, Arc<str>>, Why> {
        let path = self.root.join("etc/passwd");
        let version = FileVersion::from(&fs::metadata(&path).map_err(|error| why(&error))?);
        let listed = match self.listed.take().filter(|listed| listed.version == version) {
            Some(listed) => listed,
            None => {
                let bytes = fs::read(&path).map_err(|error| why(&error))?;
                Listed { version, names: account_names(&String::from_utf8_lossy(&bytes)) }
            }
        };
        Ok(&self.listed.insert(listed).names)
    }
}

fn name_from_system(_: &Path, uid: &u32) -> Reading<Option<Arc<str>>> {
    Reading::from(name_service::by_uid(*uid)).map(|account| account.map(|account| account.name))
}

/// Returns the first name of each uid in `/etc/passwd`. Invalid lines are skipped, as by the C library.
#[must_use]
pub(super) fn account_names(text: &str) -> HashMap<u32, Arc<str>> {
    let mut names = HashMap::new();
    for line in text.lines() {
        let mut fields = line.split(':');
        let (Some(name), Some(_), Some(uid)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        if let Ok(uid) = uid.parse::<u32>()
            && !name.is_empty()
            && !name.starts_with('#')
        {
            names.entry(uid).or_insert_with(|| Arc::from(name));
        }
    }
    names
}

/// Returns the names of a user's groups: on our own host from the C library, which includes directory
/// services; elsewhere from the host's files.
#[must_use]
pub fn groups(root: &Path, user: &str) -> Reading<Arc<[Arc<str>]>> {
    if root == Path::new("/") {
        return groups_from_system(user);
    }
    let read = |file: &str| fs::read(root.join(file)).map_err(|error| why(&error));
    match (read("etc/passwd"), read("etc/group")) {
        (Ok(passwd), Ok(group)) => Reading::Known(groups_in_files(
            &String::from_utf8_lossy(&passwd),
            &String::from_utf8_lossy(&group),
            user,
        )),
        (Err(why), _) | (_, Err(why)) => Reading::Unknown(why),
    }
}

fn groups_from_system(user: &str) -> Reading<Arc<[Arc<str>]>> {
    let account = match name_service::by_name(user) {
        Ok(Some(account)) => account,
        Ok(None) => return Reading::Unknown(Why::Gone),
        Err(why) => return Reading::Unknown(why),
    };
    match name_service::groups_of(user, account.primary_group) {
        Ok(groups) => Reading::Known(groups.into()),
        Err(why) => Reading::Unknown(why),
    }
}

/// Returns the groups that list the user, and the primary group of the account.
fn groups_in_files(passwd: &str, group: &str, user: &str) -> Arc<[Arc<str>]> {
    let account = passwd.lines().find(|line| line.split(':').next() == Some(user));
    let own = account.and_then(|line| line.split(':').nth(3));
    let has_user = |line: &&str| {
        let fields: Vec<&str> = line.split(':').collect();
        let lists = fields.get(3).is_some_and(|all| all.split(',').any(|one| one.trim() == user));
        lists || (own.is_some() && fields.get(2).copied() == own)
    };
    let name = |line: &str| Arc::from(line.split(':').next().unwrap_or_default());
    group.lines().filter(has_user).map(name).collect()
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

    #[test]
    fn odd_lines_are_passed_over() {
        let text = "root:x:0:0:root:/root:/bin/bash\n\n#x:y:3:\nalice:x:1000:1000::/home/alice:\n\
                    toor:x:0:0::/root:/bin/sh\n+::::::\nbroken\nbob:x:many:1:\n";
        let names = account_names(text);
        assert_eq!(names.get(&0).map(|name| &**name), Some("root"));
        assert_eq!(names.get(&1000).map(|name| &**name), Some("alice"));
        assert_eq!(names.len(), 2);
    }

    #[test]
    fn a_user_is_in_the_groups_that_list_them_and_in_their_own() {
        let passwd = "root:x:0:0::/root:/bin/sh\nann:x:1001:100::/home/ann:/bin/sh\n";
        let group = "root:x:0:\nusers:x:100:\nlab:x:200:bob,ann\nstaff:x:50:bob\n";
        let found: Vec<String> =
            groups_in_files(passwd, group, "ann").iter().map(ToString::to_string).collect();
        assert_eq!(found, ["users", "lab"]);
        assert!(groups_in_files(passwd, group, "carol").is_empty());
    }

    #[test]
    fn root_has_a_group_on_this_host() {
        let found = groups(Path::new("/"), "root").known().unwrap();
        assert!(found.iter().any(|group| &**group == "root"));
        assert_eq!(groups(Path::new("/"), "no such user"), Reading::Unknown(Why::Gone));
    }
}
