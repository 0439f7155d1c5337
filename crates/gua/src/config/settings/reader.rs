//! A file's text, read over what is in force so far; every mistake is told.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue, Error};

use super::Settings;
use super::cost::Models;
use super::mistake::{Mistake, place};
use super::names::Names;
use super::origin::{Origin, Setting, Whose};
use super::section::{Section, Slot, Visit};
use super::value::{Price, Value};

/// How much of a wrong value is shown.
const MOST_SHOWN: usize = 40;

/// How many lines that are nothing are told at most.
const MOST_STRAY: usize = 20;

/// A text and where it comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub text: &'a str,
    pub path: &'a Arc<Path>,
    pub whose: Whose,
    /// What `~` means.
    pub home: Option<&'a Path>,
}

impl Source<'_> {
    /// Takes every value that is right, and tells every mistake in the order of the text.
    pub fn read(self, settings: &mut Settings) -> Vec<Mistake> {
        let (document, errors) = DeTable::parse_recoverable(self.text);
        if errors.is_empty() {
            return self.take(document.get_ref(), settings, Vec::new());
        }
        let (text, mut broken) = self.without_stray_lines();
        let (document, errors) = DeTable::parse_recoverable(&text);
        broken.extend(errors.iter().map(|error| self.not_toml(error)));
        self.take(document.get_ref(), settings, broken)
    }

    fn take(
        self,
        document: &DeTable<'_>,
        settings: &mut Settings,
        mut broken: Vec<Mistake>,
    ) -> Vec<Mistake> {
        let mut reader = Reader { source: self, names: settings.names(), mistakes: Vec::new() };
        reader.document(document, settings);
        // What was made of a broken line is nobody's mistake.
        let is_broken = |line: usize| broken.iter().any(|broken| broken.line == line);
        reader.mistakes.retain(|mistake| !is_broken(mistake.line));
        broken.append(&mut reader.mistakes);
        broken.sort();
        broken.dedup();
        broken
    }

    /// The text without lines that are neither a key with its value nor a section, and what is
    /// wrong with them: after one of those, the parser takes in nothing more.
    fn without_stray_lines(&self) -> (String, Vec<Mistake>) {
        let (mut text, mut mistakes) = (self.text.to_owned(), Vec::new());
        while mistakes.len() < MOST_STRAY {
            let (_, errors) = DeTable::parse_recoverable(&text);
            let Some((error, line)) = errors.iter().find_map(|error| stray(&text, error)) else {
                break;
            };
            mistakes.push(self.not_toml(error));
            // As long as before, so that what follows is found where it is.
            text.replace_range(line.clone(), &" ".repeat(line.len()));
        }
        (text, mistakes)
    }

    fn not_toml(&self, error: &Error) -> Mistake {
        let byte = error.span().map_or(self.text.len(), |span| span.start);
        let why = begun_value(self.text, byte).and_then(instead_of_a_value);
        let reason = format!("this is no TOML: {}", why.unwrap_or(error.message()));
        Mistake::at(self.text, byte, &reason)
    }

    fn origin(&self, byte: usize) -> Origin {
        let (line, _) = place(self.text, byte);
        Origin::File { whose: self.whose, path: Arc::clone(self.path), line }
    }
}

/// An error with the line that it is in, where that is neither a key with a value nor a section.
fn stray<'e>(text: &str, error: &'e Error) -> Option<(&'e Error, Range<usize>)> {
    let (before, rest) = text.split_at_checked(error.span()?.start)?;
    let from = before.rfind('\n').map_or(0, |newline| newline + 1);
    let to = before.len() + rest.find('\n').unwrap_or(rest.len());
    let line = text.get(from..to)?;
    let is_stray = !line.trim().is_empty() && !line.contains(['=', '[', '{']);
    is_stray.then_some((error, from..to))
}

/// The rest of a line from a byte on, where that is the place of a value.
fn begun_value(text: &str, byte: usize) -> Option<&str> {
    let (before, rest) = text.split_at_checked(byte)?;
    before.trim_end_matches([' ', '\t']).ends_with('=').then(|| rest.lines().next().unwrap_or(""))
}

/// Why what stands there is no value, in plainer words than a parser has.
fn instead_of_a_value(rest: &str) -> Option<&'static str> {
    let value = rest.trim_start();
    let is_text = value.contains(|c: char| c.is_alphabetic() || c == '/');
    if value.is_empty() || value.starts_with('#') {
        Some("there is no value behind the `=`")
    } else if is_text && !value.starts_with(['"', '\'', '[', '{']) {
        Some(r#"text and times stand in quotes, such as "30s""#)
    } else {
        None
    }
}

