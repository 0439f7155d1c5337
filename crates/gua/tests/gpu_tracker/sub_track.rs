//! `sub-track`: combine, analyze, compare.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use super::track;
use crate::machine::{Run, project};

/// Files that gpu_tracker 5.0.1 wrote, and what it made of them.
fn captured(name: &str) -> PathBuf {
    project().join("crates/track/src/gpu_tracker/sub_tracking/captured").join(name)
}

fn sub_track(args: &[&str]) -> Run {
    track(&[&["sub-track"], args].concat())
}

fn analyze(more: &[&str]) -> Run {
    let tracking = format!("--tf={}", captured("tracking.csv").display());
    let marks = format!("--stf={}", captured("sub_tracking.csv").display());
    sub_track(&[&["analyze", &tracking, &marks], more].concat())
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn an_analysis_reads_as_gpu_trackers() {
    let ran = analyze(&[]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(ran.stdout, text(&captured("analysis.txt")));
}

/// Without rows, as runs that were killed early leave it, or with cells that are not known.
#[test]
fn analysis_of_unknown_figures_has_no_nan() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("short.csv");
    let whole = text(&captured("tracking.csv"));
    let lines: Vec<&str> = whole.lines().collect();
    let header = lines[..3].join("\r\n");
    let nan_cells = lines[2].split(',').map(|column| match column {
        "timestamp" => "1700000000.5",
        "system_ram" => "inf",
        _ => "nan",
    });
    let row = nan_cells.collect::<Vec<_>>().join(",");
    for content in [format!("{header}\r\n"), format!("{header}\r\n{row}\r\n")] {
        fs::write(&file, content).unwrap();
        let marks = captured("sub_tracking.csv");
        let args = ["analyze", "--tf", file.to_str().unwrap(), "--stf", marks.to_str().unwrap()];
        let ran = sub_track(&args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let lower = ran.stdout.to_lowercase();
        assert!(!lower.contains("nan") && !lower.contains("inf"), "{}", ran.stdout);
        assert!(ran.stdout.contains("no values"), "{}", ran.stdout);
        let ran = sub_track(&[&args[..], &["-f", "json"]].concat());
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(json["overall"]["main_ram"]["mean"], serde_json::Value::Null);
    }
}

#[test]
fn analyses_are_compared_by_their_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    assert_eq!(analyze(&["-f", "json", "-o", &path("a.json")]).stdout, "");
    assert_eq!(analyze(&["-f=json", "-o", &path("b=2.json")]).code, Some(0));
    let (a, b) = (format!("before={}", path("a.json")), format!("after={}", path("b=2.json")));
    let ran = sub_track(&["compare", "-m", &a, "-m", &b, "--stat=max"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let first: Vec<&str> = ran.stdout.lines().take(4).collect();
    assert_snapshot!(first.join("\n").replace('\t', "    "), @r"
    Overall Resource Usage:
        Main Ram:
                   after      before
             24.82586449 24.82586449
    ");
    let config =
        format!(r#"{{"file_path_map": {{"before": {:?}}}, "statistic": "min"}}"#, path("a.json"));
    fs::write(path("config.json"), config).unwrap();
    let ran = sub_track(&["compare", "--cconfig", &path("config.json"), "-m", &b, "-f", "json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let threads = &json["overall_resource_usage"]["main_n_threads"];
    assert_eq!(*threads, serde_json::json!({"after": 3.0, "before": 3.0}));
}

#[test]
fn files_of_a_folder_are_combined() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("parts");
    fs::create_dir(&parts).unwrap();
    let all = text(&captured("sub_tracking.csv"));
    let (header, rows) = all.split_once("\r\n").unwrap();
    for (at, row) in rows.lines().enumerate() {
        fs::write(parts.join(format!("{at}.csv")), format!("{header}\r\n{row}\r\n")).unwrap();
    }
    let whole = folder.path().join("whole.csv");
    let (stf, parts) = (format!("--stf={}", whole.display()), parts.to_str().unwrap());
    let ran = sub_track(&["combine", &stf, "-p", parts]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(text(&whole), all);
    let ran = sub_track(&["combine", &stf, "-p", parts]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("exists already; nothing was changed"), "{}", ran.stderr);
    assert_eq!(text(&whole), all);
}

fn assert_refused(args: &[&str], sentence: &str) {
    let ran = sub_track(args);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains(sentence), "{}", ran.stderr);
}

#[test]
fn bad_input_is_refused() {
    let marks = captured("sub_tracking.csv");
    let (marks, json) = (marks.to_str().unwrap(), captured("analysis.json"));
    let session = format!("a={}", json.display());
    assert_refused(&["compare"], "nothing to compare. Name analyses with -m NAME=FILE");
    assert_refused(&["compare", "-m", "a"], "a is no session. Write NAME=FILE");
    assert_refused(&["compare", "-m", &session, "--stat=median"], "`median` is no statistic");
    assert_refused(&["compare", "-m", &format!("a={marks}")], "it is not the JSON of `sub-track");
    assert_refused(&["compare", "-m", "a=/nowhere/a.json"], "cannot read the analysis /nowhere/a");
    assert_refused(&["compare", "-m", &session, "-f", "pickle"], "the format pickle");
    assert_refused(&["analyze", "--tf", marks, "--stf", marks], "has no column `ram_unit`");
    assert_refused(&["analyze", "--tf=/nowhere/a.csv", "--stf", marks], "/nowhere/a.csv");
    assert_refused(&["analyze", "--tf=a.txt", "--stf", marks], "End it in .csv or .sqlite");
    assert_refused(&["combine", "--stf=/nowhere/a.csv", "-p", "/nowhere/x"], "/nowhere/x");
    assert_refused(&["combine", "--stf=new.csv", "-p", marks], "is no folder. A single -p names");
    assert_refused(&["combine"], "--stf <FILE>");
    assert_refused(&[], "combine");
}
