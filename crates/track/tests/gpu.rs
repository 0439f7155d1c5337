//! What a command and its child do on the cards, from its start to its end.

use std::fs;
use std::io::{PipeWriter, pipe};
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use probe::units::Bytes;
use probe::{Reading, Why};
use track::usage::{GpuUsage, MemorySource, NoGpu};
use track::{Cards, Options, Parts, Running, Sample, Tracker};

use crate::machine::{Machine, on};

const CARD: &str = "[[card]]\nmemory = \"16GiB\"\nutilization = 40\n";

/// Two processes that run until they are let go.
struct Tree {
    running: Running,
    samples: Receiver<Sample>,
    hold: PipeWriter,
    child: u32,
}

fn often() -> Options {
    Options { every: Duration::from_millis(10), ..Options::default() }
}

fn gib(gib: u64) -> Reading<Bytes> {
    Reading::Known(Bytes(gib << 30))
}

impl Tree {
    fn begin(options: Options) -> Self {
        let (held, hold) = pipe().unwrap();
        let (tell, samples) = mpsc::channel();
        let mut command = Command::new("sh");
        command.args(["-c", "cat; :"]).stdin(held);
        let tracker = Tracker::new(options).on_sample(move |sample| {
            // Nobody listens any more at the end.
            let _ = tell.send(sample.clone());
        });
        let running = tracker.spawn(command).unwrap();
        let child = only_child(running.pid());
        Self { running, samples, hold, child }
    }

    /// Waits for a sample whose memory is known and fits.
    fn until(&self, fits: impl Fn(Parts<Reading<Bytes>>) -> bool) {
        let mut last = None;
        for _ in 0..2000 {
            let sample = self.samples.recv_timeout(Duration::from_secs(20)).unwrap();
            if sample.gpu.is_known_and(|gpu| fits(gpu.memory)) {
                return;
            }
            last = Some(sample.gpu);
        }
        panic!("never: {last:?}");
    }

    /// Lets them go.
    fn end(self) -> Result<GpuUsage, NoGpu> {
        drop(self.hold);
        self.running.wait().usage.gpu
    }

    /// One card with both of them on it.
    fn on_a_card(&self, extra: &str) -> String {
        let process = |pid, memory| {
            format!("[[process]]\npid = {pid}\ncard = 0\nmemory = \"{memory}\"\n{extra}")
        };
        let (main, child) = (process(self.running.pid(), "1GiB"), process(self.child, "4GiB"));
        format!("{CARD}accounting = true\n{main}{child}")
    }
}

/// Waits for it to be born.
fn only_child(pid: u32) -> u32 {
    for _ in 0..2000 {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        if let Some(child) = children.split_whitespace().next() {
            return child.parse().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no child");
}

#[test]
fn what_a_command_and_its_child_held_is_told_apart() {
    on(CARD, |machine: &Machine| {
        let tree = Tree::begin(often());
        machine.becomes(&tree.on_a_card(""));
        tree.until(|memory| memory.combined == gib(5));
        let usage = tree.end().unwrap();
        assert_eq!(usage.memory, Parts { main: gib(1), descendants: gib(4), combined: gib(5) });
        assert_eq!((usage.cards[0].memory, usage.capacity), (gib(5), gib(16)));
        assert_eq!(usage.utilization.map(|load| load.mean.0.round()), Reading::Known(40.0));
    });
}

/// The looks see 1 GiB and 4 GiB; the driver knows that each held 10 GiB once.
#[test]
fn what_a_command_held_between_the_looks_is_told_by_the_driver() {
    on(CARD, |machine: &Machine| {
        let tree = Tree::begin(often());
        let now = machine.truth().now().as_micros() / 1000;
        machine.becomes(&tree.on_a_card(&format!("peak = \"10GiB\"\nbegin = \"{now}ms\"\n")));
        tree.until(|memory| memory.combined == gib(5));
        let usage = tree.end().unwrap();
        assert_eq!(usage.memory, Parts { main: gib(10), descendants: gib(10), combined: gib(10) });
        assert_eq!(usage.cards[0].memory_source, MemorySource::Accounting);
    });
}

#[test]
fn a_denied_list_of_processes_is_unknown_from_begin_to_end() {
    let fault = "[[fault]]\ncall = \"*RunningProcesses*\"\ncode = \"NO_PERMISSION\"\n";
    on(&format!("{CARD}{fault}"), |_| {
        let tree = Tree::begin(often());
        tree.until(|memory| memory.combined.why().is_some());
        let usage = tree.end().unwrap();
        // In a container the pids may be foreign besides.
        let expected = [Some(Why::NoPermission), Some(Why::Foreign)];
        assert!(expected.contains(&usage.memory.combined.why()), "{usage:?}");
    });
}

#[test]
fn a_driver_that_hangs_does_not_hold_up_the_end() {
    on(&format!("{CARD}[[fault]]\ncall = \"nvmlInit*\"\nhang = true\n"), |_| {
        let tree = Tree::begin(often());
        let begun = Instant::now();
        assert_eq!(tree.end(), Err(NoGpu::NotInTime));
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    });
}

/// Begins and ends a block of our own code while a call of the driver hangs.
fn assert_block_ends(hanging: &str) {
    on(&format!("{CARD}[[fault]]\ncall = \"{hanging}\"\nhang = true\n"), |_| {
        let begun = Instant::now();
        let tracking = Tracker::new(often()).start(std::process::id()).unwrap();
        assert!(tracking.stop().ram.peak.main.total.0 > 0);
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    });
}

#[test]
fn a_block_ends_while_the_driver_is_opened() {
    assert_block_ends("nvmlInit*");
}

#[test]
fn a_block_ends_while_a_look_hangs() {
    assert_block_ends("*RunningProcesses*");
}

#[test]
fn without_a_driver_or_without_being_asked_there_is_a_reason() {
    let library = Some("/nowhere/libnvidia-ml.so.1".into());
    let missing = Tree::begin(Options { library, ..often() }).end();
    let words = "/nowhere/libnvidia-ml.so.1 was not found".to_owned();
    assert_eq!(missing, Err(NoGpu::NoDriver(words)));
    let unasked = Tree::begin(Options { cards: Cards::None, ..often() }).end();
    assert_eq!(unasked, Err(NoGpu::NotAsked));
}
