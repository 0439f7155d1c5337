//! Every version's file is read, and what it does not have is not known.

use super::fixture::{ALWAYS, File, Layout, START, Sums, by_state, card, imported, word};
use crate::store::RunRow;

#[test]
fn the_oldest_has_no_runs_and_counts_30_s_a_tick() {
    let file = File::new(Layout::Oldest);
    for tick in 0..4 {
        let held = card("GPU-1", 2, &[(7, Some(101), "ann")]);
        file.tick(START + tick * 30_000, None, &[card("GPU-0", 80, &[]), held]);
    }
    let (imported, history) = imported(&file.path());
    assert_eq!(
        by_state(&history, ALWAYS),
        Sums::from([("active", 120_000), ("idle-held", 120_000)])
    );
    assert_eq!((imported.gpu_rows, imported.process_rows, imported.ticks), (8, 4, 4));
    assert_eq!((imported.cards, imported.runs, imported.refused.all()), (2, 1, 0));
    let [run] = history.runs() else { panic!("{:?}", history.runs()) };
    let RunRow { host, driver, recorder, interval_millis, .. } = run;
    assert_eq!((host.as_str(), driver.as_deref()), ("lab", Some("560.35.05")));
    assert_eq!((recorder.as_str(), *interval_millis), ("gpu-usage-audit (Python)", None));
    assert!(run.is_imported());
    let cards = history.cards().unwrap();
    assert_eq!((cards[0].number, cards[1].number), (0, 1));
    assert_eq!((&cards[0].name, cards[0].memory_bytes), (&None, None));
}

#[test]
fn runs_have_their_intervals_and_cards_their_names() {
    let file = File::new(Layout::Middle);
    file.run(1, 10.0);
    file.run(2, 0.5);
    file.tick(START, Some(1), &[card("GPU-0", 80, &[])]);
    file.tick(START + 10_000, Some(1), &[card("GPU-0", 80, &[])]);
    file.tick(START + 60_000, Some(2), &[card("GPU-0", 0, &[])]);
    file.tick(START + 90_000, Some(9), &[card("GPU-0", 0, &[])]);
    file.database.execute_batch("UPDATE gpu_sample SET gpu_index = 5").unwrap();
    let (_, history) = imported(&file.path());
    let expected = Sums::from([("active", 20_000), ("truly-idle", 30_500)]);
    assert_eq!(by_state(&history, ALWAYS), expected);
    let intervals: Vec<_> = history.runs().iter().map(|run| run.interval_millis).collect();
    assert_eq!(intervals, [Some(10_000), Some(500), None]);
    let card = &history.cards().unwrap()[0];
    assert_eq!((card.name.as_deref(), card.number), (Some("NVIDIA A100"), 5));
    assert_eq!(card.memory_bytes, Some(80 << 30));
}

/// The owner of a process stands in where nobody has logged in.
#[test]
fn the_newest_tells_owners_and_kinds() {
    let file = File::new(Layout::Newest);
    file.run(1, 30.0);
    let held = [(7, Some(90), "ann"), (7, Some(20), "ann"), (8, Some(20), "")];
    file.tick(START, Some(1), &[card("GPU-0", 0, &held)]);
    file.database
        .execute_batch(
            "UPDATE proc_sample SET owner_user = 'root' WHERE pid = 8;
             UPDATE proc_sample SET process_type = 'graphics' WHERE mem_used_mb = 90;
             UPDATE gpu_sample SET memory_used_mb = 9000, power_w = 72, usage_state = 'idle';",
        )
        .unwrap();
    let (_, history) = imported(&file.path());
    let identities = history.identities().unwrap();
    let mut owners = Vec::new();
    history
        .owner_spans(ALWAYS, |span| {
            let user = identities[&span.key.identity].user.clone().unwrap();
            owners.push((user, word(span.state)));
        })
        .unwrap();
    owners.sort();
    assert_eq!(owners, [("ann".into(), "idle-held"), ("root".into(), "truly-idle")]);
}

/// The evidence says what the judgement does not.
#[test]
fn what_was_hidden_is_kept_beside_the_judgement() {
    use rusqlite::Connection;
    let file = File::new(Layout::Newest);
    file.run(1, 30.0);
    file.tick(START, Some(1), &[card("GPU-0", 0, &[(7, None, "ann")]), card("GPU-1", 0, &[])]);
    file.database
        .execute_batch("UPDATE gpu_sample SET memory_used_mb = 700, usage_state = 'idle'")
        .unwrap();
    let path = file.dir.path().join("ours.db");
    super::super::import_to(&file.path(), &path, &mut |_| ()).unwrap();
    let samples: Vec<(i64, Option<i64>, Option<i64>)> = Connection::open(path)
        .unwrap()
        .prepare("SELECT state, hidden_why, unseen_kib FROM sample ORDER BY card")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(samples, [(2, Some(17), Some(0)), (2, None, None)]);
}

/// What a process did is what its card did, so that is told by the card's spans and not again by
/// spans of its own: a report reads far fewer.
#[test]
fn a_process_has_one_span_while_its_card_comes_and_goes() {
    let file = File::new(Layout::Oldest);
    for tick in 0..6 {
        let busy = if tick % 2 == 0 { 80 } else { 0 };
        let held = [(7, Some(5_000), "ann"), (8, Some(20), "bob"), (9, None, "cy")];
        // All within an hour: every hour begins new spans.
        file.tick(START + 60_000 + tick * 30_000, None, &[card("GPU-0", busy, &held)]);
    }
    let (_, history) = imported(&file.path());
    let count = "SELECT count(*) FROM holder_span";
    let spans: i64 = history.connection().query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(spans, 3);
    let mut told = Vec::new();
    history
        .pieces(ALWAYS, |piece| {
            told.push(piece.holders.iter().map(|held| word(held.state)).collect::<Vec<_>>());
            Ok(())
        })
        .unwrap();
    let busy = ["active"; 3].to_vec();
    let idle = ["idle-held", "truly-idle", "unknown"].to_vec();
    assert_eq!(told, [busy.clone(), idle.clone(), busy.clone(), idle.clone(), busy, idle]);
}
