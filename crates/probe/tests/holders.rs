//! Process lists: versions, growth, doubt, and each holder's share of the work.

use probe::nvml::Wants;
use probe::units::{Bytes, Percent};
use probe::{Holder, Reading, Why};

use crate::machine::{look_until, on, pids};

fn processes(count: u32) -> String {
    let process = |pid| format!("[[process]]\npid = {pid}\ncard = 0\nmemory = \"100MiB\"\n");
    format!("[[card]]\nutilization = 0\n{}", (1..=count).map(process).collect::<String>())
}

fn holders(scenario: &str, check: impl FnOnce(Vec<Holder>, Option<Why>)) {
    on(scenario, |machine| {
        let holders = machine.prober().look().cards.remove(0).vitals.holders;
        check(holders.seen, holders.unread);
    });
}

/// Trap: old drivers lack the newer versions of the lists.
#[test]
fn older_lists_are_read_where_the_driver_lacks_the_newer() {
    for lacks in
        ["[]", "[\"*RunningProcesses_v3\"]", "[\"*RunningProcesses_v3\", \"*RunningProcesses_v2\"]"]
    {
        let scenario = format!("[driver]\nlacks = {lacks}\n{}", processes(3));
        holders(&scenario, |seen, unread| {
            assert_eq!(seen.iter().map(|holder| holder.pid).collect::<Vec<_>>(), [1, 2, 3]);
            assert!(seen.iter().all(|h| h.memory == Reading::Known(Bytes::from_mib(100))));
            assert_eq!(unread, None);
        });
    }
}

fn pids_of(seen: &[Holder]) -> Vec<u32> {
    seen.iter().map(|holder| holder.pid).collect()
}

/// The numbers of processes of the tests with longer entries: one, and those around 24, where 32
/// entries of 24 bytes are as long as 24 entries of 32 bytes.
const COUNTS: [u32; 7] = [1, 3, 23, 24, 25, 32, 100];

/// R535.43 to R535.86 write entries of 32 bytes into lists of the third version. This corrupted
/// the heap and gave wrong pids.
#[test]
fn drivers_with_longer_entries_are_asked_for_the_second_version() {
    for count in COUNTS {
        let scenario = format!("[driver]\nversion = \"535.54.03\"\n{}", processes(count));
        on(&scenario, |machine| {
            let mut prober = machine.prober();
            let holders = prober.look().cards.remove(0).vitals.holders;
            assert_eq!(pids_of(&holders.seen), (1..=count).collect::<Vec<_>>());
            assert_eq!(holders.unread, None);
            drop(prober);
            assert_eq!(machine.calls_of("nvmlDeviceGetComputeRunningProcesses_v3"), 0);
        });
    }
}

/// Another driver of this kind, or one whose version cannot be read.
#[test]
fn unknown_drivers_with_longer_entries_are_detected() {
    let long = "[[fault]]\ncall = \"*RunningProcesses_v3\"\nextra_bytes = 8\n";
    let unversioned = "[[fault]]\ncall = \"nvmlSystemGetDriverVersion\"\ncode = \"UNKNOWN\"\n";
    for faults in [long.to_owned(), format!("{long}{unversioned}")] {
        for count in COUNTS {
            holders(&format!("{}{faults}", processes(count)), |seen, unread| {
                assert_eq!(pids_of(&seen), (1..=count).collect::<Vec<_>>());
                assert_eq!(unread, None);
            });
        }
    }
}

#[test]
fn lists_of_which_every_version_has_longer_entries_are_rejected() {
    for bytes in [4, 8, 16] {
        let long = format!("[[fault]]\ncall = \"*RunningProcesses*\"\nextra_bytes = {bytes}\n");
        for count in COUNTS {
            holders(&format!("{}{long}", processes(count)), |seen, unread| {
                assert_eq!((pids_of(&seen), unread), (vec![], Some(Why::EntrySize)));
            });
        }
        holders(&format!("[[card]]\n{long}"), |seen, unread| {
            assert_eq!((seen.len(), unread), (0, None), "an empty list has no entries");
        });
    }
}

#[test]
fn each_list_has_a_version_of_its_own() {
    let scenario = "[driver]\nlacks = [\"nvmlDeviceGetGraphicsRunningProcesses_v3\"]\n[[card]]\n\
                    [[process]]\npid = 3\ncard = 0\nkind = \"graphics\"\nmemory = \"1GiB\"\n";
    holders(scenario, |seen, unread| {
        assert_eq!((seen.len(), unread), (1, None));
        assert!(seen[0].kinds.graphics);
    });
}

/// The symbol is there, but the kernel side does not know it: the same way down.
#[test]
fn a_function_that_the_kernel_side_lacks_is_stepped_over_too() {
    let fault = "[[fault]]\ncall = \"*RunningProcesses_v3\"\ncode = \"FUNCTION_NOT_FOUND\"\n";
    holders(&format!("{}{fault}", processes(2)), |seen, unread| {
        assert_eq!((seen.len(), unread), (2, None));
    });
}

