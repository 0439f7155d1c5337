//! The driver's files in `/dev`: which exist, and which are open to this user.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};

use serde::Serialize;

use super::finding::{Finding, Verdict, counted};

/// Every request to the driver goes through it.
const CONTROL: &str = "/dev/nvidiactl";
/// For CUDA; it appears with the first program that needs it.
const UNIFIED_MEMORY: &str = "/dev/nvidia-uvm";
/// Takes the place of all of them under WSL.
const WSL: &str = "/dev/dxg";

/// One of the driver's files in `/dev`.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct DeviceFile {
    /// As the host has it.
    pub path: String,
    /// True if this user may read and write it.
    pub usable: bool,
}

/// Lists the driver's files below `root`. They are not opened: that alone could wake a card.
///
/// # Errors
/// When the folder cannot be read.
pub(super) fn list(root: &Path) -> io::Result<Vec<DeviceFile>> {
    let entries: Vec<DirEntry> = match fs::read_dir(root.join("dev")) {
        Ok(entries) => entries.collect::<io::Result<_>>()?,
        // A root without the folder has none of them, and that is known.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let names = entries.iter().filter_map(|entry| entry.file_name().into_string().ok());
    let mut paths: Vec<_> = names
        .map(|name| format!("/dev/{name}"))
        .filter(|path| minor(path).is_some() || [CONTROL, UNIFIED_MEMORY, WSL].contains(&&**path))
        .collect();
    paths.sort_by_cached_key(|path| (minor(path).unwrap_or(u32::MAX), path.clone()));
    let device = |path: String| {
        let at = root.join(path.trim_start_matches('/'));
        let access = Access::READ_OK | Access::WRITE_OK;
        DeviceFile { path, usable: accessat(CWD, at, access, AtFlags::EACCESS).is_ok() }
    };
    Ok(paths.into_iter().map(device).collect())
}

/// Returns the number in the name of a card's file.
fn minor(path: &str) -> Option<u32> {
    path.strip_prefix("/dev/nvidia")?.parse().ok()
}

/// Judges what was listed. A missing or closed file is only a warning if the driver answers.
pub(super) fn judge(devices: &io::Result<Vec<DeviceFile>>, driver_answers: bool) -> Finding {
    let trouble = |detail: String| {
        let verdict = if driver_answers { Verdict::Warning } else { Verdict::Error };
        Finding::new(verdict, detail)
    };
    let devices = match devices {
        Ok(devices) => devices,
        Err(error) => {
            return trouble(format!("/dev cannot be read: {error}")).next(
                "See `ls -ld /dev`; until it can be read, it is unknown whether the driver's files exist.",
            );
        }
    };
    let closed: Vec<_> =
        devices.iter().filter(|device| !device.usable).map(|device| device.path.as_str()).collect();
    if !closed.is_empty() {
        return trouble(format!("this user may not read and write {}", closed.join(", ")))
            .next("Give this user access, often by membership in the group that owns them.");
    }
    let has = |path: &str| devices.iter().any(|device| device.path == path);
    if has(WSL) && driver_answers {
        return Finding::ok(format!("{WSL}, as it is under WSL"));
    }
    let cards = devices.iter().filter(|device| minor(&device.path).is_some()).count();
    match (cards, has(CONTROL)) {
        (0, false) if driver_answers => {
            trouble("there is no /dev/nvidia*, although the driver answers".into())
                .next("Nothing to do for gua; programs that compute will miss them.")
        }
        (0, false) => trouble("there is no /dev/nvidia*".into()).next(
            "Load the driver with `modprobe nvidia`; in a container, pass the cards in \
             (`docker run --gpus all`).",
        ),
        (0, true) => trouble("there is no /dev/nvidia0 or other card".into())
            .next("See `dmesg | grep -i nvrm` for why no card was found."),
        (_, false) => trouble(format!("there is no {CONTROL}"))
            .next("Make it with `nvidia-modprobe`; in a container, pass it in with the cards."),
        (_, true) => {
            let cards = counted(cards, "card");
            let unified = if has(UNIFIED_MEMORY) { ", nvidia-uvm" } else { "" };
            Finding::ok(format!("{cards}, nvidiactl{unified} in /dev, open to this user"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(paths: &[&str]) -> Vec<DeviceFile> {
        let device = |path: &&str| DeviceFile { path: (*path).to_owned(), usable: true };
        paths.iter().map(device).collect()
    }

    #[test]
    fn only_the_drivers_files_are_listed_in_the_order_of_the_cards() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("dev")).unwrap();
        for name in ["nvidia10", "nvidia2", "nvidiactl", "nvidia-modeset", "null", "nvidia-uvm"] {
            fs::write(root.path().join("dev").join(name), "").unwrap();
        }
        let found = list(root.path()).unwrap();
        let paths: Vec<_> = found.iter().map(|device| device.path.as_str()).collect();
        assert_eq!(paths, ["/dev/nvidia2", "/dev/nvidia10", "/dev/nvidia-uvm", "/dev/nvidiactl"]);
        assert!(found.iter().all(|device| device.usable));
    }

    /// Trap: a folder that could not be read was one without the driver's files.
    #[test]
    fn what_cannot_be_read_is_not_empty() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(list(root.path()).unwrap(), []);
        fs::write(root.path().join("dev"), "no folder").unwrap();
        let found = list(root.path());
        for (driver_answers, verdict) in [(true, Verdict::Warning), (false, Verdict::Error)] {
            let finding = judge(&found, driver_answers);
            assert_eq!(finding.verdict, verdict);
            assert_eq!(finding.detail, "/dev cannot be read: Not a directory (os error 20)");
            assert!(!finding.next_step.unwrap().contains("modprobe"));
        }
    }

    #[test]
    fn all_there_is_ok() {
        let finding = judge(&Ok(devices(&["/dev/nvidia0", "/dev/nvidiactl"])), true);
        assert_eq!(finding.verdict, Verdict::Ok);
        assert_eq!(finding.detail, "1 card, nvidiactl in /dev, open to this user");
    }

    #[test]
    fn what_is_missing_is_an_error_only_without_an_answer() {
        for paths in [&[][..], &["/dev/nvidiactl"], &["/dev/nvidia0"], &["/dev/nvidia-uvm"]] {
            let verdict = |answers| judge(&Ok(devices(paths)), answers).verdict;
            assert_eq!([verdict(true), verdict(false)], [Verdict::Warning, Verdict::Error]);
            assert!(judge(&Ok(devices(paths)), false).next_step.is_some());
        }
    }

    #[test]
    fn closed_files_are_named() {
        let mut found = devices(&["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"]);
        found[1].usable = false;
        let finding = judge(&Ok(found), false);
        assert_eq!(finding.verdict, Verdict::Error);
        assert_eq!(finding.detail, "this user may not read and write /dev/nvidia1");
    }

    #[test]
    fn under_wsl_one_file_stands_for_all() {
        assert_eq!(judge(&Ok(devices(&["/dev/dxg"])), true).verdict, Verdict::Ok);
        assert_eq!(judge(&Ok(devices(&["/dev/dxg"])), false).verdict, Verdict::Error);
    }
}
