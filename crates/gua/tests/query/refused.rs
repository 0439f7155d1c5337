//! What `gua query` refuses before anything is read.

use std::fs;

use crate::machine::Machine;

/// A driver that cannot be opened: who gets past the refusals fails with 1.
const NO_DRIVER: &str = "[[card]]\n[[fault]]\ncall = \"nvmlInit*\"\ncode = \"UNKNOWN\"\n";

#[test]
fn wrong_usage_ends_with_two_before_the_driver_is_asked() {
    let machine = Machine::new(NO_DRIVER);
    let wrong: &[&[&str]] = &[
        &["--fields", ""],
        &["--fields", "frobnicate"],
        &["--fields", "index,,name"],
        &["--fields", "pid"],
        &["--apps", "--fields", "pstate"],
        &["--fields", "index", "--query-gpu=name"],
        &["--query-gpu=index", "--query-compute-apps=pid"],
        &["--preset", "dmon", "--fields", "index"],
        &["--preset", "pmon", "--apps"],
        &["--preset", "xmon"],
        &["-l", "0"],
        &["-l", "-1"],
        &["-l", "soon"],
        &["-l", "1", "--every", "1s"],
        &["-l", "1", "-lms", "100"],
        &["-lms", "0"],
        &["--every", "1ms"],
        &["--every", "2d"],
        &["-n", "0"],
        &["-n", "3", "--for", "1s"],
        &["--for", "0s"],
        &["--append"],
        &["--rotate", "1MB"],
        &["--keep", "3"],
        &["-o", "x", "--keep", "3"],
        &["-o", "x", "--rotate", "1"],
        &["-o", "x", "--rotate", "10B"],
        &["-o", "x", "--rotate", "1MB", "--keep", "0"],
        &["-o", "/nowhere/at/all"],
        &["-o", "/"],
        &["--format", "xml"],
        &["--format", "csv,json"],
        &["--format", "json,noheader"],
        &["--json", "--nounits"],
        &["--json", "--format", "csv"],
        &["--list-fields", "--fields", "index"],
    ];
    for args in wrong {
        let run = machine.gua(&[&["query"], *args].concat());
        assert_eq!(run.code, Some(2), "{args:?} {run:?}");
        assert_eq!(run.stdout, "", "{args:?}");
        assert!(run.stderr.lines().count() >= 2, "no next step: {args:?} {run:?}");
    }
    assert_eq!(machine.gua(&["query"]).code, Some(1));
}

#[test]
fn a_wrong_field_is_answered_with_what_may_have_been_meant() {
    let machine = Machine::new(NO_DRIVER);
    let said = |fields: &str| machine.gua(&["query", "--fields", fields]).stderr;
    insta::assert_snapshot!(said("index,temprature.gpu"), @"
    gua: there is no field `temprature.gpu`
         Near to it: temperature.gpu; `gua query --list-fields` explains all.
    ");
    insta::assert_snapshot!(said("memory"), @"
    gua: there is no field `memory`
         Near to it: memory.free, memory.used, memory.total, memory.reserved; `gua query --list-fields` explains all.
    ");
    insta::assert_snapshot!(said("pid"), @"
    gua: there is no field `pid`
         It is a field of holders: add --apps; `gua query --list-fields` explains all.
    ");
    insta::assert_snapshot!(said("zzz"), @"
    gua: there is no field `zzz`
         None has a name like it; `gua query --list-fields` explains all.
    ");
}

#[test]
fn a_file_that_is_there_is_left_alone() {
    let machine = Machine::new(NO_DRIVER);
    let path = machine.dir().join("log.csv");
    fs::write(&path, "mine\n").unwrap();
    let file = path.to_str().unwrap();
    let run = machine.gua(&["query", "-o", file]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("is there already\n     Add to it with --append"), "{run:?}");
    let run = machine.gua(&["query", "-o", file, "--append"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("holds something else: it begins with `mine`\n"), "{run:?}");
    assert_eq!(machine.gua(&["query", "-o", file, "--append", "--json"]).code, Some(2));
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
}

#[test]
fn a_device_is_not_rotated() {
    let machine = Machine::new(NO_DRIVER);
    let run = machine.gua(&["query", "-f", "/dev/null", "--append", "--rotate", "1MB"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("is no ordinary file"), "{run:?}");
}

#[test]
fn an_unknown_card_is_refused() {
    let machine = Machine::new("[[card]]\n");
    let run = machine.gua(&["query", "-i", "7", "-o", "never"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{run:?}");
    assert!(run.stderr.starts_with("gua: there is no card `7` here\n"), "{run:?}");
}

/// Trap: only the header of a CSV was compared.
#[test]
fn a_file_of_other_columns_is_not_added_to() {
    let machine = Machine::new("[[card]]\n");
    let path = machine.dir().join("log");
    let append = |args: &[&str]| {
        let file = ["-o", path.to_str().unwrap(), "--append", "-n", "1"];
        machine.gua(&[&["query"], args, &file].concat()).code
    };
    let table = &["--fields", "index,name", "--format", "table"][..];
    let plain = &["--fields", "index,pstate", "--noheader"][..];
    let files: [(&[&str], &[&[&str]]); 4] = [
        (&["--fields", "index,pstate"], &[plain]),
        (table, &[table]),
        (&["--preset", "dmon"], &[&["--preset", "dmon"]]),
        (plain, &[plain, &["--fields", "index,name", "--noheader"]]),
    ];
    let others: [&[&str]; 7] = [
        &["--fields", "index,name"],
        &["--fields", "index,name,uuid", "--noheader"],
        &["--fields", "index", "--format", "table"],
        &["--fields", "index,uuid", "--format", "table", "--noheader"],
        &["--preset", "pmon"],
        &["--preset", "pmon", "--noheader"],
        &["--json"],
    ];
    for (first, same) in files {
        let _ = fs::remove_file(&path);
        assert_eq!(append(first), Some(0), "{first:?}");
        let text = fs::read_to_string(&path).unwrap();
        for other in others {
            assert_eq!(append(other), Some(2), "{first:?} {other:?}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        for same in same {
            assert_eq!(append(same), Some(0), "{first:?} {same:?}");
        }
    }
}
