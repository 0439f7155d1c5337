//! A measurement that goes on, and its end. Nothing here needs the interpreter while it measures,
//! so busy Python code thins out no samples.
//!
//! A fork copies all of this but none of the threads. What is waited for in the copy never
//! comes, and a lock may be held for ever; so the copy is left alone (`is_ours`).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gua::report::tracked::Points;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use track::gpu_tracker::file::FileError;
use track::gpu_tracker::tracking_file::Recording;
use track::gpu_tracker::{Expected, Units};
use track::{Asker, Sample, Stopper, Tracker, Usage};

use crate::backup::Backup;
use crate::errors::Error;
use crate::figures;
use crate::patient::BETWEEN_SIGNALS;
use crate::plan::Plan;

/// A measurement that was begun.
#[pyclass(frozen, module = "gua._native")]
#[derive(Debug)]
pub struct Tracking {
    /// The process that began it.
    owner: u32,
    /// `None` only while it is dropped.
    inner: Option<Inner>,
}

#[derive(Debug)]
struct Inner {
    stopper: Stopper,
    asker: Asker,
    points: Arc<Mutex<Points>>,
    units: Units,
    expected: Expected,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Running {
        tracking: track::Tracking,
        recording: Option<Recording>,
        backup: Option<Result<Backup, FileError>>,
    },
    Over(Box<Ended>),
    /// Its thread has panicked.
    BrokenOff,
}

/// How it ended.
#[derive(Debug, Clone)]
struct Ended {
    usage: Usage,
    /// What went wrong with the files that were asked for.
    troubles: Vec<String>,
}

impl Tracking {
    pub(crate) fn begin(plan: &Plan, pid: u32) -> Result<Self, Error> {
        probe::nvml::end_in_spite_of_the_loader();
        // Blocks come one after the other, and opening takes a driver longer than a look.
        probe::nvml::stay_open();
        let recording = plan.recording();
        let points = Arc::new(Mutex::new(Points::default()));
        let watch = {
            let (recording, points) = (recording.clone(), Arc::clone(&points));
            move |sample: &Sample| {
                lock(&points).push(sample);
                if let Some(recording) = &recording {
                    recording.add(sample);
                }
            }
        };
        let tracking = Tracker::new(plan.options.clone()).on_sample(watch).start(pid)?;
        let backup = plan
            .backup
            .clone()
            .map(|path| Backup::begin(path, tracking.asker(), plan.units, plan.expected));
        let inner = Inner {
            stopper: tracking.stopper(),
            asker: tracking.asker(),
            points,
            units: plan.units,
            expected: plan.expected,
            state: Mutex::new(State::Running { tracking, recording, backup }),
        };
        Ok(Self { owner: std::process::id(), inner: Some(inner) })
    }

    /// What there is, in the process that began it.
    fn inner(&self) -> Option<&Inner> {
        self.inner.as_ref().filter(|_| self.is_ours())
    }
}

#[pymethods]
impl Tracking {
    /// Whether this is the process that began it, and not a fork of it.
    fn is_ours(&self) -> bool {
        self.owner == std::process::id()
    }

    /// What was used until now; `None` when it is over or not ours.
    fn so_far<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(inner) = self.inner() else { return Ok(None) };
        let usage = py.detach(|| inner.asker.so_far());
        usage.map(|usage| figures::told(py, &usage, inner.units, inner.expected)).transpose()
    }

    /// Asks for the end, and leaves it to the thread that looks.
    fn end(&self) {
        if let Some(inner) = self.inner() {
            inner.stopper.stop();
        }
    }

    /// Ends it: what was used in all, and what went wrong with the files that were asked for.
    /// `None` when it is not over by then.
    fn stop<'py>(
        &self,
        py: Python<'py>,
        seconds: f64,
    ) -> PyResult<Option<(Bound<'py, PyDict>, Vec<String>)>> {
        let Some(inner) = self.inner() else { return Ok(None) };
        let most = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let begun = Instant::now();
        loop {
            let left = most.saturating_sub(begun.elapsed()).min(BETWEEN_SIGNALS);
            if let Some(ended) = py.detach(|| inner.ended_within(left)) {
                let told = figures::told(py, &ended.usage, inner.units, inner.expected)?;
                return Ok(Some((told, ended.troubles)));
            }
            if py.detach(|| matches!(*lock(&inner.state), State::BrokenOff)) {
                return Err(Error::BrokeOff.into());
            }
            if begun.elapsed() >= most {
                return Ok(None);
            }
            py.check_signals()?;
        }
    }

    /// The time line: seconds since the begin, bytes of RAM, percent of CPU, bytes of GPU memory,
    /// percent of GPU. Neighbours merge when there are many.
    fn points(&self, py: Python<'_>) -> Vec<figures::Point> {
        let Some(inner) = self.inner() else { return Vec::new() };
        let points = py.detach(|| lock(&inner.points).clone().finish());
        points.iter().map(figures::point).collect()
    }
}

impl Inner {
    /// Asks for the end and waits for it, at most so long. Others who ask meanwhile wait as long.
    fn ended_within(&self, most: Duration) -> Option<Ended> {
        self.stopper.stop();
        let mut state = lock(&self.state);
        match std::mem::replace(&mut *state, State::BrokenOff) {
            State::Running { tracking, recording, backup } if tracking.is_over_within(most) => {
                let usage = tracking.wait();
                let kept = backup.and_then(|backup| backup.and_then(Backup::end).err());
                let recorded = recording.and_then(|recording| recording.end().err());
                let troubles = kept
                    .map(|error| format!("{error}. It did not have what was used so far."))
                    .into_iter()
                    .chain(recorded.map(|error| {
                        format!("{error}. Samples are missing from the tracking file.")
                    }));
                *state = State::Over(Box::new(Ended { usage, troubles: troubles.collect() }));
            }
            other => *state = other,
        }
        match &*state {
            State::Over(ended) => Some(ended.as_ref().clone()),
            State::Running { .. } | State::BrokenOff => None,
        }
    }
}

impl Drop for Tracking {
    /// Nobody is left to tell, so nothing is waited for. A fork forgets it as it is.
    fn drop(&mut self) {
        let is_ours = self.is_ours();
        match self.inner.take() {
            Some(inner) if is_ours => inner.stopper.stop(),
            inner => std::mem::forget(inner),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
