//! The first line: which host, which driver, how many cards in which state, and when.

use gua_core::snapshot::{CardCounts, Snapshot};
use gua_core::{Reason, State};

use super::View;
use super::cards::state_ink;
use crate::render::paint::Ink;
use crate::render::table::{Cell, GAP, Line};
use crate::render::words::{cut, safe, width};

/// A host's name that is cut shorter than this says nothing.
const SHORTEST_NAME: usize = 8;

/// All of it where it fits; a narrow screen does without the driver, then without the time,
/// then without the host, and at last without some of the counts.
pub(super) fn line(now: &Snapshot, view: &View) -> String {
    // A line in a file is read on another day.
    let time =
        if view.is_terminal { view.zone.clock(now.time) } else { view.zone.second(now.time) };
    let mut line = Line::default();
    for part in parts(now, view.most(), width(&time)) {
        let at = if line.width == 0 { 0 } else { line.width + GAP };
        line.put(at, &part, view.most(), view.paint);
    }
    let after = line.width + GAP;
    let edge = view.width.filter(|_| view.is_terminal);
    let at = edge.map_or(after, |columns| columns.saturating_sub(width(&time)).max(after));
    if at + width(&time) <= view.most() {
        line.put(at, &Cell::new(time, Ink::Quiet), view.most(), view.paint);
    }
    line.text
}

fn parts(now: &Snapshot, most: usize, time: usize) -> Vec<Cell> {
    let host = safe(now.host.host.as_deref().unwrap_or("this host"));
    let host_cell = |text: &str| Cell::new(text, Ink::Strong);
    let counts = counts(now);
    if let Some(version) = &now.host.driver_version {
        let driver = Cell::plain(format!("driver {}", safe(version)));
        let all = [vec![host_cell(&host), driver], counts.clone()].concat();
        let beside = idle_beside(now).map(|text| Cell::new(text, state_ink(State::IdleHeld)));
        let more = [all.clone(), beside.into_iter().collect()].concat();
        if length(&more) + GAP + time <= most {
            return more;
        }
        if length(&all) + GAP + time <= most {
            return all;
        }
    }
    let room = most.saturating_sub(length(&counts) + GAP);
    if room >= width(&host).min(SHORTEST_NAME) {
        return [vec![host_cell(&cut(&host, room))], counts].concat();
    }
    within(counts, most)
}

/// How many cards there are, then how many are in each state.
fn counts(now: &Snapshot) -> Vec<Cell> {
    let cards = match now.cards.len() {
        0 if now.host.driver_error.is_some() => "cards unknown".to_owned(),
        0 => "no cards".to_owned(),
        1 => "1 card:".to_owned(),
        many => format!("{many} cards:"),
    };
    let states = states(now).into_iter().map(|(state, words)| Cell::new(words, state_ink(state)));
    std::iter::once(Cell::plain(cards)).chain(states).collect()
}

/// Returns how many cards are in each state.
#[must_use]
pub fn states(now: &Snapshot) -> Vec<(State, String)> {
    let CardCounts { active, idle_held, truly_idle, unknown, .. } = now.counts();
    let unread = State::Unknown(Reason::NotTold);
    let of_state = [
        (State::Active, active),
        (State::IdleHeld, idle_held),
        (State::TrulyIdle, truly_idle),
        (unread, unknown),
    ];
    let there = of_state.into_iter().filter(|(_, count)| *count > 0);
    there.map(|(state, count)| (state, format!("{count} {}", state.word()))).collect()
}

/// Returns how many holders are idle on cards that others work on, if there are any.
#[must_use]
pub fn idle_beside(now: &Snapshot) -> Option<String> {
    let CardCounts { idle_beside, .. } = now.counts();
    (idle_beside > 0).then(|| format!("+{idle_beside} idle beside others"))
}

/// As many counts as fit, with a mark for the others; without any, no colon promises them.
fn within(mut counts: Vec<Cell>, most: usize) -> Vec<Cell> {
    let mark = Cell::new("…", Ink::Quiet);
    let is_cut = length(&counts) > most;
    let room = if is_cut { most.saturating_sub(GAP + width(&mark.text)) } else { most };
    while counts.len() > 1 && length(&counts) > room {
        counts.pop();
    }
    match counts.as_mut_slice() {
        [cards] => cards.text = cards.text.trim_end_matches(':').to_owned(),
        _ if is_cut => counts.push(mark),
        _ => {}
    }
    counts
}

fn length(parts: &[Cell]) -> usize {
    parts.iter().map(|part| width(&part.text) + GAP).sum::<usize>().saturating_sub(GAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_left_out_whole() {
        let shown = |most| {
            let counts = ["6 cards:", "2 active", "1 free"].map(Cell::plain).to_vec();
            let texts: Vec<_> = within(counts, most).into_iter().map(|cell| cell.text).collect();
            texts.join("  ")
        };
        assert_eq!(shown(26), "6 cards:  2 active  1 free");
        assert_eq!(shown(25), "6 cards:  2 active  …");
        assert_eq!(shown(21), "6 cards:  2 active  …");
        assert_eq!(shown(20), "6 cards");
        assert_eq!(shown(3), "6 cards", "what is still too long is cut by the line");
    }
}
