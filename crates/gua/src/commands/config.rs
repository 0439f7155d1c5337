//! `gua config`: which settings are in force, and what is wrong in a file?

use std::io::Write;

use super::remote_write;
use crate::cli;
use crate::config::{ConfigFile, Files, Flags};
use crate::context::Context;
use crate::failure::Failure;
use crate::render::{config as render, json};
use crate::report::config::{Checked, CheckedFile, Shown, ShownFile};

pub(super) fn run(
    files: &Files,
    typed: &cli::Config,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    match typed {
        cli::Config::Show(typed) => show(files, typed, context),
        cli::Config::Check(typed) => check(files, typed, context),
    }
}

fn show(files: &Files, typed: &cli::ConfigShow, context: &mut Context<'_>) -> Result<u8, Failure> {
    let settings = files.settings()?.with(typed.into());
    let mut found = Vec::new();
    for file in files.all() {
        found.push(ShownFile::new(file.whose, &file.path, files.check(file)?));
    }
    let shown = Shown::new(found, settings.listed());
    let out = &mut context.out;
    if typed.json { json::pretty(out, &shown) } else { render::show(out, &shown) }?;
    out.flush()?;
    Ok(0)
}

fn check(
    files: &Files,
    typed: &cli::ConfigCheck,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let asked = match &typed.file {
        Some(path) => vec![ConfigFile::named(path)],
        None => files.all().cloned().collect(),
    };
    let checked = asked.iter().map(|file| CheckedFile::new(&file.path, files.check(file)));
    let checked = Checked::new(checked.collect());
    if checked.good {
        // What is right in itself may still need what nobody has said.
        let files = asked.last().map_or_else(|| files.clone(), |it| files.with_user(it.clone()));
        let settings = files.what_can_be_used().0;
        settings.check_ways()?;
        if let Some(line) = settings.check_kept(&Flags::default())? {
            context.say(line);
        }
        remote_write::access(&settings.settled().remote_write)?;
    }
    let out = &mut context.out;
    if typed.json { json::pretty(out, &checked) } else { render::check(out, &checked) }?;
    out.flush()?;
    Ok(if checked.good { 0 } else { 2 })
}
