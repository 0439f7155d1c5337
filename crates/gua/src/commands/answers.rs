//! What commands answer, as values: for programs that have this one as a library.

use std::ffi::OsString;
use std::io;
use std::time::Duration;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use gua_query::pick::Pick;
use gua_query::snapshot::Snapshot;
use gua_query::usage::Usage;
use serde::Serialize;

use super::{pick, report, stat};
use crate::cli::{self, Command, Gua};
use crate::config::{Files, Machine};
use crate::context::Context;
use crate::failure::Failure;

/// What a command prints as JSON.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Answer {
    Stat(Snapshot),
    Pick(Pick),
    Report(Box<Usage>),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// An option has a value that makes no sense.
    #[error("`{value}` is no {option}: {why}")]
    Value { option: String, value: String, why: String },
    /// Two options say the same in two ways.
    #[error("{option} cannot be used with {others}")]
    Conflict { option: String, others: String },
    /// The words make no sense together.
    #[error("{0}")]
    Words(String),
    #[error(transparent)]
    Failure(#[from] Failure),
}

/// The answer to a command as it would be typed after `gua`. Nothing is printed, and nothing is
/// waited for: `pick` looks once, whatever `--wait` says.
///
/// # Errors
/// When the words make no sense, or the command cannot do its work.
pub fn ask(words: impl IntoIterator<Item = OsString>) -> Result<Answer, Refused> {
    let words = std::iter::once(OsString::from("gua")).chain(words);
    let typed = Gua::try_parse_from(words).map_err(|error| refused(&error))?;
    let (mut out, mut err) = (io::sink(), io::stderr());
    let context = &mut Context::of_process(&mut out, &mut err);
    let typed = typed.with_environment(&context.env);
    let machine = Machine::try_from(typed.machine)?;
    let files = Files::new(&typed.files, &context.env);
    let config = || Ok::<_, Failure>(files.settings()?.settled());
    Ok(match typed.command {
        Command::Stat(typed) => Answer::Stat(stat::answer(&machine, &config()?, &typed, context)?),
        Command::Pick(typed) => Answer::Pick(pick::answer(&machine, &config()?, &typed, context)?),
        Command::Report(typed) => {
            // All of it, and not only what a page shows.
            let typed = cli::Report { json: true, ..*typed };
            let config = files.settings()?.with((&typed).into()).settled();
            Answer::Report(Box::new(report::answer(&config, &typed, context)?))
        }
        _ => return Err(Refused::Words("there are stat, pick and report to ask".to_owned())),
    })
}

/// A length of time as it would be typed.
///
/// # Errors
/// When it is none.
pub fn duration(typed: &str) -> Result<Duration, Refused> {
    cli::duration(typed).map_err(|why| Refused::Value {
        option: "length of time".to_owned(),
        value: typed.to_owned(),
        why,
    })
}

/// The parser's own words are for a command line, with colours and a hint at `--help`.
fn refused(error: &clap::Error) -> Refused {
    let option = context(error, ContextKind::InvalidArg).first().map(|option| name(option));
    let value = context(error, ContextKind::InvalidValue).into_iter().next();
    let others = context(error, ContextKind::PriorArg);
    match (option, value) {
        (Some(option), Some(value)) => Refused::Value { option, value, why: expected(error) },
        (Some(option), None) if !others.is_empty() => {
            let others: Vec<String> = others.iter().map(|other| name(other)).collect();
            Refused::Conflict { option, others: others.join(", ") }
        }
        _ => {
            let words = error.to_string();
            let sentence = words.lines().next().unwrap_or_default();
            Refused::Words(sentence.trim_start_matches("error: ").to_owned())
        }
    }
}

/// What the parser tells besides its sentence.
fn context(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// What a value could have been.
fn expected(error: &clap::Error) -> String {
    match std::error::Error::source(error) {
        Some(why) => why.to_string(),
        None => format!("expected one of {}", context(error, ContextKind::ValidValue).join(", ")),
    }
}

/// `--min-free <SIZE>` is `min_free`.
fn name(option: &str) -> String {
    let word = option.split_whitespace().next().unwrap_or_default();
    word.trim_start_matches('-').replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(words: &[&str]) -> String {
        ask(words.iter().map(OsString::from)).unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_value_is_told_with_its_option() {
        assert_eq!(
            refusal(&["pick", "--max-util", "120"]),
            "`120` is no max_util: expected a percentage from 0 to 100"
        );
        assert!(
            refusal(&["report", "--since", "soon"]).starts_with("`soon` is no since: expected")
        );
    }

    #[test]
    fn what_could_be_said_instead_is_told_without_the_signs_of_a_command_line() {
        assert_eq!(
            refusal(&["report", "--by", "planet"]),
            "`planet` is no by: expected one of user, job, container, pod, notebook, program, card"
        );
        assert_eq!(
            refusal(&["report", "--since", "1h", "--from", "2026-01-01"]),
            "since cannot be used with from"
        );
        assert!(duration("1 h").is_err());
        assert_eq!(duration("1h30m").unwrap(), Duration::from_secs(5400));
    }

    #[test]
    fn what_has_no_answer_is_told() {
        assert_eq!(refusal(&["version"]), "there are stat, pick and report to ask");
        assert_eq!(refusal(&["stat", "--never"]), "unexpected argument '--never' found");
    }

    #[test]
    fn a_history_that_is_not_there_is_a_failure() {
        let words = ["report", "--db", "/nowhere/gua.db"].map(OsString::from);
        assert!(matches!(ask(words), Err(Refused::Failure(Failure::Database(_)))));
    }
}
