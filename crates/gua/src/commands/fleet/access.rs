//! The engine that is asked, and which of its series are read.

use gua_fleet::engine::{Access, Client, Credentials, EngineError};
use gua_fleet::selection::Selection;

use crate::cli;
use crate::context::Context;
use crate::failure::Failure;
use crate::safe::safe;

/// Returns a client for the engine at an address.
pub(super) fn client(typed: &cli::Engine, url: &str) -> Result<Client, Failure> {
    let mut access = Access::new(url).map_err(failure)?;
    access.credentials = Credentials::new(
        typed.prometheus_user.as_deref(),
        typed.prometheus_password_file.as_deref(),
        typed.prometheus_token_file.as_deref(),
    )
    .map_err(failure)?;
    access.ca_file.clone_from(&typed.prometheus_ca);
    access.timeout = typed.prometheus_timeout;
    Client::new(access).map_err(failure)
}

pub(super) fn selection(typed: &cli::Engine) -> Selection {
    let matching = typed.matching.as_deref().map(|it| it.trim_matches(['{', '}', ' ', ',']));
    Selection {
        matching: matching.filter(|it| !it.is_empty()).map(str::to_owned),
        host: typed.host.clone(),
    }
}

/// Prints why responses are incomplete, and returns the exit code.
pub(super) fn warn(client: &Client, context: &mut Context<'_>) -> u8 {
    let warnings = client.warnings();
    for warning in &warnings {
        context.say(format_args!(
            "the response of {} is incomplete: {}",
            client.url(),
            safe(warning)
        ));
    }
    u8::from(!warnings.is_empty())
}

/// Returns the failure of a query. One that the engine cannot read fails because of what was typed: the
/// rest of the query is ours.
pub(super) fn query_failure(error: EngineError, selection: &Selection) -> Failure {
    let matching = selection.matching.as_ref().map(|it| format!("--match {it}"));
    let host = selection.host.as_ref().map(|it| format!("--host {it}"));
    let typed: Vec<_> = matching.into_iter().chain(host).collect();
    match error {
        EngineError::Status { url, status: 400 | 422, text } if !typed.is_empty() => {
            let text = safe(text.split(": ").last().unwrap_or_default());
            Failure::Usage {
                what: format!("{url} does not accept {}: {text}", typed.join(" ")),
                next: "--match is one or more of LABEL=\"VALUE\", --host a regular expression."
                    .to_owned(),
            }
        }
        error => failure(error),
    }
}

/// Returns an error of an engine as a failure, with its next step.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes a value")]
pub(super) fn failure(error: EngineError) -> Failure {
    let (what, next) = (error.to_string(), error.next_step().to_owned());
    match error.is_usage() {
        true => Failure::Usage { what, next },
        false => Failure::Failed { what, next },
    }
}
