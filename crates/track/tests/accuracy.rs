//! Programs that use a known amount of something.

use std::time::Duration;

use probe::units::Bytes;
use track::sample::Ram;
use track::{Finished, Parts, Usage};

use crate::subject::{Subject, program, subject};

const EVERY: Duration = Duration::from_millis(20);

/// Measures until a sample shows that much memory of all together.
fn held(arguments: &[&str], expected_megabytes: f64) -> Usage {
    held_until(arguments, |ram| is_near(ram.total, expected_megabytes))
}

/// Measures until a sample of all together is as expected.
fn held_until(arguments: &[&str], is_expected: impl Fn(Ram) -> bool) -> Usage {
    let mut subject = subject(EVERY, arguments);
    subject.is_seen(|sample| is_expected(sample.ram.combined));
    ended(subject.end())
}

fn is_near(found: Bytes, expected_megabytes: f64) -> bool {
    (megabytes(found) - expected_megabytes).abs() < 4.0
}

fn run(arguments: &[&str]) -> Usage {
    ended(subject(EVERY, arguments).end())
}

fn ended(finished: Finished) -> Usage {
    assert!(finished.status.success(), "{}", finished.status);
    finished.usage
}

/// Megabytes, or milliseconds: within `percent` of what is expected, or a little absolute.
#[track_caller]
fn assert_near(what: &str, found: f64, expected: f64, percent: f64, little: f64) {
    let most = (expected * percent / 100.0).max(little);
    assert!((found - expected).abs() <= most, "{what}: {found:.2} instead of {expected:.2}");
}

#[track_caller]
fn assert_memory(what: &str, found: Bytes, expected_megabytes: f64) {
    // Two percent, or what any program has: its libraries and its stack.
    assert_near(what, megabytes(found), expected_megabytes, 2.0, 4.0);
}

#[expect(clippy::cast_precision_loss, reason = "sizes of tests")]
fn megabytes(bytes: Bytes) -> f64 {
    bytes.0 as f64 / 1e6
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[test]
fn a_known_allocation_is_private_to_the_main_process() {
    let usage = held_until(&["alloc", "300"], |ram| is_near(ram.private, 300.0));
    let Parts { main, descendants, combined } = usage.ram.peak;
    assert_memory("total", main.total, 300.0);
    assert_memory("private", main.private, 300.0);
    assert_memory("combined", combined.total, 300.0);
    assert_eq!(descendants.total, Bytes(0));
    assert!(main.total.0 <= usage.ram.system_peak.known().unwrap().0);
}

#[test]
fn a_spike_between_two_samples_is_not_missed() {
    for _ in 0..16 {
        // One sample a minute is none: only the kernel has seen it.
        let spike = subject(Duration::from_secs(60), &["spike", "500", "50"]).end();
        assert_memory("spike", ended(spike).ram.peak.main.total, 501.0);
    }
}

#[test]
fn a_spike_of_a_child_is_not_missed_either() {
    let command = format!("{} spike 300 5; true", program().display());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &command]);
    let usage = ended(crate::subject::start(Duration::from_secs(60), shell).end());
    assert_memory("descendants", usage.ram.peak.descendants.total, 301.0);
    assert_memory("combined", usage.ram.peak.combined.total, 302.0);
    assert!(megabytes(usage.ram.peak.main.total) < 10.0);
}

#[test]
fn pages_that_a_fork_shares_count_once_and_those_it_writes_to_twice() {
    let usage = held(&["cow", "200", "50", "1"], 250.0);
    let Parts { main, descendants, combined } = usage.ram.peak;
    assert_memory("main", main.total, 200.0);
    assert_memory("descendants", descendants.total, 200.0);
    assert_memory("combined", combined.total, 250.0);
}

/// Either as expected, or said to be a lower bound of something that is not less than expected.
#[track_caller]
fn assert_memory_or_bound(usage: &Usage, expected_megabytes: f64) {
    let found = megabytes(usage.ram.peak.combined.total);
    let Some(at_most) = usage.ram.at_most else {
        return assert_memory("combined", usage.ram.peak.combined.total, expected_megabytes);
    };
    let little = (expected_megabytes * 0.02).max(4.0);
    assert!(found <= expected_megabytes + little, "{found} is more than {expected_megabytes}");
    let at_most = megabytes(at_most);
    assert!(at_most >= expected_megabytes - little, "at most {at_most} of {expected_megabytes}");
}

