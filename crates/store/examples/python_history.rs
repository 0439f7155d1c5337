//! Converts a history of the Python gua: into memory for a window that ends with it, or into a new file.
//!
//! `python_history FILE HOURS` or `python_history FILE OUTPUT`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use gua_core::Period;
use gua_core::units::UnixMillis;
use gua_store::python::{import_to, open_converted};

/// End of the generated history: 2026-11-15 20:00 UTC.
const END: i64 = 1_794_772_800_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, target] = &arguments[..] else {
        eprintln!("usage: python_history FILE HOURS|OUTPUT");
        return ExitCode::from(2);
    };
    match run(Path::new(file), target) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(file: &Path, target: &str) -> Result<(), gua_store::StoreError> {
    let begin = Instant::now();
    match target.parse::<i64>() {
        Ok(hours) => {
            let window = Period::new(UnixMillis(END - hours * 3_600_000), UnixMillis(END));
            let database = open_converted(file, window, None)?;
            println!("converted in {:?}", begin.elapsed());
            let usage = database.usage(window)?;
            let active: f64 = usage.cards.values().map(|card| card.times.active_ms).sum();
            println!("active: {:.3} GPU-hours", active / 3_600_000.0);
        }
        Err(_) => {
            let imported = import_to(file, Path::new(target), &mut |_| ())?;
            println!("imported in {:?}: {imported:?}", begin.elapsed());
        }
    }
    Ok(())
}
