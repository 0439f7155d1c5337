use gua_core::units::UnixMillis;
use gua_store::{Event, Tick};

use crate::lab::*;

#[test]
fn info_has_size_rows_and_oldest_and_newest_of_each_kind() {
    let lab = Lab::new();
    let empty = lab.read().info().unwrap();
    assert_eq!((empty.schema_version, empty.rows["run"], empty.log_bytes), (11, 0, 0));
    assert!(empty.kept.is_empty() && empty.hosts.is_empty());
    let mut writer = lab.begin(START);
    record(&mut writer, &spans(&card(0), START, &[(2 * HOUR, 0)]), HOUR);
    let at = UnixMillis(START + 2 * HOUR);
    let event = Event { at, until: None, kind: "test".into(), detail: "A test.".into() };
    writer.tick(&Tick { events: &[event], ..Tick::new(at, at) }).unwrap();
    let info = lab.read().info().unwrap();
    assert_eq!(info.file_bytes, std::fs::metadata(lab.path()).unwrap().len());
    assert!(info.log_bytes > 0, "the log is not in the file yet");
    assert_eq!(info.hosts, ["lab"]);
    let kept: Vec<_> = info.kept.iter().map(|it| (it.kind, it.oldest_ms, it.newest_ms)).collect();
    let expected = [
        ("hours", START, START + HOUR),
        ("exact", START, START + 105 * MINUTE),
        ("events", at.0, at.0),
    ];
    assert_eq!(kept, expected);
    assert_eq!((info.rows["card_span"], info.rows["holder_span"], info.rows["gap"]), (8, 16, 0));
}
