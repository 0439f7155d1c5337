//! The first row: which host, which driver, how many cards in which state, and when.

use gua_core::State as CardState;
use gua_core::snapshot::Snapshot;

use super::canvas::{Canvas, columns};
use super::theme::{Ink, ink};
use crate::render::stat;
use crate::render::words::{interval, safe};
use crate::tui::state::State;

/// What stands between two parts.
const GAP: u16 = 2;

type Part = (String, Ink);

pub fn draw(canvas: &mut Canvas<'_>, state: &State, error: Option<u16>) {
    let Some(look) = &state.look else {
        canvas.put(0, 0, "waiting for the driver …", Ink::Quiet);
        return;
    };
    let when = when(state, &look.now);
    let room = canvas.width().saturating_sub(length(&when) + GAP);
    let parts = parts(&look.now, room);
    let is_room = length(&parts) <= room;
    let mut x = 0;
    for (text, ink) in parts {
        x = canvas.put(x, 0, &text, ink) + GAP;
    }
    if is_room {
        let mut x = canvas.width().saturating_sub(length(&when));
        for (text, ink) in when {
            x = canvas.put(x, 0, &text, ink) + GAP;
        }
    }
    if let (Some(y), Some(error)) = (error, &look.now.host.driver_error) {
        canvas.put(0, y, &format!("driver: {}", safe(error)), Ink::Bad);
    }
}

/// All that fits: a narrow screen does without the driver, then without the host, at last
/// without how many cards there are.
fn parts(now: &Snapshot, room: u16) -> Vec<Part> {
    let host = safe(now.host.host.as_deref().unwrap_or("this host"));
    let host = (host, Ink::Strong);
    let driver =
        now.host.driver_version.as_deref().map(|version| format!("driver {}", safe(version)));
    let counts = counts(now);
    let mut all = vec![host];
    all.extend(driver.map(|driver| (driver, Ink::Plain)));
    all.extend(counts.clone());
    if let Some(beside) = stat::idle_beside(now) {
        let beside = (beside, ink(CardState::IdleHeld));
        let more = [all.clone(), vec![beside]].concat();
        if length(&more) <= room {
            return more;
        }
    }
    while length(&all) > room && all.len() > counts.len() {
        let is_driver = all.len() == counts.len() + 2;
        all.remove(usize::from(is_driver));
    }
    // The states say how many there are together.
    if length(&all) > room && all.len() > 1 {
        all.remove(0);
    }
    all
}

fn when(state: &State, now: &Snapshot) -> Vec<Part> {
    let time = state.settings.zone.clock(now.time);
    if state.is_paused {
        return vec![(format!("paused at {time}"), Ink::Notice)];
    }
    let mut parts = vec![(time, Ink::Plain)];
    if state.settings.every != std::time::Duration::from_secs(1) {
        parts.insert(0, (format!("every {}", interval(state.settings.every)), Ink::Quiet));
    }
    parts
}

fn counts(now: &Snapshot) -> Vec<Part> {
    let cards = match now.cards.len() {
        0 if now.host.driver_error.is_some() => "cards unknown".to_owned(),
        0 => "no cards".to_owned(),
        1 => "1 card:".to_owned(),
        many => format!("{many} cards:"),
    };
    let mut parts = vec![(cards, Ink::Plain)];
    parts.extend(stat::states(now).into_iter().map(|(state, words)| (words, ink(state))));
    parts
}

fn length(parts: &[Part]) -> u16 {
    parts.iter().map(|(text, _)| columns(text) + GAP).sum::<u16>().saturating_sub(GAP)
}
