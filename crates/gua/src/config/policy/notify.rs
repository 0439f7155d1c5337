//! How a person is told.

use std::path::PathBuf;
use std::time::Duration;

use super::Template;

/// A way to tell somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    /// Their terminals.
    Tty,
    /// Through the local sendmail.
    Mail,
    Webhook,
    /// A command of the administrator's own.
    Command,
}

impl Channel {
    pub const ALL: [Self; 4] = [Self::Tty, Self::Mail, Self::Webhook, Self::Command];

    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tty => "tty",
            Self::Mail => "mail",
            Self::Webhook => "webhook",
            Self::Command => "command",
        }
    }
}

/// What each way needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Notify {
    /// What is said; the other templates have it as `{message}`.
    pub message: Template,
    /// How long one delivery may take.
    pub timeout: Duration,
    pub tty: Template,
    pub mail: Mail,
    pub webhook: Option<Webhook>,
    /// The words of a command, never through a shell.
    pub command: Option<Vec<Template>>,
}

/// How mail is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Mail {
    /// The program that takes it.
    pub sendmail: PathBuf,
    pub from: Option<String>,
    /// Behind the user's name and an `@`; the host's own users without one.
    pub domain: Option<String>,
    pub subject: Template,
    pub body: Template,
}

/// Where a webhook is and what it wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    pub url: String,
    pub style: Style,
    pub text: Template,
}

/// The shape of what a webhook is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `{"text": …}`, which Slack and many others take.
    Slack,
    /// Every figure in a field of its own.
    Plain,
}

impl Style {
    pub const ALL: [Self; 2] = [Self::Slack, Self::Plain];

    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Slack => "slack",
            Self::Plain => "plain",
        }
    }
}

/// What is said where nobody has said it otherwise.
const MESSAGE: &str = "{program} (pid {pid}) on {host} has held {memory} of {cards} for \
                           {idle} without using it. {left} To keep it for a while: \
                           gua policy snooze {pid} --for 4h";
/// What stands around it on a terminal.
const TTY: &str = "gua, notice {notice} of {notices} to {user}: {message}";
/// What a mail is called.
const SUBJECT: &str = "GPU memory held idle on {host} (pid {pid}, notice {notice} of {notices})";
/// What a mail says.
const BODY: &str = "{user},\n\n{message}\n\nThis is notice {notice} of {notices} by the rule \
                        \"{rule}\".\n";
/// What a webhook is told.
const TEXT: &str = "{user}: {message}";

impl Default for Notify {
    fn default() -> Self {
        Self {
            message: known(MESSAGE),
            timeout: Duration::from_secs(10),
            tty: known(TTY),
            mail: Mail::default(),
            webhook: None,
            command: None,
        }
    }
}

impl Default for Mail {
    fn default() -> Self {
        Self {
            sendmail: PathBuf::from("/usr/sbin/sendmail"),
            from: None,
            domain: None,
            subject: known(SUBJECT),
            body: known(BODY),
        }
    }
}

impl Webhook {
    /// With the usual text.
    #[must_use]
    pub fn new(url: String, style: Style) -> Self {
        Self { url, style, text: known(TEXT) }
    }
}

/// One of the templates above, all of which a test reads.
fn known(text: &str) -> Template {
    Template::parse(text).unwrap_or_else(|_| Template::plain(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_templates_can_be_read() {
        for text in [MESSAGE, TTY, SUBJECT, BODY, TEXT] {
            assert!(Template::parse(text).is_ok(), "{text}");
        }
    }
}
