//! Measures reports on a file: `cargo run --release -p gua-query --example usage_time FILE`. The example
//! `year` of the store generates one.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

use gua_core::Period;
use gua_core::period::HOUR;
use gua_core::units::UnixMillis;
use gua_query::usage::{By, UsageRequest, usage};
use gua_store::Database;
use jiff::tz::TimeZone;

const DAY: i64 = 24 * HOUR;

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).map(PathBuf::from).ok_or("name a database")?;
    let end = Database::open(&path)?.final_until()?.ok_or("nothing is recorded")?;
    let windows = [("last hour", HOUR), ("7 d", 7 * DAY), ("90 d", 90 * DAY), ("365 d", 365 * DAY)];
    // Not at a full hour, so that both edges are read from fine rows.
    let windows = windows.map(|(name, length)| {
        let window = Period::new(UnixMillis(end.0 - length - 777_777), end);
        (name, UsageRequest { most_sessions: Some(5), ..UsageRequest::new(window, end) })
    });
    for (name, request) in &windows {
        print_time(&path, name, request)?;
    }
    for (name, request) in windows {
        let zone = TimeZone::get("Asia/Kolkata")?;
        let request = UsageRequest { zone, ..request };
        print_time(&path, &format!("{name}, half-hour zone"), &request)?;
        let all = UsageRequest { by: By::ALL.to_vec(), most_sessions: None, ..request };
        print_time(&path, &format!("{name}, all kinds and sessions"), &all)?;
    }
    Ok(())
}

/// Prints the least CPU time of several runs, as other programs may run meanwhile.
fn print_time(path: &Path, name: &str, request: &UsageRequest) -> Result<(), Box<dyn Error>> {
    let mut least = (f64::MAX, f64::MAX);
    let mut counts = [0; 3];
    for _ in 0..5 {
        let (begin, cpu) = (Instant::now(), cpu_millis()?);
        let usage = usage(&Database::open(path)?, request)?;
        least =
            (least.0.min(cpu_millis()? - cpu), least.1.min(begin.elapsed().as_secs_f64() * 1e3));
        counts = [usage.cards.len(), usage.accounts.len(), usage.sessions.len()];
    }
    let (cpu, wall) = least;
    let ([cards, accounts, sessions], memory) = (counts, peak_memory()?);
    println!(
        "{name}: {cpu:.1} ms CPU, {wall:.1} ms ({cards} cards, {accounts} accounts, {sessions} \
         sessions; {memory})"
    );
    Ok(())
}

/// Returns the CPU time of this thread so far.
fn cpu_millis() -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos: f64 = status.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanos / 1e6)
}

/// Returns the most memory that this process had so far.
fn peak_memory() -> Result<String, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(peak.unwrap_or("unknown").trim().to_owned())
}
