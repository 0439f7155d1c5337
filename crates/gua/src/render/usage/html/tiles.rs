//! Every card now: what it does, who holds it, and since when without working.

use maud::{Markup, html};

use super::headline::{in_money, price_of};
use super::marks::{Mark, bar, swatch};
use super::text::{clock, count, moment, shown};
use super::{Dress, Sheet};
use crate::classify::State;
use crate::render::identity;
use crate::render::usage::figures::length;
use crate::render::words::{card_name, memory, memory_of};
use crate::report::board::{Board, Tile};
use crate::report::usage::Usage;
use crate::report::who::{Doubt, Held};

/// So many holders of a card are named.
const MOST_HOLDERS: usize = 3;

pub(super) fn section(sheet: &Sheet<'_>, board: &Board) -> Markup {
    html! {
        section id="now" aria-labelledby="now-title" {
            h2 id="now-title" { (if board.is_live { "Now" } else { "When last seen" }) }
            @if !board.is_live { p.doubt { "The recorder does not run: this was, and may be no more." } }
            p.lead { (sentence(board)) }
            p.quiet id="as-of" data-live=(board.is_live) {
                @if board.is_live { "as of " } @else { "last seen " }
                @match sheet.dress {
                    Dress::Served(_) if board.is_live => (clock(board.at, &sheet.view.tz)),
                    _ => (moment(board.at, &sheet.view.tz)),
                }
                " " (shown(&sheet.page.usage.window.tz))
            }
            ul.tiles { @for tile in &board.tiles { (card(sheet, tile)) } }
        }
    }
}

/// What is held for nothing, and by whom for longest; then the rest.
fn sentence(board: &Board) -> Markup {
    let [active, held, free, unknown] = board.counts();
    let all = board.tiles.len();
    let mut longest: Vec<_> =
        board.tiles.iter().filter_map(|tile| Some((tile, tile.longest_idle()?))).collect();
    let seconds = |held: &Held| held.idle.idle_seconds.unwrap_or(0.0);
    longest.sort_by(|(_, a), (_, b)| seconds(b).total_cmp(&seconds(a)));
    let free_cards: Vec<_> = board
        .tiles
        .iter()
        .filter(|tile| tile.card.state == State::TrulyIdle)
        .map(|tile| tile.card.identity.label())
        .collect();
    let is = match (board.is_live, held) {
        (true, 1) => "is",
        (true, _) => "are",
        (false, 1) => "was",
        (false, _) => "were",
    };
    html! {
        strong { (held) " of " (count(all, "card")) " " (is) " held for nothing" }
        @if let Some((tile, held)) = longest.first() {
            ", longest by " strong { (who(held)) } " on card " (tile.card.identity.label())
            " (" (idle_for(held)) ")"
        }
        "; " (active) " active, " (free) " free"
        @if !free_cards.is_empty() { " (" (free_cards.join(", ")) ")" }
        @if unknown > 0 { ", " (unknown) " unknown" }
        "."
    }
}

fn card(sheet: &Sheet<'_>, tile: &Tile) -> Markup {
    let card = &tile.card;
    let mark = Mark::from(card.state);
    html! {
        li class=(format!("tile {}", mark.class())) {
            h3 {
                span.number { (card.identity.label()) }
                " " span.name { (card.identity.name.as_deref().map_or_else(|| "unknown".to_owned(), |name| shown(card_name(name)))) }
            }
            p.state { (swatch(mark)) " " strong { (card.state.word()) }
                @if let Some(why) = &card.state_reason { ": " (shown(why)) }
                @if let Some(idle) = tile.longest_idle() { " for " (idle_for(idle)) }
            }
            @if let Some(cost) = cost(&sheet.page.usage, tile) { p.cost { (cost) " in this window" } }
            (holders(sheet, tile))
            (meters(tile))
        }
    }
}

