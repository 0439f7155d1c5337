//! Which terminals a person has: those they are logged in on, and those that their processes
//! run on.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use probe::proc::stat::{Field, StatLine};

use super::utmp;

/// The names of a person's terminals below `/dev`. Whether they are theirs is for who opens
/// them to see.
#[must_use]
pub fn of(root: &Path, uid: u32, name: Option<&str>) -> BTreeSet<String> {
    let mut lines = logged_in(root, name);
    lines.extend(in_use(root, uid));
    lines.retain(|line| is_terminal(line));
    lines
}

/// Not every host keeps such a record.
fn logged_in(root: &Path, name: Option<&str>) -> BTreeSet<String> {
    let places = ["run/utmp", "var/run/utmp"].map(|place| root.join(place));
    let bytes = places.iter().find_map(|place| fs::read(place).ok()).unwrap_or_default();
    let theirs = utmp::parse(&bytes).into_iter().filter(|login| Some(login.user.as_str()) == name);
    theirs.map(|login| login.line).collect()
}

/// The terminals of the person's processes.
fn in_use(root: &Path, uid: u32) -> impl Iterator<Item = String> {
    let folders = fs::read_dir(root.join("proc")).into_iter().flatten().flatten();
    let theirs =
        folders.filter(move |folder| folder.metadata().is_ok_and(|found| found.uid() == uid));
    theirs.filter_map(|folder| line_of(&fs::read(folder.path().join("stat")).ok()?))
}

/// The terminal of a process, from its stat line.
fn line_of(stat: &[u8]) -> Option<String> {
    line(StatLine::parse(stat)?.number(Field::Terminal)?)
}

/// The name of a terminal by its number, as the kernel has it.
fn line(number: u32) -> Option<String> {
    let (major, minor) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xf_ff00));
    match major {
        136..=143 => Some(format!("pts/{}", (major - 136) * 256 + minor)),
        4 if minor < 64 => Some(format!("tty{minor}")),
        4 => Some(format!("ttyS{}", minor - 64)),
        _ => None,
    }
}

/// Nothing but the name of a terminal: a record may say anything.
fn is_terminal(line: &str) -> bool {
    let number = ["pts/", "ttyS", "tty"].iter().find_map(|begin| line.strip_prefix(begin));
    number.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_known_by_its_number() {
        assert_eq!(line(34_816).as_deref(), Some("pts/0"));
        assert_eq!(line((137 << 8) | 3).as_deref(), Some("pts/259"));
        assert_eq!(line(1025).as_deref(), Some("tty1"));
        assert_eq!(line(1088).as_deref(), Some("ttyS0"));
        assert_eq!(line(0), None);
        let stat = b"7 (a) b) S 1 7 7 34817 7 0 0";
        assert_eq!(line_of(stat).as_deref(), Some("pts/1"));
    }

    #[test]
    fn what_is_no_terminal_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("run")).unwrap();
        let lines = ["pts/3", "../etc/passwd", "pts/../mem", "tty", "mem", "tty7"];
        let records: Vec<u8> = lines.iter().flat_map(|line| utmp::record(7, "ann", line)).collect();
        fs::write(dir.path().join("run/utmp"), records).unwrap();
        assert_eq!(Vec::from_iter(of(dir.path(), 1, Some("ann"))), ["pts/3", "tty7"]);
        assert!(of(dir.path(), 1, Some("bob")).is_empty());
        assert!(of(dir.path(), 1, None).is_empty());
    }
}
