//! The engine that is meant, and which of its series.

use crate::cli;
use crate::engine::{Access, Client, Credentials, EngineError};
use crate::failure::Failure;
use crate::report::fleet::Selection;

/// Gets ready to ask.
pub(super) fn client(typed: &cli::Engine, url: &str) -> Result<Client, Failure> {
    let mut access = Access::new(url)?;
    access.credentials = credentials(typed);
    access.authorities.clone_from(&typed.prometheus_ca);
    access.timeout = typed.prometheus_timeout;
    Ok(Client::new(access)?)
}

fn credentials(typed: &cli::Engine) -> Credentials {
    match (&typed.prometheus_user, &typed.prometheus_password_file, &typed.prometheus_token_file) {
        (Some(user), Some(file), _) => {
            Credentials::Basic { user: user.clone(), password_file: file.clone() }
        }
        (_, _, Some(file)) => Credentials::Bearer { token_file: file.clone() },
        _ => Credentials::None,
    }
}

pub(super) fn selection(typed: &cli::Engine) -> Selection {
    let matching = typed.matching.as_deref().map(|it| it.trim_matches(['{', '}', ' ', ',']));
    Selection {
        matching: matching.filter(|it| !it.is_empty()).map(str::to_owned),
        host: typed.host.clone(),
    }
}

/// There is nothing of ours, as far as was asked.
pub(super) fn no_series(client: &Client, selection: &Selection) -> Failure {
    let matching = selection.matching.as_ref().map(|matching| format!("with {matching}"));
    let host = selection.host.as_ref().map(|host| format!("of hosts `{host}`"));
    let filter: Vec<_> = matching.into_iter().chain(host).collect();
    let filter = if filter.is_empty() { String::new() } else { format!(" {}", filter.join(" ")) };
    EngineError::NoSeries { url: client.url().to_owned(), filter }.into()
}
