//! MIG: instances are cards of their own, slots have holes, utilization needs counters.

use probe::card::Basis;
use probe::nvml::Look;
use probe::{Reading, Why};

use crate::machine::{look_until, on, percent, pids};

fn divided(gpm: bool) -> String {
    format!(
        r#"
        [[card]]
        name = "NVIDIA H100 80GB HBM3"
        gpm = {gpm}
        [[card.mig]]
        slot = 1
        profile = "3g.40gb"
        memory = "40GiB"
        utilization = 55
        [[card.mig]]
        slot = 5
        profile = "1g.10gb"
        memory = "10GiB"
        utilization = 0
        [[card]]
        utilization = 20
        [[process]]
        pid = 8
        card = 0
        slot = 1
        memory = "30GiB"
        [[process]]
        pid = 9
        card = 0
        slot = 5
        memory = "5GiB"
        "#
    )
}

/// Trap: MIG slots may be sparse.
#[test]
fn instances_are_found_past_empty_slots() {
    on(&divided(true), |machine| {
        let look = machine.prober().look();
        let places: Vec<_> =
            look.cards.iter().map(|card| (card.facts.index, card.facts.slot())).collect();
        assert_eq!(places, [(0, Some(1)), (0, Some(5)), (1, None)]);
        assert_eq!((pids(&look.cards[0]), pids(&look.cards[1])), (vec![8], vec![9]));
        let used = |card: usize| look.cards[card].vitals.memory.map(|m| m.used.0 >> 30);
        assert_eq!((used(0), used(1)), (Reading::Known(30), Reading::Known(5)));
        let total = look.cards[1].vitals.memory.map(|memory| memory.total.0 >> 30);
        assert_eq!(total, Reading::Known(10));
    });
}

/// Trap: utilization is not supported on MIG; counters tell where the card has them.
#[test]
fn counters_tell_how_busy_an_instance_was_between_two_looks() {
    on(&divided(true), |machine| {
        let mut prober = machine.prober();
        let first = prober.look();
        assert_eq!(percent(&first.cards[0]), Reading::Unknown(Why::FirstLook));
        let second = prober.look();
        let busy = second.cards[0].vitals.utilization.known().unwrap();
        assert!((busy.percent.0 - 55.0).abs() < 0.5, "{busy:?}");
        assert!(matches!(busy.basis, Basis::Counters { .. }));
        assert_eq!(percent(&second.cards[1]), Reading::Known(0.0));
        assert_eq!(percent(&second.cards[2]), Reading::Known(20.0));
    });
}

#[test]
fn without_counters_an_instance_is_unknown_not_idle() {
    on(&divided(false), |machine| {
        let mut prober = machine.prober();
        for _ in 0..2 {
            let look = prober.look();
            assert_eq!(percent(&look.cards[0]), Reading::Unknown(Why::NotSupported));
            // No samples say nothing about who works on an instance.
            let sm = look.cards[0].vitals.holders.seen[0].sm;
            assert_eq!(sm, Reading::Unknown(Why::NotSupported));
            assert_eq!(percent(&look.cards[2]), Reading::Known(20.0));
        }
    });
}

#[test]
fn a_card_with_mig_on_and_no_instances_is_still_there() {
    on("[[card]]\nmig_slots = 7\n", |machine| {
        let look = machine.prober().look();
        assert_eq!(look.cards.len(), 1);
        assert_eq!(percent(&look.cards[0]), Reading::Unknown(Why::NotSupported));
    });
}

#[test]
fn an_instance_that_was_removed_is_no_longer_listed() {
    on(&divided(true), |machine| {
        let mut prober = machine.prober();
        prober.look();
        let slots = "[[card]]\nname = \"NVIDIA H100 80GB HBM3\"\ngpm = true\n[[card.mig]]\nslot = 1\n\
                     profile = \"3g.40gb\"\nmemory = \"40GiB\"\nutilization = 55\n[[card]]\nutilization = 20\n";
        machine.becomes(slots);
        let look = look_until(&mut prober, "divided anew", |look| look.cards.len() == 2);
        assert_eq!(look.cards[0].facts.slot(), Some(1));
    });
}

/// Without counters there is no utilization to tell that the driver is gone; memory does.
#[test]
fn a_driver_that_goes_away_shows_on_instances_too() {
    on(&divided(false), |machine| {
        let mut prober = machine.prober();
        prober.look();
        let gone = "[[fault]]\ncall = \"nvml*\"\ncode = \"DRIVER_NOT_LOADED\"\n";
        machine.becomes(&format!("{}{gone}", divided(false)));
        let look = look_until(&mut prober, "away", |look| look.driver.is_err());
        assert_eq!(look.cards.len(), 3, "the instances are still named");
        machine.becomes(&divided(false));
        look_until(&mut prober, "back", |look| look.driver.is_ok());
    });
}

