//! What `gua stat`, `gua pick` and `gua report` answer, in this process.

use std::ffi::OsString;

use gua::commands::answers;

use pyo3::prelude::*;

use crate::errors::{Error, GuaError};
use crate::patient::patiently;
use crate::values;

/// The answer to a command as it would be typed after `gua`, as `--json` prints it.
#[pyfunction]
pub fn ask<'py>(py: Python<'py>, words: Vec<OsString>) -> PyResult<Bound<'py, PyAny>> {
    probe::nvml::end_in_spite_of_the_loader();
    let answer = patiently(py, || answers::ask(words).map_err(Error::from))?;
    let json =
        serde_json::to_value(&answer).map_err(|error| GuaError::new_err(error.to_string()))?;
    values::of_json(py, &json)
}

/// A time as it would be typed, in seconds.
#[pyfunction]
pub fn seconds(typed: &str) -> PyResult<f64> {
    Ok(answers::duration(typed).map_err(Error::from)?.as_secs_f64())
}

/// Text from outside, made fit to be shown: no control characters, no line breaks.
#[pyfunction]
pub fn safe(text: &str) -> String {
    gua::safe::safe(text)
}
