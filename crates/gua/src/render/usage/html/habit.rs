//! When in the week the cards work.

use maud::{Markup, html};

use super::text::shown;
use super::{Sheet, caption, wide};
use crate::render::usage::heatmap::{DAYS, week};

pub(super) fn section(sheet: &Sheet<'_>) -> Markup {
    let usage = &sheet.page.usage;
    let week = week(usage);
    html! {
        section id="habit" aria-labelledby="habit-title" {
            h2 id="habit-title" { "Habit" }
            p.quiet { "How much of the card time was active, in percent, by weekday and hour ("
                (shown(&usage.window.tz)) ")." }
            (legend())
            (wide("habit-table", &html! { table.heatmap {
                (caption("habit-table", "Share of card time active by weekday and hour"))
                thead { tr {
                    td {}
                    @for hour in 0..24 { th scope="col" { (format!("{hour:02}")) } }
                } }
                tbody { @for (day, hours) in DAYS.iter().zip(week.chunks(24)) { tr {
                    th scope="row" { (day) }
                    @for share in hours { (cell(*share)) }
                } } }
            } }))
        }
    }
}

/// What the colours mean.
fn legend() -> Markup {
    html! {
        ul.legend.scale {
            li { "0 %" @for level in &LEVELS { span class=(level) {} } "100 % of card time active" }
            li { span.gap {} "not observed" }
        }
    }
}

fn cell(share: Option<f64>) -> Markup {
    html! {
        @match share {
            Some(share) => td class=(level(share)) { span { (format!("{:.0}", share * 100.0)) } },
            None => td.gap { span.hidden { "not observed" } },
        }
    }
}

/// Classes of the colours, from little to much.
pub(super) const LEVELS: [&str; 10] = ["q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9"];

/// In tenths, so that the next hour is told from this one.
pub(super) fn level(share: f64) -> &'static str {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let tenth = (share.clamp(0.0, 1.0) * 10.0) as usize;
    LEVELS.get(tenth).copied().unwrap_or("q9")
}
