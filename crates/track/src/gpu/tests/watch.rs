//! The thread on a pretend driver: what it finds, and what it does when the driver fails.

use std::thread;
use std::time::{Duration, Instant};

use probe::units::Bytes;
use probe::{Reading, Why};

use super::machine::{Machine, on};
use crate::gpu::Gpu;
use crate::members::{Members, Role};
use crate::options::{Cards, Options};
use crate::parts::Parts;
use crate::sample::GpuSample;
use crate::usage::{GpuUsage, MemorySource, NoGpu};

const MAIN: u32 = 100;
const CHILD: u32 = 101;

/// Two cards. The main process is on both, its child on the second, a stranger on the first.
const TWO: &str = "
    [samples]
    period = \"10ms\"
    [[card]]
    uuid = \"GPU-a\"
    memory = \"16GiB\"
    utilization = 40
    power = { idle = 100, full = 200 }
    [[card]]
    uuid = \"GPU-b\"
    memory = \"32GiB\"
    utilization = 60
    [[process]]
    pid = 100
    cards = [0, 1]
    memory = \"1GiB\"
    sm = 15
    begin = \"-1h\"
    [[process]]
    pid = 101
    card = 1
    memory = \"4GiB\"
    sm = 30
    begin = \"-1h\"
    [[process]]
    pid = 900
    card = 0
    memory = \"7GiB\"
    sm = 20
    begin = \"-1h\"
";

fn with_fault(fault: &str) -> String {
    format!("{TWO}[[fault]]\n{fault}\n")
}

fn gib(gib: u64) -> Reading<Bytes> {
    Reading::Known(Bytes(gib << 30))
}

/// Begun, and looked at by nobody yet.
fn awaited(options: &Options) -> Gpu {
    let members = Members::default();
    members.add(MAIN, Role::Main);
    members.add(CHILD, Role::Descendant);
    Gpu::begin(options, members).unwrap()
}

/// Begun, and looked at by the thread.
fn begin(options: &Options) -> Gpu {
    let mut gpu = awaited(options);
    gpu.go_on();
    gpu
}

fn often() -> Options {
    Options { every: Duration::from_millis(10), ..Options::default() }
}

