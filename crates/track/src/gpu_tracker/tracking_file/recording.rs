//! A tracking file that is made when there is something to write: a command that does not start
//! leaves none behind, and replaces none.

use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::facts::Facts;
use super::writer::{Existing, Writer};
use crate::gpu_tracker::file::FileError;
use crate::gpu_tracker::units::Units;
use crate::sample::Sample;

/// A tracking file to be. Clones share it: one with the tracker, one for the end.
#[derive(Debug, Clone)]
pub struct Recording(Arc<Mutex<State>>);

/// What a tracking file is made from.
#[derive(Debug)]
pub struct Plan {
    pub path: PathBuf,
    pub existing: Existing,
    pub units: Units,
    pub facts: Facts,
}

#[derive(Debug)]
enum State {
    Waiting(Plan),
    Writing(Writer),
    Failed(FileError),
    Done,
}

impl Recording {
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self(Arc::new(Mutex::new(State::Waiting(plan))))
    }

    /// Adds a row. After a failure nothing more is written.
    pub fn add(&self, sample: &Sample) {
        self.change(|state| match state.begun() {
            State::Writing(mut writer) => match writer.write(sample) {
                Ok(()) => State::Writing(writer),
                Err(error) => State::Failed(error),
            },
            other => other,
        });
    }

    /// Closes the file, which is there from now on also when no sample came.
    ///
    /// # Errors
    /// When it could not be made, or not be written at any time since.
    pub fn end(&self) -> Result<(), FileError> {
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
            Self::Waiting(Plan { path, existing, units, facts }) => {
                Writer::create(&path, existing, units, &facts)
                    .map_or_else(Self::Failed, Self::Writing)
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::facts::CountedCards;
    use super::*;
    use crate::options::Cards;

    fn recording(path: &Path) -> Recording {
        let cards = CountedCards::new(Ok(&[]), &Cards::All);
        Recording::new(Plan {
            path: path.to_owned(),
            existing: Existing::Refuse,
            units: Units::PLAIN,
            facts: Facts::of_this_machine(None, cards),
        })
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
