//! A text with places for what is known of a holder: `{program} (pid {pid})`.

use std::fmt;

/// A text, parsed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(Field),
}

/// What a place can be filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    User,
    Uid,
    Pid,
    Program,
    Job,
    Container,
    Pod,
    Notebook,
    Cards,
    Memory,
    Idle,
    Rule,
    Notice,
    Notices,
    Left,
    Host,
    Message,
}

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoField {
    #[error("there is no field `{{{0}}}`")]
    Unknown(String),
    #[error("a `{{` without its `}}`; write `{{{{` for the character itself")]
    Open,
    #[error("a `}}` without its `{{`; write `}}}}` for the character itself")]
    Close,
}

/// A text with its places filled, or the first field that is not known.
pub type Filled = Result<String, Field>;

impl Field {
    pub const ALL: [Self; 17] = [
        Self::User,
        Self::Uid,
        Self::Pid,
        Self::Program,
        Self::Job,
        Self::Container,
        Self::Pod,
        Self::Notebook,
        Self::Cards,
        Self::Memory,
        Self::Idle,
        Self::Rule,
        Self::Notice,
        Self::Notices,
        Self::Left,
        Self::Host,
        Self::Message,
    ];

    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Uid => "uid",
            Self::Pid => "pid",
            Self::Program => "program",
            Self::Job => "job",
            Self::Container => "container",
            Self::Pod => "pod",
            Self::Notebook => "notebook",
            Self::Cards => "cards",
            Self::Memory => "memory",
            Self::Idle => "idle",
            Self::Rule => "rule",
            Self::Notice => "notice",
            Self::Notices => "notices",
            Self::Left => "left",
            Self::Host => "host",
            Self::Message => "message",
        }
    }

    /// Whether a command that ends something may name it: numbers that the kernel gives, and what
    /// the system has placed a process in. Whatever a process calls itself is not among them.
    #[must_use]
    pub const fn may_be_ended_by(self) -> bool {
        matches!(self, Self::Job | Self::Container | Self::Pod | Self::Pid | Self::Uid)
    }

    fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.word() == word)
    }
}

impl Template {
    /// Reads one.
    ///
    /// # Errors
    /// When a place names no field, or does not end.
    pub fn parse(text: &str) -> Result<Self, NoField> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, after) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = after.strip_prefix("{{").or_else(|| after.strip_prefix("}}")) {
                plain.extend(rest.get(at..=at));
                rest = after;
                continue;
            }
            let inner = after.strip_prefix('{').ok_or(NoField::Close)?;
            let (name, after) = inner.split_once('}').ok_or(NoField::Open)?;
            let field = Field::of(name).ok_or_else(|| NoField::Unknown(name.to_owned()))?;
            parts.push(Part::Text(std::mem::take(&mut plain)));
            parts.push(Part::Field(field));
            rest = after;
        }
        plain.push_str(rest);
        parts.push(Part::Text(plain));
        parts.retain(|part| *part != Part::Text(String::new()));
        Ok(Self { text: text.to_owned(), parts })
    }

    /// A text without places, whatever characters it has.
    #[must_use]
    pub fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), parts: vec![Part::Text(text.to_owned())] }
    }

    /// With its places filled.
    ///
    /// # Errors
    /// The first field that is not known.
    pub fn fill(&self, value: impl Fn(Field) -> Option<String>) -> Filled {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Field(field) => filled.push_str(&value(*field).ok_or(*field)?),
            }
        }
        Ok(filled)
    }

    /// What its places are filled with.
    pub fn fields(&self) -> impl Iterator<Item = Field> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Field(field) => Some(*field),
        })
    }

    /// As it was typed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(text: &str) -> Filled {
        let value = |field| (field != Field::Job).then(|| format!("<{}>", Field::word(field)));
        Template::parse(text).unwrap().fill(value)
    }

    #[test]
    fn places_are_filled() {
        assert_eq!(filled("{user}: {{pid}} {pid}").unwrap(), "<user>: {pid} <pid>");
        assert_eq!(filled("plain").unwrap(), "plain");
        assert_eq!(filled("").unwrap(), "");
        assert_eq!(filled("{job}"), Err(Field::Job));
    }

    #[test]
    fn what_is_no_template_is_refused() {
        assert_eq!(Template::parse("{usr}"), Err(NoField::Unknown("usr".into())));
        assert_eq!(Template::parse("a {user"), Err(NoField::Open));
        assert_eq!(Template::parse("a } b"), Err(NoField::Close));
    }

    proptest! {
        #[test]
        fn nothing_that_is_typed_makes_it_fall_over(text in "[{}a-z]{0,20}|\\PC*") {
            let _ = Template::parse(&text);
        }

        #[test]
        fn text_without_places_stays_as_it_is(text in "[^{}]*") {
            prop_assert_eq!(Template::parse(&text).unwrap().fill(|_| None), Ok(text));
        }
    }
}
