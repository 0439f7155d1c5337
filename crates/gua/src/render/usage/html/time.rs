//! Every card's time as a band: what it did when, and whose that was.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};

use super::axis::{ratio, ticks};
use super::marks::{Mark, legend};
use super::text::{short, shown};
use super::{Dress, Sheet};
use crate::render::identity;
use crate::render::usage::figures::{hours, length, percent};
use crate::render::usage::sections::{amount, called, place, shown as states};
use crate::render::words::card_name;
use crate::report::bands::{Band, Bands, Party, Stretch};
use crate::report::usage::{Shown, Usage};

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
    let card = sheet.page.usage.cards.iter().find(|card| band.is_of(card));
    let held = card.and_then(|card| card.states.idle_held.share);
    html! {
        li {
            span.card { strong { (label(band)) } " " span.name { (name(band)) } }
            (picture(bands, band, &sheet.view.tz))
            span.held { (percent(held)) " idle-held" }
        }
    }
}

pub(super) fn label(band: &Band) -> String {
    probe::card::label(band.index, band.slot)
}

pub(super) fn name(band: &Band) -> String {
    band.name.as_deref().map_or_else(|| "unknown".to_owned(), |name| shown(card_name(name)))
}

/// One element a stretch, those of a state together, as they are filled with the same.
fn picture(bands: &Bands, band: &Band, tz: &TimeZone) -> Markup {
    html! {
        svg.band role="img" aria-label=(summary(band)) height="26" {
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

/// All of a band in words.
fn summary(band: &Band) -> String {
    let of = |mark: Mark| {
        let those = band.stretches.iter().filter(|it| Mark::from(it.state) == mark);
        let seconds: f64 = those.map(|it| it.seconds).sum();
        (seconds > 0.0).then(|| format!("{} {}", mark.word(), length(seconds)))
    };
    let told: Vec<_> = Mark::ALL.into_iter().filter_map(of).collect();
    format!("Card {} {}: {}", label(band), name(band), told.join(", "))
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
        details {
            summary { "The same in figures" }
            div.wide tabindex="0" { table {
                caption.hidden { "Share of each card's observed time by state" }
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
            } }
        }
    }
}
