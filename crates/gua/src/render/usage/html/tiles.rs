//! All cards now: what each does, who holds it, and since when without using it.

use gua_core::State;
use gua_core::snapshot::{
    CardCounts, CardNow, HistoryState, HolderNow, IdleDoubt, IdleNow, Snapshot,
};
use gua_query::usage::Usage;
use maud::{Markup, html};

use super::headline::{in_money, price_of};
use super::marks::{Mark, bar, swatch};
use super::text::{brief, clock, count, moment, shown};
use super::{Dress, Sheet};
use crate::render::usage::figures::length;
use crate::render::words::{card_name, memory, memory_of};

/// Holders of a card that are named.
const MOST_HOLDERS: usize = 3;

pub(super) fn section(sheet: &Sheet<'_>, now: &Snapshot) -> Markup {
    let is_live = is_live(now);
    html! {
        section id="now" aria-labelledby="now-title" {
            h2 id="now-title" { (if is_live { "Now" } else { "When last seen" }) }
            @if !is_live { p.doubt { "The recorder is not running. This is what it last saw." } }
            p.lead { (sentence(now)) }
            p.quiet id="as-of" data-live=(is_live) {
                @if is_live { "as of " } @else { "last seen " }
                @match sheet.dress {
                    Dress::Served(_) if is_live => (clock(now.time, &sheet.view.tz)),
                    _ => (moment(now.time, &sheet.view.tz)),
                }
                " " (shown(&sheet.page.usage.window.tz))
            }
            ul.tiles { @for one in &now.cards { (card(sheet, one)) } }
        }
    }
}

/// Returns true if the record reaches up to now.
fn is_live(now: &Snapshot) -> bool {
    now.history.as_ref().is_some_and(|history| history.state == HistoryState::Recording)
}

/// Returns who has held an idle-held card for longest, and since when.
fn longest_idle(card: &CardNow) -> Option<(String, &IdleNow)> {
    let holders = card.holders.iter().map(|holder| (who(holder), &holder.idle));
    let unlisted = card.unlisted.iter().map(|it| ("unlisted memory".to_owned(), &it.idle));
    let known = holders.chain(unlisted).filter(|(_, idle)| idle.is_known());
    let longest = known.max_by(|(_, a), (_, b)| idle_seconds(a).total_cmp(&idle_seconds(b)));
    longest.filter(|_| card.state == State::IdleHeld)
}

/// Returns the holders of a card, longest idle first, then those that may be idle.
fn holders_by_idle_time(card: &CardNow) -> Vec<&HolderNow> {
    let rank = |holder: &HolderNow| match (holder.idle.idle_seconds, holder.state) {
        (Some(seconds), _) => seconds,
        (None, State::IdleHeld) => -1.0,
        (None, State::Unknown(_)) => -2.0,
        (None, State::TrulyIdle) => -3.0,
        (None, State::Active) => -4.0,
    };
    let mut holders: Vec<_> = card.holders.iter().collect();
    holders.sort_by(|a, b| rank(b).total_cmp(&rank(a)).then(a.pid.cmp(&b.pid)));
    holders
}

fn idle_seconds(idle: &IdleNow) -> f64 {
    idle.idle_seconds.unwrap_or(0.0)
}

/// Formats how many cards are idle-held and by whom for longest, and the other states.
fn sentence(now: &Snapshot) -> Markup {
    let counts = now.counts();
    let CardCounts { active, idle_held: held, truly_idle: free, unknown, idle_beside } = counts;
    let all = now.cards.len();
    let mut longest: Vec<_> =
        now.cards.iter().filter_map(|card| Some((card, longest_idle(card)?))).collect();
    longest.sort_by(|(_, (_, a)), (_, (_, b))| idle_seconds(b).total_cmp(&idle_seconds(a)));
    let free_cards = now.cards.iter().filter(|card| card.state == State::TrulyIdle);
    let free_cards: Vec<_> = free_cards.map(|card| card.card.label()).collect();
    let is = match (is_live(now), held) {
        (true, 1) => "is",
        (true, _) => "are",
        (false, 1) => "was",
        (false, _) => "were",
    };
    html! {
        strong { (held) " of " (count(all, "card")) " " (is) " idle-held" }
        @if let Some((card, (who, idle))) = longest.first() {
            ", longest by " strong { (who) } " on card " (card.card.label())
            " (" (idle_for(idle)) ")"
        }
        "; " (active) " active, " (free) " free"
        @if !free_cards.is_empty() { " (" (free_cards.join(", ")) ")" }
        @if unknown > 0 { ", " (unknown) " unknown" }
        "."
        @if idle_beside > 0 {
            " " (count(idle_beside, "holder")) " idle beside others who work."
        }
    }
}

