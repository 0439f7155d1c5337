//! `gua config`: which settings are in force, and what is wrong in a file?

use std::io::{self, BufWriter, Write};

use super::remote_write;
use crate::cli;
use crate::config::{ConfigFile, Files, Flags};
use crate::failure::Failure;
use crate::render::{config as render, json};
use crate::report::config::{Checked, CheckedFile, Shown, ShownFile};
use crate::talk::say;

pub(super) fn run(files: &Files, typed: &cli::Config) -> Result<u8, Failure> {
    match typed {
        cli::Config::Show(typed) => show(files, typed),
        cli::Config::Check(typed) => check(files, typed),
    }
}

fn show(files: &Files, typed: &cli::ConfigShow) -> Result<u8, Failure> {
    let settings = files.settings()?.with(typed.into());
    let mut found = Vec::new();
    for file in files.all() {
        found.push(ShownFile::new(file.whose, &file.path, files.check(file)?));
    }
    let shown = Shown::new(found, settings.listed());
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json { json::pretty(&mut out, &shown) } else { render::show(&mut out, &shown) }?;
    out.flush()?;
    Ok(0)
}

fn check(files: &Files, typed: &cli::ConfigCheck) -> Result<u8, Failure> {
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
            say(format_args!("{line}"));
        }
        remote_write::access(&settings.settled().remote_write)?;
    }
    let mut out = BufWriter::new(io::stdout().lock());
    if typed.json { json::pretty(&mut out, &checked) } else { render::check(&mut out, &checked) }?;
    out.flush()?;
    Ok(if checked.good { 0 } else { 2 })
}
