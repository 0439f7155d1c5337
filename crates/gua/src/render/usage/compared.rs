//! Two windows side by side.

use gua_query::usage::{By, Compared, ComparedAccount, Pair, TotalState, Usage};
use jiff::tz::TimeZone;

use super::accounts::MOST;
use super::figures::{format_units, hour_decimals, largest, length, percent, stretch, units};
use super::label::{label_of, shortened};
use super::money::{amount_of_units, money_decimals};
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
    // As the headline and the accounts above.
    let decimals = hour_decimals(largest(&usage.states));
    let hours = |what, pair| figures(what, pair, decimals);
    rows.extend(idle_held.map(|row| hours("idle-held GPU-h".to_owned(), row.gpu_hours)));
    rows.push(figures("idle-held cards".to_owned(), compared.equivalent_gpus_idle_held, 1));
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
            accounts
                .into_iter()
                .take(MOST)
                .map(|account| hours(account_label(account, usage), account.idle_held_gpu_hours)),
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
    let tenths = |share: f64| units(share * 100.0, 1);
    let points = |tenths, share: f64| format!("{} points", format_units(tenths, share * 100.0, 1));
    pair_row(word.to_owned(), pair, (tenths, |_, share| percent(Some(share)), points))
}

fn figures(what: String, pair: Pair, decimals: usize) -> Row {
    let show = |printed, exact| format_units(printed, exact, decimals);
    pair_row(what, pair, (|exact| units(exact, decimals), show, show))
}

fn money_row(what: &str, pair: Pair, currency: &str) -> Row {
    let largest = pair.now.unwrap_or(0.0).max(pair.before.unwrap_or(0.0));
    let decimals = money_decimals(largest);
    let show = |printed, exact| amount_of_units((printed, exact), decimals, currency);
    pair_row(what.to_owned(), pair, (|exact| units(exact, decimals), show, show))
}

/// Returns a row whose difference is that of the printed figures: figures as units of their last decimal,
/// how they are shown, and how their difference is.
fn pair_row(
    what: String,
    pair: Pair,
    (units, show, show_difference): (
        impl Fn(f64) -> i64,
        impl Fn(i64, f64) -> String,
        impl Fn(i64, f64) -> String,
    ),
) -> Row {
    let cell = |figure: Option<f64>| unknown(figure.map(|it| show(units(it), it)));
    let both = pair.now.zip(pair.before).zip(pair.difference);
    let difference = both
        .map(|((now, before), exact)| signed(units(now) - units(before), exact, show_difference));
    [what, cell(pair.now), cell(pair.before), unknown(difference)]
}

/// With its sign; what would be shown as nothing has none.
fn signed(units: i64, exact: f64, show: impl Fn(i64, f64) -> String) -> String {
    let shown = show(units.abs(), exact.abs());
    match units {
        0 => shown,
        ..0 => format!("−{shown}"),
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
        let shown = |by: f64| {
            let printed = if by < 0.0 { -units(-by, 1) } else { units(by, 1) };
            signed(printed, by, |it, by| format_units(it, by, 1))
        };
        assert_eq!([-0.01, 0.0, 7.0, -7.0].map(shown), ["<0.1", "0", "+7.0", "−7.0"]);
    }

    /// A reader subtracts what is printed.
    #[test]
    fn differences_are_those_of_printed_figures() {
        let pair = |now: f64, before: f64| Pair {
            now: Some(now),
            before: Some(before),
            difference: Some(now - before),
        };
        let difference = |[.., difference]: Row| difference;
        let hours = |now, before| difference(figures(String::new(), pair(now, before), 1));
        assert_eq!([hours(41.66, 43.04), hours(0.14, 0.36)], ["−1.3", "−0.3"]);
        assert_eq!(difference(shares("", pair(0.052_04, 0.065_46))), "−1.3 points");
        assert_eq!(difference(money_row("", pair(5.204, 6.546), "$")), "−$1.35");
    }
}