fn card(sheet: &Sheet<'_>, card: &CardNow) -> Markup {
    let mark = Mark::from(card.state);
    let name = card.card.name.as_deref();
    html! {
        li class=(format!("tile {}", mark.class())) {
            h3 {
                span.number { (card.card.label()) }
                " " span.name { (name.map_or_else(|| "unknown".to_owned(), |name| shown(card_name(name)))) }
            }
            p.state { (swatch(mark)) " " strong { (card.state.word()) }
                @if let State::Unknown(why) = card.state { ": " (why) }
                @if let Some((_, idle)) = longest_idle(card) { " for " (idle_for(idle)) }
            }
            @if let Some(cost) = cost(&sheet.page.usage, card) { p.cost { (cost) " in this window" } }
            (holders(sheet, card))
            (meters(card))
        }
    }
}

fn holders(sheet: &Sheet<'_>, card: &CardNow) -> Markup {
    let holders = holders_by_idle_time(card);
    let more = holders.len().saturating_sub(MOST_HOLDERS);
    html! {
        @if !holders.is_empty() || card.unlisted.is_some() {
            ul.holders {
                @for one in holders.iter().take(MOST_HOLDERS) { li { (holder(sheet, one)) } }
                @if more > 0 { li.quiet { "and " (more) " more" } }
                @if let Some(unlisted) = &card.unlisted {
                    li.quiet {
                        @match unlisted.memory_bytes {
                            Some(bytes) => { "unlisted memory, " (memory(bytes)) }
                            None => "there may be holders that are not listed",
                        }
                    }
                }
            }
        }
    }
}

fn holder(sheet: &Sheet<'_>, holder: &HolderNow) -> Markup {
    let what = what(holder);
    html! {
        strong { (who(holder)) }
        @if let Some(what) = what { " " span.what { (what) } }
        @if let Some(bytes) = holder.memory_bytes { " " span.memory { (memory(bytes)) } }
        @if holder.state == State::IdleHeld {
            br; span.idle {
                @match holder.idle.idle_since {
                    Some(since) => {
                        @if holder.idle.idle_doubt == Some(IdleDoubt::BeginningNotRecorded) { "idle since before " }
                        @else { "idle since " }
                        (moment(since, &sheet.view.tz))
                    }
                    None => "idle now; since when is not recorded",
                }
            }
        }
    }
}

fn idle_for(idle: &IdleNow) -> String {
    let mark = if idle.idle_doubt.is_some() { "≥\u{a0}" } else { "" };
    format!("{mark}{}", length(idle_seconds(idle)))
}

/// Formats the person behind a holder.
fn who(holder: &HolderNow) -> String {
    shown(&holder.format_user())
}

fn what(holder: &HolderNow) -> Option<String> {
    let program = || holder.program.as_deref().map(shown);
    holder.identity.as_deref().and_then(brief).or_else(program)
}

/// Returns what those who hold a card idle now, or did when the record ended, have cost in the window.
fn cost(usage: &Usage, card: &CardNow) -> Option<String> {
    let price = price_of(usage, card.card.name.as_deref())?;
    let uuid = card.card.uuid.as_ref()?;
    let is_holder = |pid: u32| card.holders.iter().any(|holder| holder.pid == pid);
    let sessions = usage.sessions.iter();
    let open = sessions.filter(|it| it.open != Some(false) && it.card_uuid.as_ref() == Some(uuid));
    let hours: f64 = open.filter(|it| is_holder(it.pid)).map(|it| it.idle_held_gpu_hours).sum();
    (hours > 0.0).then(|| in_money(usage, hours * price)).flatten()
}

/// Memory that is used is that of holders, also on a card of which they are not seen.
const fn mark_of_memory(state: State) -> Mark {
    match state {
        State::IdleHeld => Mark::Held,
        State::Unknown(_) => Mark::Unknown,
        State::Active | State::TrulyIdle => Mark::Active,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of memory")]
fn meters(card: &CardNow) -> Markup {
    let used = card.memory_used_bytes;
    let total = card.memory_total_bytes.filter(|total| *total > 0);
    html! {
        dl.meters {
            dt { "utilization" }
            dd {
                @match card.utilization_percent {
                    Some(percent) => { (bar(percent / 100.0, Mark::Active)) span { (format!("{percent:.0} %")) } }
                    None => span { "unknown" },
                }
            }
            dt { "memory" }
            dd {
                @match (used, total) {
                    (Some(used), Some(total)) => {
                        (bar(used as f64 / total as f64, mark_of_memory(card.state)))
                        span { (memory_of(Some(used), Some(total))) }
                    }
                    (Some(used), None) => span { (memory(used)) },
                    (None, _) => span { "unknown" },
                }
            }
        }
    }
}
