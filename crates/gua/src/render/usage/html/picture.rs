//! One part of a page as a picture by itself, for a wiki or a mail.

use std::io::{self, Write};

use gua_query::page::UsagePage;
use gua_query::timeline::{CardTimeline, Timeline};
use gua_query::usage::{Account, By, CardUsage, States, TotalState, Usage};
use jiff::tz::TimeZone;
use maud::{Markup, PreEscaped, html};

use super::axis::ticks;
use super::habit::{LEVELS, level};
use super::marks::{self, Mark};
use super::text::shown;
use super::time::{extent, format_stretch, held, label, little, marks as marks_of_time, name};
use crate::cli::Picture;
use crate::render::usage::accounts;
use crate::render::usage::figures::{hours, percent};
use crate::render::usage::heatmap::{DAYS, week};
use crate::render::usage::label::label as label_of_account;
use crate::render::usage::sections::{amount, place, shown as states};
use crate::render::usage::{View, format_verdict, header, money, person};
use crate::render::words::{cut, width};

const WIDTH: usize = 960;
const LEFT: usize = 24;
/// Where the drawing begins, behind the names.
const DRAWN: usize = 216;
const DRAWN_WIDTH: usize = 520;
/// Between a text and the drawing.
const MARGIN: usize = 10;
/// Below the title.
const TOP: usize = 84;
const ROW: usize = 30;
/// So many people are drawn.
const MOST_PEOPLE: usize = 15;

/// Colours for light, dark and paper; the same classes as on the page.
const STYLE: &str = include_str!("picture.css");

/// Writes the picture.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, page: &UsagePage, view: &View, what: Picture) -> io::Result<()> {
    let legend = match what {
        Picture::Time | Picture::States => Legend::States,
        Picture::Habit => Legend::Habit,
        Picture::People => Legend::None,
    };
    let (title, body, height) = match what {
        _ if page.usage.cards.is_empty() => {
            ("nothing to show", text_instead(&header::nothing_here(&page.usage, &view.tz)), ROW)
        }
        Picture::Time => time(page, view),
        Picture::Habit => habit(&page.usage),
        Picture::States => by_card(&page.usage),
        Picture::People => people(&page.usage),
    };
    let frame = Frame { title, height, legend };
    let picture = framed(page, view, &frame, &body);
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, "{}", picture.into_string())
}

/// What is around a drawing.
#[derive(Debug, Clone, Copy)]
struct Frame {
    title: &'static str,
    height: usize,
    legend: Legend,
}

/// What is told below a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Legend {
    States,
    Habit,
    None,
}

fn framed(page: &UsagePage, view: &View, frame: &Frame, body: &Markup) -> Markup {
    let Frame { title, height, legend } = *frame;
    let usage = &page.usage;
    let host = usage.host.as_ref().map_or_else(|| "gua".to_owned(), |host| shown(&host.name));
    let all = height + TOP + 40;
    html! {
        svg xmlns="http://www.w3.org/2000/svg" class="gua" role="img" aria-labelledby="gua-title gua-told"
            width=(WIDTH) height=(all) viewBox=(format!("0 0 {WIDTH} {all}")) {
            title id="gua-title" { (host) ": " (title) }
            desc id="gua-told" { (shown(&description(usage))) }
            style { (PreEscaped(STYLE)) }
            (marks::defs())
            rect.paper width=(WIDTH) height=(all) {}
            text.heading x=(LEFT) y="34" { (host) " — " (title) }
            text.quiet x=(LEFT) y="56" { (header::window(usage, &view.tz)) }
            g transform=(format!("translate(0 {TOP})")) { (body) }
            @match legend {
                Legend::States => (legend_of_states(usage, all - 16)),
                Legend::Habit => (legend_of_habit(all - 16)),
                Legend::None => {}
            }
        }
    }
}

/// Returns what the figures mean, for somebody who does not see the drawing.
fn description(usage: &Usage) -> String {
    match (&usage.verdict, &usage.person) {
        (Some(verdict), _) => format_verdict(usage, verdict),
        (None, Some(about)) => person::suggestion(usage, about),
        (None, None) => String::new(),
    }
}

fn legend_of_states(usage: &Usage, y: usize) -> Markup {
    html! {
        @for (place, (mark, word)) in marks_of_time(usage).enumerate() {
            (swatch(LEFT + place * 130, y, &html! { rect width="14" height="14" rx="3" fill=(mark.fill()) {} }, word))
        }
    }
}

