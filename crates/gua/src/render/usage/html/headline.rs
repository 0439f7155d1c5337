//! The verdict and the money in one sentence, and what it rests on.

use gua_query::usage::{Session, Usage, Verdict};
use maud::{Markup, html};

use super::marks::{Mark, swatch};
use super::text::shown;
use super::{Dress, Sheet};
use crate::render::usage::energy::{headline as headline_of_energy, notes};
use crate::render::usage::figures::{hours, largest, percent};
use crate::render::usage::money::{amount as money, cost};
use crate::render::usage::sections::{amount, basis, capacity, shown as states};
use crate::render::usage::{header, person, sessions};

pub(super) fn section(sheet: &Sheet<'_>) -> Markup {
    let usage = &sheet.page.usage;
    html! {
        section id="headline" aria-labelledby="verdict" {
            @if usage.cards.is_empty() { (nothing(sheet)) } @else { (verdict(sheet)) }
        }
    }
}

fn nothing(sheet: &Sheet<'_>) -> Markup {
    let usage = &sheet.page.usage;
    html! {
        h1 id="verdict" { (header::nothing_here(usage, &sheet.view.tz)) }
        @match sheet.dress {
            Dress::File => p { code { (shown(&header::next_step(usage, sheet.view))) } },
            Dress::Served(address) => p {
                @if usage.data.is_some() {
                    a href=(address.since("30d")) { "Look 30 days back" } " or name a window above."
                } @else { code { "gua daemon" } " starts recording." }
            },
        }
    }
}

fn verdict(sheet: &Sheet<'_>) -> Markup {
    let usage = &sheet.page.usage;
    html! {
        @match &usage.person {
            Some(about) => {
                h1 id="verdict" { (person::title(about)) }
                p.lead { (person::suggestion(usage, about)) }
                @if let Some(command) = person::command(about) { p { code { (shown(command)) } } }
                (figures(&person::figures(usage, about)))
                @for note in notes(usage) { p.quiet { (shown(&note)) } }
            }
            None => @if let Some(verdict) = &usage.verdict {
                h1 id="verdict" class=(weight(verdict)) { (sentence(usage, verdict)) }
                @if verdict.rests_on_little { p.doubt { (rests_on(verdict)) } }
                @if let Some((head, named)) = sessions::format_largest(usage) { (largest_sessions(&head, &named)) }
            },
        }
        (stacked(usage))
        (amounts(usage))
        @if let Some(energy) = headline_of_energy(usage).filter(|_| usage.person.is_none()) {
            p { (shown(&energy)) }
        }
        @for line in basis_lines(sheet) { p.quiet { (line) } }
    }
}

/// The few sessions that make up most of it.
fn largest_sessions(head: &str, named: &[&Session]) -> Markup {
    html! {
        p { (head) }
        ul.largest {
            @for session in named {
                @let [who, what, card, length, _] = sessions::format_session(session);
                li { strong { (who) } @for part in [what, card, length] { @if !part.is_empty() { " · " (part) } } }
            }
        }
    }
}

/// Figures of one person: what, how much, and what it means.
fn figures(rows: &[[String; 3]]) -> Markup {
    html! {
        table.figures {
            caption.hidden { "What they had of the cards" }
            tbody {
                @for [name, figure, meaning] in rows {
                    tr { th scope="row" { (name) } td.number { (figure) } td.quiet { (meaning) } }
                }
            }
        }
    }
}

/// Returns what the figures are based on, a line each.
fn basis_lines(sheet: &Sheet<'_>) -> Vec<String> {
    let usage = &sheet.page.usage;
    let money = crate::render::usage::money::basis(usage);
    let lines = basis(usage, &sheet.view.tz).into_iter().chain(money);
    lines.map(|line| shown(&line)).collect()
}

fn weight(verdict: &Verdict) -> &'static str {
    if verdict.exceeded == Some(true) { "exceeded" } else { "fine" }
}

