//! `--tconfig`: settings by the names of the Python class's arguments.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use tempfile::TempDir;

use super::track;
use crate::machine::Run;

fn file(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn with_settings(text: &str, options: &[&str]) -> Run {
    let (_folder, path) = file(text);
    track(&[&["-e", "true", "--tconfig", path.to_str().unwrap()], options].concat())
}

#[test]
fn settings_are_heard_and_options_win() {
    let text = r#"{
        "sleep_time": 0.25, "ram_unit": "kilobytes", "gpu_ram_unit": "bytes",
        "time_unit": "minutes", "n_expected_cores": 7, "disable_logs": true, "gpu_uuids": null,
        "gpu_brand": "nvidia", "n_join_attempts": 3, "join_timeout": 1.5,
        "resource_usage_file": "x.pkl"
    }"#;
    let ran = with_settings(text, &["-f", "json", "--tu=seconds"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "the logs are disabled: {}", ran.stderr);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["max_ram"]["unit"], "kilobytes");
    assert_eq!(json["max_gpu_ram"]["unit"], "bytes");
    assert_eq!(json["compute_time"]["unit"], "seconds");
    assert_eq!(json["cpu_utilization"]["n_expected_cores"], 7);
}

#[test]
fn a_tracking_file_can_be_a_setting() {
    let folder = tempfile::tempdir().unwrap();
    let samples = folder.path().join("a.csv");
    fs::write(&samples, "old").unwrap();
    let text =
        format!(r#"{{"tracking_file": {:?}, "overwrite": true}}"#, samples.to_str().unwrap());
    assert_eq!(with_settings(&text, &[]).code, Some(0));
    assert!(fs::read_to_string(&samples).unwrap().starts_with("ram_unit,"));
    let text = format!(r#"{{"tracking_file": {:?}}}"#, samples.to_str().unwrap());
    assert_eq!(with_settings(&text, &[]).code, Some(2));
}

fn assert_refused(text: &str, sentence: &str) {
    let ran = with_settings(text, &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains(sentence), "{}", ran.stderr);
}

#[test]
fn bad_settings_are_refused_as_options_are() {
    assert_refused(r#"{"ram_unit": "mb"}"#, "\"mb\" is not a valid RAM unit.");
    assert_refused(r#"{"sleep_time": 0}"#, "Sleep time of 0 is invalid.");
    assert_refused(r#"{"n_expected_cores": -2}"#, "\"-2\" is not a valid number");
    assert_refused(r#"{"gpu_brand": "amd"}"#, "AMD's GPUs are not measured here");
    assert_refused(r#"{"gpu_uuids": ["GPU-1"]}"#, "GPU UUID of GPU-1 is not valid.");
}

#[test]
fn other_settings_are_named() {
    assert_refused(
        r#"{"sleeptime": 1}"#,
        "unknown field `sleeptime`, expected one of `sleep_time`",
    );
    assert_refused(r#"{"process_id": 1}"#, "it is the command of -e that is tracked");
    assert_refused(r#"{"sleep_time": "1"}"#, "invalid type: string \"1\", expected f64");
    assert_refused("{", "EOF while parsing");
    let ran = track(&["-e", "true", "--tconfig=/nowhere/settings.json"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("cannot read the settings of /nowhere/settings.json: No such file")
    );
}
