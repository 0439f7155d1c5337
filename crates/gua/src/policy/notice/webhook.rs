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
    let answer = post.send(body).map_err(|error| match error {
        ureq::Error::Timeout(_) => NotDelivered::NoAnswer(timeout),
        error => NotDelivered::NotReached(error.to_string()),
    })?;
    match answer.status().as_u16() {
        200..300 => Ok(()),
        status => Err(NotDelivered::Refused(status)),
    }
}

fn body(webhook: &Webhook, letter: &Letter) -> Value {
    match webhook.style {
        Style::Slack => json!({ "text": letter.fields.fill_with(&webhook.text, for_slack) }),
        Style::Plain => json!({
            "schema": "gua.notice/1",
            "text": letter.fields.fill(&webhook.text),
            "figures": letter.figures,
            "fields": letter.fields,
        }),
    }
}

/// A process by the name of `<!channel>` must not call everybody.
fn for_slack(value: &str) -> String {
    value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_calls_nobody() {
        assert_eq!(for_slack("<!channel> & co"), "&lt;!channel&gt; &amp; co");
    }
}
