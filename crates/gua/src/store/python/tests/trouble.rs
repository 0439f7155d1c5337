//! Odd files: rows that make no sense, clocks that were set, times in other offsets.

use super::super::{Refused, import};
use super::fixture::{ALWAYS, File, Layout, START, Sums, by_state, card, imported, text};
use crate::store::{StoreError, in_memory};

#[test]
fn rows_that_make_no_sense_are_counted() {
    let file = File::new(Layout::Newest);
    file.run(1, 30.0);
    let good = card("GPU-0", 50, &[(7, Some(500), "ann")]);
    file.card(&text(START), Some(1), &good);
    for ts in ["", "yesterday", "2026-11-15T20:00:00"] {
        file.card(ts, Some(1), &card("GPU-0", 50, &[]));
    }
    for percent in [-1, 101] {
        file.card(&text(START), Some(1), &card("GPU-1", percent, &[]));
    }
    file.card(&text(START), Some(1), &card("GPU-0", 0, &[]));
    file.database
        .execute_batch(&format!(
            "INSERT INTO gpu_sample (ts, gpu_uuid, util_pct, run_id) VALUES
                 (NULL, 'GPU-0', 5, 1), (5, 'GPU-0', 5, 1), (x'ff', 'GPU-0', 5, 1),
                 ('{ts}', NULL, 5, 1), ('{ts}', 'GPU-2', 'much', 1), ('{ts}', 'GPU-2', 5, 'one');
             INSERT INTO proc_sample (ts, gpu_uuid, pid, mem_used_mb, run_id) VALUES
                 ('{ts}', 'GPU-0', -4, 5, 1), ('{ts}', 'GPU-0', 4, -5, 1),
                 ('{ts}', 'GPU-9', 4, 5, 1), ('{ts}', 'GPU-0', 4, 5, NULL),
                 ('2027-01-01T00:00:00Z', 'GPU-0', 4, 5, 1);",
            ts = text(START)
        ))
        .unwrap();
    let (imported, history) = imported(&file.path());
    let expected = Refused { without_time: 6, senseless: 7, twice: 1, without_card: 3 };
    assert_eq!(imported.refused, expected);
    assert_eq!((imported.gpu_rows, imported.process_rows), (1, 1));
    assert_eq!(by_state(&history, ALWAYS), Sums::from([("active", 30_000)]));
    let [event] = &history.events(ALWAYS).unwrap()[..] else { panic!() };
    assert!(event.detail.contains("17 rows made no sense"), "{event:?}");
}

#[test]
fn a_clock_that_was_set_back_and_other_offsets_change_no_count() {
    let file = File::new(Layout::Newest);
    file.run(1, 30.0);
    file.run(2, 30.0);
    for tick in 0..3 {
        file.tick(START + tick * 30_000, Some(1), &[card("GPU-0", 50, &[(7, Some(500), "ann")])]);
    }
    for tick in 0..3 {
        let at = START - 15_000 + tick * 30_000;
        file.tick(at, Some(2), &[card("GPU-0", 0, &[(8, Some(500), "bob")])]);
    }
    // The same moments as two of the above, and an hour later.
    file.card("2026-11-16T05:00:00+09:00", Some(1), &card("GPU-1", 50, &[]));
    file.card("2026-11-15T20:00:00Z", Some(2), &card("GPU-1", 50, &[]));
    file.card("2026-11-15 16:00:00.25-05:00", Some(2), &card("GPU-1", 50, &[]));
    let (imported, history) = imported(&file.path());
    let expected = Sums::from([("active", 180_000), ("idle-held", 90_000)]);
    assert_eq!(by_state(&history, ALWAYS), expected);
    assert_eq!((imported.ticks, imported.runs, imported.refused.all()), (9, 2, 0));
}

#[test]
fn an_interval_that_makes_no_sense_is_as_good_as_none() {
    let file = File::new(Layout::Newest);
    for (run, interval) in [(1, 0.0), (2, -5.0), (3, 1e300)] {
        file.run(run, interval);
        file.tick(START + run * 100_000, Some(run), &[card("GPU-0", 50, &[])]);
    }
    let (_, history) = imported(&file.path());
    assert_eq!(by_state(&history, ALWAYS), Sums::from([("active", 90_000)]));
}

/// Whatever page is spoiled, it is told from a fault of the database that is written.
#[test]
fn a_damaged_file_is_refused_and_nothing_of_it_is_kept() {
    let file = File::new(Layout::Oldest);
    file.database.execute_batch("BEGIN").unwrap();
    for tick in 0..500 {
        file.tick(START + tick * 30_000, None, &[card("GPU-0", 0, &[(7, Some(500), "ann")])]);
    }
    file.database.execute_batch("COMMIT").unwrap();
    let whole = std::fs::read(file.path()).unwrap();
    let damaged = file.dir.path().join("damaged.db");
    let mut refused = 0;
    for page in 1..whole.len() / 4096 {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0x5a);
        std::fs::write(&damaged, bytes).unwrap();
        let mut database = in_memory().unwrap();
        match import(&damaged, &mut database, &mut |_| ()) {
            // A page of an index is not read.
            Ok(imported) => assert_eq!((imported.gpu_rows, imported.process_rows), (500, 500)),
            Err(StoreError::Source(error)) => {
                assert!(matches!(*error, StoreError::Damaged(_)), "{error}");
                let runs: i64 =
                    database.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
                assert_eq!(runs, 0);
                refused += 1;
            }
            Err(error) => panic!("page {page}: {error}"),
        }
    }
    assert!(refused > 5, "{refused}");
}

#[test]
fn an_empty_file_brings_nothing() {
    let (imported, history) = imported(&File::new(Layout::Newest).path());
    assert_eq!((imported.extent, imported.runs, history.runs().len()), (None, 0, 0));
}

#[test]
fn time_that_is_recorded_is_not_imported_again() {
    let file = File::new(Layout::Newest);
    file.tick(START, None, &[card("GPU-0", 50, &[])]);
    let mut database = in_memory().unwrap();
    import(&file.path(), &mut database, &mut |_| ()).unwrap();
    let again = import(&file.path(), &mut database, &mut |_| ()).unwrap_err();
    assert!(matches!(again, StoreError::Overlap(_)), "{again}");
    assert!(again.to_string().contains("2026-11-15T19:59:30Z"), "{again}");
    let runs: i64 = database.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
    assert_eq!(runs, 1);
}
