//! `gua policy off` and `gua policy on`: one switch for all rules.

use std::io;
use std::path::PathBuf;

use gua_store::lock::RecorderLock;

use crate::cli::PolicySwitch;
use crate::commands::history;
use crate::config::{Files, SERVICE_DATABASE};
use crate::context::Context;
use crate::failure::Failure;
use crate::policy::Switch;
use crate::render::json;
use crate::report::policy::snooze::Switched;

pub(super) fn off(
    files: &Files,
    typed: &PolicySwitch,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let recorder = recorder(files, typed)?;
    let switch = &recorder.switch;
    let changed = switch.turn_off().map_err(|error| cannot(switch, &error))?;
    match recorder.is_running {
        Some(true) => {}
        Some(false) => return Err(nobody_stopped(&recorder)),
        None => return Err(maybe_nobody_stopped(&recorder)),
    }
    let words = if changed {
        "no rule does anything any more; `gua policy on` switches them on again"
    } else {
        "the rules were off already; `gua policy on` switches them on again"
    };
    told(typed, &Switched { schema: SCHEMA, switched_off: true, changed }, words, context)
}

pub(super) fn on(
    files: &Files,
    typed: &PolicySwitch,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let switch = recorder(files, typed)?.switch;
    let changed = switch.turn_on().map_err(|error| cannot(&switch, &error))?;
    let words = if changed {
        "the rules are on again; everybody who is idle first gets a new notice"
    } else {
        "the rules were not switched off"
    };
    told(typed, &Switched { schema: SCHEMA, switched_off: false, changed }, words, context)
}

const SCHEMA: &str = "gua.policy_switch/1";

/// Whose rules are switched.
struct Recorder {
    database: PathBuf,
    /// `None` where it cannot be told.
    is_running: Option<bool>,
    switch: Switch,
}

/// That of the history that was named, else one that runs: ours, or the service's. A config that
/// cannot be used must not keep anybody from switching off.
fn recorder(files: &Files, typed: &PolicySwitch) -> Result<Recorder, Failure> {
    let (settings, _) = files.what_can_be_used();
    let usual = history::path(typed.db.as_deref(), &settings.settled())?;
    let service = typed.db.is_none().then(|| PathBuf::from(SERVICE_DATABASE));
    let places: Vec<PathBuf> = std::iter::once(usual.clone()).chain(service).collect();
    chosen(&places).ok_or_else(|| Failure::Failed {
        what: format!("there is no history at {}, so no rules to switch", usual.display()),
        next: "Name the recorder's history with --db PATH; `gua status` tells where it is."
            .to_owned(),
    })
}

/// The first that is recorded into, else the first that is there.
fn chosen(places: &[PathBuf]) -> Option<Recorder> {
    let there = || places.iter().filter(|place| place.exists());
    let running = there().find(|place| RecorderLock::is_taken(place) == Some(true));
    let database = running.or_else(|| there().next())?;
    let is_running = running.map_or_else(|| RecorderLock::is_taken(database), |_| Some(true));
    let (database, switch) = (database.clone(), Switch::of(database));
    Some(Recorder { is_running, database, switch })
}

/// Somebody who stops all rules must not be left to believe it.
fn nobody_stopped(recorder: &Recorder) -> Failure {
    Failure::Failed {
        what: format!(
            "no recorder was stopped: none records into {}; one that starts there finds its \
             rules switched off",
            recorder.database.display()
        ),
        next: "Name the history of the one that runs with --db PATH.".to_owned(),
    }
}

fn maybe_nobody_stopped(recorder: &Recorder) -> Failure {
    Failure::CannotTell {
        what: format!(
            "the rules of {} are switched off, but whether a recorder applies them is unknown",
            recorder.database.display()
        ),
        next: "Ask `gua status` as the recorder's user or as root.".to_owned(),
    }
}

fn told(
    typed: &PolicySwitch,
    switched: &Switched,
    words: &str,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    if typed.json {
        json::pretty(&mut context.out, switched)?;
    } else {
        writeln!(context.out, "{words}")?;
    }
    context.out.flush()?;
    Ok(0)
}

fn cannot(switch: &Switch, error: &io::Error) -> Failure {
    Failure::Failed {
        what: format!("cannot switch by {}: {error}", switch.path().display()),
        next: "Do it as the recorder's user or as root; --db names the recorder's history."
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Root at home, while the service records elsewhere.
    #[test]
    fn who_records_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let places = ["home.db", "service.db"].map(|name| dir.path().join(name));
        assert!(chosen(&places).is_none());
        fs::write(&places[0], "").unwrap();
        fs::write(&places[1], "").unwrap();
        let found = chosen(&places).unwrap();
        assert_eq!((found.database, found.is_running), (places[0].clone(), Some(false)));
        let lock = fs::File::open(&places[1]).unwrap();
        lock.lock().unwrap();
        let found = chosen(&places).unwrap();
        assert_eq!((found.database, found.is_running), (places[1].clone(), Some(true)));
    }
}
