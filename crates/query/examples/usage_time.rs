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
use gua_store::{Database, Grain};
use jiff::tz::TimeZone;

const DAY: i64 = 24 * HOUR;

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).map(PathBuf::from).ok_or("name a database")?;
    let end = Database::open(&path)?.final_until()?.ok_or("nothing is recorded")?;
    let windows = [("last hour", HOUR), ("7 d", 7 * DAY), ("90 d", 90 * DAY), ("365 d", 365 * DAY)];
    for (name, length) in windows {
        // Not at a full hour, so that both edges are read from fine rows.
        let window = Period::new(UnixMillis(end.0 - length - 777_777), end);
        let users = UsageRequest { most_sessions: Some(5), ..UsageRequest::new(window, end) };
        print_reading(&path, name, window)?;
        print_time(&path, name, &users)?;
        let jobs = UsageRequest { by: By::ALL.to_vec(), most_sessions: None, ..users.clone() };
        print_time(&path, &format!("{name}, all kinds and sessions"), &jobs)?;
        let zone = TimeZone::get("Asia/Kolkata")?;
        print_time(&path, &format!("{name}, half-hour zone"), &UsageRequest { zone, ..users })?;
    }
    Ok(())
}

/// Prints what reading takes without the rest.
fn print_reading(path: &Path, name: &str, window: Period) -> Result<(), Box<dyn Error>> {
    let store = Database::open(path)?;
    let begin = Instant::now();
    let sums = store.usage(window)?;
    let read = begin.elapsed();
    let ids: Vec<_> = sums.holders.keys().copied().collect();
    let begin = Instant::now();
    let owners = store.owners(&ids)?.len();
    let owned = begin.elapsed();
    let begin = Instant::now();
    let mut stretches = 0;
    store.card_hours(window, Grain::Hours, |_| stretches += 1)?;
    println!(
        "{name}: sums {read:.1?}, {owners} owners {owned:.1?}, {stretches} stretches of cards {:.1?}",
        begin.elapsed()
    );
    Ok(())
}

fn print_time(path: &Path, name: &str, request: &UsageRequest) -> Result<(), Box<dyn Error>> {
    let mut times = Vec::new();
    let mut counts = [0; 3];
    for _ in 0..5 {
        let begin = Instant::now();
        let usage = usage(&Database::open(path)?, request)?;
        times.push(begin.elapsed());
        counts = [usage.cards.len(), usage.accounts.len(), usage.sessions.len()];
    }
    times.sort_unstable();
    let [cards, accounts, sessions] = counts;
    let memory = peak_memory()?;
    println!(
        "{name}: {:.1?} ({cards} cards, {accounts} accounts, {sessions} sessions; {memory})",
        times[2]
    );
    Ok(())
}

/// Returns the most memory that this process had so far.
fn peak_memory() -> Result<String, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(peak.unwrap_or("unknown").trim().to_owned())
}
