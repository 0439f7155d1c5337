//! Tracking files, written while a command runs.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use track::gpu_tracker::tracking_file::{self, Tracked};

use super::{DEADLINE, track, without_driver};

/// Waits until the file has so many samples.
pub(super) fn wait_for_samples(path: &Path, is_enough: impl Fn(&Tracked) -> bool) -> Tracked {
    let deadline = Instant::now() + DEADLINE;
    loop {
        // It may not be there yet, or be written right now.
        if let Ok(tracked) = tracking_file::read(path)
            && is_enough(&tracked)
        {
            return tracked;
        }
        assert!(Instant::now() < deadline, "waited in vain for samples in {}", path.display());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn each_format_holds_every_sample() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.csv", "a.sqlite"] {
        let path = folder.path().join(name);
        let args = ["-e", "cat", "--st=0.01", "--tf", path.to_str().unwrap(), "--nec=1"];
        let mut command = without_driver(&args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        wait_for_samples(&path, |tracked| tracked.timepoints.len() >= 3);
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let tracked = tracking_file::read(&path).unwrap();
        assert_eq!(tracked.facts.expected_cores, 1);
        assert_eq!((tracked.facts.cards, tracked.facts.gpu_ram_capacity), (Some(0), Some(0.0)));
        for pair in tracked.timepoints.windows(2) {
            assert!(pair[0].at < pair[1].at);
            assert_eq!(pair[0].values[4..10], [Some(0.0); 6], "no card holds nothing");
        }
        let beside = std::fs::read_dir(folder.path()).unwrap();
        let journals = beside.filter(|entry| {
            entry.as_ref().unwrap().file_name().to_str().unwrap().contains("journal")
        });
        assert_eq!(journals.count(), 0);
    }
}

/// Killed in the middle: what was sampled is there.
#[test]
fn a_kill_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.csv", "a.sqlite"] {
        let path = folder.path().join(name);
        let args =
            ["-e", "sh -c 'echo $$; exec cat'", "--st=0.005", "--tf", path.to_str().unwrap()];
        let mut command = without_driver(&args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut pid = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut pid).unwrap();
        let before = wait_for_samples(&path, |tracked| tracked.timepoints.len() >= 20);
        child.kill().unwrap();
        child.wait().unwrap();
        let after = tracking_file::read(&path).unwrap();
        assert!(after.timepoints.len() >= before.timepoints.len());
        assert_eq!(after.timepoints[..20], before.timepoints[..20]);
        // The command goes on without us; it ends with its stdin, or now.
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        let _ = kill_process(pid, Signal::KILL);
    }
}

#[test]
fn an_existing_file_is_replaced_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.csv", "a.sqlite"] {
        let path = folder.path().join(name);
        let mut old = std::fs::File::create(&path).unwrap();
        old.write_all(b"not a table").unwrap();
        let ran = track(&["-e", "true", "--overwrite", "--tf", path.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        tracking_file::read(&path).unwrap();
    }
}

/// A run shorter than the sleep time still has a row, and so figures to analyze.
#[test]
fn short_run_writes_one_row() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.csv", "a.sqlite"] {
        let path = folder.path().join(name);
        let ran = track(&["-e", "true", "--st=3600", "--tf", path.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let tracked = tracking_file::read(&path).unwrap();
        let [row] = &*tracked.timepoints else { panic!("{:?}", tracked.timepoints) };
        let value = |measure: &str| {
            let at = tracking_file::MEASURES.iter().position(|name| *name == measure).unwrap();
            row.values[at]
        };
        assert!(value("main_ram").unwrap() > 0.0, "{row:?}");
        assert!(value("cpu_main_sum_utilization_percent").unwrap() > 0.0, "{row:?}");
        assert_eq!(value("main_n_threads"), Some(1.0));
        assert_eq!(value("combined_gpu_ram"), Some(0.0), "no card holds nothing");
    }
}
