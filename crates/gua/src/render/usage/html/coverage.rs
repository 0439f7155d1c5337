//! Time that was not observed, and why. It is no part of any share.

use gua_query::usage::Gap;
use maud::{Markup, html};

use super::text::{count, moment};
use super::{Sheet, caption, wide};
use crate::render::usage::figures::{length, percent};
use crate::render::usage::header;

/// Gaps that are listed.
const MOST: usize = 20;

pub(super) fn section(sheet: &Sheet<'_>) -> Markup {
    let usage = &sheet.page.usage;
    let mut gaps: Vec<_> = usage.gaps.iter().collect();
    gaps.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    html! {
        section id="coverage" aria-labelledby="coverage-title" {
            h2 id="coverage-title" { "Coverage" }
            p { (percent(usage.window.coverage)) " of the window was observed."
                @if let Some(missing) = header::missing(usage) { " " (capital(&missing)) "." } }
            @if !gaps.is_empty() {
                details id="gaps" { summary { (count(gaps.len(), "gap")) } (list(sheet, &gaps)) }
            }
        }
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn list(sheet: &Sheet<'_>, gaps: &[&Gap]) -> Markup {
    let tz = &sheet.view.tz;
    html! {
        (wide("gaps-table", &html! { table {
            (caption("gaps-table", "Gaps, longest first"))
            thead { tr { th.number scope="col" { "for" } th scope="col" { "from" } th scope="col" { "to" } th scope="col" { "why" } } }
            tbody { @for gap in gaps.iter().take(MOST) { tr {
                td.number { (length(gap.seconds)) } td { (moment(gap.from, tz)) }
                td { (moment(gap.to, tz)) } td { (header::words(gap.reason)) }
            } } }
        } }))
        @if gaps.len() > MOST { p.quiet { "and " (gaps.len() - MOST) " shorter ones" } }
    }
}
