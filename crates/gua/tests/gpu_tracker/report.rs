//! The report: text and JSON, on stdout or in a file.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use super::{track, track_json, without_driver};

const STATUS: &str = "Resource tracking complete. Process completed with status code: 0\n";

/// Figures are what they are; how they are written is held here.
fn without_figures(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let (label, value) = line.rsplit_once(": ").unwrap_or((line, ""));
        lines.push(match value.split_once('.') {
            Some((whole, part)) if is_digits(whole) && is_digits(part) && part.len() <= 3 => {
                format!("{label}: FLOAT")
            }
            None if is_digits(value) => format!("{label}: COUNT"),
            _ => line.to_owned(),
        });
    }
    lines.join("\n")
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[test]
fn the_text_stands_after_the_status() {
    let command = "sh -c 'echo hello; sleep 0.3'";
    let ran = track(&["-e", command, "--st=0.1", "--tu=seconds", "--ru=megabytes"]);
    assert_eq!(ran.code, Some(0));
    assert_snapshot!(without_figures(&ran.stdout));
    assert_eq!(
        ran.stderr,
        "gpu-tracker: warning: 0.0 stands for what could not be measured: all of the GPUs \
         (/nowhere/libnvidia-ml.so.1 was not found)\n"
    );
}

#[test]
fn logs_can_be_disabled() {
    assert_eq!(track(&["-e", "true", "--disable-logs"]).stderr, "");
}

#[test]
fn with_json_stdout_is_the_json_alone() {
    let ran = track(&["-e", "true", "-f", "json", "--disable-logs"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), STATUS));
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert!(json["compute_time"]["time"].as_f64().unwrap() > 0.0);
    assert!(ran.stdout.starts_with("{\n \"max_ram\": {\n  \"unit\": \"gigabytes\",\n"));
    assert!(ran.stdout.ends_with(" }\n}\n"));
}

/// The keys, in their order, with what kind of value they have.
fn keys(text: &str) -> String {
    let kind = |line: &str| match line.split_once(": ") {
        Some((key, "{")) => format!("{key}:"),
        Some((key, value)) if value.starts_with('"') => format!("{key}: {value}"),
        Some((key, value)) if value.contains(['.', 'e']) => format!("{key}: float"),
        Some((key, _)) => format!("{key}: int"),
        None => line.to_owned(),
    };
    let lines = text.lines().filter(|line| !matches!(line.trim(), "{" | "}" | "},"));
    lines.map(|line| kind(line).replace(',', "")).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_keys_are_the_papers() {
    let ran = track(&["-e", "true", "--format=json", "--nec=1", "--gru=bytes", "--tu=days"]);
    assert_snapshot!(keys(&ran.stdout));
    assert!(!ran.stdout.contains("descendants"));
}

#[test]
fn the_keys_can_be_those_of_version_5() {
    let ran = track(&["-e", "true", "--keys=descendants", "-f", "json"]);
    assert_eq!(ran.stdout.matches("\"descendants").count(), 4);
    assert!(!ran.stdout.contains("descendents"));
    let ran = track(&["-e", "true", "--keys", "descendants"]);
    assert_eq!(ran.stdout.matches("Descendants").count(), 4);
}

#[test]
fn a_report_goes_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report");
    let output = path.to_str().unwrap();
    fs::write(&path, "an older and longer report\n".repeat(100)).unwrap();
    let ran = track(&["-e", "true", "-o", output]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), STATUS));
    assert!(fs::read_to_string(&path).unwrap().starts_with("Max RAM:\n   Unit: gigabytes\n"));
    let ran = track(&["-e", "true", "-o", output, "-f=json", "--disable-logs"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", STATUS));
    let json: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert!(json["max_ram"]["system"].as_f64().unwrap() > 0.0);
}

/// Regression: a report that stdout has no room for was lost.
#[test]
fn a_report_that_cannot_be_printed_goes_to_stderr() {
    for (format, words) in [("text", "\nMax RAM:\n"), ("json", "\"max_ram\": {")] {
        let mut command = without_driver(&["-e", "true", "-f", format]);
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command.stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("gpu-tracker: stdout cannot be written: No space left"), "{said}");
        assert!(said.contains(words) && said.contains("status code: 0\n"), "{said}");
    }
}

/// One that ends at once is measured all the same: the kernel keeps account.
#[test]
fn a_very_short_command_has_real_figures() {
    let json = track_json(&["-e", "true", "--ru=bytes", "--tu=seconds"]);
    let size = &json["max_ram"]["main"]["total_rss"];
    assert!(size.as_f64().unwrap() > 100_000.0, "{size}");
    let load = &json["cpu_utilization"]["main"]["mean_sum_percent"];
    assert!(load.as_f64().unwrap() > 0.0, "{load}");
    assert!(json["compute_time"]["time"].as_f64().unwrap() > 0.0);
}

#[test]
fn units_and_cores_change_figures_and_nothing_else() {
    let json = track_json(&["-e", "sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'"]);
    let cores = json["cpu_utilization"]["system_core_count"].as_f64().unwrap();
    let shares = |json: &Value, whose: &str, expected: f64| {
        let loads = &json["cpu_utilization"][whose];
        for (sum, share) in [
            ("max_sum_percent", "max_hardware_percent"),
            ("mean_sum_percent", "mean_hardware_percent"),
        ] {
            let (sum, share) = (loads[sum].as_f64().unwrap(), loads[share].as_f64().unwrap());
            assert!((sum / expected - share).abs() < 1e-9, "{whose}: {loads}");
        }
    };
    shares(&json, "main", cores);
    shares(&json, "system", cores);
    let json = track_json(&["-e", "true", "--nec", "3", "--ru", "terabytes"]);
    assert_eq!(json["cpu_utilization"]["n_expected_cores"], 3);
    for whose in ["main", "descendents", "combined"] {
        shares(&json, whose, 3.0);
    }
    shares(&json, "system", cores);
    assert!(json["max_ram"]["system_capacity"].as_f64().unwrap() < 100.0);
    assert_eq!(json["max_ram"]["unit"], "terabytes");
}

/// Long options may be cut short, as docopt lets them.
#[test]
fn options_may_be_cut_short() {
    let ran = track(&["--exec=true", "--form", "json", "--disable"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), STATUS));
}

/// Regression: it made a file of that name.
#[test]
fn a_dash_is_stdout() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = without_driver(&["-e", "true", "-f", "json", "-o", "-"]);
    command.current_dir(folder.path());
    let ran = crate::machine::run(command);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(told["compute_time"]["unit"], "hours");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
