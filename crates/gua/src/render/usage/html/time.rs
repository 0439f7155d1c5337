//! Every card's time as a band: what it did when, and whose that was.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};

use super::axis::{ratio, ticks};
use super::marks::{Mark, legend};
use super::text::{short, shown};
use super::{Dress, Sheet, caption, wide};
use crate::render::identity;
use crate::render::usage::figures::{hours, length, percent};
use crate::render::usage::sections::{amount, called, place, shown as states};
use crate::render::words::card_name;
use crate::report::bands::{Band, Bands, Party, Stretch};
use crate::report::usage::{Amount, Card, Shown, States, Usage};

pub(super) fn section(sheet: &Sheet<'_>, bands: &Bands) -> Markup {
    let tz = &sheet.view.tz;
    let columns = length(bands.column_seconds);
    html! {
        section id="time" aria-labelledby="time-title" {
            h2 id="time-title" { "Time" }
            (legend())
            ol.bands data-from=(bands.from.as_millisecond()) data-to=(bands.to.as_millisecond()) {
                @for band in &bands.cards { (row(sheet, bands, band)) }
                li.axis aria-hidden="true" { span {} (axis(bands, tz)) span {} }
            }
            p.quiet {
                "Each column is " (columns) " and shows what took most of it. "
                @if matches!(sheet.dress, Dress::Served(_)) {
                    span.scripted { "Point at a band, or step through it with the arrow keys, to see who it was; drag to zoom." }
                }
            }
            output.pointed id="pointed" aria-live="polite" {}
            (table(&sheet.page.usage))
        }
    }
}

fn row(sheet: &Sheet<'_>, bands: &Bands, band: &Band) -> Markup {
    let usage = &sheet.page.usage;
    let card = usage.cards.iter().find(|card| band.is_of(card));
    html! {
        li {
            span.card { strong { (label(band)) } " " span.name { (name(band)) } }
            (picture(bands, band, card, &sheet.view.tz))
            span.held {
                (card.map_or_else(|| "–".to_owned(), held)) " idle-held"
                @if let Some(little) = card.and_then(|card| little(usage, card)) { br; span.quiet { (little) } }
            }
        }
    }
}

/// The share of a card's time that was idle-held. What is not known may be more of it.
pub(super) fn held(card: &Card) -> String {
    /// Less than this changes no figure that is shown.
    const SEEN: f64 = 0.0005;
    let States { idle_held, unknown, .. } = &card.states;
    match unknown.share {
        Some(unknown) if unknown > 1.0 - SEEN && idle_held.share < Some(SEEN) => {
            "unknown".to_owned()
        }
        Some(unknown) if unknown >= SEEN => format!("≥\u{a0}{}", percent(idle_held.share)),
        _ => percent(idle_held.share),
    }
}

/// How much a share rests on, where that is little of the window.
pub(super) fn little(usage: &Usage, card: &Card) -> Option<String> {
    /// Of what is less than this, a share tells little.
    const PART: f64 = 0.1;
    let observed = observed_seconds(card);
    let is_little = observed < usage.window.seconds * PART;
    is_little.then(|| format!("of {} observed", length(observed)))
}

fn observed_seconds(card: &Card) -> f64 {
    card.states.gpu_hours() * 3_600.0
}

pub(super) fn label(band: &Band) -> String {
    probe::card::label(band.index, band.slot)
}

pub(super) fn name(band: &Band) -> String {
    band.name.as_deref().map_or_else(|| "unknown".to_owned(), |name| shown(card_name(name)))
}

