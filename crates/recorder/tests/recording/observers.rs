//! What observers are called for.

use std::sync::{Arc, Mutex};

use gua_core::Poll;
use gua_recorder::{Log, RecordedTick, TickObserver};
use gua_store::{Database, Problem, StoreError, TickTransaction, Writer};

use crate::lab::{Lab, MINUTE};

/// Notes its calls, and fails on request.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<(Vec<String>, bool)>>);

impl Notes {
    fn add(&self, note: String) {
        self.0.lock().unwrap().0.push(note);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().0)
    }
}

impl TickObserver for Notes {
    fn opened(&mut self, _: &Database) -> Result<(), StoreError> {
        self.add("opened".into());
        Ok(())
    }

    fn polled(&mut self, _: &Poll) {
        self.add("polled".into());
    }

    fn write(
        &mut self,
        tick: &RecordedTick<'_>,
        _: &mut TickTransaction<'_>,
    ) -> Result<(), Problem> {
        self.add(format!("write {}", tick.tick.closed.len() + tick.tick.open.len()));
        if self.0.lock().unwrap().1 { Err(Problem::Full) } else { Ok(()) }
    }

    fn stored(&mut self, tick: &RecordedTick<'_>, _: &mut Writer, _: &mut Log) {
        self.add(format!("stored {}", tick.processes.len()));
    }

    fn close(&mut self, _: &mut Writer, _: &mut Log) {
        self.add("close".into());
    }
}

/// Trap: state in memory advances only after COMMIT.
#[test]
fn observers_advance_only_after_commit() {
    let mut lab = Lab::new();
    let notes = Notes::default();
    lab.start(vec![Box::new(notes.clone())]);
    lab.poll_and_tick().unwrap();
    assert_eq!(notes.take(), ["polled", "opened", "write 0", "stored 1"]);
    lab.record(MINUTE - 5000);
    notes.take();
    let samples = || lab.number("SELECT count(*) FROM sample");
    let before = samples();
    notes.0.lock().unwrap().1 = true;
    let error = lab.poll_and_tick().unwrap_err();
    assert!(matches!(error.problem, Problem::Full));
    assert_eq!(notes.take(), ["polled", "write 1"]);
    assert_eq!(lab.number("SELECT count(*) FROM sample"), before, "nothing of the tick is stored");
    notes.0.lock().unwrap().1 = false;
    lab.record(MINUTE);
    notes.take();
    lab.stop();
    assert_eq!(notes.take(), ["polled", "write 1", "stored 1", "close"]);
    assert_eq!(lab.card_seconds(), [0, 125, 0]);
    lab.assert_sound();
}
