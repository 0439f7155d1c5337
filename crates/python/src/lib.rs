//! The native half of the Python module `gua`: conversion only. What is measured comes from
//! `track`, what is answered from `gua`; the half in Python makes classes of it.
//!
//! # Layout
//!
//! | module | what it does |
//! |---|---|
//! | `errors` | what goes wrong, as Python's exceptions |
//! | `plan` | what a measurement is asked for, checked before it begins |
//! | `tracking` | a measurement that goes on |
//! | `backup` | what was used so far, in a file, in case that nobody lives to tell |
//! | `figures` | what was measured, as Python's values |
//! | `blocks` | sub-tracking: marks, analyses, comparisons |
//! | `patient` | waits for what may take long, and hears Ctrl-C meanwhile |
//! | `answers` | what `gua stat`, `gua pick` and `gua report` answer |
//! | `values` | any answer as Python's values |

#![allow(clippy::needless_pass_by_value, reason = "Python hands over values, not references")]

mod answers;
mod backup;
mod blocks;
mod errors;
mod figures;
mod patient;
mod plan;
mod tracking;
mod values;

use pyo3::prelude::*;

/// The native half of `gua`; what it offers is offered by `gua` in a better shape.
#[pymodule(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("GuaError", module.py().get_type::<errors::GuaError>())?;
    module.add("NoDriver", module.py().get_type::<errors::NoDriver>())?;
    module.add("NoLibrary", module.py().get_type::<errors::NoLibrary>())?;
    module.add("HistoryError", module.py().get_type::<errors::HistoryError>())?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<tracking::Tracking>()?;
    module.add_class::<blocks::Marks>()?;
    module.add_function(wrap_pyfunction!(blocks::static_data, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::timepoints, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::calls, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::combine, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(blocks::compare, module)?)?;
    module.add_function(wrap_pyfunction!(before_fork, module)?)?;
    module.add_function(wrap_pyfunction!(after_fork_in_parent, module)?)?;
    module.add_function(wrap_pyfunction!(after_fork_in_child, module)?)?;
    module.add_function(wrap_pyfunction!(answers::ask, module)?)?;
    module.add_function(wrap_pyfunction!(answers::seconds, module)?)?;
    module.add_function(wrap_pyfunction!(answers::safe, module)?)
}

/// Waits until no thread is in the driver's library. Another thread that forks may be waited for
/// as well, and needs the interpreter to come to its end.
#[pyfunction]
fn before_fork(py: Python<'_>) {
    py.detach(probe::fork::before);
}

#[pyfunction]
fn after_fork_in_parent() {
    probe::fork::after_in_parent();
}

#[pyfunction]
fn after_fork_in_child() {
    probe::fork::after_in_child();
}