/// Trap: the list grows between the size call and the read.
#[test]
fn a_list_that_grows_meanwhile_is_read_whole() {
    let fault = "[[fault]]\ncall = \"*RunningProcesses*\"\ngrow = 5\n";
    holders(&format!("{}{fault}", processes(40)), |seen, unread| {
        assert_eq!((seen.len(), unread), (40, None));
    });
    let fault = "[[fault]]\ncall = \"*ComputeRunningProcesses*\"\ncode = \"INSUFFICIENT_SIZE\"\ntimes = 2\n";
    holders(&format!("{}{fault}", processes(7)), |seen, unread| {
        assert_eq!((seen.len(), unread), (7, None));
    });
}

#[test]
fn five_hundred_holders_are_five_hundred() {
    holders(&processes(500), |seen, _| assert_eq!(seen.len(), 500));
}

/// Trap: process memory that is not available is unknown, never 0.
#[test]
fn unknown_memory_keeps_the_holder() {
    let scenario = "[[card]]\n[[process]]\npid = 4\ncard = 0\nmemory = \"unknown\"\n";
    holders(scenario, |seen, unread| {
        assert_eq!((seen[0].pid, seen[0].memory), (4, Reading::Unknown(Why::NotTold)));
        assert_eq!(unread, None);
    });
}

/// Trap: one pid in several lists, or on several cards.
#[test]
fn one_pid_is_one_holder_on_each_card() {
    let scenario = "[[card]]\n[[card]]\n[[process]]\npid = 4\ncards = [0, 1]\nmemory = \"1GiB\"\n\
                    kind = \"compute+graphics+mps\"\n";
    on(scenario, |machine| {
        let look = machine.prober().look();
        for card in &look.cards {
            assert_eq!(pids(card), [4]);
            let kinds: Vec<_> = card.vitals.holders.seen[0].kinds.names().collect();
            assert_eq!(kinds, ["compute", "graphics", "mps"]);
            assert_eq!(card.vitals.holders.known_memory(), Bytes::from_mib(1024));
        }
    });
}

/// Trap: a process list may need privilege.
#[test]
fn a_denied_list_is_unknown_not_empty() {
    let fault = "[[fault]]\ncall = \"*RunningProcesses*\"\ncode = \"NO_PERMISSION\"\n";
    holders(&format!("{}{fault}", processes(2)), |seen, unread| {
        assert_eq!((seen.len(), unread), (0, Some(Why::NoPermission)));
    });
    let fault = "[[fault]]\ncall = \"*ComputeRunningProcesses*\"\ncode = \"NO_PERMISSION\"\n\
                 [[process]]\npid = 77\ncard = 0\nkind = \"graphics\"\nmemory = \"64MiB\"\n";
    holders(&format!("{}{fault}", processes(2)), |seen, unread| {
        assert_eq!(seen.iter().map(|holder| holder.pid).collect::<Vec<_>>(), [77]);
        assert_eq!(unread, Some(Why::NoPermission));
    });
}

/// Trap: process utilization answers NOT_FOUND when nothing ran.
#[test]
fn no_samples_mean_no_work() {
    holders(&processes(2), |seen, _| {
        assert!(seen.iter().all(|holder| holder.sm == Reading::Known(Percent(0.0))), "{seen:?}");
    });
}

#[test]
fn shares_of_the_work_go_to_who_did_it() {
    let scenario = "[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\nsm = 70\nbegin = \"-1h\"\n\
                    [[process]]\npid = 2\ncard = 0\nmemory = \"1GiB\"\n";
    holders(scenario, |seen, _| {
        let shares: Vec<_> = seen.iter().map(|holder| holder.sm).collect();
        assert_eq!(shares, [Reading::Known(Percent(70.0)), Reading::Known(Percent(0.0))]);
    });
}

/// Trap: process samples can hold garbage: over 100 %, stale or of dead pids.
#[test]
fn garbage_among_the_samples_is_dropped() {
    let scenario = "[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\nsm = 30\nbegin = \"-1h\"\n\
        [[stray_sample]]\ncard = 0\npid = 1\nsm = 4000000\n\
        [[stray_sample]]\ncard = 0\npid = 1\nsm = 99\nage = \"1h\"\n\
        [[stray_sample]]\ncard = 0\npid = 31000\nsm = 50\n";
    on(scenario, |machine| {
        let mut prober = machine.prober();
        for _ in 0..3 {
            let look = prober.look();
            assert_eq!(pids(&look.cards[0]), [1]);
            let sm = look.cards[0].vitals.holders.seen[0].sm;
            assert_eq!(sm, Reading::Known(Percent(30.0)));
        }
    });
}

