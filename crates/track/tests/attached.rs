//! Processes that run already.

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use track::{Cards, Options, StartError, Tracker};

use crate::subject::program;

fn options() -> Options {
    Options { every: Duration::from_millis(10), cards: Cards::None, ..Options::default() }
}

#[test]
fn what_was_used_before_does_not_count() {
    let mut child = Command::new(program())
        .args(["alloc", "50"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 6]).unwrap();
    let (sender, samples) = mpsc::channel();
    let watch = move |sample: &track::Sample| {
        let _ = sender.send(sample.clone());
    };
    let tracking = Tracker::new(options()).on_sample(watch).start(child.id()).unwrap();
    samples.recv_timeout(Duration::from_secs(60)).unwrap();
    let usage = tracking.stop();
    assert!(usage.cpu.time.combined < Duration::from_millis(5), "{:?}", usage.cpu.time);
    assert!((50_000_000..54_000_000).contains(&usage.ram.peak.main.total.0));
    // The 50 MB are its own, from the first look on: nothing of it is taken for shared.
    let main = usage.ram.peak.main;
    assert!(main.private.0 > 50_000_000 && main.shared.0 < 4_000_000, "{main:?}");
    assert!(!usage.sampling.is_cpu_exact);
    assert!(child.try_wait().unwrap().is_none(), "it goes on");
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn it_is_over_when_the_process_ends() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let tracking = Tracker::new(options()).start(child.id()).unwrap();
    drop(child.stdin.take());
    let usage = tracking.wait();
    assert_eq!(usage.processes.seen, 1);
    child.wait().unwrap();
}

