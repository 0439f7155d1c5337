use gua_core::State;
use gua_core::identity::{Job, Source, Told, Who};
use gua_core::span::{Gap, GapReason, HolderId, Integral};
use gua_core::units::{Percent, UnixMillis};
use gua_store::{
    CardSample, Event, ExportError, ExportFormat, ExportTable, Person, ProcessEntry, Retention,
    Tick,
};
use serde_json::Value;

use crate::lab::*;

fn export(lab: &Lab, table: ExportTable, format: ExportFormat, from: i64, to: i64) -> String {
    let mut out = Vec::new();
    lab.read().export(table, period(from, to), format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn objects(lab: &Lab, table: ExportTable) -> Vec<Value> {
    let lines = export(lab, table, ExportFormat::JsonLines, i64::MIN, i64::MAX);
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Records by name of the column.
fn records(lab: &Lab, table: ExportTable) -> Vec<std::collections::HashMap<String, String>> {
    let csv = export(lab, table, ExportFormat::Csv, i64::MIN, i64::MAX);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    reader.deserialize().map(|record| record.unwrap()).collect()
}

#[test]
fn cards_and_holders_have_names_and_units() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let job = Job { id: "=42".into(), step: None };
    let who = Who { job: Some(Told { value: job, source: Source::Cgroup }), ..Who::default() };
    let entry = ProcessEntry {
        program: Some("a,\"b\"\u{1b}".into()),
        person: Person { user: Some("ann".into()), uid: Some(7), source: Some(Source::Uid) },
        workload: Some(std::sync::Arc::new(who)),
        ..ProcessEntry::unread(process(1))
    };
    let span = span(&card(0), START, START + 10_000, State::Active);
    let at = UnixMillis(START + 10_000);
    writer.tick(&Tick { closed: &[span], processes: &[entry], ..Tick::new(at, at) }).unwrap();
    let csv = export(&lab, ExportTable::Cards, ExportFormat::Csv, START, at.0);
    let expected = "row,from,to,length_ms,card_uuid,card_index,mig_slot,slices,slices_of,\
        unknown_reason,active_ms,idle_held_ms,free_ms,unknown_ms,utilization_mean_percent,utilization_unknown_ms,\
        memory_mean_bytes,memory_unknown_ms,active_joules,idle_held_joules,other_joules,\
        energy_unknown_ms,energy_estimated_ms\r\n\
        span,2024-10-04T00:00:00.000Z,2024-10-04T00:00:10.000Z,10000,GPU-0,0,,1,1,,10000,0,0,\
        0,50.0,0,16777216000,0,1000,0,0,0,0\r\n";
    assert_eq!(csv, expected);
    let holders = objects(&lab, ExportTable::Holders);
    let first = &holders[0];
    assert_eq!((&first["user"], &first["uid"]), (&"ann".into(), &7.into()));
    assert_eq!((&first["job"], &first["program"]), (&"=42".into(), &"a,\"b\"\u{1b}".into()));
    assert_eq!((&first["working_ms"], &first["active_share_ms"]), (&10_000.into(), &3333.into()));
    assert_eq!(first["memory_peak_bytes"], 8001_u64 << 20);
    assert_eq!(holders[1]["user"], Value::Null);
    let records = records(&lab, ExportTable::Holders);
    assert_eq!((&records[0]["job"][..], &records[0]["program"][..]), ("'=42", "a,\"b\"?"));
    let keys: Vec<_> = ExportTable::Holders.columns().iter().map(|it| it.name).collect();
    let line = export(&lab, ExportTable::Holders, ExportFormat::JsonLines, START, at.0);
    let places: Vec<_> =
        keys.iter().map(|key| line.find(&format!("\"{key}\":")).unwrap()).collect();
    assert!(places.is_sorted(), "keys are in the order of the columns: {line}");
}

/// Trap: an integral needs the time for which its quantity was known, or unknown becomes zero.
#[test]
fn unknown_is_empty_and_never_zero() {
    let lab = Lab::new();
    let mut unread = span(&card(0), START, START + 10_000, State::IdleHeld);
    (unread.busy, unread.memory, unread.energy) = Default::default();
    unread.holders[0].holder = HolderId::Unlisted;
    for holder in &mut unread.holders {
        (holder.memory, holder.peak, holder.energy) = (Integral::default(), None, 0.0);
    }
    let mut half = span(&card(1), START, START + 10_000, State::IdleHeld);
    half.busy = Integral { sum: 250.0, known_ms: 5000 };
    half.energy = Integral { sum: 250.0, known_ms: 5000 };
    let at = UnixMillis(START + 10_000);
    lab.begin(START).tick(&Tick { closed: &[unread, half], ..Tick::new(at, at) }).unwrap();
    let cards = objects(&lab, ExportTable::Cards);
    for name in
        ["utilization_mean_percent", "memory_mean_bytes", "active_joules", "idle_held_joules"]
    {
        assert_eq!(cards[0][name], Value::Null, "{name}");
    }
    assert_eq!(cards[0]["utilization_unknown_ms"], 10_000);
    assert_eq!(cards[1]["utilization_mean_percent"], 50.0);
    assert_eq!(cards[1]["idle_held_joules"], 250);
    let holders = records(&lab, ExportTable::Holders);
    for name in ["pid", "memory_mean_bytes", "memory_peak_bytes", "idle_held_joules"] {
        assert_eq!(holders[0][name], "", "{name}");
    }
    assert_eq!(
        (&holders[0]["memory_unknown_ms"][..], &holders[0]["active_joules"][..]),
        ("10000", "")
    );
}

/// Each time comes from the finest rows that are kept of it.
#[test]
fn every_time_is_exported_once_whatever_its_age() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    record(&mut writer, &spans(&card(0), START, &[(100_000, 0), (50_000, 1)].repeat(1152)), HOUR);
    let retention = Retention { exact_ms: 12 * HOUR, quarters_ms: DAY, ..Retention::default() };
    writer.prune(&retention, usize::MAX).unwrap();
    let cards = objects(&lab, ExportTable::Cards);
    let rows = |kind| cards.iter().filter(|row| row["row"] == kind).count();
    assert_eq!((rows("hour"), rows("quarter_hour")), (24, 48));
    assert!(rows("span") > 500);
    let sum = |table: &[Value], column: &str| {
        table.iter().map(|row| row[column].as_i64().unwrap()).sum::<i64>()
    };
    assert_eq!(sum(&cards, "length_ms"), 2 * DAY);
    assert_eq!(sum(&cards, "active_ms"), 1152 * 100_000);
    assert_eq!(sum(&objects(&lab, ExportTable::Holders), "active_share_ms"), 1152 * 100_000);
    // Two adjacent windows have the rows of both.
    for table in [ExportTable::Cards, ExportTable::Holders] {
        let part = |from, to| export(&lab, table, ExportFormat::JsonLines, from, to);
        for cut in [START + 7, START + DAY, START + 30 * HOUR, START + 40 * HOUR + 5] {
            let parts = [part(i64::MIN, cut), part(cut, i64::MAX)].concat();
            assert_eq!(parts, part(i64::MIN, i64::MAX));
        }
    }
}

#[test]
fn sessions_gaps_events_and_samples_are_exported() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let at = |millis| UnixMillis(START + millis);
    let gap = Gap { period: period(START + 20_000, START + 30_000), reason: GapReason::Suspended };
    let event = Event { at: at(5), until: None, kind: "test".into(), detail: "A \"test\".".into() };
    let sample = CardSample {
        card: card(0),
        utilization: Some(Percent(49.6)),
        memory: None,
        memory_total: None,
        power: None,
        temperature: None,
    };
    let closed = [span(&card(0), START, START + 20_000, State::IdleHeld)];
    let tick = Tick {
        closed: &closed,
        gaps: &[gap],
        events: &[event],
        samples: &[sample],
        ..Tick::new(at(400_000), at(400_000))
    };
    writer.tick(&tick).unwrap();
    drop(writer);
    let insert = |from, holder, to| {
        lab.execute(&format!(
            "INSERT INTO session VALUES ({from}, {holder}, {to}, 1, 5, 6, 7, 8, NULL)"
        ));
    };
    insert(START, 1, "NULL".to_owned());
    insert(START + 300_000, 2, "NULL".to_owned());
    let next = at(500_000);
    lab.begin(next.0).tick(&Tick::new(next, next)).unwrap();
    let sessions = objects(&lab, ExportTable::Sessions);
    assert_eq!(sessions.len(), 1, "an open session under 5 minutes may never become one");
    let first = &sessions[0];
    assert_eq!((&first["is_open"], &first["is_begin_seen"]), (&true.into(), &true.into()));
    assert_eq!(
        (&first["to"], &first["idle_ms"]),
        (&"2024-10-04T00:08:20.000Z".into(), &499_995.into())
    );
    assert_eq!((&first["pid"], &first["memory_peak_bytes"]), (&1.into(), &Value::Null));
    let gaps = export(&lab, ExportTable::Gaps, ExportFormat::Csv, i64::MIN, i64::MAX);
    let expected = "from,to,length_ms,reason\r\n\
        2024-10-04T00:00:20.000Z,2024-10-04T00:00:30.000Z,10000,suspended\r\n\
        2024-10-04T00:06:40.000Z,2024-10-04T00:08:20.000Z,100000,not_recorded\r\n";
    assert_eq!(gaps, expected);
    let events = export(&lab, ExportTable::Events, ExportFormat::Csv, i64::MIN, i64::MAX);
    assert_eq!(
        events,
        "at,until,kind,detail\r\n2024-10-04T00:00:00.005Z,,test,\"A \"\"test\"\".\"\r\n"
    );
    let samples = export(&lab, ExportTable::Samples, ExportFormat::JsonLines, i64::MIN, i64::MAX);
    let expected = "{\"at\":\"2024-10-04T00:06:40.000Z\",\"card_uuid\":\"GPU-0\",\"card_index\":0,\
        \"mig_slot\":null,\"utilization_percent\":50,\"memory_used_bytes\":null,\"power_watts\":null,\
        \"temperature_celsius\":null}\n";
    assert_eq!(samples, expected);
}

#[test]
fn reader_that_goes_away_is_told_apart() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let lab = Lab::new();
    record(&mut lab.begin(START), &spans(&card(0), START, &[(2 * DAY, 0)]), DAY);
    for format in [ExportFormat::Csv, ExportFormat::JsonLines] {
        let window = period(i64::MIN, i64::MAX);
        let error = lab.read().export(ExportTable::Holders, window, format, Closed).unwrap_err();
        let ExportError::Output(error) = error else { panic!("{error}") };
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    }
}

/// Trap: absurd figures in a damaged file saturate instead of overflowing.
#[test]
fn damaged_rows_are_exported() {
    let lab = Lab::new();
    record(&mut lab.begin(START), &spans(&card(0), START, &[(HOUR, 1)]), HOUR);
    lab.execute(
        "UPDATE card_span SET length_ms = 9223372036854775807, memory = 9223372036854775807,
             active_ms = 9223372036854775807; DELETE FROM holder; DELETE FROM card",
    );
    for table in ExportTable::ALL {
        objects(&lab, table);
        records(&lab, table);
    }
}