#[test]
fn copies_of_several_forks_all_count() {
    for (children, expected) in [("2", 140.0), ("4", 180.0), ("8", 260.0)] {
        let usage = held(&["cow", "100", "20", children], expected);
        assert_memory("combined", usage.ram.peak.combined.total, expected);
    }
}

/// Regression: pages that were copied on a write were missing, and nothing said so.
#[test]
fn copies_between_two_samples_count_or_are_in_doubt() {
    for (children, expected) in [("2", 140.0), ("4", 180.0), ("8", 260.0)] {
        let every = Duration::from_secs(60);
        let usage = ended(subject(every, &["cow-once", "100", "20", children, "300"]).end());
        assert_memory_or_bound(&usage, expected);
    }
}

#[test]
fn copies_of_a_storm_of_forks_count_or_are_in_doubt() {
    assert_memory_or_bound(&run(&["storm", "60", "10", "4", "25"]), 100.0);
}

/// Regression: only the children's copies were in doubt, while the parent's were nowhere.
#[test]
fn copies_of_a_parent_count_or_are_in_doubt() {
    for every in [Duration::from_secs(60), EVERY] {
        for _ in 0..4 {
            let usage = ended(subject(every, &["cow-parent", "200", "150", "20"]).end());
            assert_memory_or_bound(&usage, 350.0);
        }
    }
}

/// Regression: what children took after the last look at them was missing, and nothing said so.
#[test]
fn memory_of_many_short_children_counts_or_is_in_doubt() {
    for every in [Duration::from_secs(60), EVERY] {
        let usage = ended(subject(every, &["rounds", "50", "4", "12"]).end());
        assert_memory_or_bound(&usage, 201.0);
    }
}

#[test]
fn memory_that_comes_and_goes_counts() {
    assert_memory_or_bound(&run(&["churn", "100", "50", "20"]), 150.0);
}

#[test]
fn shared_memory_of_each_alone_adds_up() {
    let usage = held(&["segments", "60", "3"], 180.0);
    assert_memory("combined", usage.ram.peak.combined.total, 180.0);
}

#[test]
fn two_that_map_one_file_have_it_once() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_shared_once(&["share-file", file.path().to_str().unwrap(), "200"]);
}

#[test]
fn two_that_share_memory_have_it_once() {
    assert_shared_once(&["share-shm", "200"]);
}

#[track_caller]
fn assert_shared_once(arguments: &[&str]) {
    let usage = held_until(arguments, |ram| is_near(ram.shared, 200.0));
    let Parts { main, descendants, combined } = usage.ram.peak;
    assert_memory("main", main.total, 200.0);
    assert_memory("descendants", descendants.total, 200.0);
    assert_memory("combined", combined.total, 201.0);
    assert_memory("shared", combined.shared, 200.0);
}

#[test]
fn short_lived_children_are_all_accounted_for() {
    let usage = run(&["children", "200", "3"]);
    assert!(usage.sampling.is_cpu_exact);
    assert_near("descendants", milliseconds(usage.cpu.time.descendants), 600.0, 25.0, 0.0);
    assert!(milliseconds(usage.cpu.time.descendants) >= 600.0, "{:?}", usage.cpu.time);
    let Parts { main, descendants, combined } = usage.cpu.time;
    assert_eq!(main + descendants, combined);
}

#[test]
fn a_child_that_ends_while_others_are_looked_at_does_not_count_twice() {
    let (said, finished) = subject(EVERY, &["crowd", "60", "100", "20"]).says();
    let truth: f64 = said.trim().parse().unwrap();
    let usage = ended(finished);
    let told = milliseconds(usage.cpu.time.descendants);
    assert_near("descendants", told, truth / 1e3, 0.5, 5.0);
}