struct Reader<'a> {
    source: Source<'a>,
    names: Names,
    mistakes: Vec<Mistake>,
}

type Key<'i> = Spanned<DeString<'i>>;

impl Reader<'_> {
    fn document(&mut self, document: &DeTable<'_>, settings: &mut Settings) {
        for section in settings.sections() {
            if let Some((key, value)) = document.get_key_value(section.name()) {
                self.section(key, value, section);
            }
        }
        for key in document.keys() {
            if !self.names.has_section(key.get_ref()) {
                self.wrong(key.span().start, &self.names.no_section(key.get_ref()));
            }
        }
    }

    fn section(&mut self, key: &Key<'_>, value: &Spanned<DeValue<'_>>, section: &mut dyn Section) {
        let name = section.name();
        let Some(table) = value.get_ref().as_table() else {
            let reason = format!("`{name}` is a section: write `[{name}]`, and its keys below it");
            return self.wrong(key.span().start, &reason);
        };
        section.visit(&mut Keys { reader: self, table });
        for key in table.keys() {
            if !self.names.has_key(name, key.get_ref()) {
                self.wrong(key.span().start, &self.names.no_key(name, key.get_ref()));
            }
        }
    }

    fn wrong(&mut self, byte: usize, reason: &str) {
        self.mistakes.push(Mistake::at(self.source.text, byte, reason));
    }

    /// A value of many parts is told part by part.
    fn not_taken(&mut self, name: &str, value: &Spanned<DeValue<'_>>, slot: &dyn Slot) {
        let details = slot.details(value.get_ref(), self.source.home);
        if details.is_empty() {
            return self.wrong_value(name, value, slot.expected());
        }
        for (byte, reason) in details {
            self.wrong(byte, &reason);
        }
    }

    fn wrong_value(&mut self, name: &str, value: &Spanned<DeValue<'_>>, expected: &str) {
        let shown = self.source.text.get(value.span()).unwrap_or_default();
        let mut first: String = shown.lines().next().unwrap_or_default().to_owned();
        if first.len() < shown.len() || first.chars().count() > MOST_SHOWN {
            first = first.chars().take(MOST_SHOWN).chain(['…']).collect();
        }
        let reason = format!("`{name}` is {first}; expected {expected}");
        self.wrong(value.span().start, &reason);
    }
}

/// The keys of one section, on their way into the settings.
struct Keys<'r, 'a, 'i> {
    reader: &'r mut Reader<'a>,
    table: &'r DeTable<'i>,
}

impl Visit for Keys<'_, '_, '_> {
    fn key(&mut self, name: &'static str, slot: &mut dyn Slot) {
        let Some((key, value)) = self.table.get_key_value(name) else { return };
        let source = self.reader.source;
        if !slot.take(value.get_ref(), source.home, source.origin(key.span().start)) {
            self.reader.not_taken(name, value, slot);
        }
    }

    fn prices(&mut self, name: &'static str, models: &mut Models) {
        let Some((key, value)) = self.table.get_key_value(name) else { return };
        let Some(table) = value.get_ref().as_table() else {
            let expected = r#"prices by parts of models' names, such as { "A100" = 3.20 }"#;
            return self.reader.wrong_value(key.get_ref(), value, expected);
        };
        let mut typed = Models::new();
        for (model, price) in table {
            self.price(model, price, &mut typed);
        }
        models.append(&mut typed);
    }
}

impl Keys<'_, '_, '_> {
    fn price(&mut self, model: &Key<'_>, price: &Spanned<DeValue<'_>>, typed: &mut Models) {
        let (name, byte) = (model.get_ref(), model.span().start);
        if name.trim().is_empty() || crate::safe::safe(name) != *name {
            let reason = r#"this is no part of a model's name, such as "A100""#;
            return self.reader.wrong(byte, reason);
        }
        let Some(value) = Price::read(price.get_ref(), None) else {
            return self.reader.wrong_value(name, price, Price::EXPECTED);
        };
        let setting = Setting { value, origin: self.reader.source.origin(byte) };
        let before = typed.insert(name.to_lowercase(), (name.to_string(), setting));
        if let Some((before, _)) = before {
            let reason = format!("`{name}` and `{before}` are the same; name it once");
            self.reader.wrong(byte, &reason);
        }
    }
}