#[test]
fn an_instance_without_a_name_leaves_the_others() {
    let fault = "[[fault]]\ncall = \"nvmlDeviceGetUUID\"\ncard = 0\nslot = 1\ncode = \"UNKNOWN\"\n";
    on(&format!("{}{fault}", divided(true)), |machine| {
        let mut prober = machine.prober();
        let look = prober.look();
        assert_eq!(look.cards.len(), 3);
        assert_eq!(look.cards[0].facts.uuid, Reading::Unknown(Why::Code(999)));
        assert_eq!(look.cards[0].facts.slot(), Some(1));
        assert_eq!(pids(&look.cards[1]), [9]);
        machine.becomes(&divided(true));
        look_until(&mut prober, "named", |look| look.cards[0].facts.uuid.why().is_none());
    });
}

#[test]
fn a_passing_error_does_not_make_a_divided_card_whole_for_good() {
    let fault =
        "[[fault]]\ncall = \"nvmlDeviceGetMigMode\"\ncard = 0\ncode = \"UNKNOWN\"\ntimes = 2\n";
    on(&format!("{}{fault}", divided(true)), |machine| {
        let mut prober = machine.prober();
        assert_eq!(prober.look().cards.len(), 2);
        assert_eq!(prober.look().cards.len(), 3);
    });
}

/// The other instance's counters go on being compared, look after look.
#[test]
fn one_sick_instance_does_not_blind_the_other() {
    for (call, code) in [
        ("nvmlDeviceGetUUID", "UNKNOWN"),
        ("nvmlDeviceGetUUID", "GPU_IS_LOST"),
        ("nvmlDeviceGetGpuInstanceId", "GPU_IS_LOST"),
        ("nvmlDeviceGetMemoryInfo_v2", "RESET_REQUIRED"),
        ("nvmlDeviceGetMemoryInfo_v2", "INVALID_ARGUMENT"),
    ] {
        let fault =
            format!("[[fault]]\ncall = \"{call}\"\ncard = 0\nslot = 5\ncode = \"{code}\"\n");
        on(&format!("{}{fault}", divided(true)), |machine| {
            let mut prober = machine.prober();
            prober.look();
            let look = prober.look();
            assert_eq!(look.cards.len(), 3);
            let busy = percent(&look.cards[0]).known();
            assert!(busy.is_some_and(|busy| (busy - 55.0).abs() < 0.5), "{call} {code}: {busy:?}");
        });
    }
}

#[test]
fn instances_that_are_not_told_have_the_true_reason() {
    let fault =
        "[[fault]]\ncall = \"nvmlDeviceGetMigDeviceHandleByIndex\"\ncode = \"NO_PERMISSION\"\n";
    on(&format!("{}{fault}", divided(true)), |machine| {
        let mut prober = machine.prober();
        let look = prober.look();
        assert_eq!(look.cards.len(), 2);
        assert_eq!(percent(&look.cards[0]), Reading::Unknown(Why::NoPermission));
        machine.becomes(&divided(true));
        look_until(&mut prober, "told", |look| look.cards.len() == 3);
    });
}

/// The second reading of counters does not cut short what the other cards' samples cover.
#[test]
fn a_first_look_reaches_back_on_whole_cards_beside_instances() {
    on(&divided(true), |machine| {
        let look = machine.prober().first_look();
        assert!(matches!(
            look.cards[0].vitals.utilization.known().unwrap().basis,
            Basis::Counters { .. }
        ));
        let whole = look.cards[2].vitals.utilization.known().unwrap();
        let Basis::Samples { covers, .. } = whole.basis else { panic!("{whole:?}") };
        assert!(covers.as_millis() > 4500, "{whole:?}");
    });
}

fn slices(look: &Look) -> Vec<(u32, u32)> {
    look.cards.iter().map(|card| card.facts.slices()).map(|it| (it.part, it.of)).collect()
}

#[test]
fn instances_count_by_their_memory_slices() {
    on(&divided(true), |machine| {
        assert_eq!(slices(&machine.prober().look()), [(4, 8), (1, 8), (1, 1)]);
    });
    // Without the permission to read the whole GPU, compute slices are known.
    let fault =
        "[[fault]]\ncall = \"nvmlDeviceGetMemoryInfo*\"\ncard = 0\ncode = \"NO_PERMISSION\"\n";
    on(&format!("{}{fault}", divided(true)), |machine| {
        assert_eq!(slices(&machine.prober().look()), [(3, 7), (1, 7), (1, 1)]);
    });
    // An old driver says nothing of an instance's slices: its memory does.
    let lacks = "[driver]\nlacks = [\"nvmlDeviceGetAttributes*\"]\n";
    on(&format!("{lacks}{}", divided(true)), |machine| {
        assert_eq!(slices(&machine.prober().look()), [(4, 8), (1, 8), (1, 1)]);
    });
}

#[test]
fn instances_have_the_energy_of_their_gpu_beside_them() {
    on(&divided(true), |machine| {
        let look = machine.prober().look();
        let energy = |card: usize| &look.cards[card].vitals;
        let of_gpu = energy(0).gpu_energy.counter.known().unwrap();
        assert!(of_gpu.0 > 0);
        assert_eq!(energy(1).gpu_energy.counter.known(), Some(of_gpu));
        assert_eq!(energy(0).energy, Reading::Unknown(Why::NotSupported));
        assert_eq!(energy(2).gpu_energy.counter, Reading::Unknown(Why::NotAsked));
    });
}
