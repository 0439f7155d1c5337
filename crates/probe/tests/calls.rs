//! What one look costs: fixed facts are read once, and nothing is asked twice.

use probe::nvml::{self, Options, Prober, Wants};

use crate::machine::on;

const FOUR: &str = r#"
[[card]]
utilization = 50
fan = 30
[[card]]
utilization = 50
[[card]]
utilization = 50
[[card]]
utilization = 50
[[process]]
pid = 5
cards = [0, 1, 2, 3]
memory = "1GiB"
sm = 50
"#;

#[test]
fn fixed_facts_are_read_once_and_the_rest_once_a_look() {
    on(FOUR, |machine| {
        let looks = 10;
        let mut prober = machine.prober();
        for _ in 0..looks {
            assert_eq!(prober.look().cards.len(), 4);
        }
        drop(prober);
        let calls = machine.calls();
        let count = |name: &str| machine.calls_of(name);
        for once in ["nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo_v3"] {
            assert_eq!(count(once), 4, "{once}\n{calls}");
        }
        for each in [
            "nvmlDeviceGetMemoryInfo_v2",
            "nvmlDeviceGetPowerUsage",
            "nvmlDeviceGetTemperature",
            "nvmlDeviceGetComputeRunningProcesses_v3",
            "nvmlDeviceGetGraphicsRunningProcesses_v3",
        ] {
            assert_eq!(count(each), 4 * looks, "{each}\n{calls}");
        }
        // Shares of the work are asked for only when the driver has sampled anew.
        let shares = count("nvmlDeviceGetProcessUtilization");
        assert!((4..=4 * looks).contains(&shares), "{calls}");
        // A card that has said it has no fan is not asked for one again.
        assert_eq!(count("nvmlDeviceGetFanSpeed_v2"), looks + 3, "{calls}");
        // One call for the size of the buffer, then one a look.
        assert_eq!(count("nvmlDeviceGetSamples"), 4 + 4 * looks, "{calls}");
    });
}

/// The calls that only who asks for them makes. The rates, which hold memory's work, are also
/// what a look falls back to that finds no new samples.
const ON_REQUEST: [&str; 5] = [
    "nvmlDeviceGetPerformanceState",
    "nvmlDeviceGetComputeMode",
    "nvmlDeviceGetPersistenceMode",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetPowerManagementLimit",
];

/// How often each of them was made in three looks at four cards.
fn on_request(wants: Wants, check: impl FnOnce([u32; 5])) {
    on(FOUR, |machine| {
        let mut prober = Prober::open(Options { wants, ..machine.options() }).unwrap();
        (0..3).for_each(|_| drop(prober.look()));
        drop(prober);
        check(ON_REQUEST.map(|name| machine.calls_of(name)));
    });
}

/// A card is asked once whether it is divided, when it is attached.
#[test]
fn a_recorder_asks_for_nothing_that_it_does_not_keep() {
    let wants = Wants { power: true, temperature: true, ..Wants::ESSENTIALS };
    on_request(wants, |calls| assert_eq!(calls, [0, 0, 0, 4, 0]));
}

#[test]
fn each_want_is_one_call_a_card_and_look() {
    let none = Wants::ESSENTIALS;
    let each = [
        Wants { performance: true, ..none },
        Wants { compute_mode: true, ..none },
        Wants { persistence: true, ..none },
        Wants { mig: true, ..none },
        Wants { set_power_limit: true, ..none },
    ];
    for (place, wants) in each.into_iter().enumerate() {
        let mut expected = [0, 0, 0, 4, 0];
        expected[place] += 12;
        on_request(wants, |calls| assert_eq!(calls, expected, "{wants:?}"));
    }
}

/// The room for a long list, and for the samples of so many, is found once.
#[test]
fn a_long_list_is_one_call_a_look_as_well() {
    let process = |pid| {
        format!("[[process]]\npid = {pid}\ncard = 0\nmemory = \"9MiB\"\nsm = 1\nbegin = \"-1h\"\n")
    };
    let many = format!(
        "[samples]\nperiod = \"1ms\"\n[[card]]\n{}",
        (1..=100).map(process).collect::<String>()
    );
    on(&many, |machine| {
        let looks = 10;
        let mut prober = machine.prober();
        for _ in 0..looks {
            assert_eq!(prober.look().cards[0].vitals.holders.seen.len(), 100);
        }
        drop(prober);
        let found_once = |name: &str| machine.calls_of(name) - looks;
        assert_eq!(found_once("nvmlDeviceGetComputeRunningProcesses_v3"), 1);
        assert!(machine.calls_of("nvmlDeviceGetProcessUtilization") <= looks + 1);
    });
}

/// A library that stays open is initialised once, however often it is looked into.
#[test]
fn what_stays_open_is_opened_once() {
    let inits = |are_kept: bool| {
        on(FOUR, move |machine| {
            if are_kept {
                nvml::stay_open();
            }
            for _ in 0..3 {
                assert_eq!(machine.prober().look().cards.len(), 4);
            }
            nvml::close_unused();
            let expected = if are_kept { 1 } else { 3 };
            assert_eq!(machine.calls_of("nvmlInit_v2"), expected, "{}", machine.calls());
        });
    };
    inits(false);
    inits(true);
}

/// The prober counts its own calls: all but those that open and close the library.
#[test]
fn calls_are_counted() {
    on(FOUR, |machine| {
        let mut prober = machine.prober();
        (0..10).for_each(|_| drop(prober.look()));
        drop(prober);
        let counted = i64::try_from(nvml::call_count()).unwrap();
        let calls = machine.calls();
        let count = |line: &str| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap();
        let all: i64 = calls.lines().map(count).sum();
        assert!((all - counted).abs() <= 20, "{counted} of {all}:\n{calls}");
    });
}
