//! An analysis, read back from the JSON that it was written as.

use std::collections::HashMap;

use serde::Deserialize;

use super::analysis::{Analysis, Block, Measured};
use super::summary::Summary;
use crate::gpu_tracker::tracking_file::{MEASURES, Static};
use crate::gpu_tracker::units::Units;

/// The text is no analysis.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    #[error("it is not the JSON of `sub-track analyze -f json`: {0}")]
    Json(#[from] serde_json::Error),
    #[error("its unit `{0}` is none that there is")]
    Unit(String),
}

#[derive(Deserialize)]
struct Written {
    overall: HashMap<String, Statistics>,
    static_data: WrittenFacts,
    code_block_results: Vec<WrittenBlock>,
}

#[derive(Deserialize)]
struct WrittenFacts {
    ram_unit: String,
    gpu_ram_unit: String,
    time_unit: String,
    ram_system_capacity: Option<f64>,
    gpu_ram_system_capacity: Option<f64>,
    system_core_count: u32,
    n_expected_cores: u32,
    system_gpu_count: Option<u32>,
    n_expected_gpus: Option<u32>,
}

#[derive(Deserialize)]
struct WrittenBlock {
    name: String,
    num_timepoints: usize,
    num_calls: usize,
    num_non_empty_calls: usize,
    compute_time: WrittenTime,
    resource_usage: HashMap<String, Statistics>,
}

#[derive(Deserialize)]
struct WrittenTime {
    #[serde(flatten)]
    each: Statistics,
    total: f64,
}

/// All four, or none of nothing.
#[derive(Deserialize, Clone, Copy)]
struct Statistics {
    min: Option<f64>,
    max: Option<f64>,
    mean: Option<f64>,
    std: Option<f64>,
}

/// Reads an analysis.
///
/// # Errors
/// When the text is something else.
pub fn parse(json: &str) -> Result<Analysis, ParseError> {
    let written: Written = serde_json::from_str(json)?;
    Ok(Analysis {
        overall: measured(&written.overall),
        facts: written.static_data.meant()?,
        blocks: written.code_block_results.into_iter().map(WrittenBlock::meant).collect(),
    })
}

impl Statistics {
    fn meant(self) -> Option<Summary> {
        let Self { min, max, mean, std } = self;
        Some(Summary { min: min?, max: max?, mean: mean?, std: std? })
    }
}

fn measured(written: &HashMap<String, Statistics>) -> Measured {
    MEASURES.map(|measure| written.get(measure).and_then(|statistics| statistics.meant()))
}

impl WrittenBlock {
    fn meant(self) -> Block {
        Block {
            name: self.name,
            timepoints: self.num_timepoints,
            calls: self.num_calls,
            non_empty_calls: self.num_non_empty_calls,
            compute_time: self.compute_time.each.meant(),
            total_seconds: self.compute_time.total,
            resource_usage: measured(&self.resource_usage),
        }
    }
}

impl WrittenFacts {
    fn meant(self) -> Result<Static, ParseError> {
        let ram = |name: String| name.parse().map_err(|_| ParseError::Unit(name));
        let time = self.time_unit;
        let time = time.parse().map_err(|_| ParseError::Unit(time))?;
        Ok(Static {
            units: Units { ram: ram(self.ram_unit)?, gpu_ram: ram(self.gpu_ram_unit)?, time },
            ram_capacity: self.ram_system_capacity,
            gpu_ram_capacity: self.gpu_ram_system_capacity,
            cores: self.system_core_count,
            expected_cores: self.n_expected_cores,
            cards: self.system_gpu_count,
            expected_cards: self.n_expected_gpus,
        })
    }
}
