use std::sync::Arc;

use gua_core::card::{CardFacts, InstanceFacts};
use gua_core::units::UnixMillis;
use gua_core::{Reading, Reason, Slices, Span};
use gua_store::{CardHours, Database, Grain, WindowSums};
use proptest::prelude::*;

use crate::lab::*;

/// All figures of a window, and their distance from those of another.
fn figures(sums: &WindowSums) -> Vec<f64> {
    let mut figures = vec![];
    for id in 1..=3 {
        figures.extend(sums.cards.get(&id).cloned().unwrap_or_default().times.values());
        figures.extend(sums.holders.get(&id).copied().unwrap_or_default().times.values());
    }
    figures
}

fn assert_close(one: &[f64], other: &[f64]) {
    for (one, other) in one.iter().zip(other) {
        assert!((one - other).abs() < 1e-3, "{one} and {other}");
    }
}

fn usage(database: &Database, from: i64, to: i64) -> Vec<f64> {
    figures(&database.usage(period(from, to)).unwrap())
}

fn two_cards(first: &[(i64, usize)], second: &[(i64, usize)]) -> Vec<Span> {
    let mut spans = [spans(&card(0), START, first), spans(&card(1), START, second)].concat();
    spans.sort_by_key(|span| span.period);
    spans
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Two adjacent windows add up to both, and hour rows give what fine rows give.
    #[test]
    fn adjacent_windows_add_up(
        first in proptest::collection::vec((500_i64..900_000, 0_usize..4), 10..40),
        second in proptest::collection::vec((500_i64..30_000, 0_usize..4), 10..99),
        mut cuts in [0_i64..8 * HOUR, 0..8 * HOUR, 0..8 * HOUR],
    ) {
        let lab = Lab::new();
        record(&mut lab.begin(START), &two_cards(&first, &second), 30_000);
        cuts.sort_unstable();
        let [a, b, c] = cuts.map(|cut| START + cut);
        let with_hours = {
            let database = lab.read();
            let parts = [usage(&database, a, b), usage(&database, b, c)];
            let sum: Vec<f64> = parts[0].iter().zip(&parts[1]).map(|(a, b)| a + b).collect();
            let both = usage(&database, a, c);
            assert_close(&sum, &both);
            both
        };
        lab.execute("DELETE FROM card_hour; DELETE FROM holder_hour; UPDATE store SET hours_until_ms = 0");
        assert_close(&with_hours, &usage(&lab.read(), a, c));
    }
}

#[test]
fn whole_history_is_the_sum_of_its_spans() {
    let lab = Lab::new();
    let first = [(10 * MINUTE, 0), (95 * MINUTE, 1), (4000, 3), (HOUR, 2)];
    let spans = two_cards(&first, &[(3 * HOUR, 1)]);
    record(&mut lab.begin(START), &spans, 30_000);
    let sums = lab.read().usage(period(START, START + DAY)).unwrap();
    assert_eq!(sums.window.to, UnixMillis(START + 3 * HOUR), "it ends where the record is final");
    let [first, second] = [1, 2].map(|card| sums.cards[&card].clone());
    assert_eq!(first.times.active_ms, 600_000.0);
    assert_eq!(first.times.idle_held_ms, 5_700_000.0);
    assert_eq!(first.unknown_ms[&Reason::Lost], 4000.0);
    assert_eq!(first.times.observed_ms(), 165.0 * 60_000.0 + 4000.0);
    assert_eq!(second.times.idle_held_ms, 10_800_000.0);
    let shares: f64 = sums.holders.values().map(|holder| holder.times.active_share_ms).sum();
    assert_eq!(shares, 600_000.0);
    assert_eq!(sums.holders[&1].peak_mib, 8001);
    assert!(sums.gaps.is_empty());
    lab.assert_sound();
}

#[test]
fn edge_rows_are_clipped() {
    let lab = Lab::new();
    record(&mut lab.begin(START), &spans(&card(0), START, &[(2 * HOUR, 0)]), 30_000);
    let sums = lab.read().usage(period(START + 1, START + 2 * HOUR - 1)).unwrap();
    assert!((sums.cards[&1].times.active_ms - (2 * HOUR - 2) as f64).abs() < 1e-6);
    let empty = lab.read().usage(period(START + 9, START + 9)).unwrap();
    assert!(empty.cards.is_empty() && empty.gaps.is_empty());
}

