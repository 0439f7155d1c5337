//! `[notify]`: how people are told.

use std::path::{Path, PathBuf};

use serde_json::json;
use toml::de::DeValue;

use super::fields::{Detail, Fields};
use super::origin::Setting;
use super::rule_values::{Name, Span, Words};
use super::rules::Table;
use super::section::{self, Visit};
use super::value::Value;
use crate::config::policy::{Mail, Notify, Style, Template, Webhook};

#[derive(Debug, Clone)]
pub(super) struct Section {
    message: Setting<Template>,
    timeout: Setting<Span>,
    tty: Setting<Template>,
    mail: Setting<Mail>,
    webhook: Setting<Option<Webhook>>,
    command: Setting<Option<Words>>,
}

impl Section {
    pub fn usual() -> Self {
        let usual = Notify::default();
        Self {
            message: Setting::usual(usual.message),
            timeout: Setting::usual(Span(usual.timeout)),
            tty: Setting::usual(usual.tty),
            mail: Setting::usual(usual.mail),
            webhook: Setting::usual(usual.webhook),
            command: Setting::usual(usual.command.map(Words)),
        }
    }

    pub fn settled(&self) -> Notify {
        Notify {
            message: self.message.value.clone(),
            timeout: self.timeout.value.0,
            tty: self.tty.value.clone(),
            mail: self.mail.value.clone(),
            webhook: self.webhook.value.clone(),
            command: self.command.value.clone().map(|Words(words)| words),
        }
    }
}

impl section::Section for Section {
    fn name(&self) -> &'static str {
        "notify"
    }

    fn visit(&mut self, keys: &mut dyn Visit) {
        keys.key("message", &mut self.message);
        keys.key("timeout", &mut self.timeout);
        keys.key("tty", &mut self.tty);
        keys.key("mail", &mut self.mail);
        keys.key("webhook", &mut self.webhook);
        keys.key("command", &mut self.command);
    }
}

impl Value for Mail {
    const EXPECTED: &'static str =
        r#"how mail is sent, such as { sendmail = "/usr/sbin/sendmail", domain = "lab.org" }"#;

    fn read(typed: &DeValue<'_>, home: Option<&Path>) -> Option<Self> {
        read_mail(typed, home).filter(|(_, details)| details.is_empty()).map(|(it, _)| it)
    }

    fn details(typed: &DeValue<'_>, home: Option<&Path>) -> Vec<Detail> {
        read_mail(typed, home).map(|(_, details)| details).unwrap_or_default()
    }

    fn toml(&self) -> Option<toml::Value> {
        let mut table = Table::default();
        table.put("sendmail", self.sendmail.toml());
        table.put("from", self.from.clone().and_then(|from| Name(from).toml()));
        table.put("domain", self.domain.clone().and_then(|domain| Name(domain).toml()));
        table.put("subject", self.subject.toml());
        table.put("body", self.body.toml());
        Some(table.done())
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "sendmail": self.sendmail.display().to_string(),
            "from": self.from,
            "domain": self.domain,
            "subject": self.subject.as_str(),
            "body": self.body.as_str(),
        })
    }
}

fn read_mail(typed: &DeValue<'_>, home: Option<&Path>) -> Option<(Mail, Vec<Detail>)> {
    let usual = Mail::default();
    let mut fields = Fields::of("mail", typed.as_table()?, home);
    let mail = Mail {
        sendmail: fields.get::<PathBuf>("sendmail").unwrap_or(usual.sendmail),
        from: fields.get("from").map(|Name(from)| from),
        domain: fields.get("domain").map(|Name(domain)| domain),
        subject: fields.get("subject").unwrap_or(usual.subject),
        body: fields.get("body").unwrap_or(usual.body),
    };
    Some((mail, fields.details()))
}

impl Value for Webhook {
    const EXPECTED: &'static str =
        r#"where it is, such as { url = "https://hooks.example/x", style = "slack" }"#;

    fn read(typed: &DeValue<'_>, home: Option<&Path>) -> Option<Self> {
        let (webhook, details) = read_webhook(typed, home)?;
        webhook.filter(|_| details.is_empty())
    }

    fn details(typed: &DeValue<'_>, home: Option<&Path>) -> Vec<Detail> {
        read_webhook(typed, home).map(|(_, details)| details).unwrap_or_default()
    }

    fn toml(&self) -> Option<toml::Value> {
        let mut table = Table::default();
        table.put("url", Url(self.url.clone()).toml());
        table.put("style", self.style.toml());
        table.put("text", self.text.toml());
        Some(table.done())
    }

    fn json(&self) -> serde_json::Value {
        json!({ "url": Url(self.url.clone()).shown(), "style": self.style.word(), "text": self.text.as_str() })
    }
}

fn read_webhook(
    typed: &DeValue<'_>,
    home: Option<&Path>,
) -> Option<(Option<Webhook>, Vec<Detail>)> {
    let mut fields = Fields::of("webhook", typed.as_table()?, home);
    let url = fields.must("url").map(|Url(url)| url);
    let style = fields.get("style").unwrap_or(Style::Slack);
    let text = fields.get("text");
    let webhook = url.map(|url| {
        let usual = Webhook::new(url, style);
        Webhook { text: text.unwrap_or_else(|| usual.text.clone()), ..usual }
    });
    Some((webhook, fields.details()))
}

/// Where a webhook is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Url(String);

impl Url {
    /// Whose it is without what lets anybody write to it: `https://hooks.example/…`.
    fn shown(&self) -> String {
        let Some((scheme, rest)) = self.0.split_once("://") else { return "…".to_owned() };
        let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
        match host {
            _ if !host.chars().all(is_plain) => format!("{scheme}://…"),
            _ if host == rest => self.0.clone(),
            _ => format!("{scheme}://{host}/…"),
        }
    }
}

impl Value for Url {
    // Whoever knows it may write to where it leads, and mistakes go to logs.
    const IS_SECRET: bool = true;
    const EXPECTED: &'static str = r#"a URL in quotes that begins with http:// or https://, such as "https://hooks.example/x""#;

    fn read(typed: &DeValue<'_>, _: Option<&Path>) -> Option<Self> {
        let typed = typed.as_str()?;
        let rest = typed.strip_prefix("https://").or_else(|| typed.strip_prefix("http://"))?;
        let is_plain = !rest.is_empty() && typed.chars().all(|c| c.is_ascii_graphic());
        is_plain.then(|| Self(typed.to_string()))
    }

    fn toml(&self) -> Option<toml::Value> {
        Some(toml::Value::String(self.shown()))
    }

    fn json(&self) -> serde_json::Value {
        json!(self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_secret_place_only_the_host_is_shown() {
        let shown = |url: &str| Url(url.to_owned()).shown();
        assert_eq!(shown("https://hooks.example/T0/B0/secret"), "https://hooks.example/…");
        assert_eq!(shown("http://10.0.0.1:9000?token=secret"), "http://10.0.0.1:9000/…");
        assert_eq!(
            shown("https://ann:secret@hooks.example:8443/x"),
            "https://hooks.example:8443/…"
        );
        assert_eq!(shown("https://ann:secret@hooks.example"), "https://hooks.example/…");
        assert_eq!(shown("https://hooks.example#secret@x"), "https://hooks.example/…");
        assert_eq!(shown("https://[::1]:80/secret"), "https://[::1]:80/…");
        assert_eq!(shown(r"https://hooks.example\secret"), "https://…");
        assert_eq!(shown("https://hooks.example"), "https://hooks.example");
    }
}
