//! The request of a report: from what was typed to what is meant.

use std::cmp::Reverse;

use gua_core::Period;
use gua_core::slices::gpu_name;
use gua_core::units::UnixMillis;
use gua_query::usage::{By, Prices, SortBy, Usage, UsageRequest};
use jiff::Timestamp;
use rustix::process::geteuid;

use crate::cli;
use crate::config::{Config, Cost, Window};
use crate::failure::Failure;
use crate::render::words::safe;
use crate::web::NO_PRICE;

/// Returns the request for a window. Whether a recorder runs is not known yet.
pub(in crate::commands) fn request(
    window: &Window,
    typed: &cli::Report,
    config: &Config,
    now: Timestamp,
) -> Result<UsageRequest, Failure> {
    let moment = |at: Timestamp| UnixMillis(at.as_millisecond());
    let period = Period::new(moment(window.from), moment(window.until));
    let is_about_one = typed.user.is_some();
    let format = super::format(typed)?;
    let is_csv = format == cli::ReportFormat::Csv;
    let is_data = is_csv || format == cli::ReportFormat::Json;
    let prices = prices(&typed.accounts, config.cost.clone());
    Ok(UsageRequest {
        zone: window.zone.tz.clone(),
        zone_name: window.zone.name.clone(),
        // A report on one person has their account by user anyway.
        by: kinds(&typed.accounts, if is_about_one && !is_csv { By::Card } else { By::User }),
        sort: sort(&typed.accounts, &prices)?,
        user: typed.user.clone(),
        prices,
        compare: typed.compare.map(|compare| earlier(period, compare)),
        context: config.thresholds.context,
        // A report on one person adds up all of their sessions.
        most_sessions: match is_data || is_about_one {
            true => None,
            false => request_sessions(&typed.accounts),
        },
        viewer_uid: geteuid().as_raw(),
        ..UsageRequest::new(period, moment(now))
    })
}

/// Returns the table of CSV that was asked for. A table has one kind of rows.
pub(in crate::commands) fn table(typed: &cli::Report) -> Result<cli::ReportTable, Failure> {
    let is_csv = super::format(typed)? == cli::ReportFormat::Csv;
    let table = typed.table.unwrap_or_default();
    let kinds = kinds(&typed.accounts, By::User);
    match table {
        _ if typed.table.is_some() && !is_csv => Err(Failure::Usage {
            what: "--table says which table --format csv has, and another format was asked for"
                .to_owned(),
            next: "Add --format csv; --json has all tables at once.".to_owned(),
        }),
        cli::ReportTable::Accounts if is_csv && kinds.len() > 1 => {
            let each: Vec<_> = kinds.iter().map(|by| format!("--by {}", by.slug())).collect();
            Err(Failure::Usage {
                what: format!("--format csv has the accounts of one kind, not of {}", kinds.len()),
                next: format!("Write a file for each: {}; or use --json.", each.join(", ")),
            })
        }
        cli::ReportTable::Hours if typed.user.is_some() => Err(Failure::Usage {
            what: "--table hours: the hours of the week are those of all cards, and --user asks \
                   for one person's figures"
                .to_owned(),
            next: "Leave out --user, or use --table sessions.".to_owned(),
        }),
        _ => Ok(table),
    }
}

/// Returns the earlier window to compare with.
fn earlier(window: Period, compare: cli::Compare) -> Period {
    let back = match compare {
        cli::Compare::Previous => window.millis(),
        cli::Compare::Earlier(back) => i64::try_from(back.as_millis()).unwrap_or(i64::MAX),
    };
    let before = |at: UnixMillis| UnixMillis(at.0.saturating_sub(back));
    Period::new(before(window.from), before(window.to))
}

/// Returns the kinds of accounts, each once.
pub(in crate::commands) fn kinds(typed: &cli::Accounts, default: By) -> Vec<By> {
    let mut kinds: Vec<By> = Vec::new();
    for by in typed.by.iter().map(|by| By::from(*by)) {
        if !kinds.contains(&by) {
            kinds.push(by);
        }
    }
    if kinds.is_empty() { vec![default] } else { kinds }
}

impl From<cli::By> for By {
    fn from(by: cli::By) -> Self {
        match by {
            cli::By::User => Self::User,
            cli::By::Job => Self::Job,
            cli::By::Container => Self::Container,
            cli::By::Pod => Self::Pod,
            cli::By::Notebook => Self::Notebook,
            cli::By::Program => Self::Program,
            cli::By::Card => Self::Card,
        }
    }
}

/// Returns the order of accounts. There is no cost without a price.
pub(in crate::commands) fn sort(typed: &cli::Accounts, prices: &Prices) -> Result<SortBy, Failure> {
    match typed.sort {
        cli::Sort::Total => Ok(SortBy::Total),
        cli::Sort::Idle => Ok(SortBy::Idle),
        cli::Sort::Active => Ok(SortBy::Active),
        cli::Sort::Cost if prices.has_gpu_hour() => Ok(SortBy::Cost),
        cli::Sort::Cost => Err(Failure::Usage {
            what: format!("--sort cost: {NO_PRICE}"),
            next: "Add --price 2.50, or set price in the section [cost] of the config.".to_owned(),
        }),
    }
}

/// Refuses to sort by cost if none of the cards has a price.
pub(in crate::commands) fn refuse_without_cost(usage: &Usage, sort: SortBy) -> Result<(), Failure> {
    if sort != SortBy::Cost || usage.money.is_some() || usage.cards.is_empty() {
        return Ok(());
    }
    let names = usage.cards.iter().filter_map(|card| card.name.as_deref()).map(gpu_name);
    let mut names: Vec<_> = names.map(safe).collect();
    names.sort_unstable();
    names.dedup();
    Err(Failure::Usage {
        what: format!("--sort cost: no price fits any card ({})", names.join(", ")),
        next:
            "Name a part of a model in --price MODEL=PRICE, or give a price for all: --price 2.50."
                .to_owned(),
    })
}

/// Returns the prices: those that were typed replace all others.
pub(in crate::commands) fn prices(typed: &cli::Accounts, configured: Cost) -> Prices {
    let Cost { currency, price, models, per_kwh } = configured;
    let kwh = typed.price_kwh.or(per_kwh);
    let currency = typed.currency.clone().unwrap_or(currency);
    if typed.price.is_empty() {
        return Prices { currency, gpu_hour: price, models, kwh };
    }
    let of_models = typed.price.iter().filter_map(|price| Some((price.model.as_ref()?, price)));
    let mut models: Vec<_> =
        of_models.map(|(model, it)| (model.to_lowercase(), it.per_gpu_hour)).collect();
    models.sort_by_key(|(part, _)| Reverse(part.chars().count()));
    let any = typed.price.iter().rfind(|price| price.model.is_none());
    Prices { currency, gpu_hour: any.map(|price| price.per_gpu_hour), models, kwh }
}

/// Returns the number of sessions to read, if no more than those that are shown are needed.
pub(in crate::commands) const fn request_sessions(typed: &cli::Accounts) -> Option<usize> {
    match typed.sessions {
        cli::Count::AtMost(most) => Some(most),
        cli::Count::All => None,
    }
}

/// Returns the number of sessions to show.
pub(in crate::commands) const fn sessions(typed: &cli::Accounts) -> usize {
    match typed.sessions {
        cli::Count::AtMost(most) => most,
        cli::Count::All => usize::MAX,
    }
}
