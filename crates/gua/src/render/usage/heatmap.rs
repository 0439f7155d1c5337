//! When in the week the cards work: a row a day, a mark an hour.

use gua_query::usage::Usage;

use super::page::{INDENT, Page};
use crate::render::paint::Ink;
use crate::render::table::Cell;

pub(in crate::render) const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// Where the hours begin, after the day.
const HOURS_AT: usize = INDENT + 5;
/// An hour is at most this wide.
const WIDEST: usize = 3;

pub(in crate::render) fn heatmap(page: &mut Page<'_>, usage: &Usage) {
    page.heading(&title(usage));
    let columns = (page.view.width.saturating_sub(HOURS_AT) / 24).clamp(1, WIDEST);
    let head: String = (0..24)
        .step_by(3)
        .map(|hour| format!("{:<1$}", format!("{hour:02}"), 3 * columns))
        .collect();
    page.cells(HOURS_AT, &[Cell::new(head.trim_end(), Ink::Quiet)]);
    let week = week(usage);
    for (day, hours) in DAYS.iter().zip(week.chunks(24)) {
        let marks: String =
            hours.iter().map(|cell| shade(*cell).to_string().repeat(columns)).collect();
        let marks = marks.trim_end();
        let line = format!("{day}  {marks}");
        page.cells(INDENT, &[Cell::plain(line.trim_end())]);
    }
    page.text(
        INDENT,
        "share of card time active: · none, ░ under 25 %, ▒ under 50 %, ▓ under 75 %, █ more; \
         blank: not observed",
        Ink::Quiet,
    );
}

pub(in crate::render) fn title(usage: &Usage) -> String {
    format!("§5 Time-of-day heatmap ({})", usage.window.tz)
}

/// Every hour of the week, with its share where it was observed.
pub(in crate::render) fn week(usage: &Usage) -> Vec<Option<f64>> {
    let mut week = vec![None; 7 * 24];
    for cell in usage.heatmap.iter().flatten() {
        let place = usize::from(cell.weekday) * 24 + usize::from(cell.hour);
        if let Some(share) = week.get_mut(place) {
            *share = Some(cell.active_share);
        }
    }
    week
}

fn shade(share: Option<f64>) -> char {
    match share {
        None => ' ',
        Some(share) if share <= 0.0 => '·',
        Some(share) if share < 0.25 => '░',
        Some(share) if share < 0.5 => '▒',
        Some(share) if share < 0.75 => '▓',
        Some(_) => '█',
    }
}
