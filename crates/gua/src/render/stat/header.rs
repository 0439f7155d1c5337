//! The first line: which host, which driver, how many cards in which state, and when.

use super::View;
use crate::render::paint::Ink;
use crate::render::table::{Cell, GAP, Line};
use crate::render::words::{safe, width};
use crate::report::now::Now;

/// The states in the order in which they are counted.
const STATES: [(&str, Ink); 4] = [
    ("active", Ink::Good),
    ("idle-held", Ink::Notice),
    ("free", Ink::Plain),
    ("unknown", Ink::Bad),
];

/// All of it where it fits; a narrow screen does without the driver, then without the time.
pub(super) fn line(now: &Now, view: &View) -> String {
    let time = now.time.to_zoned(view.zone.clone()).strftime("%H:%M:%S").to_string();
    let full = parts(now, true);
    let parts =
        if length(&full) + GAP + width(&time) <= view.most() { full } else { parts(now, false) };
    let mut line = Line::default();
    for part in &parts {
        let at = if line.width == 0 { 0 } else { line.width + GAP };
        line.put(at, part, view.most(), view.paint);
    }
    let after = line.width + GAP;
    let at = view.width.map_or(after, |columns| columns.saturating_sub(width(&time)).max(after));
    if at + width(&time) <= view.most() {
        line.put(at, &Cell::new(time, Ink::Quiet), view.most(), view.paint);
    }
    line.text
}

fn parts(now: &Now, with_driver: bool) -> Vec<Cell> {
    let host = now.host.as_deref().unwrap_or("this host");
    let mut parts = vec![Cell::new(safe(host), Ink::Strong)];
    if let Some(version) = now.driver_version.as_ref().filter(|_| with_driver) {
        parts.push(Cell::plain(format!("driver {}", safe(version))));
    }
    parts.push(Cell::plain(match now.cards.len() {
        0 if now.driver_error.is_some() => "cards unknown".to_owned(),
        0 => "no cards".to_owned(),
        1 => "1 card:".to_owned(),
        many => format!("{many} cards:"),
    }));
    for (state, ink) in STATES {
        let count = now.cards.iter().filter(|card| card.state == state).count();
        if count > 0 {
            parts.push(Cell::new(format!("{count} {state}"), ink));
        }
    }
    parts
}

fn length(parts: &[Cell]) -> usize {
    parts.iter().map(|part| width(&part.text) + GAP).sum::<usize>().saturating_sub(GAP)
}
