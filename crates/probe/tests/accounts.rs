//! The driver's account of processes: there, off, denied, hung.

use std::time::{Duration, Instant};

use probe::nvml::Prober;
use probe::units::Bytes;
use probe::{Reading, Why};

use crate::machine::{Machine, on};

const LIVED: &str = "
    [[card]]
    accounting = true
    [[card]]
    [[process]]
    pid = 11
    cards = [0, 1]
    memory = \"1GiB\"
    peak = \"6GiB\"
    begin = \"-1m\"
    [[process]]
    pid = 12
    card = 0
    memory = \"2GiB\"
    begin = \"-9s\"
    end = \"-5s\"
    [[process]]
    pid = 13
    card = 0
    memory = \"3GiB\"
    [[process]]
    pid = 14
    card = 0
    memory = \"unknown\"
";

fn with_fault(fault: &str) -> String {
    format!("{LIVED}[[fault]]\n{fault}\n")
}

type Peaks = Vec<(u32, Reading<Bytes>)>;

/// The peaks of some processes on the first card, and what the second card says.
fn peaks(machine: &Machine, pids: &[u32]) -> (Reading<Peaks>, Option<Why>) {
    let mut prober = Prober::open(machine.hasty()).unwrap();
    prober.look();
    let accounts = prober.accounts(pids);
    let of_first = accounts[0].accounts.clone();
    let peaks = of_first.map(|all| all.iter().map(|one| (one.pid, one.peak)).collect());
    (peaks, accounts[1].accounts.why())
}

#[test]
fn those_that_were_asked_for_are_told_ended_or_not() {
    on(LIVED, |machine| {
        let (peaks, other) = peaks(machine, &[11, 12, 14, 99]);
        let mib = |mib| Reading::Known(Bytes::from_mib(mib));
        let expected = vec![(11, mib(6144)), (12, mib(2048)), (14, Reading::Unknown(Why::NotTold))];
        assert_eq!(peaks, Reading::Known(expected));
        assert_eq!(other, Some(Why::NotSupported), "its mode is off");
    });
}

#[test]
fn when_a_process_began_is_told_with_it() {
    on(LIVED, |machine| {
        let mut prober = machine.prober();
        prober.look();
        let accounts = prober.accounts(&[12]).remove(0).accounts.known().unwrap();
        let truth = machine.truth();
        let began = truth.clock.unix_micros(truth.scenario.processes[2].begin);
        assert_eq!(accounts[0].started.0, began / 1000);
    });
}

#[test]
fn a_card_that_was_not_looked_at_is_not_woken_up_for_it() {
    on(LIVED, |machine| assert_eq!(machine.prober().accounts(&[11]), []));
}

#[test]
fn a_denied_account_is_unknown_not_empty() {
    on(&with_fault("call = \"*AccountingPids\"\ncode = \"NO_PERMISSION\""), |machine| {
        assert_eq!(peaks(machine, &[11]).0, Reading::Unknown(Why::NoPermission));
    });
}

/// The list is longer than the room that is tried first, and grows.
#[test]
fn a_long_list_is_gone_through() {
    let process = |pid| {
        format!(
            "[[process]]\npid = {pid}\ncard = 0\nmemory = \"1MiB\"\nbegin = \"-1h\"\nend = \"-1m\"\n"
        )
    };
    let many: String = (1900..2000).map(process).collect();
    on(&format!("{LIVED}{many}"), |machine| {
        let (peaks, _) = peaks(machine, &[1999, 11]);
        let pids: Vec<_> = peaks.known().unwrap().iter().map(|(pid, _)| *pid).collect();
        assert_eq!(pids, [11, 1999]);
    });
}

#[test]
fn a_card_that_hangs_is_left_out_and_left_behind() {
    let hang = "call = \"nvmlDeviceGetAccountingMode\"\ncard = 0\nhang = true";
    on(&with_fault(hang), |machine| {
        let mut prober = Prober::open(machine.hasty()).unwrap();
        prober.look();
        let begun = Instant::now();
        let accounts = prober.accounts(&[11]);
        assert!(begun.elapsed() < Duration::from_secs(4), "past its deadline");
        assert_eq!(accounts.len(), 1);
        assert_eq!(accounts[0].facts.index, 1);
    });
}
