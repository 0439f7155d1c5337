//! Files of all versions are read. What one does not have is unknown.

use gua_store::python::{RECORDER, RULE};

use crate::python_file::{Layout, PythonFile, START, always, card, times};

/// Trap: import of a Python gua: any column or table that a later version added may be missing.
#[test]
fn import_reads_files_without_any_column_of_later_versions() {
    let mut changes: Vec<String> =
        ["daemon_run", "gpu_device"].iter().map(|table| format!("DROP TABLE {table}")).collect();
    let columns = [
        ("gpu_sample", ["run_id", "usage_state", "gpu_index", "memory_used_mb", "temperature_c"]),
        ("proc_sample", ["run_id", "owner_user", "gpu_index", "process_name", "process_type"]),
        ("gpu_sample", ["power_w"; 5]),
    ];
    for (table, columns) in columns {
        changes.extend(columns.map(|column| format!("ALTER TABLE {table} DROP COLUMN {column}")));
    }
    changes.dedup();
    for change in changes {
        let file = PythonFile::new(Layout::Newest);
        file.execute("ALTER TABLE proc_sample ADD COLUMN gpu_index INTEGER");
        file.add_run(1, 30.0);
        for tick in 0..4 {
            let held = card("GPU-1", 2, &[(7, Some(101), "ann")]);
            let cards = [card("GPU-0", 80, &[]), held];
            file.add_tick(START + tick * 30_000, Some(1), &cards);
        }
        file.execute(&change);
        let import = file.import();
        let found = times(&import.database(), always());
        assert_eq!(found, [120_000.0, 120_000.0, 0.0, 0.0], "{change}");
        assert_eq!(import.imported.unusable.total(), 0, "{change}");
        assert_eq!(import.database().check().unwrap(), [], "{change}");
    }
}

#[test]
fn oldest_file_has_no_runs_and_counts_30_s_per_tick() {
    let file = PythonFile::new(Layout::Oldest);
    for tick in 0..4 {
        let held = card("GPU-1", 2, &[(7, Some(101), "ann")]);
        file.add_tick(START + tick * 30_000, None, &[card("GPU-0", 80, &[]), held]);
    }
    let import = file.import();
    let database = import.database();
    assert_eq!(times(&database, always()), [120_000.0, 120_000.0, 0.0, 0.0]);
    let imported = import.imported;
    assert_eq!((imported.card_rows, imported.process_rows, imported.ticks), (8, 4, 4));
    assert_eq!((imported.cards, imported.runs, imported.unusable.total()), (2, 1, 0));
    assert_eq!(imported.period.unwrap().from.0, START - 30_000);
    let runs = database.runs().unwrap();
    let [stored] = &runs[..] else { panic!("{runs:?}") };
    assert!(stored.is_imported);
    let run = &stored.run;
    assert_eq!((run.host.as_str(), run.driver.as_deref()), ("lab", Some("560.35.05")));
    assert_eq!((run.recorder.as_str(), run.rule.as_str()), (RECORDER, RULE));
    assert_eq!(run.interval_ms, None);
    let cards: Vec<_> = database.cards().unwrap().into_values().collect();
    assert_eq!((cards[0].index, cards[1].index), (0, 1));
    assert_eq!((&cards[0].name, cards[0].memory_mib), (&None, None));
    assert_eq!(import.number("SELECT sum(energy_unknown_ms) FROM card_span"), 240_000);
    assert_eq!(import.number("SELECT sum(memory_unknown_ms) FROM card_span"), 240_000);
}

#[test]
fn runs_have_intervals_and_cards_have_names() {
    let file = PythonFile::new(Layout::Middle);
    file.add_run(1, 10.0);
    file.add_run(2, 0.5);
    for (at, run, percent) in [(0, 1, 80), (10_000, 1, 80), (60_000, 2, 0), (90_000, 9, 0)] {
        file.add_tick(START + at, Some(run), &[card("GPU-0", percent, &[])]);
    }
    file.execute("UPDATE gpu_sample SET gpu_index = 5");
    let database = file.import().database();
    assert_eq!(times(&database, always()), [20_000.0, 0.0, 30_500.0, 0.0]);
    let intervals: Vec<_> =
        database.runs().unwrap().iter().map(|run| run.run.interval_ms).collect();
    assert_eq!(intervals, [Some(10_000), Some(500), None]);
    let card = &database.cards().unwrap()[&1];
    assert_eq!((card.name.as_deref(), card.index), (Some("NVIDIA A100"), 5));
    assert_eq!(card.memory_mib, Some(81_920));
}

/// A process that is listed twice counts twice for the state, as there, and is one holder.
#[test]
fn newest_file_has_owners_kinds_and_sensors() {
    let file = PythonFile::new(Layout::Newest);
    file.add_run(1, 30.0);
    let processes = [(7, Some(90), "ann"), (7, Some(20), "ann"), (8, Some(20), "")];
    file.add_tick(START, Some(1), &[card("GPU-0", 0, &processes)]);
    file.execute(
        "UPDATE proc_sample SET owner_user = 'root' WHERE pid = 8;
         UPDATE proc_sample SET process_type = 'graphics' WHERE mem_used_mb = 90;
         UPDATE gpu_sample SET memory_used_mb = 900, power_w = 72, temperature_c = 31;",
    );
    let import = file.import();
    let database = import.database();
    assert_eq!(times(&database, always()), [0.0, 30_000.0, 0.0, 0.0]);
    let holders = database.usage(always()).unwrap().holders;
    let found: Vec<_> = holders
        .iter()
        .map(|(id, sums)| {
            let holder = database.holder(*id).unwrap().unwrap();
            let user = holder.process.unwrap().person.user.unwrap();
            let kinds = (holder.kinds.compute, holder.kinds.graphics);
            (user.to_string(), kinds, sums.peak_mib)
        })
        .collect();
    assert_eq!(found, [("ann".into(), (true, true), 90), ("root".into(), (true, false), 20)]);
    let sample = "SELECT utilization + memory_mib + power_w + temperature_c FROM sample";
    assert_eq!(import.number(sample), 900 + 72 + 31);
}

/// When a process started is unknown: another program with its pid is another process.
#[test]
fn processes_with_one_pid_are_told_apart_by_their_programs() {
    let file = PythonFile::new(Layout::Newest);
    file.add_run(1, 30.0);
    for (tick, program) in ["python", "train.py", "python"].iter().enumerate() {
        let at = START + i64::try_from(tick).unwrap() * 30_000;
        file.add_tick(at, Some(1), &[card("GPU-0", 0, &[(7, Some(5000), "ann")])]);
        file.execute(&format!(
            "UPDATE proc_sample SET process_name = '{program}' WHERE process_name IS NULL"
        ));
    }
    let import = file.import();
    assert_eq!(import.number("SELECT count(*) FROM process WHERE start_ticks < 0"), 2);
    let holders = import.database().usage(always()).unwrap().holders;
    let times: Vec<_> = holders.values().map(|holder| holder.times.unused_share_ms).collect();
    assert_eq!(times, [60_000.0, 30_000.0]);
}
