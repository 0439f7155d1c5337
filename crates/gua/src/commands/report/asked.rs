//! What a report is asked: from what was typed to what is meant.

use std::cmp::Reverse;

use jiff::Timestamp;
use probe::units::{Bytes, Percent, UnixMillis};

use crate::classify::Thresholds;
use crate::cli;
use crate::config::Window;
use crate::ledger::Period;
use crate::report::accounts::By;
use crate::report::usage::{Question, Tariff};

pub(super) fn question(window: &Window, typed: &cli::Report) -> Question {
    let usual = Thresholds::default();
    let moment = |at: Timestamp| UnixMillis(at.as_millisecond());
    let is_of_one = typed.user.is_some();
    Question {
        window: Period::new(moment(window.from), moment(window.until)),
        tz: window.zone.tz.clone(),
        tz_name: window.zone.name.clone(),
        thresholds: Thresholds {
            active: typed.active_percent.map_or(usual.active, Percent),
            held: typed.held_mb.map_or(usual.held, Bytes::from_mib),
            ..usual
        },
        // Of one person there is one account by user, which is told anyway.
        bys: bys(&typed.accounts, if is_of_one { By::Card } else { By::User }),
        user: typed.user.clone(),
        tariff: tariff(&typed.accounts),
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

/// Prices as they were typed stand in the place of all others.
pub(in crate::commands) fn tariff(typed: &cli::Accounts) -> Tariff {
    let mut tariff = Tariff::default();
    if let Some(currency) = &typed.currency {
        tariff.currency.clone_from(currency);
    }
    if typed.price.is_empty() {
        return tariff;
    }
    let of_models = typed.price.iter().filter_map(|price| Some((price.model.as_ref()?, price)));
    tariff.models = of_models.map(|(model, it)| (model.to_lowercase(), it.per_gpu_hour)).collect();
    tariff.models.sort_by_key(|(part, _)| Reverse(part.chars().count()));
    let any = typed.price.iter().rfind(|price| price.model.is_none());
    tariff.price = any.map(|price| price.per_gpu_hour);
    tariff
}

/// How many sessions to show.
pub(in crate::commands) const fn sessions(typed: &cli::Accounts) -> usize {
    match typed.sessions {
        cli::Count::AtMost(most) => most,
        cli::Count::All => usize::MAX,
    }
}
