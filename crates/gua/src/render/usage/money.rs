//! Amounts of money in words.

use gua_query::usage::{Cost, Money, Price, Usage};

use super::figures::{format_digits, format_units, length};
use crate::render::words::{safe, thousands};

/// An amount with its currency: a sign stands before it, a name behind.
#[must_use]
pub fn amount(amount: f64, currency: &str) -> String {
    let figure = figure(amount.abs());
    let minus =
        if amount < 0.0 && figure.chars().any(|c| ('1'..='9').contains(&c)) { "−" } else { "" };
    with_currency(minus, &figure, currency)
}

fn with_currency(minus: &str, figure: &str, currency: &str) -> String {
    let currency = safe(currency);
    if currency.ends_with(char::is_alphabetic) {
        format!("{minus}{figure} {currency}")
    } else {
        format!("{minus}{currency}{figure}")
    }
}

/// Returns the decimals of amounts in a column that add up to a sum.
pub(super) fn money_decimals(sum: f64) -> usize {
    if sum < 99.995 { 2 } else { 0 }
}

/// Shows an amount that was rounded to a number of last decimals, with what it is exactly.
pub(super) fn amount_of_units(amount: (i64, f64), decimals: usize, currency: &str) -> String {
    let (units, exact) = amount;
    with_currency("", &format_units(units, exact, decimals), currency)
}

/// The same of an amount of which some is not known.
pub(super) fn amount_at_least(units: i64, decimals: usize, currency: &str) -> String {
    format!("≥{}", with_currency("", &format_digits(units, decimals), currency))
}

/// Cents as long as they matter.
fn figure(amount: f64) -> String {
    match amount {
        amount if amount > 0.0 && amount < 0.005 => "<0.01".to_owned(),
        amount if amount < 99.995 => format!("{amount:.2}"),
        amount => thousands(&format!("{amount:.0}")),
    }
}

/// What is known of a cost, marked where some of it has no price.
#[must_use]
pub fn cost(cost: Option<f64>, unpriced_hours: f64, currency: &str) -> String {
    match cost {
        Some(cost) if unpriced_hours > 0.0 => format!("≥{}", amount(cost, currency)),
        Some(cost) => amount(cost, currency),
        None => "?".to_owned(),
    }
}

/// The cost, and what it would be in a month.
pub(super) fn at_this_pace(money: &Money, of: &Cost) -> String {
    let sum = cost(of.cost, of.unpriced_gpu_hours, &money.currency);
    match of.cost_per_month {
        Some(month) => {
            let month = cost(Some(month), of.unpriced_gpu_hours, &money.currency);
            format!("{sum}, {month} a month at this pace")
        }
        None => sum,
    }
}

/// What the amounts rest on: prices, cards without one, what a month is.
pub(super) fn basis(usage: &Usage) -> Option<String> {
    let money = usage.money.as_ref()?;
    let mut parts = vec![prices(money)];
    let unpriced: Vec<_> = money.prices.iter().filter(|p| p.cost_per_gpu_hour.is_none()).collect();
    if !unpriced.is_empty() {
        let models: Vec<_> = unpriced.iter().map(|price| model(price.model.as_deref())).collect();
        parts.push(format!("no price for {}, which is left out", models.join(", ")));
    }
    parts.push(if money.idle_held.cost_per_month.is_some() {
        format!("a month is 30 days at the pace of the {} observed", length(money.rests_on_seconds))
    } else {
        format!("{} are too little for a month's pace", length(money.rests_on_seconds))
    });
    Some(format!("money: {}", parts.join("; ")))
}

fn prices(money: &Money) -> String {
    let priced = || money.prices.iter().filter_map(|price| Some((price, price.cost_per_gpu_hour?)));
    let price = |per_hour| format!("{} a GPU-hour", amount(per_hour, &money.currency));
    let mut all = priced().map(|(_, per_hour)| per_hour);
    let first = all.next().unwrap_or_default();
    if all.all(|other| (other - first).abs() < f64::EPSILON) {
        return price(first);
    }
    let each = |(of, per_hour): (&Price, f64)| {
        format!("{} for {}", price(per_hour), model(of.model.as_deref()))
    };
    priced().map(each).collect::<Vec<_>>().join(", ")
}

fn model(name: Option<&str>) -> String {
    name.map_or_else(
        || "cards of unknown model".to_owned(),
        |name| safe(crate::render::words::card_name(name)),
    )
}

/// What to say of it in the verdict.
pub(super) fn verdict(usage: &Usage) -> Option<String> {
    let money = usage.money.as_ref()?;
    money.idle_held.cost.filter(|cost| *cost > 0.0)?;
    Some(format!("It cost {}.", at_this_pace(money, &money.idle_held)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_stands_before_the_figure_and_a_name_behind() {
        let shown = [1515.4, 99.996, 2.5, 0.001, 0.0, -12.0, -0.000_01];
        let euros = ["1,515 EUR", "100 EUR", "2.50 EUR", "<0.01 EUR", "0.00 EUR", "−12.00 EUR"];
        assert_eq!(shown.map(|sum| amount(sum, "EUR"))[..6], euros);
        assert_eq!(amount(1515.4, "$"), "$1,515");
        assert_eq!(amount(-0.5, "US$"), "−US$0.50");
        assert_eq!(cost(Some(3.0), 1.0, "€"), "≥€3.00");
        assert_eq!(cost(None, 1.0, "€"), "?");
    }
}
