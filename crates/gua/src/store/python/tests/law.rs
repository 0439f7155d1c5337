//! The law: what is imported counts for what the Python gua's rules make of the rows.

use std::collections::BTreeMap;

use probe::units::UnixMillis;
use proptest::prelude::*;

use super::fixture::{ALWAYS, Card, File, Layout, START, Sums, by_state, imported, word};
use crate::ledger::Period;
use crate::store::python::history;

const INTERVALS: [f64; 4] = [0.5, 10.0, 30.0, 3600.0];

#[derive(Debug, Clone)]
struct Tick {
    at: i64,
    /// 0: none.
    run: i64,
    cards: Vec<Card>,
}

fn cards() -> impl Strategy<Value = Vec<Card>> {
    let user = proptest::option::of(prop_oneof!["ann", "bob"]);
    let mib = proptest::option::weighted(0.8, prop_oneof![0_i64..130, Just(70_000)]);
    let process = (1_u32..4, mib, user);
    let percent = prop_oneof![0_i64..20, Just(100)];
    let card = (percent, proptest::collection::vec(process, 0..3), 0_u8..8);
    proptest::collection::vec(card, 3).prop_map(|cards| {
        let card = |(number, (percent, processes, missing))| {
            let card = Card { uuid: format!("GPU-{number}"), percent: Some(percent), processes };
            (missing != 0).then_some(card)
        };
        cards.into_iter().enumerate().filter_map(card).collect()
    })
}

fn ticks() -> impl Strategy<Value = Vec<Tick>> {
    let step = prop_oneof![Just(0_i64), 1_i64..40_000, Just(30_000), 0_i64..9_000_000];
    proptest::collection::vec((step, 0_i64..5, 0_u8..4, cards()), 1..30).prop_map(|steps| {
        let (mut at, mut run) = (START, 1);
        let tick = |(step, other, change, cards)| {
            at += step;
            run = if change == 0 { other } else { run };
            Tick { at, run, cards }
        };
        steps.into_iter().map(tick).collect()
    })
}

fn file(ticks: &[Tick]) -> File {
    let file = File::new(Layout::Newest);
    for (run, interval) in (1..).zip(INTERVALS) {
        file.run(run, interval);
    }
    file.database.execute_batch("BEGIN").unwrap();
    for tick in ticks {
        file.tick(tick.at, Some(tick.run).filter(|run| *run > 0), &tick.cards);
    }
    file.database.execute_batch("COMMIT").unwrap();
    file
}

/// By (card or user, state): rows of one card, time and run are one sample.
fn expected(ticks: &[Tick]) -> (Sums, BTreeMap<(String, &'static str), i64>) {
    let mut seen = std::collections::BTreeSet::new();
    let mut cards = Sums::new();
    let mut users = BTreeMap::new();
    for tick in ticks {
        let counts = match tick.run {
            1 => 500,
            2 => 10_000,
            4 => 3_600_000,
            _ => 30_000,
        };
        for card in &tick.cards {
            if !seen.insert((tick.at, tick.run, card.uuid.clone())) {
                continue;
            }
            let judge = |mib: i64| match (card.percent.unwrap() >= 10, mib > 100) {
                (true, _) => "active",
                (false, true) => "idle-held",
                (false, false) => "truly-idle",
            };
            let sum = |user: Option<&Option<String>>| {
                let of_user =
                    |p: &&(u32, Option<i64>, Option<String>)| user.is_none_or(|u| *u == p.2);
                card.processes.iter().filter(of_user).map(|p| p.1.unwrap_or(0)).sum::<i64>()
            };
            *cards.entry(judge(sum(None))).or_default() += counts;
            let mut owners: Vec<_> = card.processes.iter().map(|process| &process.2).collect();
            owners.sort();
            owners.dedup();
            for owner in owners {
                let name = owner.clone().unwrap_or("unknown".into());
                *users.entry((name, judge(sum(Some(owner))))).or_default() += counts;
            }
        }
    }
    (cards, users)
}

/// Ticks of one run at one time would be one: the second adds nothing but its processes.
fn without_twins(mut ticks: Vec<Tick>) -> Vec<Tick> {
    let mut seen = std::collections::BTreeSet::new();
    ticks.retain(|tick| seen.insert((tick.at, tick.run)));
    ticks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn counts_are_those_of_the_python_rules(ticks in ticks()) {
        let ticks = without_twins(ticks);
        let file = file(&ticks);
        let (imported, history) = imported(&file.path());
        let (cards, users) = expected(&ticks);
        prop_assert_eq!(by_state(&history, ALWAYS), cards);
        let names = history.identities().unwrap();
        let mut found = BTreeMap::new();
        history.owner_spans(ALWAYS, |span| {
            let user = names[&span.key.identity].user.as_deref().unwrap_or("unknown").to_owned();
            *found.entry((user, word(span.state))).or_default() += span.counts;
        }).unwrap();
        prop_assert_eq!(found, users);
        prop_assert_eq!(imported.refused.all(), 0);
    }

    #[test]
    fn spans_do_not_overlap_and_windows_add_up(ticks in ticks(), cut in 0_i64..20_000_000) {
        let file = file(&without_twins(ticks));
        let (imported, history) = imported(&file.path());
        let Some(extent) = imported.extent else { return Ok(()) };
        let mut last = UnixMillis(i64::MIN);
        for span in history.observed(ALWAYS).unwrap() {
            prop_assert!(last <= span.period.from, "{span:?}");
            last = span.period.to;
        }
        let cut = UnixMillis(extent.from.0 + cut);
        let whole: i64 = by_state(&history, ALWAYS).values().sum();
        let parts = [Period::new(ALWAYS.from, cut), Period::new(cut, ALWAYS.to)];
        let parts: i64 = parts.iter().flat_map(|part| by_state(&history, *part)).map(|(_, counts)| counts).sum();
        // A span that is cut loses less than a millisecond, and only one of each card is.
        prop_assert!((whole - parts).abs() <= 6, "{whole} {parts}");
    }

    /// A part of the file that is read as it is tells the same of its window.
    #[test]
    fn a_window_of_the_file_is_the_window_of_the_import(
        ticks in ticks(),
        from in -1_000_000_i64..20_000_000,
        length in 1_i64..20_000_000,
    ) {
        let file = file(&without_twins(ticks));
        let window = Period::new(UnixMillis(START + from), UnixMillis(START + from + length));
        let (_, whole) = imported(&file.path());
        let part = history(&file.path(), window, false).unwrap();
        prop_assert_eq!(by_state(&part, window), by_state(&whole, window));
    }
}
