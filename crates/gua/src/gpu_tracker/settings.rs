//! The file of `--tconfig`: settings by the names of the Python class's arguments.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

/// What the file says; `null` is as good as nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Settings {
    pub sleep_time: Option<f64>,
    pub ram_unit: Option<String>,
    pub gpu_ram_unit: Option<String>,
    pub time_unit: Option<String>,
    pub n_expected_cores: Option<i64>,
    pub gpu_uuids: Option<Uuids>,
    pub disable_logs: Option<bool>,
    pub gpu_brand: Option<String>,
    pub tracking_file: Option<PathBuf>,
    pub overwrite: Option<bool>,
    /// The process is the one that `-e` starts.
    process_id: Option<IgnoredAny>,
    /// About the helper process that the Python tool has and we do not.
    #[serde(rename = "resource_usage_file")]
    _resource_usage_file: Option<IgnoredAny>,
    #[serde(rename = "n_join_attempts")]
    _n_join_attempts: Option<IgnoredAny>,
    #[serde(rename = "join_timeout")]
    _join_timeout: Option<IgnoredAny>,
}

/// A list, or one text with commas.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Uuids {
    List(Vec<String>),
    Text(String),
}

/// The file says nothing that could be meant.
#[derive(Debug, thiserror::Error)]
pub(super) enum SettingsError {
    #[error("{0}")]
    Read(#[from] std::io::Error),
    #[error("{0}")]
    Parse(#[from] serde_json::Error),
    #[error("process_id cannot be set, as it is the command of -e that is tracked")]
    ProcessId,
}

pub(super) fn read(path: &Path) -> Result<Settings, SettingsError> {
    let settings: Settings = serde_json::from_str(&fs::read_to_string(path)?)?;
    match settings.process_id {
        Some(_) => Err(SettingsError::ProcessId),
        None => Ok(settings),
    }
}
