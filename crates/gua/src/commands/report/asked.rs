//! What a report is asked: from what was typed to what is meant.

use std::cmp::Reverse;

use jiff::Timestamp;
use probe::units::UnixMillis;

use crate::cli;
use crate::config::{Config, Cost, Window};
use crate::ledger::Period;
use crate::report::accounts::By;
use crate::report::usage::Question;

pub(super) fn question(window: &Window, typed: &cli::Report, config: &Config) -> Question {
    let moment = |at: Timestamp| UnixMillis(at.as_millisecond());
    let is_of_one = typed.user.is_some();
    let is_page =
        !typed.json && !matches!(typed.format, cli::ReportFormat::Json | cli::ReportFormat::Csv);
    // What a page tells of one person are sums of all.
    let is_short = is_page && !is_of_one;
    Question {
        window: Period::new(moment(window.from), moment(window.until)),
        tz: window.zone.tz.clone(),
        tz_name: window.zone.name.clone(),
        thresholds: config.thresholds.into(),
        context: config.thresholds.context,
        // Of one person there is one account by user, which is told anyway.
        bys: bys(&typed.accounts, if is_of_one { By::Card } else { By::User }),
        user: typed.user.clone(),
        cost: cost(&typed.accounts, config.cost.clone()),
        // A page tells people by their accounts.
        identities: !is_page,
        page_sessions: if is_short { page_sessions(&typed.accounts) } else { None },
    }
}

/// The earlier window to compare with.
pub(super) fn earlier(window: Period, compare: cli::Compare) -> Period {
    let back = match compare {
        cli::Compare::Previous => window.millis(),
        cli::Compare::Earlier(back) => i64::try_from(back.as_millis()).unwrap_or(i64::MAX),
    };
    let before = |at: UnixMillis| UnixMillis(at.0.saturating_sub(back));
    Period::new(before(window.from), before(window.to))
}

/// The kinds of accounts, each once.
pub(in crate::commands) fn bys(typed: &cli::Accounts, usual: By) -> Vec<By> {
    let mut bys: Vec<By> = Vec::new();
    for by in typed.by.iter().map(|by| meant(*by)) {
        if !bys.contains(&by) {
            bys.push(by);
        }
    }
    if bys.is_empty() { vec![usual] } else { bys }
}

const fn meant(by: cli::By) -> By {
    match by {
        cli::By::User => By::User,
        cli::By::Job => By::Job,
        cli::By::Container => By::Container,
        cli::By::Pod => By::Pod,
        cli::By::Notebook => By::Notebook,
        cli::By::Program => By::Program,
        cli::By::Card => By::Card,
    }
}

/// Prices that were typed stand in the place of all others.
pub(in crate::commands) fn cost(typed: &cli::Accounts, settled: Cost) -> Cost {
    let currency = typed.currency.clone().unwrap_or_else(|| settled.currency.clone());
    if typed.price.is_empty() {
        return Cost { currency, ..settled };
    }
    let of_models = typed.price.iter().filter_map(|price| Some((price.model.as_ref()?, price)));
    let mut models: Vec<_> =
        of_models.map(|(model, it)| (model.to_lowercase(), it.per_gpu_hour)).collect();
    models.sort_by_key(|(part, _)| Reverse(part.chars().count()));
    let any = typed.price.iter().rfind(|price| price.model.is_none());
    Cost { currency, price: any.map(|price| price.per_gpu_hour), models }
}

/// How many sessions to look for, where no more than those that are shown count.
pub(in crate::commands) const fn page_sessions(typed: &cli::Accounts) -> Option<usize> {
    match typed.sessions {
        cli::Count::AtMost(most) => Some(most),
        cli::Count::All => None,
    }
}

/// How many sessions to show.
pub(in crate::commands) const fn sessions(typed: &cli::Accounts) -> usize {
    match typed.sessions {
        cli::Count::AtMost(most) => most,
        cli::Count::All => usize::MAX,
    }
}
