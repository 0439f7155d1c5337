//! Odd files: unusable rows, clocks that were set back, offsets, damage.

use gua_store::Problem;
use gua_store::python::{StateTimes, Unusable, import_to, open_converted};

use crate::python_file::{Layout, PythonFile, START, always, card, text, times};

#[test]
fn unusable_rows_are_counted() {
    let file = PythonFile::new(Layout::Newest);
    file.add_run(1, 30.0);
    file.add_card(&text(START), Some(1), &card("GPU-0", 50, &[(7, Some(500), "ann")]));
    for ts in ["", "yesterday", "2026-11-15T20:00:00"] {
        file.add_card(ts, Some(1), &card("GPU-0", 50, &[]));
    }
    for percent in [-1, 101] {
        file.add_card(&text(START), Some(1), &card("GPU-1", percent, &[]));
    }
    file.add_card(&text(START), Some(1), &card("GPU-0", 0, &[]));
    file.execute(&format!(
        "INSERT INTO gpu_sample (ts, gpu_uuid, util_pct, run_id) VALUES
             (NULL, 'GPU-0', 5, 1), (5, 'GPU-0', 5, 1), (x'ff', 'GPU-0', 5, 1),
             ('{ts}', NULL, 5, 1), ('{ts}', 'GPU-2', 'much', 1), ('{ts}', 'GPU-2', 5, 'one');
         INSERT INTO proc_sample (ts, gpu_uuid, pid, mem_used_mb, run_id) VALUES
             ('{ts}', 'GPU-0', -4, 5, 1), ('{ts}', 'GPU-0', 4, -5, 1), ('{ts}', 'GPU-9', 4, 5, 1),
             ('2026-11-15T21:00:00Z', 'GPU-0', 4, 5, 1), ('{ts}', 'GPU-0', 4, 5, NULL);",
        ts = text(START)
    ));
    let import = file.import();
    let expected = Unusable { without_time: 6, absurd: 7, twice: 1, without_card: 3 };
    assert_eq!(import.imported.unusable, expected);
    assert_eq!((import.imported.card_rows, import.imported.process_rows), (1, 1));
    assert_eq!(times(&import.database(), always()), [30_000.0, 0.0, 0.0, 0.0]);
    let events = import.database().events(always()).unwrap();
    assert_eq!(events.len(), 1);
    assert!(events[0].detail.contains("17 rows could not be used"), "{events:?}");
}

#[test]
fn clock_set_back_and_other_offsets_change_no_sum() {
    let file = PythonFile::new(Layout::Newest);
    file.add_run(1, 30.0);
    file.add_run(2, 30.0);
    for tick in 0..3 {
        let at = START + tick * 30_000;
        file.add_tick(at, Some(1), &[card("GPU-0", 50, &[(7, Some(500), "ann")])]);
    }
    for tick in 0..3 {
        let at = START - 15_000 + tick * 30_000;
        file.add_tick(at, Some(2), &[card("GPU-0", 0, &[(8, Some(500), "bob")])]);
    }
    // The times of two of the above, and an hour later.
    file.add_card("2026-11-16T05:00:00+09:00", Some(1), &card("GPU-1", 50, &[]));
    file.add_card("2026-11-15T20:00:00Z", Some(2), &card("GPU-1", 50, &[]));
    file.add_card("2026-11-15 16:00:00.25-05:00", Some(2), &card("GPU-1", 50, &[]));
    let import = file.import();
    let expected = [180_000.0, 90_000.0, 0.0, 0.0];
    assert_eq!(times(&import.database(), always()), expected);
    let imported = import.imported;
    assert_eq!((imported.ticks, imported.runs, imported.unusable.total()), (9, 2, 0));
    assert_eq!(import.database().check().unwrap(), []);
    let converted = open_converted(&file.path(), always(), None).unwrap();
    assert_eq!(times(&converted, always()), expected);
}