/// How much was idle-held, what it cost, and what that means.
fn sentence(usage: &Usage, verdict: &Verdict) -> String {
    let Some(share) = verdict.idle_held_share else { return verdict.sentence.clone() };
    let (share, line) = (percent(Some(share)), percent(Some(verdict.threshold)));
    let line = line.replace(".0", "");
    let cost = price(usage).map(|it| format!(", which cost {it}")).unwrap_or_default();
    match verdict.exceeded {
        Some(true) => format!(
            "{share} of the observed card time was idle-held{cost}: over the {line} line, a matter of \
             allocation, not of too few cards."
        ),
        Some(false) => format!(
            "{share} of the observed card time was idle-held{cost}: not over the {line} line, idle \
             holders are not what makes cards scarce."
        ),
        None => format!(
            "At least {share} of the observed card time was idle-held{cost}; too much is unknown to \
             tell whether it is over the {line} line."
        ),
    }
}

/// What idle-held time cost: `$1,515, $6,490 a month at this pace`.
fn price(usage: &Usage) -> Option<String> {
    let money = usage.money.as_ref()?;
    let held = &money.idle_held;
    held.cost.filter(|cost| *cost > 0.0)?;
    let sum = cost(held.cost, held.unpriced_gpu_hours, &money.currency);
    Some(match held.cost_per_month {
        Some(month) => {
            let month = cost(Some(month), held.unpriced_gpu_hours, &money.currency);
            format!("{sum} ({month} a month at this pace)")
        }
        None => sum,
    })
}

fn rests_on(verdict: &Verdict) -> String {
    let sentence = &verdict.sentence;
    sentence.find("It rests on").and_then(|at| sentence.get(at..)).unwrap_or(sentence).to_owned()
}

/// All card time as one bar.
fn stacked(usage: &Usage) -> Markup {
    let all = &usage.states;
    let mut at = 0.0;
    let mut parts = Vec::new();
    for state in states(usage) {
        let share = amount(all, state).share.unwrap_or(0.0);
        parts.push((Mark::from(state), at * 100.0, share * 100.0));
        at += share;
    }
    let told: Vec<_> = states(usage)
        .map(|state| format!("{} {}", state.word(), percent(amount(all, state).share)))
        .collect();
    html! {
        svg.stacked role="img" height="22" aria-label=(format!("Of all card time: {}", told.join(", "))) {
            @for (mark, from, width) in parts {
                rect x=(format!("{from:.2}%")) width=(format!("{width:.2}%")) height="22" fill=(mark.fill()) {}
            }
        }
    }
}

/// Hours, shares and money by state.
fn amounts(usage: &Usage) -> Markup {
    let capacity = capacity(usage);
    html! {
        dl.amounts {
            @for state in states(usage) {
                @let it = amount(&usage.states, state);
                div class=(Mark::from(state).class()) {
                    dt { (swatch(Mark::from(state))) " " (state.word()) }
                    dd.big { (percent(it.share)) }
                    dd { (hours(it.gpu_hours, largest(&usage.states))) " GPU-h" }
                    @if let Some((_, told)) = capacity.iter().find(|(of, _)| *of == state) {
                        dd.quiet { (told.split_once(", ").map_or(told.as_str(), |(_, rest)| rest)) }
                    }
                }
            }
        }
    }
}

/// Returns the price of a GPU-hour on a card of this name. MIG instances have the price of their GPU.
pub(super) fn price_of(usage: &Usage, name: Option<&str>) -> Option<f64> {
    let prices = &usage.money.as_ref()?.prices;
    let model = name.map(gua_core::slices::gpu_name);
    prices.iter().find(|price| price.model.as_deref() == model)?.cost_per_gpu_hour
}

/// An amount in the currency of the page.
pub(super) fn in_money(usage: &Usage, sum: f64) -> Option<String> {
    Some(money(sum, &usage.money.as_ref()?.currency))
}
