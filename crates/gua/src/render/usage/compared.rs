//! Two windows side by side.

use gua_query::usage::{By, Compared, ComparedAccount, Pair, TotalState, Usage};
use jiff::tz::TimeZone;

use super::accounts::MOST;
use super::figures::{hours, length, percent, stretch};
use super::label::{label_of, shortened};
use super::money::amount;
use super::page::{INDENT, Page};
use crate::render::paint::Ink;
use crate::render::table::{Align, Cell};

/// A line of the table: what, now, before, the difference.
pub(super) type Row = [String; 4];

pub(super) const HEADS: [&str; 4] = ["", "now", "before", "difference"];
const ALIGNS: [Align; 4] = [Align::Left, Align::Right, Align::Right, Align::Right];

pub(super) fn section(page: &mut Page<'_>, usage: &Usage) {
    let Some(compared) = &usage.compared else { return };
    page.heading(&title(compared, &page.view.tz));
    if let Some(doubt) = doubt(usage, compared) {
        page.text(INDENT, &doubt, Ink::Notice);
    }
    let mut rows = vec![HEADS.map(|head| Cell::new(head, Ink::Quiet)).to_vec()];
    rows.extend(all_rows(usage, compared).into_iter().map(|row| row.map(Cell::plain).to_vec()));
    page.table(&ALIGNS, &rows, 0);
}

pub(super) fn title(compared: &Compared, tz: &TimeZone) -> String {
    let window = &compared.window;
    let times = stretch(window.from, window.to, tz, &window.tz);
    format!(
        "Compared with {times}, {}, {} observed",
        length(window.seconds),
        percent(window.coverage)
    )
}

pub(super) fn doubt(usage: &Usage, compared: &Compared) -> Option<String> {
    if compared.window.observed_seconds <= 0.0 {
        return Some("Nothing was recorded in the earlier window.".to_owned());
    }
    let parts = || usage.window.coverage.zip(compared.window.coverage);
    let differs = parts().is_some_and(|(now, before)| (now - before).abs() > 0.1);
    match (compared.rests_on_little, differs) {
        (true, _) => {
            Some("The earlier window was hardly observed, so differences are left out.".to_owned())
        }
        (false, true) => {
            Some("The windows were not observed equally: compare shares, not hours.".to_owned())
        }
        (false, false) => None,
    }
}

pub(super) fn all_rows(usage: &Usage, compared: &Compared) -> Vec<Row> {
    let is_shown = |pair: &Pair| pair.now.unwrap_or(0.0) > 0.0 || pair.before.unwrap_or(0.0) > 0.0;
    let states = compared
        .states
        .iter()
        .filter(|row| row.state != TotalState::Unknown || is_shown(&row.gpu_hours));
    let mut rows: Vec<Row> = states.map(|row| shares(row.state.word(), row.share)).collect();
    let idle_held = compared.states.iter().find(|row| row.state == TotalState::IdleHeld);
    rows.extend(idle_held.map(|row| hours_row("idle-held GPU-h".to_owned(), row.gpu_hours)));
    rows.push(cards("idle-held cards".to_owned(), compared.equivalent_gpus_idle_held));
    if let Some(money) = &usage.money {
        rows.push(money_row("idle-held cost", compared.idle_held_cost, &money.currency));
    }
    for by in &usage.accounts_by {
        let mut accounts: Vec<_> = compared.accounts.iter().collect();
        accounts.retain(|it| it.by == *by && is_shown(&it.idle_held_gpu_hours));
        accounts.sort_by(|a, b| size(b).total_cmp(&size(a)));
        if !accounts.is_empty() {
            rows.push(heading(*by));
        }
        rows.extend(
            accounts.into_iter().take(MOST).map(|account| {
                hours_row(account_label(account, usage), account.idle_held_gpu_hours)
            }),
        );
    }
    if compared.rests_on_little {
        rows.iter_mut().for_each(|[.., difference]| without(difference));
    }
    rows
}

/// A difference from next to nothing says nothing.
fn without(difference: &mut String) {
    if !difference.is_empty() {
        *difference = unknown(None);
    }
}

fn heading(by: By) -> Row {
    let nothing = String::new;
    [format!("idle-held GPU-h by {}", by.slug()), nothing(), nothing(), nothing()]
}

/// The largest of either window first.
fn size(account: &ComparedAccount) -> f64 {
    let Pair { now, before, .. } = account.idle_held_gpu_hours;
    now.unwrap_or(0.0).max(before.unwrap_or(0.0))
}

fn account_label(account: &ComparedAccount, usage: &Usage) -> String {
    let ComparedAccount { by, name, unattributed, id, user, .. } = account;
    let label = label_of(*by, name.as_deref(), id.as_deref(), *unattributed, usage);
    let of = user.as_deref().filter(|_| *by != By::User && usage.person.is_none());
    let of = of.map(|user| format!(" of {}", shortened(user, 200))).unwrap_or_default();
    format!("  {label}{of}")
}

fn shares(word: &str, pair: Pair) -> Row {
    let points = pair
        .difference
        .map(|points| signed(points * 100.0, |points| format!("{points:.1} points")));
    [word.to_owned(), percent(pair.now), percent(pair.before), unknown(points)]
}

fn hours_row(what: String, pair: Pair) -> Row {
    let largest = pair.now.unwrap_or(0.0).max(pair.before.unwrap_or(0.0));
    let show = |value: Option<f64>| unknown(value.map(|value| hours(value, largest)));
    let difference = pair.difference.map(|by| signed(by, |by| hours(by, largest)));
    [what, show(pair.now), show(pair.before), unknown(difference)]
}

fn cards(what: String, pair: Pair) -> Row {
    let show = |value: Option<f64>| unknown(value.map(|cards| format!("{cards:.1}")));
    let difference = pair.difference.map(|by| signed(by, |by| format!("{by:.1}")));
    [what, show(pair.now), show(pair.before), unknown(difference)]
}

fn money_row(what: &str, pair: Pair, currency: &str) -> Row {
    let show = |value: Option<f64>| unknown(value.map(|value| amount(value, currency)));
    let difference = pair.difference.map(|by| signed(by, |by| amount(by, currency)));
    [what.to_owned(), show(pair.now), show(pair.before), unknown(difference)]
}

/// With its sign; what would be shown as nothing has none.
fn signed(value: f64, show: impl Fn(f64) -> String) -> String {
    let shown = show(value.abs());
    let is_nothing = !shown.chars().any(|c| ('1'..='9').contains(&c)) || shown.starts_with('<');
    match value {
        _ if is_nothing => shown,
        value if value < 0.0 => format!("−{shown}"),
        _ => format!("+{shown}"),
    }
}

fn unknown(shown: Option<String>) -> String {
    shown.unwrap_or_else(|| "–".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_next_to_nothing_has_no_sign() {
        let shown = |by: f64| signed(by, |by| hours(by, 62.1));
        assert_eq!([-0.01, 0.0, 7.0, -7.0].map(shown), ["<0.1", "0", "+7.0", "−7.0"]);
    }
}
