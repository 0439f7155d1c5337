//! The names of the library's functions, and scenarios that name others.

use std::path::Path;

use scenario::Scenario;
use scenario::parse::{self, Refused};

/// Every function of NVIDIA's headers for CUDA 12.9 and 13, one a line.
pub const NAMES: &str = include_str!(concat!(env!("OUT_DIR"), "/functions.txt"));

/// Reads a scenario file and refuses one that names a function which does not exist:
/// its fault would never strike, and nobody would know.
///
/// # Errors
/// As [`parse::from_file`], and for a pattern that matches no function.
pub fn scenario_from_file(path: &Path) -> Result<Scenario, Refused> {
    let file = path.display().to_string();
    let text = parse::read(path)?;
    let scenario = parse::from_str(&file, &text)?;
    match unknown(&file, &text).into_iter().next() {
        Some(refused) => Err(refused),
        None => Ok(scenario),
    }
}

/// What a scenario's text names that is no function.
#[must_use]
pub fn unknown(file: &str, text: &str) -> Vec<Refused> {
    let names: Vec<&str> = NAMES.lines().collect();
    parse::unknown_calls(file, text, &names)
}