/// The scale of the colours.
fn legend_of_habit(y: usize) -> Markup {
    const SWATCH: usize = 22;
    const AT: usize = 80;
    html! {
        text.quiet x=(AT - 6) y=(y) text-anchor="end" { "0 %" }
        @for (place, level) in LEVELS.iter().enumerate() {
            rect class=(format!("edge {level}")) x=(AT + place * SWATCH) y=(y - 11) width=(SWATCH - 2) height="14" {}
        }
        text.quiet x=(AT + LEVELS.len() * SWATCH + 4) y=(y) { "100 % of card time active" }
        (swatch(AT + 460, y, &html! { rect width="14" height="14" rx="3" fill=(Mark::Gap.fill()) {} }, Mark::Gap.word()))
    }
}

fn swatch(x: usize, y: usize, field: &Markup, word: &str) -> Markup {
    html! {
        g transform=(format!("translate({x} {})", y - 11)) { (field) text.quiet x="20" y="11" { (word) } }
    }
}

/// The name before a bar, which ends where the bar begins.
fn name_of_row(name: &Markup) -> Markup {
    html! {
        svg x=(LEFT) width=(DRAWN - LEFT - MARGIN) height="22" { text y="16" { (name) } }
    }
}

/// Returns a card's name in at most so many columns. Of a part of a GPU, the model is cut, not the profile.
pub(super) fn cut_name(name: &str, most: usize) -> String {
    match name.split_once(" MIG ") {
        Some((model, profile)) if width(name) > most => {
            let room = most.saturating_sub(width(profile) + 1);
            cut(&format!("{} {profile}", cut(model, room)), most)
        }
        _ => cut(name, most),
    }
}