/// Samples that are all garbage do not prove that a process did nothing.
#[test]
fn shares_are_unknown_where_no_sample_is_usable() {
    let idle = "[[card]]\nutilization = 0\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\n\
                begin = \"-1h\"\n";
    let lacking = "[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncode = \"NOT_SUPPORTED\"\n";
    let garbled = Reading::Unknown(Why::Garbled);
    let nothing = Reading::Known(Percent(0.0));
    for more in ["", lacking] {
        for (stray, share) in [
            ("pid = 1\nsm = 99\nage = \"1h\"", garbled),
            ("pid = 1\nsm = 99\nahead = \"1h\"", garbled),
            ("pid = 1\nsm = 4000000", garbled),
            ("pid = 31000\nsm = 99\nage = \"1h\"", garbled),
            // An entry without a pid is unused.
            ("pid = 0\nsm = 0\nage = \"1h\"", nothing),
        ] {
            holders(&format!("{idle}[[stray_sample]]\ncard = 0\n{stray}\n{more}"), |seen, _| {
                assert_eq!(seen[0].sm, share, "{stray} {more}");
            });
        }
    }
}

/// The first process had its share, and the others had a share of 0.
#[test]
fn shares_are_unknown_where_process_samples_have_longer_entries() {
    let busy = |pid| {
        format!("[[process]]\npid = {pid}\ncard = 0\nmemory = \"1GiB\"\nsm = 20\nbegin = \"-1h\"\n")
    };
    let processes: String = (1..=3).map(busy).collect();
    let long = "[[fault]]\ncall = \"nvmlDeviceGetProcessUtilization\"\nextra_bytes = 8\n";
    holders(&format!("[[card]]\n{processes}{long}"), |seen, _| {
        let shares: Vec<_> = seen.iter().map(|holder| holder.sm).collect();
        assert_eq!(shares, [Reading::Unknown(Why::EntrySize); 3]);
    });
}

#[test]
fn without_process_samples_the_share_is_unknown() {
    let fault = "[[fault]]\ncall = \"nvmlDeviceGetProcessUtilization\"\ncode = \"NOT_SUPPORTED\"\n";
    holders(&format!("{}{fault}", processes(1)), |seen, _| {
        assert_eq!(seen[0].sm, Reading::Unknown(Why::NotSupported));
    });
}

/// A buffer that begins to fail is not one that has nothing new.
#[test]
fn a_share_does_not_freeze_when_the_buffer_fails() {
    let busy = |sm| {
        format!(
            "[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\nbegin = \"-1h\"\nsm = {sm}\n"
        )
    };
    on(&busy(90), |machine| {
        let mut prober = machine.prober();
        prober.look();
        let fault = "[[fault]]\ncall = \"nvmlDeviceGetSamples\"\ncode = \"UNKNOWN\"\n";
        machine.becomes(&format!("{}{fault}", busy(5)));
        look_until(&mut prober, "the new share", |look| {
            look.cards[0].vitals.holders.seen[0].sm == Reading::Known(Percent(5.0))
        });
    });
}

#[test]
fn shares_of_the_other_engines_come_with_the_samples() {
    let scenario = "[[card]]\n[[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\nbegin = \"-1h\"\n\
        sm = 70\nmemory_utilization = 30\nencoder = 12\ndecoder = 4\n";
    on(scenario, |machine| {
        let look = machine.prober().look();
        let engines = look.cards[0].vitals.holders.seen[0].engines.known().unwrap();
        assert_eq!(
            [engines.memory, engines.encoder, engines.decoder].map(|p| p.0),
            [30.0, 12.0, 4.0]
        );
    });
}

#[test]
fn holders_of_lists_that_are_not_read_remain() {
    let processes = |kinds: &[(u32, &str)]| {
        let process = |(pid, kind): &(u32, &str)| {
            format!("[[process]]\npid = {pid}\ncard = 0\nmemory = \"1GiB\"\nkind = \"{kind}\"\n")
        };
        format!("[[card]]\n{}", kinds.iter().map(process).collect::<String>())
    };
    let denied = "[[fault]]\ncall = \"*MPSComputeRunningProcesses*\"\ncode = \"NO_PERMISSION\"\n";
    let before = processes(&[(3, "graphics"), (4, "compute"), (5, "compute+graphics")]);
    on(&format!("{before}{denied}"), |machine| {
        let mut prober = machine.prober();
        prober.look();
        prober.want(Wants { all_lists: false, ..Wants::ALL });
        machine.becomes(&processes(&[(6, "compute"), (7, "graphics")]));
        let look = look_until(&mut prober, "changed", |look| pids(&look.cards[0]).contains(&6));
        let holders = &look.cards[0].vitals.holders;
        let kinds: Vec<_> =
            holders.seen.iter().map(|it| (it.pid, it.kinds.names().collect::<Vec<_>>())).collect();
        let graphics = vec!["graphics"];
        assert_eq!(kinds, [(3, graphics.clone()), (5, graphics), (6, vec!["compute"])]);
        assert_eq!(holders.unread, Some(Why::NoPermission));
        prober.want(Wants::ALL);
        let holders = prober.look().cards.remove(0).vitals.holders;
        assert_eq!(pids_of(&holders.seen), [6, 7]);
        assert_eq!(holders.unread, None);
    });
}
