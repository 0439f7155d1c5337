//! A terminal of one's own, and a root in which somebody is logged in on it.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

use crate::policy::notice::utmp;

pub struct Terminal {
    ours: File,
    path: String,
}

impl Terminal {
    pub fn open() -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let path = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        Self { ours: File::from(ours), path }
    }

    /// Below `/dev`.
    pub fn line(&self) -> String {
        self.path.strip_prefix("/dev/").unwrap().to_owned()
    }

    pub fn uid(&self) -> u32 {
        fs::metadata(&self.path).unwrap().uid()
    }

    /// Nothing was typed on it for so long.
    pub fn quiet_for(&self, time: std::time::Duration) {
        let typed = std::time::SystemTime::now() - time;
        let times = fs::FileTimes::new().set_accessed(typed);
        File::options().write(true).open(&self.path).unwrap().set_times(times).unwrap();
    }

    /// A root with these logins and the devices of this host.
    pub fn root(&self, logins: &[(&str, &str)]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("run")).unwrap();
        let records = logins.iter().flat_map(|(user, line)| utmp::record(7, user, line));
        fs::write(root.path().join("run/utmp"), records.collect::<Vec<_>>()).unwrap();
        symlink("/dev", root.path().join("dev")).unwrap();
        root
    }

    /// What stands on it.
    pub fn shown(mut self) -> String {
        let mut bytes = vec![0; 4096];
        let length = self.ours.read(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }
}
