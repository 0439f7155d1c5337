//! Totals of counters, and the outbox.

use gua_core::units::UnixMillis;
use gua_store::{Problem, StoredTotal, Tick, TickTransaction, Writer};

use crate::lab::{Lab, MINUTE, START};

fn total(counter: i64, label: &str, value: i64) -> StoredTotal {
    let changed = UnixMillis(START);
    StoredTotal {
        counter,
        card: "GPU-1".into(),
        label: label.into(),
        value,
        exported: value + 1,
        changed,
    }
}

fn write(
    writer: &mut Writer,
    write: impl FnOnce(&mut TickTransaction<'_>) -> Result<(), Problem>,
) -> bool {
    let at = UnixMillis(START + MINUTE);
    writer.tick_with(&Tick::new(at, at), write).is_ok()
}

#[test]
fn totals_are_replaced_and_removed() {
    let lab = Lab::new();
    assert_eq!(lab.read().counting_since().unwrap(), None);
    let mut writer = lab.begin(START);
    assert!(write(&mut writer, |tick| {
        assert_eq!(tick.counting_since()?, Some(UnixMillis(START)));
        tick.write_total(&total(1, "ann", 5))?;
        tick.write_total(&total(1, "ben", 6))?;
        tick.write_total(&total(1, "ann", 7))
    }));
    assert_eq!(lab.read().totals().unwrap(), [total(1, "ann", 7), total(1, "ben", 6)]);
    assert!(write(&mut writer, |tick| tick.remove_total(1, "GPU-1", "ann")));
    assert_eq!(lab.read().totals().unwrap(), [total(1, "ben", 6)]);
    assert_eq!(lab.number("SELECT count(*) FROM label"), 2);
    assert!(write(&mut writer, |tick| tick.write_total(&total(1, "ann", 1))));
    assert_eq!(lab.read().totals().unwrap().len(), 2);
}

/// Trap: state in memory advances only after COMMIT; ids of rolled-back rows are forgotten.
#[test]
fn id_of_a_rolled_back_label_is_forgotten() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    assert!(!write(&mut writer, |tick| {
        tick.write_total(&total(1, "ann", 5))?;
        Err(Problem::Missing)
    }));
    assert!(write(&mut writer, |tick| tick.write_total(&total(2, "ann", 6))));
    assert_eq!(lab.read().totals().unwrap(), [total(2, "ann", 6)]);
}

#[test]
fn outbox_is_read_in_order_and_bounded() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let at = |place: i64| UnixMillis(START + place * MINUTE);
    assert!(write(&mut writer, |tick| (0..5).try_for_each(|it| tick.add_push(at(it), &[7; 10]))));
    let ids = |after, bytes| -> Vec<i64> {
        lab.read().pushes(after, bytes).unwrap().into_iter().map(|push| push.id).collect()
    };
    assert_eq!((ids(0, 25), ids(2, 1000), ids(2, 1)), (vec![1, 2], vec![3, 4, 5], vec![3]));
    assert_eq!(lab.read().push_bytes().unwrap(), 50);
    assert!(write(&mut writer, |tick| {
        let dropped = tick.drop_oldest_pushes(at(1), 15)?;
        assert_eq!((dropped.rows, dropped.bytes), (2, 20));
        let dropped = tick.drop_pushes(5)?;
        assert_eq!((dropped.rows, dropped.bytes), (3, 30));
        tick.add_push(at(0), &[1])
    }));
    assert_eq!(ids(0, 9), [6], "ids are not used again");
}
