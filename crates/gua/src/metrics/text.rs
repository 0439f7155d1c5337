//! Samples as the text that a scrape gets.

use std::fmt::Write;

use super::family::{Family, Kind};
use super::frame::Frame;
use super::series::{Labels, Sink, tell};

/// Which of the two texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus's own, version 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// What a request takes: OpenMetrics only where it is asked for by name.
    #[must_use]
    pub fn accepted(accept: &str) -> Self {
        let asks =
            accept.split(',').any(|one| one.trim().starts_with("application/openmetrics-text"));
        if asks { Self::OpenMetrics } else { Self::Prometheus }
    }

    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The whole text. A series that was made after tick `served`, and so is new to who scrapes, is
/// shown with 0 first: an increase can only be seen from there on.
#[must_use]
pub fn text(frame: &Frame, served: u64, format: Format) -> String {
    let mut text = Text { out: String::with_capacity(32 << 10), format, served, family: None };
    tell(frame, &mut text);
    if format == Format::OpenMetrics {
        text.out.push_str("# EOF\n");
    }
    text.out
}

struct Text {
    out: String,
    format: Format,
    served: u64,
    family: Option<&'static Family>,
}

impl Sink for Text {
    fn family(&mut self, family: &'static Family) {
        let name = match self.format {
            // There the name of a counter goes without its suffix.
            Format::OpenMetrics => family.name.trim_end_matches("_total"),
            Format::Prometheus => family.name,
        };
        let (help, kind) = (family.help, family.kind.word());
        // Writing to a string does not fail.
        let _ = write!(self.out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        self.family = Some(family);
    }

    fn sample(&mut self, suffix: &str, labels: &Labels<'_>, born: u64, value: f64) {
        let Some(family) = self.family else { return };
        self.out.push_str(family.name);
        self.out.push_str(suffix);
        write_labels(&mut self.out, labels);
        let is_new = family.kind == Kind::Counter && born > self.served;
        let _ = writeln!(self.out, " {}", if is_new { 0.0 } else { value });
    }
}

fn write_labels(out: &mut String, labels: &Labels<'_>) {
    let mut before = '{';
    for (name, value) in labels {
        out.push(before);
        out.push_str(name);
        out.push_str("=\"");
        write_escaped(out, value);
        out.push('"');
        before = ',';
    }
    if before == ',' {
        out.push('}');
    }
}

fn write_escaped(out: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
}