/// Trap: "now" is the run that goes on, not an import that ends later.
#[test]
fn import_that_ends_later_is_not_now() {
    let lab = Lab::new();
    record(&mut lab.begin(START), &spans(&card(0), START, &[(HOUR, 0)]), HOUR);
    lab.execute(
        "INSERT INTO run SELECT 99, host, boot, driver, recorder, rule, 1, 0, 0, 0, NULL, started_ms,
             until_ms + 999999, tick_ms, 0, 0, 0, NULL FROM run",
    );
    assert_eq!(lab.read().final_until().unwrap(), Some(UnixMillis(START + HOUR)));
}

/// Trap: absurd figures in a damaged file saturate instead of overflowing.
#[test]
fn damage_is_found_and_does_not_panic() {
    let damages = [
        ("UPDATE card_span SET active_ms = 9223372036854775807", "add up to"),
        ("UPDATE card_span SET length_ms = length_ms + 1", "overlap"),
        (
            "UPDATE holder_span SET active_share_ms = active_share_ms + 100",
            "active shares of card 1",
        ),
        ("UPDATE card_span SET active_ms = -1", "negative"),
        ("UPDATE holder_span SET holder = 77 WHERE holder = 1", "holder 77, which does not exist"),
        ("DELETE FROM card_span", ""),
        (
            "DELETE FROM card_span WHERE from_ms = (SELECT max(from_ms) FROM card_span)",
            "its card has none",
        ),
        ("UPDATE card_hour SET active_ms = active_ms - 1", "not the sum of its fine rows"),
        ("UPDATE holder_hour SET peak_mib = 9223372036854775807", "not the sum of its fine rows"),
        ("UPDATE card_hour SET from_ms = 9223372036854775807", "not the sum of its fine rows"),
    ];
    for (damage, expected) in damages {
        let lab = Lab::new();
        record(&mut lab.begin(START), &spans(&card(0), START, &[(90 * MINUTE, 0)]), HOUR);
        lab.assert_sound();
        lab.execute(damage);
        let findings = lab.read().check().unwrap();
        assert!(
            expected.is_empty() || findings.iter().any(|it| it.detail.contains(expected)),
            "{damage}: {findings:?}"
        );
        lab.read().usage(period(START, START + DAY)).unwrap();
        let mut writer = lab.begin(START + 3 * HOUR);
        record(&mut writer, &spans(&card(0), START + 3 * HOUR, &[(2 * HOUR, 0)]), HOUR);
    }
}

/// A MIG instance of half a GPU, which is re-created with a quarter of it, and what it leaves.
#[test]
fn parts_of_a_gpu_are_cards_of_their_own_by_size() {
    let part = |uuid: &str, slot, part| {
        let instance = InstanceFacts {
            slot,
            gpu_instance: Reading::Unknown(Reason::NotAsked),
            parent_uuid: Reading::Known("GPU-0".into()),
            slices: Slices { part, of: 8 },
        };
        let mut facts = CardFacts::clone(&card(0));
        (facts.uuid, facts.instance) = (Reading::Known(uuid.into()), Some(instance));
        Arc::new(facts)
    };
    let hours = [
        [part("MIG-a", Some(0), 4), part("GPU-0/unpartitioned/4", None, 4)],
        [part("MIG-b", Some(0), 2), part("GPU-0/unpartitioned/6", None, 6)],
    ];
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    for (from, [instance, rest]) in (0..).map(|hour| START + hour * HOUR).zip(hours) {
        let mut all = spans(&instance, from, &[(HOUR, 0)]);
        all.extend(spans(&rest, from, &[(HOUR, 2)]));
        all.sort_by_key(|span| span.period.from);
        record(&mut writer, &all, HOUR);
    }
    let database = lab.read();
    let cards = database.cards().unwrap();
    let found: Vec<_> = cards.values().map(|it| (it.slices.part, it.is_unpartitioned())).collect();
    assert_eq!(found, [(4, false), (4, true), (2, false), (6, true)]);
    let mut sums = [0.0; 2];
    let window = period(START, START + DAY);
    let add = |hours: CardHours| {
        sums[0] += hours.active_ms;
        sums[1] += hours.observed_ms;
    };
    database.card_hours(window, Grain::Hours, add).unwrap();
    // Half of the first hour and a quarter of the second one were active.
    assert_eq!(sums, [0.75 * HOUR as f64, 2.0 * HOUR as f64]);
    lab.assert_sound();
}
