//! What a second start asks of a recorder that runs already, and does not get.

use std::fs;

use clap::Parser;
use probe::proc::cmdline;

use crate::cli::{self, Command, Gua};
use crate::config::{Config, Flags, Settings};
use crate::failure::Failure;

/// What a start asks for, and what that comes to.
struct Wishes<'a> {
    typed: &'a cli::Daemon,
    config: Config,
}

/// An option of a recorder: whether it was typed, and whether two starts mean the same by it.
type Wish = (&'static str, fn(&cli::Daemon) -> bool, fn(&Wishes<'_>, &Wishes<'_>) -> bool);

const ALL: [Wish; 12] = [
    (
        "--interval",
        |it| it.interval.is_some(),
        |one, other| one.config.recorder.interval == other.config.recorder.interval,
    ),
    (
        "--keep-exact",
        |it| it.keep.keep_exact.is_some(),
        |one, other| one.config.retention.exact == other.config.retention.exact,
    ),
    (
        "--keep-quarters",
        |it| it.keep.keep_quarters.is_some(),
        |one, other| one.config.retention.quarters == other.config.retention.quarters,
    ),
    (
        "--keep-hours",
        |it| it.keep.keep_hours.is_some(),
        |one, other| one.config.retention.hours == other.config.retention.hours,
    ),
    (
        "--keep-samples",
        |it| it.keep.keep_samples.is_some(),
        |one, other| one.config.retention.samples == other.config.retention.samples,
    ),
    (
        "--log-file",
        |it| it.log_file.is_some(),
        |one, other| one.typed.log_file == other.typed.log_file,
    ),
    ("--listen", |it| it.listen.is_some(), |one, other| one.typed.listen == other.typed.listen),
    (
        "--token-file",
        |it| it.protection.token_file.is_some(),
        |one, other| one.typed.protection.token_file == other.typed.protection.token_file,
    ),
    (
        "--public-metrics",
        |it| it.protection.public_metrics,
        |one, other| one.typed.protection.public_metrics == other.typed.protection.public_metrics,
    ),
    (
        "--tls-cert",
        |it| it.protection.tls_cert.is_some(),
        |one, other| one.typed.protection.tls_cert == other.typed.protection.tls_cert,
    ),
    (
        "--tls-key",
        |it| it.protection.tls_key.is_some(),
        |one, other| one.typed.protection.tls_key == other.typed.protection.tls_key,
    ),
    (
        "--allow-host",
        |it| !it.protection.allow_host.is_empty(),
        |one, other| one.typed.protection.allow_host == other.typed.protection.allow_host,
    ),
];

impl<'a> Wishes<'a> {
    fn new(settings: &Settings, typed: &'a cli::Daemon) -> Self {
        Self { typed, config: settings.clone().with(Flags::from(typed)).settled() }
    }
}

/// Options that were typed and that the running one was not started with. Where that cannot be
/// told, none of them has an effect either.
pub(super) fn without_effect(
    pid: Option<u32>,
    settings: &Settings,
    typed: &cli::Daemon,
) -> Vec<&'static str> {
    let running = pid.and_then(running);
    let running = running.as_ref().map(|typed| Wishes::new(settings, typed));
    let asked = Wishes::new(settings, typed);
    let is_ignored = |(_, is_typed, is_same): &&Wish| {
        is_typed(typed) && !running.as_ref().is_some_and(|running| is_same(running, &asked))
    };
    ALL.iter().filter(is_ignored).map(|(option, ..)| *option).collect()
}

/// What a recorder was started with.
fn running(pid: u32) -> Option<cli::Daemon> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    match Gua::try_parse_from(cmdline::parse(&bytes)).ok()?.command {
        Command::Daemon(typed) => Some(typed),
        _ => None,
    }
}

/// Nothing that was asked is passed over in silence.
pub(super) fn refusal(said: &str, options: &[&str]) -> Failure {
    let have = if options.len() == 1 { "has" } else { "have" };
    Failure::Failed {
        what: format!("{said}: {} {have} no effect on it", options.join(", ")),
        next: "End it with `gua stop` first, then start it with that.".to_owned(),
    }
}
