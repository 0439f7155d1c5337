//! Whose the time was and what it cost, as it was typed.

use clap::{Args, ValueEnum};

/// Named with each option: what comes after a group of options would go by its heading else.
const HEADING: &str = "Whose it was, and what it cost";

/// How accounts, sessions and money are told.
#[derive(Debug, Args)]
pub struct Accounts {
    /// What to make accounts of; may be given several times [default: user]
    #[arg(help_heading = HEADING, long, value_name = "WHAT", value_delimiter = ',')]
    pub by: Vec<By>,
    /// Order of accounts: largest total, idle-held or active time, or cost of idle time first
    #[arg(help_heading = HEADING, long, value_name = "ORDER", default_value = "total")]
    pub sort: Sort,
    /// How many holding sessions to show as text or Markdown, or all
    #[arg(help_heading = HEADING, long, value_name = "N", default_value = "5", value_parser = count,
          allow_hyphen_values = true)]
    pub sessions: Count,
    /// What a GPU-hour costs, in the place of what the config says; A100=3.20 is for cards with
    /// that in their model's name. May be given several times
    #[arg(help_heading = HEADING, long, value_name = "[MODEL=]PRICE", value_parser = price, allow_hyphen_values = true)]
    pub price: Vec<Price>,
    /// What a kilowatt-hour costs, in the place of what the config says
    #[arg(help_heading = HEADING, long, value_name = "PRICE", value_parser = price_kwh, allow_hyphen_values = true)]
    pub price_kwh: Option<f64>,
    /// What stands beside an amount of money: a sign or a name of up to 8 characters
    #[arg(help_heading = HEADING, long, value_name = "CURRENCY", value_parser = currency)]
    pub currency: Option<String>,
}

/// What holders are one account by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    User,
    Job,
    Container,
    Pod,
    Notebook,
    Program,
    Card,
}

/// Figure by which accounts are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sort {
    Total,
    Idle,
    Active,
    Cost,
}

/// How many to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    AtMost(usize),
    All,
}

/// The price of a GPU-hour.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// A part of a model's name; any card where there is none.
    pub model: Option<String>,
    pub per_gpu_hour: f64,
}

fn count(typed: &str) -> Result<Count, String> {
    if typed.eq_ignore_ascii_case("all") {
        return Ok(Count::All);
    }
    typed.parse().map(Count::AtMost).map_err(|_| "expected a number, or all".to_owned())
}

/// More than anybody pays.
const MOST_PRICE: f64 = 1e6;

fn price(typed: &str) -> Result<Price, String> {
    let expected = "expected a price from 0 to 1000000 such as 2.50, or with a part of a \
                    model's name before it, such as A100=3.20";
    let (model, price) = match typed.rsplit_once('=') {
        Some((model, price)) => (Some(model.trim()), price),
        None => (None, typed),
    };
    let is_empty = model.is_some_and(str::is_empty);
    match plain_price(price) {
        Some(per_gpu_hour) if !is_empty => {
            Ok(Price { model: model.map(str::to_owned), per_gpu_hour })
        }
        _ => Err(expected.to_owned()),
    }
}

fn price_kwh(typed: &str) -> Result<f64, String> {
    plain_price(typed).ok_or_else(|| "expected a price from 0 to 1000000, such as 0.30".to_owned())
}

/// Returns an amount of digits and a point alone.
fn plain_price(typed: &str) -> Option<f64> {
    let typed = typed.trim();
    let is_plain = typed.chars().all(|c| c.is_ascii_digit() || c == '.');
    typed.parse().ok().filter(|price| *price <= MOST_PRICE && is_plain)
}

fn currency(typed: &str) -> Result<String, String> {
    let is_shown = crate::safe::safe(typed) == typed && !typed.contains(char::is_whitespace);
    if is_shown && (1..=8).contains(&typed.chars().count()) {
        return Ok(typed.to_owned());
    }
    Err("expected a sign or a name of up to 8 characters, such as EUR or $".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_of_any_card_or_of_a_model() {
        let of = |typed| price(typed).map(|price| (price.model, price.per_gpu_hour));
        assert_eq!(of("2.50"), Ok((None, 2.5)));
        assert_eq!(of("0"), Ok((None, 0.0)));
        assert_eq!(of("A100 80GB = 3"), Ok((Some("A100 80GB".to_owned()), 3.0)));
        for typed in ["", "-1", "1e3", "NaN", "inf", "=2", "A100=", "2,50", "1000001"] {
            assert!(of(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn a_price_of_energy_is_of_everything() {
        assert_eq!(price_kwh("0.30"), Ok(0.3));
        for typed in ["", "-1", "NaN", "A100=2", "0,30"] {
            assert!(price_kwh(typed).is_err(), "{typed}");
        }
    }

    #[test]
    fn sessions_are_counted_or_all() {
        assert_eq!(count("0"), Ok(Count::AtMost(0)));
        assert_eq!(count("ALL"), Ok(Count::All));
        assert!(count("-1").is_err() && count("some").is_err());
    }
}
