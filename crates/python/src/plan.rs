//! What a measurement is asked for, checked before it begins.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use gua::destination;
use pyo3::prelude::*;
use track::gpu::available::{Available, FOR_A_COUNT, FOR_NAMED};
use track::gpu::{available, choose};
use track::gpu_tracker::tracking_file::{self, CountedCards, Existing, Facts, Recording};
use track::gpu_tracker::units::NoSuchUnit;
use track::gpu_tracker::{Expected, Units};
use track::{Cards, Options};

use crate::errors::Error;
use crate::tracking::Tracking;

/// The longest time from one sample to the next, as in `gua track`.
const LONGEST_SECONDS: f64 = 3600.0;

/// A measurement to be.
#[pyclass(frozen, module = "gua._native")]
#[derive(Debug)]
pub struct Plan {
    pub(crate) options: Options,
    pub(crate) units: Units,
    pub(crate) expected: Expected,
    pub(crate) backup: Option<PathBuf>,
    file: Option<TrackingFile>,
}

/// Where every sample goes.
#[derive(Debug)]
struct TrackingFile {
    path: PathBuf,
    existing: Existing,
    facts: Facts,
}

/// What was typed.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
struct Typed {
    sleep_time: f64,
    ram_unit: String,
    gpu_ram_unit: String,
    time_unit: String,
    n_expected_cores: Option<i64>,
    gpu_uuids: Option<Vec<String>>,
    gpu_brand: Option<String>,
    tracking_file: Option<PathBuf>,
    overwrite: bool,
    resource_usage_file: Option<PathBuf>,
}

#[pymethods]
impl Plan {
    /// The driver is only asked for what must be known before: named cards, and the first row of
    /// a tracking file.
    #[new]
    fn new(py: Python<'_>, typed: Typed) -> PyResult<Self> {
        Ok(py.detach(|| Self::settle(typed))?)
    }

    /// Begins to measure a process.
    fn start(&self, py: Python<'_>, process_id: i64) -> PyResult<Tracking> {
        let pid = u32::try_from(process_id).ok().filter(|pid| *pid > 0);
        let pid = pid.ok_or(Error::Pid(process_id))?;
        Ok(py.detach(|| Tracking::begin(self, pid))?)
    }
}

impl Plan {
    fn settle(typed: Typed) -> Result<Self, Error> {
        let units = Units {
            ram: unit("RAM", &typed.ram_unit)?,
            gpu_ram: unit("GPU RAM", &typed.gpu_ram_unit)?,
            time: unit("time", &typed.time_unit)?,
        };
        brand(typed.gpu_brand.as_deref())?;
        let expected = Expected { cores: typed.n_expected_cores.map(cores).transpose()? };
        let library = env::var_os("GUA_NVML").filter(|path| !path.is_empty()).map(PathBuf::from);
        let mut options = Options { every: every(typed.sleep_time)?, cards: Cards::All, library };
        let existing = if typed.overwrite { Existing::Replace } else { Existing::Refuse };
        if let Some(path) = &typed.tracking_file {
            tracking_file::check(path, existing)?;
            destination::check_folder(path)?;
        }
        if let Some(path) = &typed.resource_usage_file {
            destination::check(path)?;
        }
        let counted = settle_cards(&mut options, typed.gpu_uuids, typed.tracking_file.is_some())?;
        let file = typed.tracking_file.map(|path| TrackingFile {
            path,
            existing,
            facts: Facts::of_this_machine(expected.cores, counted),
        });
        Ok(Self { options, units, expected, backup: typed.resource_usage_file, file })
    }

    pub(crate) fn recording(&self) -> Option<Recording> {
        let TrackingFile { path, existing, facts } = self.file.as_ref()?;
        Some(Recording::new(tracking_file::Plan {
            path: path.clone(),
            existing: *existing,
            units: self.units,
            facts: *facts,
        }))
    }
}

fn unit<T: std::str::FromStr<Err = NoSuchUnit>>(
    kind: &'static str,
    typed: &str,
) -> Result<T, Error> {
    typed.parse().map_err(|source| Error::Unit { kind, source })
}

fn every(seconds: f64) -> Result<Duration, Error> {
    if seconds > LONGEST_SECONDS {
        return Err(Error::LongSleepTime(seconds));
    }
    let every = Duration::try_from_secs_f64(seconds).ok();
    every.filter(|every| *every >= Options::SHORTEST).ok_or(Error::SleepTime(seconds))
}

fn cores(typed: i64) -> Result<u32, Error> {
    u32::try_from(typed).ok().filter(|count| *count > 0).ok_or(Error::Cores(typed))
}

fn brand(typed: Option<&str>) -> Result<(), Error> {
    match typed {
        None | Some("nvidia") => Ok(()),
        Some("amd") => Err(Error::Amd),
        Some(other) => Err(Error::Brand(other.to_owned())),
    }
}

/// Chooses the cards that were named, and counts.
fn settle_cards(
    options: &mut Options,
    uuids: Option<Vec<String>>,
    is_counted: bool,
) -> Result<CountedCards, Error> {
    let within = match (&uuids, is_counted) {
        (Some(uuids), _) if uuids.is_empty() => return Err(Error::NoUuids),
        (Some(_), _) => FOR_NAMED,
        (None, true) => FOR_A_COUNT,
        (None, false) => return Ok(CountedCards::new(Ok(&[]), &Cards::All)),
    };
    let told = available(options, within);
    if let Some(uuids) = uuids {
        let cards: &[Available] = told.as_deref().map_err(|why| Error::CardsUnread {
            uuid: uuids.first().cloned().unwrap_or_default(),
            why: why.to_string(),
        })?;
        options.cards = choose(&uuids.join(","), cards)?;
    }
    Ok(CountedCards::new(told.as_deref(), &options.cards))
}
