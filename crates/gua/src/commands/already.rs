//! What a second start asks of a recorder that runs already, and does not get.

use std::fmt::Debug;
use std::fs;

use clap::Parser;
use probe::proc::cmdline;

use crate::cli::{self, Command, Gua};
use crate::config::{Flags, Settings};
use crate::failure::Failure;

/// An option of a recorder.
struct Wish {
    option: &'static str,
    is_typed: bool,
    /// What it comes to, to be compared.
    means: String,
}

impl Wish {
    fn new(option: &'static str, is_typed: bool, means: impl Debug) -> Self {
        Self { option, is_typed, means: format!("{means:?}") }
    }

    fn named<T: Debug>(option: &'static str, typed: Option<&T>) -> Self {
        Self::new(option, typed.is_some(), typed)
    }
}

/// Options that were typed and that the running one was not started with. Where that cannot be
/// told, none of them has an effect either.
pub(super) fn without_effect(
    pid: Option<u32>,
    settings: &Settings,
    typed: &cli::Daemon,
) -> Vec<&'static str> {
    let running = pid.and_then(running).map(|typed| wishes(settings, &typed));
    let is_so = |wish: &Wish| {
        let theirs = running.iter().flatten().find(|it| it.option == wish.option);
        theirs.is_some_and(|theirs| theirs.means == wish.means)
    };
    let asked = wishes(settings, typed).into_iter().filter(|wish| wish.is_typed);
    asked.filter(|wish| !is_so(wish)).map(|wish| wish.option).collect()
}

fn wishes(settings: &Settings, typed: &cli::Daemon) -> Vec<Wish> {
    let config = settings.clone().with(Flags::from(typed)).settled();
    let (recorder, kept, door) = (config.recorder, config.retention, &typed.protection);
    vec![
        Wish::new("--interval", typed.interval.is_some(), recorder.interval),
        Wish::new("--keep-samples", typed.keep_samples.is_some(), kept.samples),
        Wish::new("--keep-spans", typed.keep_spans.is_some(), kept.spans),
        Wish::named("--log-file", typed.log_file.as_ref()),
        Wish::named("--listen", typed.listen.as_ref()),
        Wish::named("--token-file", door.token_file.as_ref()),
        Wish::new("--public-metrics", door.public_metrics, door.public_metrics),
        Wish::named("--tls-cert", door.tls_cert.as_ref()),
        Wish::named("--tls-key", door.tls_key.as_ref()),
        Wish::new("--allow-host", !door.allow_host.is_empty(), &door.allow_host),
    ]
}

/// What a recorder was started with.
fn running(pid: u32) -> Option<cli::Daemon> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    match Gua::try_parse_from(cmdline::parse(&bytes)).ok()?.command {
        Command::Daemon(typed) => Some(typed.into_inner()),
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
