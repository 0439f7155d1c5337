//! What a measurement is asked for, checked before it begins.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use gua::destination::{self, NotWritable};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use track::gpu::available::{Available, FOR_A_COUNT, FOR_NAMED};
use track::gpu::{available, choose};
use track::gpu_tracker::tracking_file::{self, CountedCards, Existing, Facts, Recording};
use track::gpu_tracker::units::NoSuchUnit;
use track::gpu_tracker::{Expected, Units};
use track::{Cards, Options};

use crate::backup::may_replace;
use crate::errors::Error;
use crate::patient::patiently;
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
#[derive(Debug)]
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
    n_join_attempts: i64,
    join_timeout: f64,
}

const TEXT: &str = "a text";
const NUMBER: &str = "a number";
const PATH: &str = "a path or None";

impl Typed {
    const fn asks_the_driver(&self) -> bool {
        self.gpu_uuids.is_some() || self.tracking_file.is_some()
    }

    fn of(given: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self {
            sleep_time: field(given, "sleep_time", NUMBER)?,
            ram_unit: field(given, "ram_unit", TEXT)?,
            gpu_ram_unit: field(given, "gpu_ram_unit", TEXT)?,
            time_unit: field(given, "time_unit", TEXT)?,
            n_expected_cores: field(given, "n_expected_cores", "a whole number or None")?,
            gpu_uuids: field(given, "gpu_uuids", "several texts or None")?,
            gpu_brand: field(given, "gpu_brand", "a text or None")?,
            tracking_file: field(given, "tracking_file", PATH)?,
            overwrite: field(given, "overwrite", "True or False")?,
            resource_usage_file: field(given, "resource_usage_file", PATH)?,
            n_join_attempts: field(given, "n_join_attempts", "a whole number")?,
            join_timeout: field(given, "join_timeout", NUMBER)?,
        })
    }
}

/// One argument, of the kind that it must be of.
fn field<'py, T: FromPyObjectOwned<'py>>(
    given: &Bound<'py, PyDict>,
    name: &'static str,
    expected: &'static str,
) -> PyResult<T> {
    let value = given.as_any().get_item(name)?;
    let found = value.get_type().name()?.to_string();
    value.extract().map_err(|_| Error::Kind { name, expected, found }.into())
}

#[pymethods]
impl Plan {
    /// The driver is only asked for what must be known before: named cards, and the first row of
    /// a tracking file.
    #[new]
    fn new(py: Python<'_>, given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let typed = Typed::of(given)?;
        if typed.asks_the_driver() {
            return patiently(py, || Self::settle(typed));
        }
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
        join(typed.n_join_attempts, typed.join_timeout)?;
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
            if !may_replace(path) {
                return Err(Error::NotABackup(path.clone()));
            }
        }
        let counted = settle_cards(&mut options, typed.gpu_uuids, typed.tracking_file.is_some())?;
        let file = typed.tracking_file.map(absolute).transpose()?.map(|path| TrackingFile {
            path,
            existing,
            facts: Facts::of_this_machine(expected.cores, counted),
        });
        let backup = typed.resource_usage_file.map(absolute).transpose()?;
        Ok(Self { options, units, expected, backup, file })
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

fn join(attempts: i64, seconds: f64) -> Result<(), Error> {
    if attempts < 1 {
        return Err(Error::JoinAttempts(attempts));
    }
    if seconds.is_nan() || seconds < 0.0 {
        return Err(Error::JoinTimeout(seconds));
    }
    Ok(())
}

/// The program may go to another folder meanwhile.
fn absolute(path: PathBuf) -> Result<PathBuf, Error> {
    std::path::absolute(&path)
        .map_err(|source| Error::Output(NotWritable { path: path.clone(), source }))
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
