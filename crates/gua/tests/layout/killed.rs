//! A kill at any moment leaves the old file or the new one, each whole, and the next attempt
//! finishes.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Instant;

use gua::store::{Ending, SCHEMA_VERSION};

use super::{layout, names, prune, to_layout_1, told};
use crate::machine::run;
use crate::report::record::{Recording, lab};
use crate::report::{DAY, Histories, SATURDAY};

const KILLS: u32 = 20;

/// Long enough that there is something to interrupt.
fn two_weeks() -> Histories {
    let histories = Histories::new();
    let mut recording = Recording::begin(&histories.path(), SATURDAY, 60_000);
    recording.until(SATURDAY + 14 * DAY, 10, lab);
    recording.end(Ending::Stopped);
    to_layout_1(&histories.path());
    histories
}

#[test]
fn it_is_the_old_one_or_the_new_one() {
    let histories = two_weeks();
    let (path, old) = (histories.path(), fs::read(histories.path()).unwrap());
    let expected = told(&path);
    let begun = Instant::now();
    assert_eq!(run(prune(&path)).code, Some(0));
    let whole = begun.elapsed();
    let (mut kept_old, mut half_copies) = (0, 0);
    for kill in 0..KILLS {
        fs::remove_dir_all(histories.dir()).unwrap();
        fs::create_dir(histories.dir()).unwrap();
        fs::write(&path, &old).unwrap();
        let mut child = prune(&path).stdout(Stdio::null()).spawn().unwrap();
        thread::sleep(whole * kill / KILLS);
        child.kill().unwrap();
        child.wait().unwrap();
        let left = names(histories.dir());
        half_copies += u32::from(left.iter().any(|name| name == "gua.db.copying"));
        let copies: Vec<_> = left.iter().filter(|name| name.starts_with("gua-layout-1")).collect();
        match layout(&path) {
            1 => kept_old += 1,
            SCHEMA_VERSION => assert_eq!(copies, ["gua-layout-1.db"], "{kill}"),
            other => panic!("{kill}: layout {other}"),
        }
        for copy in copies {
            assert_eq!(told(&histories.dir().join(copy)), expected, "{kill}: {copy}");
        }
        assert_eq!(told(&path), expected, "{kill}");
        assert_eq!(run(prune(&path)).code, Some(0), "{kill}");
        assert_eq!((layout(&path), told(&path)), (SCHEMA_VERSION, expected.clone()), "{kill}");
        let left = names(histories.dir());
        assert!(!left.contains(&"gua.db.copying".to_owned()), "{kill}: {left:?}");
    }
    assert!(kept_old > 0 && half_copies > 0, "{kept_old}, {half_copies} in {whole:?}");
}
