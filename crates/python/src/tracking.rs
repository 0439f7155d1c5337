//! A measurement that goes on, and its end. Nothing here needs the interpreter while it measures,
//! so busy Python code thins out no samples.
//!
//! A fork copies all of this but none of the threads. What is waited for in the copy never
//! comes, and a lock may be held for ever; so the copy is left alone (`is_ours`).

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use gua::report::tracked::Points;
use probe::threads::Counted;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use track::gpu_tracker::tracking_file::Recording;
use track::gpu_tracker::{Expected, Units};
use track::{Asker, Sample, Stopper, Tracker, Usage};

use crate::backup::Backup;
use crate::errors::Error;
use crate::figures;
use crate::plan::Plan;

/// How often a signal, such as Ctrl-C, is looked for while the end is waited for.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

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
    Running { tracking: track::Tracking, recording: Option<Recording>, backup: Option<Backup> },
    Ending(Receiver<Ended>),
    Over(Box<Ended>),
    BrokenOff,
}

/// How it ended.
#[derive(Debug, Clone)]
struct Ended {
    usage: Usage,
    /// Why samples are missing from the tracking file.
    trouble: Option<String>,
}

impl Tracking {
    pub(crate) fn begin(plan: &Plan, pid: u32) -> Result<Self, Error> {
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
        let backup =
            plan.backup.clone().map(|path| Backup::begin(path, tracking.asker(), plan.units));
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

    /// Asks for the end; does not wait for it.
    fn end(&self, py: Python<'_>) {
        if let Some(inner) = self.inner() {
            py.detach(|| inner.end());
        }
    }

    /// What was used in all, and why samples are missing from the tracking file, if they are.
    /// `None` when it is not over by then.
    fn wait<'py>(
        &self,
        py: Python<'py>,
        seconds: f64,
    ) -> PyResult<Option<(Bound<'py, PyDict>, Option<String>)>> {
        let Some(inner) = self.inner() else { return Ok(None) };
        let most = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let begun = Instant::now();
        loop {
            let left = most.saturating_sub(begun.elapsed()).min(BETWEEN_SIGNALS);
            if let Some(ended) = py.detach(|| inner.ended_within(left))? {
                let told = figures::told(py, &ended.usage, inner.units, inner.expected)?;
                return Ok(Some((told, ended.trouble)));
            }
            if begun.elapsed() >= most {
                return Ok(None);
            }
            py.check_signals()?;
        }
    }

    /// The time line: seconds since the begin, bytes of RAM, percent of CPU, bytes of GPU memory,
    /// percent of GPU. Neighbours merge when there are many.
    fn points(&self) -> Vec<figures::Point> {
        let Some(inner) = self.inner() else { return Vec::new() };
        let points = lock(&inner.points).clone().finish();
        points.iter().map(figures::point).collect()
    }
}

impl Inner {
    fn end(&self) {
        let mut state = lock(&self.state);
        self.stopper.stop();
        *state = match std::mem::replace(&mut *state, State::BrokenOff) {
            State::Running { tracking, recording, backup } => {
                State::Ending(wait_elsewhere(move || {
                    let usage = tracking.wait();
                    // The figures are safe with who waits for them from here on.
                    drop(backup);
                    let ended = recording.map(|recording| recording.end());
                    let trouble = ended.and_then(Result::err).map(|error| error.to_string());
                    Ended { usage, trouble }
                }))
            }
            other => other,
        };
    }

    fn ended_within(&self, most: Duration) -> Result<Option<Ended>, Error> {
        let mut state = lock(&self.state);
        let ended = match &*state {
            State::Running { .. } => return Ok(None),
            State::Over(ended) => return Ok(Some(ended.as_ref().clone())),
            State::BrokenOff => return Err(Error::BrokeOff),
            State::Ending(ended) => ended.recv_timeout(most),
        };
        match ended {
            Ok(ended) => {
                *state = State::Over(Box::new(ended.clone()));
                Ok(Some(ended))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                *state = State::BrokenOff;
                Err(Error::BrokeOff)
            }
        }
    }
}

impl Drop for Tracking {
    /// Nobody is left to tell, so nothing is waited for. A fork forgets it as it is.
    fn drop(&mut self) {
        let is_ours = self.is_ours();
        match self.inner.take() {
            Some(inner) if is_ours => inner.end(),
            inner => std::mem::forget(inner),
        }
    }
}

/// On a thread of its own, so that who waits can give up. Where there is none to be had, here.
fn wait_elsewhere(wait: impl FnOnce() -> Ended + Send + 'static) -> Receiver<Ended> {
    let (tell, told) = mpsc::channel();
    let counted = Counted::new();
    let work = Arc::new(Mutex::new(Some(wait)));
    let here = Arc::clone(&work);
    let run = move || {
        let wait = lock(&work).take();
        if let Some(wait) = wait {
            // Who asked may have gone.
            let _ = tell.send(wait());
        }
        drop(counted);
    };
    if thread::Builder::new().name("gua-end".into()).spawn(run).is_ok() {
        return told;
    }
    let (tell, told) = mpsc::channel();
    let wait = lock(&here).take();
    if let Some(wait) = wait {
        let _ = tell.send(wait());
    }
    told
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
