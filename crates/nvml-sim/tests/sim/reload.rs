//! A scenario that changes while it is played.

use std::time::{Duration, Instant};

use nvml_wrapper::error::NvmlError;

use crate::stage::until;

#[test]
fn a_changed_file_is_played_from_the_next_call_on() {
    play!("[[card]]\nuuid = \"GPU-a\"\nutilization = 10\n", |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_uuid("GPU-a").unwrap();
        assert_eq!(card.utilization_rates().unwrap().gpu, 10);
        stage.replace_scenario("[[card]]\n[[card]]\nuuid = \"GPU-a\"\nutilization = 90\n");
        until("the new scenario", || (nvml.device_count().unwrap() == 2).then_some(()));
        // The handle means the same card, which now has another index.
        assert_eq!(card.utilization_rates().unwrap().gpu, 90);
        assert_eq!(card.index().unwrap(), 1);
    });
}

#[test]
fn a_card_that_vanished_from_the_file_is_lost_until_it_is_back() {
    let both = "[[card]]\nuuid = \"GPU-a\"\n[[card]]\nuuid = \"GPU-b\"\n";
    play!(both, |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_uuid("GPU-b").unwrap();
        stage.replace_scenario("[[card]]\nuuid = \"GPU-a\"\n");
        until("the card to vanish", || {
            matches!(card.name(), Err(NvmlError::GpuLost)).then_some(())
        });
        stage.replace_scenario(both);
        until("the card to come back", || card.name().is_ok().then_some(()));
    });
}

#[test]
fn a_function_that_does_not_exist_is_warned_of_once_and_the_rest_is_played() {
    let played = play!("[[card]]\n", |stage| {
        let nvml = stage.nvml();
        let fault = "[[fault]]\ncall = \"nvmlInitt\"\nhang = true\n";
        stage.replace_scenario(&format!("[[card]]\n[[card]]\n{fault}"));
        until("the second card", || (nvml.device_count().unwrap() == 2).then_some(()));
        stage.replace_scenario(&format!("[[card]]\n[[card]]\n{fault}[[card]]\n"));
        until("the third card", || (nvml.device_count().unwrap() == 3).then_some(()));
    });
    let said = "scenario.toml:4: `nvmlInitt` matches no NVML function";
    assert_eq!(played.stderr.matches(said).count(), 1, "{}", played.stderr);
}

#[test]
fn a_refused_change_is_said_once_and_changes_nothing() {
    let played = play!("[[card]]\n", |stage| {
        let nvml = stage.nvml();
        stage.replace_scenario("[[card]]\nmemory = \"lots\"\n");
        // A call looks at the file when the last look is 2 ms old, so one of these must.
        let changed = Instant::now();
        while changed.elapsed() < Duration::from_millis(5) {
            assert_eq!(nvml.device_count().unwrap(), 1);
        }
        assert_eq!(nvml.device_count().unwrap(), 1);
        stage.replace_scenario("[[card]]\n[[card]]\n");
        until("the good file", || (nvml.device_count().unwrap() == 2).then_some(()));
    });
    let said = "scenario.toml:2: `lots` is not a size";
    assert_eq!(played.stderr.matches(said).count(), 1, "{}", played.stderr);
}
