//! Counting what is recorded, also where it cannot be read for a while.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gua::classify::Thresholds;
use gua::counting::{Frames, Keeper, NotReady, Scraper, Slot};
use gua::ledger::Clocks;
use gua::metrics::{Counters, Host, Observed, Wanted};
use gua::recorder::{Observer, Witness};
use gua::sampler::Pretend;
use gua::store::{self, Run, Writer};
use probe::units::UnixMillis;

use super::hosts::MONDAY;
use crate::recorder::{TWO_CARDS, until};

/// A recorder without its loop: every tick is stored, and told of where somebody counts.
struct Recording {
    path: PathBuf,
    writer: Writer,
    observer: Observer,
    pretend: Pretend,
    seconds: i64,
}

impl Recording {
    fn new(path: PathBuf) -> Self {
        store::create(&path).unwrap();
        let run = Run {
            host: "gpu-1".to_owned(),
            boot: "boot".to_owned(),
            driver: None,
            recorder: "gua 0.1.0".to_owned(),
            interval_millis: Some(1000),
            started: wall(0),
        };
        let scenario = scenario::parse::from_str("host.toml", TWO_CARDS).unwrap();
        Self {
            writer: Writer::begin(store::open_to_write(&path).unwrap(), &run).unwrap(),
            observer: Observer::new(Duration::from_secs(1), Thresholds::default()),
            pretend: Pretend::new(scenario, wall(0)),
            seconds: 0,
            path,
        }
    }

    fn tick(&mut self, keeper: Option<&mut Keeper>) {
        let at = wall(self.seconds);
        let since = Duration::from_secs(self.seconds.unsigned_abs());
        let tick = self.pretend.tick(at, Duration::from_secs(1));
        let clocks = Clocks { wall: at, since_boot: since, awake: since };
        let (entry, events) = self.observer.see(&tick, clocks, None);
        self.writer.record(&entry, &events).unwrap();
        let number = self.writer.newest_tick().unwrap();
        if let Some(keeper) = keeper {
            keeper.stored(number, Observed { entry: &entry, events: &events, took: None }, None);
        }
        self.seconds += 1;
    }

    fn keeper(&self) -> (Keeper, Arc<Slot>, Arc<Mutex<String>>) {
        let said = Arc::new(Mutex::new(String::new()));
        let hears = Arc::clone(&said);
        let say = move |words: &str| hears.lock().unwrap().push_str(&format!("{words}\n"));
        let (host, wanted, losses) = (Host::default(), Wanted::default(), Arc::default());
        let keeper = Keeper::new(self.path.clone(), host, wanted, losses, say);
        let slot = keeper.slot();
        (keeper, slot, said)
    }
}

fn wall(second: i64) -> UnixMillis {
    UnixMillis((MONDAY + second) * 1000)
}

fn shown(slot: &Slot) -> Result<Counters, NotReady> {
    slot.newest(&Scraper("test".to_owned())).map(|shown| shown.frame.counters.clone())
}

fn kept(path: &Path) -> Vec<u8> {
    fs::read(path.with_file_name("gua-counters.json")).unwrap()
}

/// What was kept stays as it is, what waits is not piled up, and once the history can be read
/// again everything is counted.
#[test]
fn a_history_that_cannot_be_read_for_a_while_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut recording = Recording::new(dir.path().join("gua.db"));
    let (mut keeper, slot, _) = recording.keeper();
    assert_eq!(shown(&slot).unwrap_err().to_string(), "no tick is recorded yet");
    until("it counts", || {
        recording.tick(Some(&mut keeper));
        shown(&slot).is_ok()
    });
    drop(keeper);
    (0..5).for_each(|_| recording.tick(None));
    let before = kept(&recording.path);
    let (mut keeper, slot, said) = recording.keeper();
    let away = dir.path().join("away.db");
    fs::rename(&recording.path, &away).unwrap();
    until("it was tried again", || {
        recording.tick(Some(&mut keeper));
        recording.seconds > 50 && matches!(shown(&slot), Err(NotReady::Unreadable(_)))
    });
    assert_eq!(kept(&recording.path), before);
    fs::rename(&away, &recording.path).unwrap();
    until("it counts again", || {
        recording.tick(Some(&mut keeper));
        shown(&slot).is_ok()
    });
    recording.tick(Some(&mut keeper));
    let counters = shown(&slot).unwrap();
    // Every tick once: the first of the run speaks for no time.
    assert_eq!(counters.since_millis, wall(0).0);
    assert_eq!(i64::try_from(counters.ticks).unwrap(), recording.seconds);
    assert_eq!(i64::try_from(counters.observed_millis).unwrap(), (recording.seconds - 1) * 1000);
    let said = said.lock().unwrap();
    assert_eq!(said.matches("cannot be counted").count(), 1, "{said}");
}