#[test]
fn a_process_goes_on_without_its_first_thread() {
    let usage = held(&["leaderless", "100"], 100.0);
    assert_memory("total", usage.ram.peak.main.total, 100.0);
    assert!(usage.cpu.threads.main >= 2);
}

/// Regression: the account was called exact while all of these were missing in it.
#[test]
fn children_that_the_kernel_drops_make_the_times_a_lower_bound() {
    for how in ["forgotten", "no-wait"] {
        let usage = run(&[how, "3", "300"]);
        let found = milliseconds(usage.cpu.time.descendants);
        assert!(!usage.sampling.is_cpu_exact && usage.cpu.is_lower_bound, "{how}");
        // Each is missed from the last look on, which may come late on a busy machine.
        assert!((450.0..=905.0).contains(&found), "{how}: {found}");
    }
}

/// Each of them lives for less than the time from one look to the next.
#[test]
fn short_children_that_the_kernel_drops_make_the_times_a_lower_bound() {
    for how in ["forgotten", "no-wait"] {
        let usage = run(&[how, "100", "4"]);
        assert!(!usage.sampling.is_cpu_exact && usage.cpu.is_lower_bound, "{how}");
    }
}

/// Nobody sees these accounts: the parent of each ends right after it.
#[test]
fn children_that_are_dropped_further_down_make_the_times_a_lower_bound() {
    let usage = ended(subject(Duration::from_secs(60), &["no-wait-below", "25", "15"]).end());
    assert!(!usage.sampling.is_cpu_exact && usage.cpu.is_lower_bound);
}

#[test]
fn children_that_are_waited_for_leave_no_doubt() {
    let usage = run(&["children", "20", "15"]);
    assert!(usage.sampling.is_cpu_exact && !usage.cpu.is_lower_bound);
}

#[test]
fn an_orphan_belongs_to_the_tree_whatever_it_calls_itself() {
    let usage = held(&["orphan", "20", "300"], 21.0);
    assert_memory("descendants", usage.ram.peak.descendants.total, 21.0);
    assert_near("CPU", milliseconds(usage.cpu.time.descendants), 310.0, 2.0, 60.0);
}

#[test]
fn four_busy_threads_use_what_they_use() {
    let usage = run(&["threads", "4", "250"]);
    assert_near("CPU", milliseconds(usage.cpu.time.main), 1000.0, 2.0, 0.0);
    assert_eq!(usage.cpu.threads.main, 5);
    let cores = f64::from(usage.machine.cores);
    assert!(usage.cpu.percent.main.max.0 <= cores * 100.0);
    let mean = milliseconds(usage.cpu.time.main) / milliseconds(usage.wall) * 100.0;
    assert_near("mean", usage.cpu.percent.main.mean.0, mean, 0.1, 0.0);
}

#[test]
fn a_command_that_ends_at_once_has_real_figures() {
    let usage = run(&["exit", "0"]);
    assert!(usage.cpu.time.main > Duration::ZERO);
    assert!((100_000..8_000_000).contains(&usage.ram.peak.main.total.0), "{:?}", usage.ram);
    assert!(usage.sampling.is_cpu_exact);
    assert_eq!((usage.sampling.samples, usage.sampling.period), (0, None));
}

#[test]
fn how_it_ended_is_told() {
    let code = subject(EVERY, &["exit", "7"]).end();
    assert_eq!(code.status.code(), Some(7));
    let killed = subject(EVERY, &["kill", "9"]).end();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&killed.status), Some(9));
    assert!(killed.usage.cpu.time.main > Duration::ZERO);
}

#[test]
fn samples_come_at_the_beat_that_was_asked_for() {
    let every = Duration::from_millis(10);
    let subject: Subject = subject(every, &["alloc", "1"]);
    let rows: Vec<_> = subject.samples.iter().take(50).collect();
    let usage = ended(subject.end());
    let period = usage.sampling.period.unwrap();
    assert!(period >= every - Duration::from_millis(1), "{period:?}");
    assert!(usage.sampling.samples >= 50);
    assert!(rows.is_sorted_by_key(|row| row.since_begin));
}
