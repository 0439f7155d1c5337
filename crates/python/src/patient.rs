//! Waits for what may take long, and hears Ctrl-C meanwhile.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use probe::nvml::is_left_in_the_loader;
use probe::threads;
use pyo3::prelude::*;

use crate::errors::Error;

/// How often a signal is looked for.
pub const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

/// Does something that may ask the driver, on a thread of its own. Who interrupts it leaves the
/// thread behind: nothing can end a call to the driver.
pub fn patiently<T: Send + 'static, E: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> PyResult<T>
where
    PyErr: From<E>,
{
    // No thread begins there.
    if is_left_in_the_loader() {
        return Ok(py.detach(work)?);
    }
    let (tell, mut told) = mpsc::channel();
    let worker = move || {
        // Nobody may want to know any more.
        let _ = tell.send(work());
    };
    py.detach(|| threads::spawn(threads::named("ask"), worker))?;
    loop {
        let told = &mut told;
        match py.detach(move || told.recv_timeout(BETWEEN_SIGNALS)) {
            Ok(done) => return Ok(done?),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Err(Error::BrokeOff.into()),
        }
    }
}