/// One element a stretch, those of a state together, as they are filled with the same.
fn picture(bands: &Bands, band: &Band, card: Option<&Card>, tz: &TimeZone) -> Markup {
    html! {
        svg.band role="img" aria-label=(summary(bands, band, card)) height="26" {
            @for mark in Mark::ALL {
                @let of_mark: Vec<_> = band.stretches.iter().filter(|it| Mark::from(it.state) == mark).collect();
                @if !of_mark.is_empty() {
                    g fill=(mark.fill()) {
                        @for stretch in of_mark {
                            @let (x, width) = extent(bands, stretch);
                            rect x=(percents(x)) width=(percents(width)) height="26" {
                                title { (told(stretch, tz)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn percents(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}%")
}

/// Where it begins and how wide it is, from 0 to 1.
pub(super) fn extent(bands: &Bands, stretch: &Stretch) -> (f64, f64) {
    let [from, to, begin, end] =
        [bands.from, bands.to, stretch.from, stretch.to].map(Timestamp::as_millisecond);
    (ratio(begin - from, to - from), ratio(end - begin, to - from))
}

/// What, who, how long and when.
pub(super) fn told(stretch: &Stretch, tz: &TimeZone) -> String {
    let mark = Mark::from(stretch.state);
    let mut text = format!("{} {}", mark.word(), length(stretch.seconds));
    let mut names: Vec<_> = stretch.parties.iter().map(party).collect();
    if stretch.more > 0 {
        names.push(format!("{} more", stretch.more));
    }
    if !names.is_empty() {
        text.push_str(&format!(" · {}", names.join(", ")));
    }
    format!("{text} · {} → {}", short(stretch.from, tz), short(stretch.to, tz))
}

fn party(party: &Party) -> String {
    let who = match (&party.user, party.uid) {
        (Some(user), _) => shown(user),
        (None, Some(uid)) => format!("uid {uid}"),
        (None, None) => identity::UNATTRIBUTED.to_owned(),
    };
    let brief = party.identity.as_ref().map(identity::brief).filter(|brief| !brief.is_empty());
    match brief.or_else(|| party.program.clone()) {
        Some(what) => format!("{who} ({})", shown(&what)),
        None => who,
    }
}

/// All of a band in words, as it was counted: a column shows only what took most of it.
fn summary(bands: &Bands, band: &Band, card: Option<&Card>) -> String {
    let told = card.map_or_else(|| vec![Mark::Gap.word().to_owned()], |card| counted(bands, card));
    format!("Card {} {}: {}", label(band), name(band), told.join(", "))
}

/// How much of its observed time a card was in each state, and for how long it was not observed.
fn counted(bands: &Bands, card: &Card) -> Vec<String> {
    let of = |(state, amount): (Shown, Amount)| {
        let length = length(amount.gpu_hours * 3_600.0);
        let share = percent(amount.share);
        (amount.gpu_hours > 0.0).then(|| format!("{} {share} ({length})", state.word()))
    };
    let mut told: Vec<_> = card.states.all().into_iter().filter_map(of).collect();
    let missing = bands.to.duration_since(bands.from).as_secs_f64() - observed_seconds(card);
    if missing >= 1.0 {
        told.push(format!("{} {}", Mark::Gap.word(), length(missing)));
    }
    told
}

fn axis(bands: &Bands, tz: &TimeZone) -> Markup {
    html! {
        svg height="20" {
            @for tick in ticks(bands.from, bands.to, tz) {
                line x1=(percents(tick.at)) x2=(percents(tick.at)) y1="0" y2="5" {}
                @if (0.02..0.97).contains(&tick.at) {
                    text x=(percents(tick.at)) y="17" text-anchor="middle" { (tick.label) }
                }
            }
        }
    }
}

/// The same in figures.
fn table(usage: &Usage) -> Markup {
    let states: Vec<_> = states(&usage.states).collect();
    let most = usage.cards.iter().map(|card| card.states.gpu_hours()).fold(0.0, f64::max);
    html! {
        details id="figures" {
            summary { "The same in figures" }
            (wide("figures-table", &html! { table {
                (caption("figures-table", "Share of each card's observed time by state"))
                thead { tr {
                    th scope="col" { "#" } th scope="col" { "card" }
                    @for state in &states { th.number scope="col" { (state.word()) } }
                    th.number scope="col" { "idle-held GPU-h" }
                } }
                tbody { @for card in &usage.cards { tr {
                    th scope="row" { (place(card)) } td { (called(card)) }
                    @for state in &states { td.number { (percent(amount(&card.states, *state).share)) } }
                    td.number { (hours(amount(&card.states, Shown::IdleHeld).gpu_hours, most)) }
                } } }
            } }))
        }
    }
}