#[test]
fn descendants_that_are_there_already_are_followed() {
    let mut shell = Command::new("sh")
        .args(["-c", "exec 3<&0; cat <&3 & echo ready; wait; true"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdout.take().unwrap().read_exact(&mut [0; 6]).unwrap();
    let usage = Tracker::new(options()).start(shell.id()).unwrap().stop();
    assert_eq!(usage.processes.seen, 2);
    drop(shell.stdin.take());
    assert!(shell.wait().unwrap().success());
}

#[test]
fn a_process_that_is_not_there_is_told() {
    let gone = Tracker::new(options()).start(u32::MAX - 1).unwrap_err();
    assert!(matches!(gone, StartError::Gone(_)), "{gone:?}");
}

#[test]
fn what_was_used_so_far_is_told_meanwhile() {
    let mut child =
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Whoever answers has come to rest.
    child.stdin.as_mut().unwrap().write_all(b"?").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let every = Duration::from_secs(3600);
    let tracking = Tracker::new(Options { every, ..options() }).start(child.id()).unwrap();
    let asker = tracking.asker();
    let first = asker.so_far().unwrap();
    let second = asker.so_far().unwrap();
    assert!(first.wall < second.wall);
    assert!(second.ram.peak.main.total.0 > 100_000);
    assert_eq!(second.cpu.threads.main, 1);
    let last = tracking.stop();
    assert!(second.wall < last.wall);
    assert_eq!(last.ram.at_end.main, last.ram.at_begin.main, "it has done nothing");
    assert_eq!(asker.so_far(), None, "it is over");
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// In a process of its own, as nextest runs it, there are the test's threads and ours.
#[test]
fn what_measures_is_no_part_of_what_is_measured() {
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = u32::try_from(threads()).unwrap();
    let cards = Cards::All;
    let trackings: Vec<_> = (0..3)
        .map(|_| Tracker::new(Options { cards: cards.clone(), ..options() }))
        .map(|tracker| tracker.start(std::process::id()).unwrap())
        .collect();
    let counted: Vec<_> = trackings.into_iter().map(|one| one.stop().cpu.threads.main).collect();
    assert!(counted.iter().all(|count| *count <= before), "{counted:?} of {before}");
}

/// One who looks and does not come back, until it is let go.
#[test]
fn an_end_is_not_waited_for_longer_than_allowed() {
    let (in_a_look, looks) = mpsc::channel();
    let (let_go, until) = mpsc::channel::<()>();
    let watch = move |_: &track::Sample| {
        let _ = in_a_look.send(());
        let _ = until.recv();
    };
    let tracking = Tracker::new(options()).on_sample(watch).start(std::process::id()).unwrap();
    looks.recv_timeout(Duration::from_secs(60)).unwrap();
    tracking.stopper().stop();
    assert!(!tracking.is_over_within(Duration::from_millis(20)));
    drop(let_go);
    assert!(tracking.is_over_within(Duration::from_secs(60)));
    assert!(tracking.wait().ram.peak.main.total.0 > 0);
}

#[test]
fn a_panic_in_who_is_told_of_samples_goes_on_in_who_waits() {
    for of_ourselves in [true, false] {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let pid = if of_ourselves { std::process::id() } else { child.id() };
        let watch = |_: &track::Sample| panic!("told");
        let tracking = Tracker::new(options()).on_sample(watch).start(pid).unwrap();
        let waited = catch_unwind(AssertUnwindSafe(|| tracking.wait()));
        assert_eq!(waited.unwrap_err().downcast_ref(), Some(&"told"));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn threads_of_ours_that_begin_with_it_are_not_taken_from_the_others() {
    let (leave, stays) = mpsc::channel::<()>();
    let other = std::thread::spawn(move || stays.recv());
    let before = std::fs::read_dir("/proc/self/task").unwrap().count();
    let tracking = Tracker::new(options()).start(std::process::id()).unwrap();
    let usage = tracking.stop();
    assert_eq!(usize::try_from(usage.cpu.threads.main), Ok(before));
    drop(leave);
    let _ = other.join();
}

/// Takes so many bytes, and gives them back at once.
fn spike(bytes: usize) {
    let mut taken = vec![0_u8; bytes];
    for page in taken.chunks_mut(4096) {
        page[0] = 1;
    }
    std::hint::black_box(&taken);
}

/// Options with which nobody looks between the begin and the end.
fn no_looks() -> Options {
    Options { every: Duration::from_secs(3600), cards: Cards::None, ..Options::default() }
}

/// How much more than at the begin there was at most, in MB.
fn grown(usage: &track::Usage) -> f64 {
    let (begin, peak) = (usage.ram.at_begin.main.total, usage.ram.peak.main.total);
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^53 bytes")]
    let bytes = peak.saturating_sub(begin).0 as f64;
    bytes / 1e6
}

fn assert_within_two_percent(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.02, "{found} instead of {expected} MB");
}

/// Regression: a spike below an earlier high-water mark left no trace when no look fell into it.
#[test]
fn spikes_below_an_earlier_mark_are_seen() {
    spike(800_000_000);
    for size in [20, 500, 20, 50] {
        let tracking = Tracker::new(no_looks()).start(std::process::id()).unwrap();
        spike(size * 1_000_000);
        let usage = tracking.stop();
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        assert_within_two_percent(grown(&usage), size as f64);
        assert_eq!(usage.ram.at_most, None);
    }
}

/// An inner block resets the mark, and the outer one loses nothing by that.
#[test]
fn an_inner_block_lowers_nothing_of_the_outer_one() {
    spike(800_000_000);
    let start = || Tracker::new(no_looks()).start(std::process::id()).unwrap();
    let outer = start();
    spike(300_000_000);
    let inner = start();
    spike(100_000_000);
    let overlapping = start();
    let inner = inner.stop();
    spike(200_000_000);
    let overlapping = overlapping.stop();
    let outer = outer.stop();
    assert_within_two_percent(grown(&inner), 100.0);
    assert_within_two_percent(grown(&overlapping), 200.0);
    assert_within_two_percent(grown(&outer), 300.0);
}

/// The mark of another process is left alone: a peak below it is a lower bound, and says so.
#[test]
fn a_peak_below_another_process_s_old_mark_is_a_lower_bound() {
    let mut child = Command::new("python3")
        .args(["-c", "bytearray(200_000_000); print('x', flush=True); input()"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 2]).unwrap();
    let usage = Tracker::new(options()).start(child.id()).unwrap().stop();
    let at_most = usage.ram.at_most.unwrap();
    assert!(at_most.0 > 200_000_000 && usage.ram.peak.combined.total < at_most, "{usage:?}");
    drop(child.stdin.take());
    child.wait().unwrap();
}
