//! Reads a tracking file, ours or gpu_tracker's.

use std::path::Path;

use super::columns::{MEASURES, TIME};
use super::facts::{COLUMNS, Static};
use crate::gpu_tracker::file::{FileError, Part, Row, each_row};
use crate::gpu_tracker::units::Units;

/// All that a tracking file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Tracked {
    pub facts: Static,
    /// In the order of the file, which is that of time.
    pub timepoints: Vec<Timepoint>,
}

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Timepoint {
    /// Seconds since the epoch.
    pub at: f64,
    /// In the order of [`MEASURES`]; `None` where the value was not known.
    pub values: [Option<f64>; MEASURES.len()],
}

/// Reads a whole tracking file.
///
/// # Errors
/// When it cannot be read, or is no tracking file.
pub fn read(path: &Path) -> Result<Tracked, FileError> {
    let mut facts = None;
    each_row(path, Part::Facts, &COLUMNS, |row| {
        facts = Some(parse_facts(row)?);
        Ok(())
    })?;
    let facts = facts.ok_or_else(|| FileError::NoFacts { path: path.to_owned() })?;
    let columns: Vec<&str> = MEASURES.into_iter().chain([TIME]).collect();
    let mut timepoints = Vec::new();
    each_row(path, Part::Samples, &columns, |row| {
        timepoints.push(parse_timepoint(row)?);
        Ok(())
    })?;
    Ok(Tracked { facts, timepoints })
}

fn parse_facts(row: &Row<'_>) -> Result<Static, FileError> {
    let ram_unit = |at: usize| row.text(at).parse().map_err(|_| row.wrong(at, "a unit of RAM"));
    let time = row.text(2).parse().map_err(|_| row.wrong(2, "a unit of time"))?;
    Ok(Static {
        units: Units { ram: ram_unit(0)?, gpu_ram: ram_unit(1)?, time },
        ram_capacity: row.number(3)?,
        gpu_ram_capacity: row.number(4)?,
        cores: row.count(5)?,
        expected_cores: row.count(6)?,
        cards: row.count_if_any(7)?,
        expected_cards: row.count_if_any(8)?,
    })
}

fn parse_timepoint(row: &Row<'_>) -> Result<Timepoint, FileError> {
    let mut values = [None; MEASURES.len()];
    for (at, value) in values.iter_mut().enumerate() {
        *value = row.number(at)?;
    }
    let at = row.number(MEASURES.len())?;
    let at = at.ok_or_else(|| row.wrong(MEASURES.len(), "a time"))?;
    Ok(Timepoint { at, values })
}
