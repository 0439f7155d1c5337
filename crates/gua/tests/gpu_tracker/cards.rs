//! What a command did on pretend cards.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use serde_json::Value;

use super::files::wait_for_samples;
use crate::machine::{Machine, run};

const CARDS: &str = r#"
[[card]]
uuid = "GPU-a"
memory = "80GiB"
utilization = 80

[[card]]
uuid = "GPU-b"
memory = "80GiB"
utilization = 30

[[process]]
pid = 1
card = 1
memory = "500MiB"
"#;

/// A tracked command that waits to be let go. Its report is the JSON of its whole life.
struct Waiting {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    pid: u32,
    folder: tempfile::TempDir,
}

impl Waiting {
    fn start(machine: &Machine, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let samples = folder.path().join("samples.csv");
        let fixed = ["-e", "sh -c 'echo $$; read line'", "--st=0.01", "-f", "json", "--tf"];
        let args = [&fixed[..], &[samples.to_str().unwrap()], options].concat();
        let mut command = machine.gpu_tracker(&args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut pid = String::new();
        stdout.read_line(&mut pid).unwrap();
        Self { child, stdout, pid: pid.trim().parse().unwrap(), folder }
    }

    /// Waits until a sample shows this of the measures in this place.
    fn until(&self, measure: usize, is_so: impl Fn(Option<f64>) -> bool) {
        wait_for_samples(&self.folder.path().join("samples.csv"), |tracked| {
            tracked.timepoints.iter().any(|point| is_so(point.values[measure]))
        });
    }

    /// Lets it end: the report, and what was said.
    fn end(mut self) -> (Value, String) {
        drop(self.child.stdin.take());
        let mut report = String::new();
        self.stdout.read_to_string(&mut report).unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        self.child.wait().unwrap();
        (serde_json::from_str(&report).unwrap(), said)
    }
}

fn held_by(pid: u32, memory: &str) -> String {
    format!("{CARDS}\n[[process]]\npid = {pid}\ncard = 0\nmemory = \"{memory}\"\nsm = 50\n")
}

const MAIN_GPU_RAM: usize = 4;
const SYSTEM_GPU_RAM: usize = 7;

#[test]
fn memory_and_utilization_are_told_in_true_bytes() {
    let machine = Machine::new(CARDS);
    let waiting =
        Waiting::start(&machine, &["--gru=bytes", "--guuids=GPU-a", "--keys=descendants"]);
    machine.becomes(&held_by(waiting.pid, "1000MiB"));
    waiting.until(MAIN_GPU_RAM, |bytes| bytes.is_some_and(|bytes| bytes > 0.0));
    let (json, said) = waiting.end();
    let (mib, gib) = (f64::from(1 << 20), f64::from(1 << 30));
    let memory = &json["max_gpu_ram"];
    assert_eq!(memory["system_capacity"], 160.0 * gib);
    assert_eq!(memory["main"], 1000.0 * mib);
    assert_eq!(memory["descendants"], 0.0);
    assert_eq!(memory["combined"], 1000.0 * mib);
    assert!(memory["system"].as_f64().unwrap() >= 1500.0 * mib, "{memory}");
    assert_eq!(json["gpu_utilization"]["system_gpu_count"], 2);
    assert_eq!(json["gpu_utilization"]["n_expected_gpus"], 1);
    let most = &json["gpu_utilization"]["gpu_percentages"]["max_sum_percent"];
    assert!((79.0..=81.0).contains(&most.as_f64().unwrap()), "{most}");
    assert_eq!(said.lines().count(), 1, "the status alone: {said}");
}

/// What the driver does not tell is missed alone, and the rest is measured.
#[test]
fn a_memory_that_is_not_told_costs_nothing_else() {
    let machine = Machine::new(CARDS);
    let waiting = Waiting::start(&machine, &["--ru=megabytes"]);
    machine.becomes(&held_by(waiting.pid, "unknown"));
    waiting.until(MAIN_GPU_RAM, |bytes| bytes.is_none());
    waiting.until(SYSTEM_GPU_RAM, |bytes| bytes.is_some_and(|bytes| bytes > 0.0));
    let (json, said) = waiting.end();
    assert!(json["max_gpu_ram"]["system"].as_f64().unwrap() > 0.5);
    assert!(json["max_ram"]["main"]["total_rss"].as_f64().unwrap() > 0.1);
    let warnings: Vec<&str> = said.lines().filter(|line| line.contains("warning")).collect();
    assert!(warnings.len() <= 1, "{said}");
}

/// Regression: cells of a driver that fails said 0.0, as if there were no card.
#[test]
fn what_a_failing_driver_does_not_tell_is_an_empty_cell() {
    let fault = "[[fault]]\ncall = \"nvmlInit*\"\ncode = \"DRIVER_NOT_LOADED\"\n";
    let machine = Machine::new(&format!("{CARDS}{fault}"));
    let samples = machine.dir().join("samples.csv");
    let tf = format!("--tf={}", samples.display());
    let ran = run(machine.gpu_tracker(&["-e", "sleep 0.2", "--st=0.05", &tf]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr.matches("0.0 stands for what could not be measured").count(), 1);
    let text = std::fs::read_to_string(&samples).unwrap();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut rows = text.lines().map(cells).skip(2);
    let head = rows.next().unwrap();
    let is_gpu = |column: usize| head[column].contains("gpu");
    let columns: Vec<usize> = (0..head.len()).filter(|column| is_gpu(*column)).collect();
    let rows: Vec<_> = rows.collect();
    assert!(!rows.is_empty() && columns.len() == 6, "{text}");
    for row in rows {
        assert!(columns.iter().all(|column| row[*column].is_empty()), "{text}");
    }
}

#[test]
fn without_a_driver_is_warned_once_and_the_figures_are_zero() {
    let mut command = Machine::new(CARDS).gpu_tracker(&["-e", "true", "-f", "json"]);
    command.env("GUA_NVML", "/nowhere/libnvidia-ml.so.1");
    let ran = run(command);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["max_gpu_ram"]["system"], 0.0);
    assert_eq!(json["gpu_utilization"]["system_gpu_count"], 0);
    assert_eq!(ran.stderr.matches("warning").count(), 1);
}
