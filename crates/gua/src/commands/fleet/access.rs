//! The engine that is meant, and which of its series.

use crate::cli;
use crate::engine::{Access, Client, Credentials, EngineError};
use crate::failure::Failure;
use crate::report::fleet::Selection;
use crate::safe::safe;
use crate::talk::say;

/// Gets ready to ask.
pub(super) fn client(typed: &cli::Engine, url: &str) -> Result<Client, Failure> {
    let mut access = Access::new(url)?;
    access.credentials = Credentials::of(
        typed.prometheus_user.as_deref(),
        typed.prometheus_password_file.as_deref(),
        typed.prometheus_token_file.as_deref(),
    )?;
    access.authorities.clone_from(&typed.prometheus_ca);
    access.timeout = typed.prometheus_timeout;
    Ok(Client::new(access)?)
}

pub(super) fn selection(typed: &cli::Engine) -> Selection {
    let matching = typed.matching.as_deref().map(|it| it.trim_matches(['{', '}', ' ', ',']));
    Selection {
        matching: matching.filter(|it| !it.is_empty()).map(str::to_owned),
        host: typed.host.clone(),
    }
}

/// What is not whole is told all the same, and that it is not; gives the exit code.
pub(super) fn told_of_flaws(client: &Client) -> u8 {
    let flaws = client.flaws();
    for flaw in &flaws {
        say(format_args!("{} does not tell everything: {}", client.url(), safe(flaw)));
    }
    u8::from(!flaws.is_empty())
}

/// What an engine cannot read is what was typed: the rest of the question is ours.
pub(super) fn blamed(error: EngineError, selection: &Selection) -> Failure {
    let matching = selection.matching.as_ref().map(|it| format!("--match {it}"));
    let host = selection.host.as_ref().map(|it| format!("--host {it}"));
    let typed: Vec<_> = matching.into_iter().chain(host).collect();
    match error {
        EngineError::Status { url, status: 400 | 422, words } if !typed.is_empty() => {
            let words = safe(words.split(": ").last().unwrap_or_default());
            Failure::Usage {
                what: format!("{url} does not take {}: {words}", typed.join(" ")),
                next: "--match is one or more of LABEL=\"VALUE\", --host a regular expression."
                    .to_owned(),
            }
        }
        error => error.into(),
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