#[test]
fn absurd_interval_is_like_none() {
    let file = PythonFile::new(Layout::Newest);
    for (run, interval) in [(1, 0.0), (2, -5.0), (3, 1e300)] {
        file.add_run(run, interval);
        file.add_tick(START + run * 100_000, Some(run), &[card("GPU-0", 50, &[])]);
    }
    assert_eq!(times(&file.import().database(), always()), [90_000.0, 0.0, 0.0, 0.0]);
}

#[test]
fn unread_utilization_is_unknown() {
    let file = PythonFile::new(Layout::Oldest);
    file.add_tick(START, None, &[card("GPU-0", 50, &[(7, Some(500), "ann")])]);
    file.execute("UPDATE gpu_sample SET util_pct = NULL");
    let import = file.import();
    assert_eq!(times(&import.database(), always()), [0.0, 0.0, 0.0, 30_000.0]);
    assert_eq!(import.number("SELECT reason != 0 AND busy_unknown_ms = 30000 FROM card_span"), 1);
    assert_eq!(import.number("SELECT unknown_ms + unknown_share_ms FROM holder_span"), 60_000);
}

/// Trap: import of a Python gua: whatever page is damaged, the file that is read is named, and nothing of
/// it is kept.
#[test]
fn damaged_file_is_refused() {
    let file = PythonFile::new(Layout::Oldest);
    file.execute("BEGIN");
    for tick in 0..300 {
        let cards = [card("GPU-0", 0, &[(7, Some(500), "ann")])];
        file.add_tick(START + tick * 30_000, None, &cards);
    }
    file.execute("COMMIT");
    let whole = std::fs::read(file.path()).unwrap();
    let damaged = file.dir.path().join("damaged.db");
    let path = file.dir.path().join("gua.db");
    let mut refused = 0;
    for page in 1..whole.len() / 4096 {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0x5a);
        std::fs::write(&damaged, bytes).unwrap();
        match import_to(&damaged, &path, &mut |_| ()) {
            // Pages of indexes are not read.
            Ok(imported) => {
                assert_eq!((imported.card_rows, imported.process_rows), (300, 300), "page {page}");
                std::fs::remove_file(&path).unwrap();
            }
            Err(error) => {
                assert!(matches!(error.problem, Problem::Damaged(_)), "{error}");
                assert_eq!(error.path, damaged);
                assert!(!path.exists());
                refused += 1;
            }
        }
    }
    assert!(refused > 3, "{refused}");
}

#[test]
fn empty_file_brings_nothing() {
    let import = PythonFile::new(Layout::Newest).import();
    let imported = import.imported;
    assert_eq!((imported.period, imported.runs), (None, 0));
    assert_eq!(imported.times, StateTimes::default());
    assert_eq!(import.number("SELECT count(*) FROM run"), 0);
}

/// Rows of imports may have other times than their lengths, but not any figures.
#[test]
fn check_finds_damage_in_imported_rows() {
    let file = PythonFile::new(Layout::Newest);
    file.add_run(1, 90.0);
    for tick in 0..80 {
        let cards = [card("GPU-0", tick % 20, &[(7, Some(500), "ann"), (8, Some(50), "bob")])];
        file.add_tick(START + tick * 60_000 + 5, Some(1), &cards);
    }
    for damage in [
        "UPDATE card_span SET active_ms = active_ms + 1 WHERE active_ms > 0",
        "UPDATE holder_span SET unused_share_ms = unused_share_ms - 1 WHERE unused_share_ms > 0",
        "UPDATE holder_span SET working_ms = working_ms + 1000 WHERE working_ms > 0",
        "UPDATE card_span SET length_ms = length_ms + 1",
        "UPDATE card_hour SET idle_held_ms = idle_held_ms + 1",
        "DELETE FROM holder_span WHERE from_ms = (SELECT min(from_ms) FROM holder_span)",
        "UPDATE card_span SET busy = -busy",
        "UPDATE card_span SET idle_held_ms = 0 WHERE idle_held_ms > 0",
    ] {
        let import = file.import();
        assert_eq!(import.database().check().unwrap(), []);
        rusqlite::Connection::open(&import.path).unwrap().execute_batch(damage).unwrap();
        assert_ne!(import.database().check().unwrap(), [], "{damage}");
    }
}
