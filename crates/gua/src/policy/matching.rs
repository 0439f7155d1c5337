//! Whether a rule is for a holder. What is not known decides nothing.

use jiff::civil::Time;
use probe::proc::cmdline::command_name;

use super::subject::{Facts, Holding, Person};
use crate::config::policy::{Exempt, Kind, Match, Pattern};

/// Yes, no, or what is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Yes,
    No,
    Unknown(Missing),
}

/// What a rule asks for and nobody could tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Missing {
    User,
    Groups,
    Program,
    /// The processes that a holder came from.
    Ancestors,
    Kind,
    Memory,
    Model,
    Snooze,
}

impl Missing {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Groups => "groups",
            Self::Program => "program",
            Self::Ancestors => "ancestors",
            Self::Kind => "kind",
            Self::Memory => "memory",
            Self::Model => "card's model",
            Self::Snooze => "snooze",
        }
    }

    /// The word that goes with it.
    #[must_use]
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Groups | Self::Ancestors => "are",
            Self::User | Self::Program | Self::Kind | Self::Memory | Self::Model | Self::Snooze => {
                "is"
            }
        }
    }
}

impl Verdict {
    const fn of(is: bool) -> Self {
        if is { Self::Yes } else { Self::No }
    }

    /// Both: a no counts whatever is not known of the other.
    const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Unknown(missing), _) | (_, Self::Unknown(missing)) => Self::Unknown(missing),
            (Self::Yes, Self::Yes) => Self::Yes,
        }
    }

    /// Either: a yes counts whatever is not known of the other.
    const fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::Unknown(missing), _) | (_, Self::Unknown(missing)) => Self::Unknown(missing),
            (Self::No, Self::No) => Self::No,
        }
    }
}

/// Whether a rule is for a holder at this time of the day.
#[must_use]
pub fn matches(rule: &Match, holding: &Holding, now: Time) -> Verdict {
    let facts = &*holding.facts;
    let asked = |is_empty: bool, verdict: &dyn Fn() -> Verdict| {
        if is_empty { Verdict::Yes } else { verdict() }
    };
    Verdict::of(rule.hours.is_none_or(|hours| hours.has(now)))
        .and(asked(rule.users.is_empty(), &|| users(&rule.users, facts)))
        .and(asked(rule.programs.is_empty(), &|| programs(&rule.programs, facts)))
        .and(asked(rule.kinds.is_empty(), &|| kinds(&rule.kinds, facts)))
        .and(asked(rule.cards.is_empty(), &|| models(&rule.cards, facts)))
        .and(memory(rule, holding))
        .and(asked(rule.groups.is_empty(), &|| groups(&rule.groups, facts)))
}

/// Returns whether a holder is left alone.
#[must_use]
pub fn is_exempt(exempt: &Exempt, facts: &Facts) -> Verdict {
    let asked = |is_empty: bool, verdict: &dyn Fn() -> Verdict| {
        if is_empty { Verdict::No } else { verdict() }
    };
    asked(exempt.users.is_empty(), &|| users(&exempt.users, facts))
        .or(asked(exempt.programs.is_empty(), &|| exempt_programs(&exempt.programs, facts)))
        .or(asked(exempt.containers.is_empty(), &|| containers(&exempt.containers, facts)))
        .or(asked(exempt.groups.is_empty(), &|| groups(&exempt.groups, facts)))
}

fn users(patterns: &[Pattern], facts: &Facts) -> Verdict {
    let Some(Person { uid, name, .. }) = &facts.person else {
        return Verdict::Unknown(Missing::User);
    };
    let uid = uid.to_string();
    let is = |pattern: &Pattern| {
        pattern.as_str() == uid || name.as_ref().is_some_and(|name| pattern.matches(name))
    };
    Verdict::of(patterns.iter().any(is))
}

fn groups(names: &[String], facts: &Facts) -> Verdict {
    match facts.groups.as_ref().known() {
        Some(groups) => {
            Verdict::of(groups.iter().any(|group| names.iter().any(|name| **name == **group)))
        }
        None => Verdict::Unknown(Missing::Groups),
    }
}

/// A rule matches the process itself: by the name of its program or of the script that it runs.
fn programs(patterns: &[Pattern], facts: &Facts) -> Verdict {
    let Some(program) = facts.program.as_deref() else {
        return Verdict::Unknown(Missing::Program);
    };
    let is = |name: &str| patterns.iter().any(|pattern| pattern.matches(name));
    Verdict::of(is(program) || facts.script().is_some_and(|script| is(file_name(script))))
}

/// An exemption also matches the kernel's command name, and the names of ancestors with the same
/// uid: a server is exempt with all that it starts.
fn exempt_programs(patterns: &[Pattern], facts: &Facts) -> Verdict {
    let is = |name: &str| patterns.iter().any(|pattern| pattern.matches(name));
    let is_short = |program: &str| is(command_name(program));
    let ancestors = facts.who.as_ref().known().and_then(|who| who.ancestor_names.as_ref());
    let of_ancestors = ancestors.map_or(Verdict::Unknown(Missing::Ancestors), |names| {
        Verdict::of(names.iter().any(|name| is(name)))
    });
    programs(patterns, facts)
        .or(Verdict::of(facts.program.as_deref().is_some_and(is_short)))
        .or(of_ancestors)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn kinds(wanted: &[Kind], facts: &Facts) -> Verdict {
    match facts.kinds().known() {
        Some(kinds) => Verdict::of(kinds.iter().any(|kind| wanted.contains(kind))),
        None => Verdict::Unknown(Missing::Kind),
    }
}

/// Any of its cards.
fn models(parts: &[String], facts: &Facts) -> Verdict {
    let is = |model: &str| {
        let model = model.to_lowercase();
        parts.iter().any(|part| model.contains(part))
    };
    let of_card = |model: Option<&str>| {
        model.map_or(Verdict::Unknown(Missing::Model), |model| Verdict::of(is(model)))
    };
    facts.cards.iter().map(|card| of_card(card.model.as_deref())).fold(Verdict::No, Verdict::or)
}

fn memory(rule: &Match, holding: &Holding) -> Verdict {
    let Some(over) = rule.memory_over else { return Verdict::Yes };
    match holding.memory.known() {
        Some(memory) => Verdict::of(memory > over),
        None => Verdict::Unknown(Missing::Memory),
    }
}

/// By name, or by the beginning of the id.
fn containers(patterns: &[Pattern], facts: &Facts) -> Verdict {
    let Some(who) = facts.who.as_ref().known() else { return Verdict::Unknown(Missing::Kind) };
    let Some(container) = who.container.as_ref().map(|told| &told.value) else {
        return Verdict::No;
    };
    let is = |pattern: &Pattern| {
        let begins = pattern.as_str().len() >= 12 && container.id.starts_with(pattern.as_str());
        begins || container.name.as_ref().is_some_and(|name| pattern.matches(name))
    };
    Verdict::of(patterns.iter().any(is))
}
