//! A file's text, read over what is in force so far; every mistake is told.

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
        let mut reader = Reader { source: self, names: settings.names(), mistakes: Vec::new() };
        reader.document(document.get_ref(), settings);
        let mut mistakes: Vec<_> = errors.iter().map(|error| self.not_toml(error)).collect();
        // What was made of a broken line is nobody's mistake.
        let is_broken = |line: usize| mistakes.iter().any(|broken| broken.line == line);
        reader.mistakes.retain(|mistake| !is_broken(mistake.line));
        mistakes.append(&mut reader.mistakes);
        mistakes.sort();
        mistakes.dedup();
        mistakes
    }

    fn not_toml(&self, error: &Error) -> Mistake {
        let byte = error.span().map_or(self.text.len(), |span| span.start);
        let why = begun_value(self.text, byte).and_then(instead_of_a_value);
        Mistake::at(
            self.text,
            byte,
            &format!("this is no TOML: {}", why.unwrap_or(error.message())),
        )
    }

    fn origin(&self, byte: usize) -> Origin {
        let (line, _) = place(self.text, byte);
        Origin::File { whose: self.whose, path: Arc::clone(self.path), line }
    }
}

/// The rest of a line from a byte on, where that is the place of a value.
fn begun_value(text: &str, byte: usize) -> Option<&str> {
    let (before, rest) = text.split_at_checked(byte)?;
    before.trim_end_matches([' ', '\t']).ends_with('=').then(|| rest.lines().next().unwrap_or(""))
}

/// Why what stands there is no value, in plainer words than a parser has.
fn instead_of_a_value(rest: &str) -> Option<&'static str> {
    match rest.trim_start().chars().next() {
        None | Some('#') => Some("there is no value behind the `=`"),
        Some(c) if c.is_alphanumeric() || "/~$€".contains(c) => {
            Some(r#"text and times stand in quotes, such as "30s""#)
        }
        Some(_) => None,
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
            self.reader.wrong_value(name, value, slot.expected());
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
