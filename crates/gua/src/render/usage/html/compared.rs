//! Two windows side by side.

use gua_query::usage::Compared;
use maud::{Markup, html};

use super::text::shown;
use super::{Sheet, caption, wide};
use crate::render::usage::compared::{HEADS, Row, all_rows, doubt, title};

pub(super) fn section(sheet: &Sheet<'_>, before: &Compared) -> Markup {
    let usage = &sheet.page.usage;
    let [what, figures @ ..] = HEADS;
    html! {
        section id="compared" aria-labelledby="compared-title" {
            h2 id="compared-title" { (title(before, &sheet.view.tz)) }
            @if let Some(doubt) = doubt(usage, before) { p.doubt { (doubt) } }
            (wide("compared-table", &html! { table.compared {
                (caption("compared-table", "This window and the earlier one"))
                thead { tr {
                    td { (what) }
                    @for head in figures { th.number scope="col" { (head) } }
                } }
                tbody { @for row in all_rows(usage, before) { (line(&row)) } }
            } }))
        }
    }
}

fn line([what, figures @ ..]: &Row) -> Markup {
    let is_heading = figures.iter().all(String::is_empty);
    html! {
        tr {
            @if is_heading {
                th.group colspan=(HEADS.len()) { (shown(what)) }
            } @else {
                th scope="row" { (shown(what.trim_start())) }
                @for figure in figures { td.number { (shown(figure)) } }
            }
        }
    }
}
