//! The text that a scrape gets.

use std::fmt::Write;

use crate::family::{Family, Kind};
use crate::frame::Frame;
use crate::samples::{Labels, Sink, write_samples};

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Version 0.0.4 of Prometheus's own.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// Returns the format for an Accept header: OpenMetrics only if it is named.
    #[must_use]
    pub fn from_accept(accept: &str) -> Self {
        let is_named =
            accept.split(',').any(|one| one.trim().starts_with("application/openmetrics-text"));
        if is_named { Self::OpenMetrics } else { Self::Prometheus }
    }

    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Returns the text of a frame. A series that was made after tick `served`, the last one that this
/// scraper got, is shown with 0 first: an increase is only seen from there on.
#[must_use]
pub fn format_text(frame: &Frame, served: u64, format: Format) -> String {
    let mut text = Text { out: String::with_capacity(32 << 10), format, served, family: None };
    write_samples(frame, &mut text);
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
            // There, the name of a counter has no suffix.
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