/// The figure behind a bar, which begins where the bar may end.
fn figure_of_row(figure: &str) -> Markup {
    const X: usize = DRAWN + DRAWN_WIDTH + MARGIN;
    const ROOM: usize = WIDTH - LEFT - X;
    html! {
        svg x=(X) width=(ROOM) height="22" {
            text.strong x=(ROOM) y="16" text-anchor="end" { (figure) }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "places on a sheet")]
fn across(share: f64) -> String {
    format!("{:.1}", share * DRAWN_WIDTH as f64)
}

type Drawn = (&'static str, Markup, usize);

fn time(page: &UsagePage, view: &View) -> Drawn {
    let title = "what each card did";
    let Some(timeline) = page.timeline.as_ref().filter(|timeline| !timeline.cards.is_empty())
    else {
        return (title, text_instead("It is not known what each card did when."), ROW);
    };
    let rows = timeline.cards.len() * ROW;
    let body = html! {
        @for (place, band) in timeline.cards.iter().enumerate() {
            g transform=(format!("translate(0 {})", place * ROW)) { (row(&page.usage, timeline, band, &view.tz)) }
        }
        g transform=(format!("translate({DRAWN} {rows})")) { (axis(timeline, &view.tz)) }
    };
    (title, body, rows + ROW)
}

/// Why there is no drawing.
fn text_instead(why: &str) -> Markup {
    html! { text x=(LEFT) y="18" { (shown(why)) } }
}

fn row(usage: &Usage, timeline: &Timeline, band: &CardTimeline, tz: &TimeZone) -> Markup {
    let card = usage.cards.iter().find(|card| band.is_of(card));
    html! {
        (name_of_row(&html! { tspan.strong { (label(band)) } " " (cut_name(&name(band), 17)) }))
        svg x=(DRAWN) width=(DRAWN_WIDTH) height="22" {
            @for mark in Mark::ALL {
                g fill=(mark.fill()) {
                    @for stretch in band.stretches.iter().filter(|it| Mark::from(it.state) == mark) {
                        @let (x, width) = extent(timeline, stretch);
                        rect x=(across(x)) width=(across(width)) height="22" {
                            @if !stretch.people.is_empty() { title { (format_stretch(usage, stretch, tz)) } }
                        }
                    }
                }
            }
        }
        (figure_of_row(&card.map_or_else(|| "–".to_owned(), |card| rested(usage, card))))
    }
}

/// What share was idle-held, and of how much, where that is little.
fn rested(usage: &Usage, card: &CardUsage) -> String {
    let little = little(usage, card).map(|little| format!(" {little}"));
    format!(
        "{}{}",
        held(card),
        little.unwrap_or_default().replace(" observed", "").replace(" held", "")
    )
}

fn axis(timeline: &Timeline, tz: &TimeZone) -> Markup {
    html! {
        @for tick in ticks(timeline.from, timeline.to, tz) {
            line.axis x1=(across(tick.at)) x2=(across(tick.at)) y1="-6" y2="0" {}
            text.quiet x=(across(tick.at)) y="14" text-anchor=(tick.anchor()) { (tick.label) }
        }
        text.quiet x=(WIDTH - LEFT - DRAWN) y="14" text-anchor="end" { "idle-held" }
    }
}

fn habit(usage: &Usage) -> Drawn {
    const CELL: usize = 34;
    let week = week(usage);
    let body = html! {
        @for hour in 0..24 {
            text.quiet x=(80 + hour * CELL + CELL / 2) y="10" text-anchor="middle" { (format!("{hour:02}")) }
        }
        @for (place, (day, hours)) in DAYS.iter().zip(week.chunks(24)).enumerate() {
            @let y = 18 + place * 28;
            text x=(LEFT) y=(y + 18) { (day) }
            @for (hour, share) in hours.iter().enumerate() { (hour_of(80 + hour * CELL, y, *share)) }
        }
    };
    ("share of card time active by weekday and hour, in percent", body, 18 + 7 * 28)
}

fn hour_of(x: usize, y: usize, share: Option<f64>) -> Markup {
    html! {
        @match share {
            Some(share) => {
                rect class=(level(share)) x=(x) y=(y) width="32" height="26" {}
                text class=(format!("on-{}", level(share))) x=(x + 16) y=(y + 18) text-anchor="middle" { (format!("{:.0}", share * 100.0)) }
            }
            None => rect x=(x) y=(y) width="32" height="26" fill=(Mark::Gap.fill()) {},
        }
    }
}

/// All card time, then every card's.
fn by_card(usage: &Usage) -> Drawn {
    let all = [("all cards".to_owned(), &usage.states)].into_iter();
    let cards = usage.cards.iter().map(|card| {
        let name = card.name.as_deref().map_or("unknown", crate::render::words::card_name);
        let place = place(card);
        let room = 21_usize.saturating_sub(place.chars().count());
        (format!("{place} {}", cut_name(&shown(name), room)), &card.states)
    });
    let rows: Vec<_> = all.chain(cards).collect();
    let body = html! {
        @for (place, (name, of)) in rows.iter().enumerate() {
            g transform=(format!("translate(0 {})", place * ROW)) {
                (name_of_row(&html! { (name) }))
                svg x=(DRAWN) width=(DRAWN_WIDTH) height="22" {
                    @for (state, at, share) in parts(usage, of) {
                        rect x=(across(at)) width=(across(share)) height="22" fill=(Mark::from(state).fill()) {
                            title { (state.word()) " " (percent(Some(share))) }
                        }
                    }
                }
                (figure_of_row(&format!("{} idle-held", percent(amount(of, TotalState::IdleHeld).share))))
            }
        }
    };
    ("card time by state", body, rows.len() * ROW)
}

/// The states one behind the other: where each begins, and its share.
fn parts(usage: &Usage, of: &States) -> Vec<(TotalState, f64, f64)> {
    let mut at = 0.0;
    let part = |state: TotalState| {
        let share = amount(of, state).share.unwrap_or(0.0);
        let begin = at;
        at += share;
        (state, begin, share)
    };
    states(usage).map(part).collect()
}

fn people(usage: &Usage) -> Drawn {
    let by = usage.accounts_by.first().copied().unwrap_or(By::User);
    let mut all = accounts::of_kind(usage, by);
    all.sort_by(|a, b| b.idle_held_gpu_hours.total_cmp(&a.idle_held_gpu_hours));
    let title = "whose idle-held time it was, in GPU-hours";
    let Some(most) = all.first().map(|account| account.idle_held_gpu_hours) else {
        return (title, text_instead("Nobody held a card."), ROW);
    };
    let drawn: Vec<_> = all.iter().take(MOST_PEOPLE).collect();
    let body = html! {
        @for (place, account) in drawn.iter().enumerate() {
            g transform=(format!("translate(0 {})", place * ROW)) { (account_row(usage, account, most)) }
        }
    };
    (title, body, drawn.len() * ROW)
}

fn account_row(usage: &Usage, account: &Account, most: f64) -> Markup {
    let share = if most > 0.0 { account.idle_held_gpu_hours / most } else { 0.0 };
    let cost = usage.money.as_ref().map(|all| {
        let unpriced = account.unpriced_idle_held_gpu_hours;
        format!(" · {}", money::cost(account.idle_held_cost, unpriced, &all.currency))
    });
    let held = hours(account.idle_held_gpu_hours, most);
    html! {
        (name_of_row(&html! { (cut(&shown(&label_of_account(account, usage)), 22)) }))
        rect x=(DRAWN) width=(across(share)) height="20" fill=(Mark::Held.fill()) {}
        (figure_of_row(&format!("{held}{}", cost.unwrap_or_default())))
    }
}