fn holders(sheet: &Sheet<'_>, tile: &Tile) -> Markup {
    let more = tile.holders.len().saturating_sub(MOST_HOLDERS);
    html! {
        @if !tile.holders.is_empty() || tile.unseen.is_some() {
            ul.holders {
                @for held in tile.holders.iter().take(MOST_HOLDERS) { li { (holder(sheet, held)) } }
                @if more > 0 { li.quiet { "and " (more) " more" } }
                @if let Some(unseen) = &tile.unseen {
                    li.quiet {
                        @match unseen.memory_bytes {
                            Some(bytes) => { "somebody unseen, " (memory(bytes)) }
                            None => "may be held by somebody unseen",
                        }
                    }
                }
            }
        }
    }
}

fn holder(sheet: &Sheet<'_>, held: &Held) -> Markup {
    let what = what(held);
    html! {
        strong { (who(held)) }
        @if !what.is_empty() { " " span.what { (what) } }
        @if let Some(bytes) = held.holder.memory_bytes { " " span.memory { (memory(bytes)) } }
        @if held.state == State::IdleHeld {
            br; span.idle {
                @match held.idle.idle_since {
                    Some(since) => {
                        @if held.idle.idle_doubt == Some(Doubt::BeginningNotRecorded) { "idle since before " }
                        @else { "idle since " }
                        (moment(since, &sheet.view.tz))
                    }
                    None => "idle now; since when is not recorded",
                }
            }
        }
    }
}

fn idle_for(held: &Held) -> String {
    let mark = if held.idle.idle_doubt.is_some() { "≥\u{a0}" } else { "" };
    format!("{mark}{}", length(held.idle.idle_seconds.unwrap_or(0.0)))
}

pub(super) fn who(held: &Held) -> String {
    let owner = &held.holder.owner;
    match (&owner.user, owner.uid) {
        (Some(user), _) => shown(user),
        (None, Some(uid)) => format!("uid {uid}"),
        (None, None) => identity::UNATTRIBUTED.to_owned(),
    }
}

fn what(held: &Held) -> String {
    let brief = held.identity.as_ref().map(identity::brief).filter(|brief| !brief.is_empty());
    brief.or_else(|| held.holder.owner.program.clone()).map_or_else(String::new, |it| shown(&it))
}

/// What those who hold it idle now, or did when the record ended, have cost in this window.
fn cost(usage: &Usage, tile: &Tile) -> Option<String> {
    let price = price_of(usage, tile.card.identity.name.as_deref())?;
    let uuid = tile.card.identity.uuid.as_ref()?;
    let is_of_card = |pid: u32| tile.holders.iter().any(|held| held.holder.pid == pid);
    let sessions = usage.sessions.as_ref()?.iter();
    let open = sessions.filter(|it| it.open != Some(false) && it.card_uuid.as_ref() == Some(uuid));
    let hours: f64 = open.filter(|it| is_of_card(it.pid)).map(|it| it.idle_held_gpu_hours).sum();
    (hours > 0.0).then(|| in_money(usage, hours * price)).flatten()
}

#[expect(clippy::cast_precision_loss, reason = "a share of memory")]
fn meters(tile: &Tile) -> Markup {
    let card = &tile.card;
    let used = card.memory.memory_used_bytes;
    let total = card.memory.memory_total_bytes.filter(|total| *total > 0);
    html! {
        dl.meters {
            dt { "utilization" }
            dd {
                @match card.work.utilization_percent {
                    Some(percent) => { (bar(percent / 100.0, Mark::Active)) span { (format!("{percent:.0} %")) } }
                    None => span { "unknown" },
                }
            }
            dt { "memory" }
            dd {
                @match (used, total) {
                    (Some(used), Some(total)) => {
                        (bar(used as f64 / total as f64, if card.state == State::IdleHeld { Mark::Held } else { Mark::Active }))
                        span { (memory_of(Some(used), Some(total))) }
                    }
                    (Some(used), None) => span { (memory(used)) },
                    (None, _) => span { "unknown" },
                }
            }
        }
    }
}
