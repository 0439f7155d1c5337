//! The tracking file, made when there is something to write: a command that does not start
//! leaves none behind, and replaces none.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use track::Sample;
use track::gpu_tracker::Units;
use track::gpu_tracker::file::FileError;
use track::gpu_tracker::tracking_file::{Facts, Writer};

use super::meant::TrackingFile;

/// A tracking file to be. Clones share it: one with the tracker, one for the end.
#[derive(Debug, Clone)]
pub(super) struct Recording(Arc<Mutex<State>>);

#[derive(Debug)]
enum State {
    Waiting { file: TrackingFile, units: Units, facts: Facts },
    Writing(Writer),
    Failed(FileError),
    Done,
}

impl Recording {
    pub(super) fn new(file: TrackingFile, units: Units, facts: Facts) -> Self {
        Self(Arc::new(Mutex::new(State::Waiting { file, units, facts })))
    }

    /// Adds a row. After a failure nothing more is written.
    pub(super) fn add(&self, sample: &Sample) {
        self.change(|state| match state.begun() {
            State::Writing(mut writer) => match writer.write(sample) {
                Ok(()) => State::Writing(writer),
                Err(error) => State::Failed(error),
            },
            other => other,
        });
    }

    /// Closes the file, which is there from now on also when no sample came.
    pub(super) fn end(&self) -> Result<(), FileError> {
        let mut outcome = Ok(());
        self.change(|state| {
            if let State::Failed(error) = state.begun() {
                outcome = Err(error);
            }
            State::Done
        });
        outcome
    }

    fn change(&self, next: impl FnOnce(State) -> State) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = next(mem::replace(&mut state, State::Done));
    }
}

impl State {
    fn begun(self) -> Self {
        match self {
            Self::Waiting { file, units, facts } => {
                Writer::create(&file.path, file.existing, units, &facts)
                    .map_or_else(Self::Failed, Self::Writing)
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use probe::Reading;
    use probe::units::Bytes;
    use track::gpu_tracker::tracking_file::{CountedCards, Existing};

    use super::*;

    fn recording(path: &Path) -> Recording {
        let file = TrackingFile { path: path.to_owned(), existing: Existing::Refuse };
        let cards = CountedCards { all: 0, chosen: 0, memory: Reading::Known(Bytes(0)) };
        Recording::new(file, Units::PLAIN, Facts::of_this_machine(None, cards))
    }

    #[test]
    fn the_file_is_made_at_the_end_at_the_latest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let recording = recording(&path);
        assert!(!path.exists());
        recording.end().unwrap();
        assert!(path.exists());
    }

    #[test]
    fn a_failure_is_remembered_to_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let refused = recording(&folder.path().join("gone/a.csv")).end().unwrap_err();
        assert!(refused.to_string().contains("gone/a.csv` cannot be used"), "{refused}");
    }
}
