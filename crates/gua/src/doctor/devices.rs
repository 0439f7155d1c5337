//! The driver's files in `/dev`: whether they are there and open to this user.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};

use super::report::{Check, DeviceFacts, Finding, Verdict};

/// Through which every request to the driver goes.
const CONTROL: &str = "/dev/nvidiactl";
/// For CUDA; it appears with the first program that needs it.
const UNIFIED_MEMORY: &str = "/dev/nvidia-uvm";
/// What takes their place under WSL.
const WSL: &str = "/dev/dxg";

/// Lists the driver's files below `root` and asks whether they may be used, without
/// opening them: that alone could wake a card.
///
/// # Errors
/// When the folder cannot be read.
pub(super) fn gather(root: &Path) -> io::Result<Vec<DeviceFacts>> {
    let entries: Vec<DirEntry> = match fs::read_dir(root.join("dev")) {
        Ok(entries) => entries.collect::<io::Result<_>>()?,
        // A root without the folder has none of them, and that is known.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let names = entries.iter().filter_map(|entry| entry.file_name().into_string().ok());
    let mut paths: Vec<_> =
        names.map(|name| format!("/dev/{name}")).filter(|path| is_of_the_driver(path)).collect();
    paths.sort_by_key(|path| (minor(path).unwrap_or(u32::MAX), path.clone()));
    let device = |path: String| {
        let usable = is_usable(&root.join(path.trim_start_matches('/')));
        DeviceFacts { path, usable }
    };
    Ok(paths.into_iter().map(device).collect())
}

fn is_of_the_driver(path: &str) -> bool {
    minor(path).is_some() || [CONTROL, UNIFIED_MEMORY, WSL].contains(&path)
}

/// The number of a card's file.
fn minor(path: &str) -> Option<u32> {
    path.strip_prefix("/dev/nvidia")?.parse().ok()
}

fn is_usable(path: &Path) -> bool {
    accessat(CWD, path, Access::READ_OK | Access::WRITE_OK, AtFlags::EACCESS).is_ok()
}

/// What is missing, or hidden, weighs less while the driver answers all the same.
pub(super) fn judge(devices: &io::Result<Vec<DeviceFacts>>, driver_answers: bool) -> Finding {
    match devices {
        Ok(devices) => judge_files(devices, driver_answers),
        Err(error) => {
            let verdict = if driver_answers { Verdict::Warning } else { Verdict::Error };
            Finding::new(Check::Devices, verdict, format!("/dev cannot be read: {error}"))
                .next("See `ls -ld /dev`; until it can be read, it is unknown whether the driver's files exist.")
        }
    }
}

fn judge_files(devices: &[DeviceFacts], driver_answers: bool) -> Finding {
    let has = |path: &str| devices.iter().any(|device| device.path == path);
    let cards = devices.iter().filter(|device| minor(&device.path).is_some()).count();
    let finding = |detail: String| {
        let verdict = if driver_answers { Verdict::Warning } else { Verdict::Error };
        Finding::new(Check::Devices, verdict, detail)
    };
    if let Some(closed) = closed(devices) {
        return finding(format!("this user may not read and write {closed}"))
            .next("Give this user access, often by membership in the group that owns them.");
    }
    if has(WSL) && driver_answers {
        return Finding::new(Check::Devices, Verdict::Ok, format!("{WSL}, as it is under WSL"));
    }
    match (cards, has(CONTROL)) {
        (0, false) if driver_answers => {
            finding("there is no /dev/nvidia*, although the driver answers".into())
                .next("Nothing to do for gua; programs that compute will miss them.")
        }
        (0, false) => finding("there is no /dev/nvidia*".into()).next(
            "Load the driver with `modprobe nvidia`; in a container, pass the cards in \
             (`docker run --gpus all`).",
        ),
        (0, true) => finding("there is no /dev/nvidia0 or other card".into())
            .next("See `dmesg | grep -i nvrm` for why no card was found."),
        (_, false) => finding(format!("there is no {CONTROL}"))
            .next("Make it with `nvidia-modprobe`; in a container, pass it in with the cards."),
        (_, true) => Finding::new(Check::Devices, Verdict::Ok, all_there(devices, cards)),
    }
}

/// Those that are there and may not be used.
fn closed(devices: &[DeviceFacts]) -> Option<String> {
    let closed: Vec<_> =
        devices.iter().filter(|device| !device.usable).map(|device| device.path.as_str()).collect();
    (!closed.is_empty()).then(|| closed.join(", "))
}

fn all_there(devices: &[DeviceFacts], cards: usize) -> String {
    let has_unified = devices.iter().any(|device| device.path == UNIFIED_MEMORY);
    let unified = if has_unified { ", nvidia-uvm" } else { "" };
    let plural = if cards == 1 { "" } else { "s" };
    format!("{cards} card{plural}, nvidiactl{unified} in /dev, open to this user")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(paths: &[&str]) -> Vec<DeviceFacts> {
        let device = |path: &&str| DeviceFacts { path: (*path).to_owned(), usable: true };
        paths.iter().map(device).collect()
    }

    #[test]
    fn only_the_drivers_files_are_listed_in_the_order_of_the_cards() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("dev")).unwrap();
        for name in ["nvidia10", "nvidia2", "nvidiactl", "nvidia-modeset", "null", "nvidia-uvm"] {
            fs::write(root.path().join("dev").join(name), "").unwrap();
        }
        let found = gather(root.path()).unwrap();
        let paths: Vec<_> = found.iter().map(|device| device.path.as_str()).collect();
        assert_eq!(paths, ["/dev/nvidia2", "/dev/nvidia10", "/dev/nvidia-uvm", "/dev/nvidiactl"]);
        assert!(found.iter().all(|device| device.usable));
    }

    /// Trap: a folder that could not be read was one without the driver's files.
    #[test]
    fn what_cannot_be_read_is_not_empty() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(gather(root.path()).unwrap(), []);
        fs::write(root.path().join("dev"), "no folder").unwrap();
        let found = gather(root.path());
        for (driver_answers, verdict) in [(true, Verdict::Warning), (false, Verdict::Error)] {
            let finding = judge(&found, driver_answers);
            assert_eq!(finding.verdict, verdict);
            assert_eq!(finding.detail, "/dev cannot be read: Not a directory (os error 20)");
            assert!(!finding.next_step.unwrap().contains("modprobe"));
        }
    }

    #[test]
    fn all_there_is_ok() {
        let finding = judge_files(&devices(&["/dev/nvidia0", "/dev/nvidiactl"]), true);
        assert_eq!(finding.verdict, Verdict::Ok);
        assert_eq!(finding.detail, "1 card, nvidiactl in /dev, open to this user");
    }

    #[test]
    fn what_is_missing_is_an_error_only_without_an_answer() {
        for paths in [&[][..], &["/dev/nvidiactl"], &["/dev/nvidia0"], &["/dev/nvidia-uvm"]] {
            let verdict = |answers| judge_files(&devices(paths), answers).verdict;
            assert_eq!([verdict(true), verdict(false)], [Verdict::Warning, Verdict::Error]);
            assert!(judge_files(&devices(paths), false).next_step.is_some());
        }
    }

    #[test]
    fn closed_files_are_named() {
        let mut found = devices(&["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"]);
        found[1].usable = false;
        let finding = judge_files(&found, false);
        assert_eq!(finding.verdict, Verdict::Error);
        assert_eq!(finding.detail, "this user may not read and write /dev/nvidia1");
    }

    #[test]
    fn under_wsl_one_file_stands_for_all() {
        assert_eq!(judge_files(&devices(&["/dev/dxg"]), true).verdict, Verdict::Ok);
        assert_eq!(judge_files(&devices(&["/dev/dxg"]), false).verdict, Verdict::Error);
    }
}
