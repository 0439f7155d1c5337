//! Each card's time as a band: what it did when, and who was on it.

use gua_query::timeline::{CardTimeline, Timeline, TimelinePerson, TimelineStretch};
use gua_query::usage::{Amount, CardUsage, States, TotalState, Usage};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};

use super::axis::{ratio, ticks};
use super::marks::{Mark, legend};
use super::picture::cut_name;
use super::text::{brief, name_of_user, short, shown};
use super::{Dress, Sheet, caption, wide};
use crate::render::usage::figures::{hours, length, percent};
use crate::render::usage::sections::{amount, called, place, shown as states};
use crate::render::words::card_name;

pub(super) fn section(sheet: &Sheet<'_>, timeline: &Timeline) -> Markup {
    let tz = &sheet.view.tz;
    let columns = length(timeline.column_seconds);
    html! {
        section id="time" aria-labelledby="time-title" {
            h2 id="time-title" { "Time" }
            (legend(marks(&sheet.page.usage)))
            ol.bands data-from=(timeline.from.as_millisecond()) data-to=(timeline.to.as_millisecond()) {
                @for band in &timeline.cards { (row(sheet, timeline, band)) }
                li.axis aria-hidden="true" { span {} (axis(timeline, tz)) span {} }
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

fn row(sheet: &Sheet<'_>, timeline: &Timeline, band: &CardTimeline) -> Markup {
    let usage = &sheet.page.usage;
    let card = usage.cards.iter().find(|card| band.is_of(card));
    html! {
        li {
            span.card { strong { (label(band)) } " " span.name { (short_name(band)) } }
            (picture(usage, (timeline, band), card, &sheet.view.tz))
            span.held {
                (card.map_or_else(|| "–".to_owned(), held)) " idle-held"
                @if let Some(little) = card.and_then(|card| little(usage, card)) { br; span.quiet { (little) } }
            }
        }
    }
}

/// Formats the share of a card's time that was idle-held. Unknown time may have been, too.
pub(super) fn held(card: &CardUsage) -> String {
    /// A smaller share changes no figure that is shown.
    const VISIBLE: f64 = 0.0005;
    let States { idle_held, unknown, .. } = &card.states;
    match unknown.share {
        Some(unknown) if unknown > 1.0 - VISIBLE && idle_held.share < Some(VISIBLE) => {
            "unknown".to_owned()
        }
        Some(unknown) if unknown >= VISIBLE => format!("≥\u{a0}{}", percent(idle_held.share)),
        _ => percent(idle_held.share),
    }
}

/// Returns what time without a state is: on a page of one person, also that of others.
fn gap_word(usage: &Usage) -> &'static str {
    match usage.person {
        Some(_) => "not held, or not observed",
        None => Mark::Gap.word(),
    }
}

/// Returns the marks of a timeline, with their words. Nobody has free time.
pub(super) fn marks(usage: &Usage) -> impl Iterator<Item = (Mark, &'static str)> + use<> {
    let (gap, is_of_one) = (gap_word(usage), usage.person.is_some());
    let marks = Mark::ALL.into_iter().filter(move |mark| !is_of_one || *mark != Mark::Free);
    marks.map(move |mark| (mark, if mark == Mark::Gap { gap } else { mark.word() }))
}

/// Formats the observed time of a card if it is a small part of the window.
pub(super) fn little(usage: &Usage, card: &CardUsage) -> Option<String> {
    /// Part of the window below which a share says little.
    const PART: f64 = 0.1;
    let observed = observed_seconds(card);
    let is_little = observed < usage.window.seconds * PART;
    let what = if usage.person.is_some() { "held" } else { "observed" };
    is_little.then(|| format!("of {} {what}", length(observed)))
}

fn observed_seconds(card: &CardUsage) -> f64 {
    card.seconds_of(card.states.gpu_hours())
}

pub(super) fn label(band: &CardTimeline) -> String {
    band.label()
}

pub(super) fn name(band: &CardTimeline) -> String {
    band.name.as_deref().map_or_else(|| "unknown".to_owned(), |name| shown(card_name(name)))
}

/// Returns the name for a row: of a part of a GPU, whose name is long, the profile is kept.
fn short_name(band: &CardTimeline) -> String {
    /// Characters that fit beside the number of a part where there is room.
    const MOST: usize = 20;
    let name = name(band);
    if name.contains(" MIG ") { cut_name(&name, MOST) } else { name }
}

/// One element for each stretch; those of one state are a group with one fill.
fn picture(
    usage: &Usage,
    (timeline, band): (&Timeline, &CardTimeline),
    card: Option<&CardUsage>,
    tz: &TimeZone,
) -> Markup {
    html! {
        svg.band role="img" aria-label=(summary(usage, (timeline, band), card)) height="26" {
            @for mark in Mark::ALL {
                @let of_mark: Vec<_> = band.stretches.iter().filter(|it| Mark::from(it.state) == mark).collect();
                @if !of_mark.is_empty() {
                    g fill=(mark.fill()) {
                        @for stretch in of_mark {
                            @let (x, width) = extent(timeline, stretch);
                            rect x=(percents(x)) width=(percents(width)) height="26" {
                                title { (format_stretch(usage, stretch, tz)) }
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

/// Returns where a stretch begins and how wide it is, from 0 to 1.
pub(super) fn extent(timeline: &Timeline, stretch: &TimelineStretch) -> (f64, f64) {
    let [from, to, begin, end] =
        [timeline.from, timeline.to, stretch.from, stretch.to].map(Timestamp::as_millisecond);
    (ratio(begin - from, to - from), ratio(end - begin, to - from))
}

/// Formats what it was, for how long, who and when.
pub(super) fn format_stretch(usage: &Usage, stretch: &TimelineStretch, tz: &TimeZone) -> String {
    let word = match Mark::from(stretch.state) {
        Mark::Gap => gap_word(usage),
        mark => mark.word(),
    };
    let mut text = format!("{word} {}", length(stretch.seconds));
    let mut names: Vec<_> = stretch.people.iter().map(format_person).collect();
    if stretch.more > 0 {
        names.push(format!("{} more", stretch.more));
    }
    if !names.is_empty() {
        text.push_str(&format!(" · {}", names.join(", ")));
    }
    format!("{text} · {} → {}", short(stretch.from, tz), short(stretch.to, tz))
}

fn format_person(person: &TimelinePerson) -> String {
    let who = name_of_user(person.user.as_deref(), person.uid);
    let program = || person.program.as_deref().map(shown);
    match person.identity.as_ref().and_then(brief).or_else(program) {
        Some(what) => format!("{who} ({what})"),
        None => who,
    }
}

/// Formats all of a band in words, as it was counted: a column shows only what took most of it.
fn summary(
    usage: &Usage,
    (timeline, band): (&Timeline, &CardTimeline),
    card: Option<&CardUsage>,
) -> String {
    let gap = gap_word(usage);
    let parts = card.map_or_else(|| vec![gap.to_owned()], |card| counted(timeline, card, gap));
    format!("Card {} {}: {}", label(band), name(band), parts.join(", "))
}

/// Formats how long a card was in each state, and for how long it was not observed.
fn counted(timeline: &Timeline, card: &CardUsage, gap: &str) -> Vec<String> {
    let part = |(state, amount): (TotalState, Amount)| {
        let length = length(card.seconds_of(amount.gpu_hours));
        let share = percent(amount.share);
        (amount.gpu_hours > 0.0).then(|| format!("{} {share} ({length})", state.word()))
    };
    let mut parts: Vec<_> = card.states.all().into_iter().filter_map(part).collect();
    let missing = timeline.to.duration_since(timeline.from).as_secs_f64() - observed_seconds(card);
    if missing >= 1.0 {
        parts.push(format!("{gap} {}", length(missing)));
    }
    parts
}

fn axis(timeline: &Timeline, tz: &TimeZone) -> Markup {
    html! {
        svg height="20" {
            @for tick in ticks(timeline.from, timeline.to, tz) {
                line x1=(percents(tick.at)) x2=(percents(tick.at)) y1="0" y2="5" {}
                text x=(percents(tick.at)) y="17" text-anchor=(tick.anchor()) { (tick.label) }
            }
        }
    }
}

/// The same in figures.
fn table(usage: &Usage) -> Markup {
    let states: Vec<_> = states(usage).collect();
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
                    td.number { (hours(amount(&card.states, TotalState::IdleHeld).gpu_hours, most)) }
                } } }
            } }))
        }
    }
}
