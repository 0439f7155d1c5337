//! A notice as JSON, to a URL.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Letter, NotDelivered};
use crate::config::policy::{Style, Webhook};

pub(super) fn deliver(
    webhook: &Webhook,
    letter: &Letter,
    timeout: Duration,
) -> Result<(), NotDelivered> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(timeout))
        .http_status_as_error(false)
        // What is meant for one place is not for another.
        .max_redirects(0)
        .user_agent(concat!("gua/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let body = body(webhook, letter).to_string();
    let post = agent.post(&webhook.url).content_type("application/json");
    let answer = post.send(body).map_err(|error| NotDelivered::NotReached(error.to_string()))?;
    match answer.status().as_u16() {
        200..300 => Ok(()),
        status => Err(NotDelivered::Refused(status)),
    }
}

fn body(webhook: &Webhook, letter: &Letter) -> Value {
    let text = letter.fields.fill(&webhook.text);
    match webhook.style {
        Style::Slack => json!({ "text": text }),
        Style::Plain => json!({
            "schema": "gua.notice/1",
            "text": text,
            "figures": letter.figures,
            "fields": letter.fields,
        }),
    }
}