/// Waits for a sample that fits.
fn until(gpu: &Gpu, what: &str, fits: impl Fn(&GpuSample) -> bool) -> GpuSample {
    let begun = Instant::now();
    loop {
        let newest = gpu.newest();
        match newest {
            Reading::Known(sample) if fits(&sample) => return sample,
            _ => assert!(begun.elapsed().as_secs() < 20, "never {what}: {newest:?}"),
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Ends what has been seen at work, and how long that took.
fn finish(gpu: Gpu) -> (Result<GpuUsage, NoGpu>, Duration) {
    let begun = Instant::now();
    (gpu.finish(), begun.elapsed())
}

fn is_busy(sample: &GpuSample) -> bool {
    sample.utilization.known().is_some() && sample.tree_utilization.known().is_some()
}

#[test]
fn the_trees_memory_and_work_are_told_apart_from_the_others() {
    on(TWO, |_| {
        let gpu = begin(&often());
        let sample = until(&gpu, "at work", is_busy);
        assert_eq!(sample.memory, Parts { main: gib(2), descendants: gib(4), combined: gib(6) });
        assert_eq!(sample.system_memory, gib(13));
        let usage = gpu.finish().unwrap();
        assert_eq!(usage.memory, Parts { main: gib(2), descendants: gib(4), combined: gib(6) });
        assert_eq!((usage.system_memory, usage.capacity), (gib(13), gib(48)));
        let busy = usage.utilization.known().unwrap();
        assert_eq!((busy.max.0.round(), busy.mean.0.round()), (100.0, 100.0));
        let tree = usage.tree_utilization.known().unwrap();
        assert_eq!((tree.max.0.round(), tree.mean.0.round()), (60.0, 60.0));
        assert!(usage.looks >= 2 && usage.energy.known().is_some(), "{usage:?}");
        let cards: Vec<_> = usage.cards.iter().map(|card| (card.index, card.memory)).collect();
        assert_eq!(cards, [(0, gib(1)), (1, gib(5))]);
    });
}

#[test]
fn only_the_chosen_cards_work_counts_but_all_memory() {
    on(TWO, |_| {
        let cards = Cards::Only(vec!["GPU-b".to_owned()]);
        let gpu = begin(&Options { cards, ..often() });
        until(&gpu, "at work", is_busy);
        let usage = gpu.finish().unwrap();
        assert_eq!(usage.utilization.map(|busy| busy.mean.0.round()), Reading::Known(60.0));
        assert_eq!(usage.memory.combined, gib(6));
        assert_eq!(
            usage.cards.iter().map(|card| card.is_chosen).collect::<Vec<_>>(),
            [false, true]
        );
    });
}

#[test]
fn nobody_asked_so_nothing_is_opened() {
    let options = Options { cards: Cards::None, ..Options::default() };
    assert!(Gpu::begin(&options, Members::default()).is_none());
}

/// What was known before is kept, and so are the others.
#[test]
fn a_card_that_is_lost_meanwhile_spoils_nothing() {
    on(TWO, |machine| {
        let gpu = begin(&often());
        until(&gpu, "at work", is_busy);
        machine.becomes(&with_fault("call = \"nvmlDevice*\"\ncard = 0\ncode = \"GPU_IS_LOST\""));
        let lost = until(&gpu, "lost", |sample| sample.memory.combined.why().is_some());
        assert_eq!(lost.memory.combined, Reading::Unknown(Why::Lost));
        let usage = gpu.finish().unwrap();
        assert_eq!((usage.memory.combined, usage.system_memory), (gib(6), gib(13)));
        assert_eq!((usage.cards[0].memory, usage.cards[1].memory), (gib(1), gib(5)));
    });
}

#[test]
fn the_first_look_tells_of_the_begin_if_it_comes_in_time() {
    on(TWO, |_| {
        let mut gpu = awaited(&often());
        gpu.wait_for_first_look();
        let usage = gpu.finish().unwrap();
        // The machine may be too busy for it; then it is unknown.
        let at_begin = usage.at_begin.combined;
        assert!(at_begin == gib(6) || at_begin.why() == Some(Why::TimedOut), "{usage:?}");
        assert_eq!(usage.at_end.combined, gib(6));
    });
}

#[test]
fn a_look_that_comes_later_tells_nothing_of_the_begin() {
    on(&with_fault("call = \"nvmlInit*\"\nlatency = \"300ms\""), |_| {
        let mut gpu = awaited(&often());
        gpu.wait_for_first_look();
        gpu.go_on();
        until(&gpu, "seen", |sample| sample.memory.combined == gib(6));
        let usage = gpu.finish().unwrap();
        assert_eq!(usage.at_begin.combined, Reading::Unknown(Why::TimedOut));
        assert_eq!(usage.at_end.combined, gib(6));
    });
}

#[test]
fn who_was_just_born_began_with_nothing() {
    on(TWO, |_| {
        let gpu = begin(&often()).born_with_nothing();
        until(&gpu, "seen", |sample| sample.memory.combined == gib(6));
        assert_eq!(gpu.finish().unwrap().at_begin.combined, gib(0));
    });
}

/// Nobody can take memory on it, so the sums are known without it.
#[test]
fn a_card_that_was_lost_from_the_beginning_is_left_out() {
    on(&with_fault("call = \"nvmlDevice*\"\ncard = 0\ncode = \"GPU_IS_LOST\""), |_| {
        let gpu = begin(&often());
        until(&gpu, "at work", is_busy);
        let usage = gpu.finish().unwrap();
        assert_eq!((usage.memory.combined, usage.capacity), (gib(5), gib(32)));
        assert_eq!(usage.utilization.map(|busy| busy.mean.0.round()), Reading::Known(60.0));
        assert_eq!(usage.cards[0].memory, Reading::Unknown(Why::Lost));
        assert_eq!(usage.cards[0].uuid.why(), Some(Why::Lost));
        assert_eq!([usage.cards[0].lost, usage.cards[1].lost], [Some(Why::Lost), None]);
    });
}

#[test]
fn a_denied_list_is_unknown_not_zero() {
    on(&with_fault("call = \"*RunningProcesses*\"\ncode = \"NO_PERMISSION\""), |_| {
        let gpu = begin(&often());
        until(&gpu, "at work", |sample| sample.utilization.known().is_some());
        let usage = gpu.finish().unwrap();
        // In a container the pids may be foreign besides.
        let expected = [Some(Why::NoPermission), Some(Why::Foreign)];
        assert!(expected.contains(&usage.memory.combined.why()), "{usage:?}");
        assert!(usage.cards.iter().all(|card| card.memory.why().is_some()), "{usage:?}");
        assert!(usage.tree_utilization.why().is_some());
        assert_eq!(usage.system_memory, gib(13));
        assert_eq!(usage.utilization.map(|busy| busy.mean.0.round()), Reading::Known(100.0));
    });
}

#[test]
fn a_process_whose_memory_is_not_told_is_not_zero() {
    on(&TWO.replace("\"4GiB\"", "\"unknown\""), |_| {
        let gpu = begin(&often());
        until(&gpu, "at work", is_busy);
        let usage = gpu.finish().unwrap();
        let untold = Reading::Unknown(Why::NotTold);
        assert_eq!(usage.memory, Parts { main: gib(2), descendants: untold, combined: untold });
        assert_eq!((usage.cards[0].memory, usage.cards[1].memory), (gib(1), untold));
    });
}

/// MIG: the instances are the cards; what they hold is not held by their card once more.
#[test]
fn the_instances_of_a_card_are_counted_once() {
    let instance = |slot, utilization| {
        format!(
            "[[card.mig]]\nslot = {slot}\nprofile = \"3g.40gb\"\nmemory = \"40GiB\"\nutilization = {utilization}\n"
        )
    };
    let process = |pid, slot, memory| {
        format!("[[process]]\npid = {pid}\ncard = 0\nslot = {slot}\nmemory = \"{memory}\"\n")
    };
    let scenario = [
        "[[card]]\ngpm = true\nmemory = \"80GiB\"\n".to_owned(),
        instance(0, 50),
        instance(1, 10),
        process(MAIN, 0, "3GiB"),
        process(900, 1, "5GiB"),
    ];
    on(&scenario.concat(), |_| {
        let gpu = begin(&often());
        until(&gpu, "counted", |sample| sample.utilization.known().is_some());
        let usage = gpu.finish().unwrap();
        assert_eq!((usage.memory.combined, usage.system_memory), (gib(3), gib(8)));
        assert_eq!((usage.cards.len(), usage.capacity), (2, gib(80)));
        let mean = usage.utilization.known().unwrap().mean.0;
        assert!((mean - 60.0).abs() < 1e-6, "{mean}");
        assert_eq!(usage.energy, Reading::Unknown(Why::NotSupported));
    });
}

/// Two cards that keep account, and a process that lived for 5 ms, now.
fn with_accounting(machine: &Machine) -> String {
    let now = machine.truth().now().as_micros() / 1000;
    let brief = format!(
        "[[process]]\npid = 101\ncards = [0, 1]\nmemory = \"2GiB\"\npeak = \"9GiB\"\n\
         begin = \"{now}ms\"\nend = \"{}ms\"\n",
        now + 5
    );
    let card = "[[card]]\nmemory = \"16GiB\"\naccounting = true\n";
    let main = "[[process]]\npid = 100\ncard = 0\nmemory = \"1GiB\"\n";
    format!("{card}{card}{main}{brief}")
}

/// What no look can have seen.
#[test]
fn the_drivers_account_tells_of_a_process_between_two_looks() {
    on(TWO, |machine| {
        let scenario = with_accounting(machine);
        machine.becomes(&scenario);
        let gpu = begin(&Options { every: Duration::from_secs(3600), ..Options::default() });
        until(&gpu, "looked at", |sample| sample.memory.main == gib(1));
        let usage = gpu.finish().unwrap();
        assert_eq!(usage.memory, Parts { main: gib(1), descendants: gib(18), combined: gib(18) });
        for card in &usage.cards {
            assert_eq!((card.memory, card.memory_source), (gib(9), MemorySource::Accounting));
        }
    });
}

/// Trap: a pid of the tree may have been that of another process before.
#[test]
fn an_account_of_the_time_before_does_not_count() {
    let old = "[[card]]\naccounting = true\n\
               [[process]]\npid = 101\ncard = 0\nmemory = \"9GiB\"\nbegin = \"-1h\"\nend = \"-30m\"\n\
               [[process]]\npid = 100\ncard = 0\nmemory = \"1GiB\"\npeak = \"5GiB\"\nbegin = \"-1h\"\n";
    on(old, |_| {
        let gpu = begin(&often());
        until(&gpu, "looked at", |sample| sample.memory.main == gib(1));
        let usage = gpu.finish().unwrap();
        assert_eq!(usage.memory.combined, gib(1));
        assert_eq!(usage.cards[0].memory_source, MemorySource::Samples);
    });
}

#[test]
fn without_a_driver_there_are_its_words() {
    let library = Some("/nowhere/libnvidia-ml.so.1".into());
    let options = Options { library, ..Options::default() };
    for begin in [awaited, begin] {
        let words = "/nowhere/libnvidia-ml.so.1 was not found".to_owned();
        assert_eq!(begin(&options).finish(), Err(NoGpu::NoDriver(words)));
    }
    let mut gpu = awaited(&options);
    gpu.wait_for_first_look();
    assert_eq!(gpu.newest(), Reading::Unknown(Why::DriverGone));
}

#[test]
fn a_driver_that_hangs_while_it_is_opened_is_not_waited_for() {
    for begin in [awaited, begin] {
        on(&with_fault("call = \"nvmlInit*\"\nhang = true"), |_| {
            let gpu = begin(&often());
            assert_eq!(gpu.newest(), Reading::Unknown(Why::NotTold));
            let (usage, took) = finish(gpu);
            assert_eq!(usage, Err(NoGpu::NotInTime));
            assert!(took < Duration::from_secs(3), "{took:?}");
        });
    }
}

#[test]
fn a_first_look_that_hangs_is_not_waited_for_long() {
    for begin in [awaited, begin] {
        on(&with_fault("call = \"nvmlDeviceGetHandleByIndex_v2\"\nhang = true"), |_| {
            let (usage, took) = finish(begin(&often()));
            assert_eq!(usage, Err(NoGpu::NotInTime));
            assert!(took < Duration::from_secs(5), "{took:?}");
        });
    }
}

/// One that hangs hides none of the others.
#[test]
fn what_is_over_at_once_has_the_cards_that_answer() {
    let hangs = with_fault("call = \"nvmlDeviceGetMemoryInfo*\"\ncard = 1\nhang = true");
    on(&hangs, |_| {
        let (usage, took) = finish(awaited(&often()));
        let usage = usage.unwrap();
        let memory: Vec<_> = usage.cards.iter().map(|card| card.memory).collect();
        assert_eq!(memory, [gib(1), Reading::Unknown(Why::TimedOut)], "{usage:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
    });
}

/// What is over before another look was due has two: that of the begin, and that of the end.
#[test]
fn what_is_over_at_once_is_looked_at_all_the_same() {
    on(TWO, |_| {
        for waits in [true, false] {
            let mut gpu = awaited(&often());
            if waits {
                gpu.wait_for_first_look();
            }
            let usage = gpu.finish().unwrap();
            assert_eq!((usage.looks, usage.memory.combined), (2, gib(6)), "waits: {waits}");
        }
    });
}

/// What was read before is kept.
#[test]
fn a_driver_that_hangs_later_is_not_waited_for_and_loses_nothing() {
    on(TWO, |machine| {
        let gpu = begin(&often());
        until(&gpu, "at work", is_busy);
        machine.becomes(&with_fault("call = \"nvmlDevice*\"\nhang = true"));
        let (usage, took) = finish(gpu);
        assert_eq!(usage.unwrap().memory.combined, gib(6));
        assert!(took < Duration::from_secs(5), "{took:?}");
    });
}

#[test]
fn a_driver_that_goes_away_loses_nothing_either() {
    on(TWO, |machine| {
        let gpu = begin(&often());
        until(&gpu, "at work", is_busy);
        machine.becomes(&with_fault("call = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\""));
        let away = until(&gpu, "away", |sample| sample.system_memory.why().is_some());
        assert_eq!(away.memory.main, Reading::Unknown(Why::DriverGone));
        let usage = gpu.finish().unwrap();
        assert_eq!((usage.memory.combined, usage.system_memory), (gib(6), gib(13)));
    });
}
