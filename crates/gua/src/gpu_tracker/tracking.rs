//! Runs a command and tells what it used.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use track::gpu_tracker::tracking_file::{Facts, Plan, Recording};
use track::gpu_tracker::usage::Unknown;
use track::gpu_tracker::{Gap, ResourceUsage, json, text};
use track::usage::NoGpu;
use track::{Cards, Tracker, Usage};

use super::cards;
use super::meant::{Meant, TrackingFile};
use super::refusal::Refusal;
use super::report::{self, Format, Report, Written};
use crate::following::Listener;
use crate::report::tracked::Ending;
use crate::safe::safe;

/// Tracks a command to its end. The exit code is the command's, unless that was 0 and
/// something else failed.
pub(super) fn run(meant: &Meant) -> Result<u8, Refusal> {
    let recording = prepare(meant)?;
    let listener = Listener::catch().map_err(Refusal::Signals)?;
    let mut tracker = Tracker::new(meant.options.clone());
    if let Some(recording) = recording.clone() {
        tracker = tracker.on_sample(move |sample| recording.add(sample));
    }
    let running = tracker.spawn(command(meant));
    let running = running.map_err(|why| {
        let program = meant.words.first().cloned().unwrap_or_default();
        Refusal::Start { program, why }
    })?;
    let followed = listener.follow(running);
    if followed.killed > 0 && !meant.is_quiet {
        warn_of_killed(followed.killed);
    }
    let finished = followed.finished;
    let is_recorded = recording.is_none_or(|recording| is_whole(&recording));
    let is_told = tell(meant, finished.status, &finished.usage);
    Ok(match Ending::of(finished.status).exit_code() {
        0 if !is_recorded || !is_told => 1,
        code => code,
    })
}

/// Asks the driver only for what must be known before: naming cards and the file's first row.
fn prepare(meant: &Meant) -> Result<Option<Recording>, Refusal> {
    let names_cards = matches!(meant.options.cards, Cards::Only(_));
    if !names_cards && meant.tracking_file.is_none() {
        return Ok(None);
    }
    let counted = cards::count(&meant.options)?;
    let facts = Facts::of_this_machine(meant.expected.cores, counted);
    Ok(meant.tracking_file.clone().map(|TrackingFile { path, existing }| {
        Recording::new(Plan { path, existing, units: meant.units, facts })
    }))
}

fn command(meant: &Meant) -> Command {
    let mut words = meant.words.iter();
    let mut command = Command::new(words.next().cloned().unwrap_or_default());
    command.args(words);
    command
}

fn is_whole(recording: &Recording) -> bool {
    let ended = recording.end();
    if let Err(error) = &ended {
        let words = safe(&error.to_string());
        report::say(&format!("gpu-tracker: {words}. Samples are missing from it"));
    }
    ended.is_ok()
}

/// Tells how the command ended and what it used; whether that got where it was meant to.
fn tell(meant: &Meant, status: ExitStatus, usage: &Usage) -> bool {
    let usage = ResourceUsage::new(usage, meant.units, meant.expected);
    if !meant.is_quiet && !usage.unknown.is_empty() {
        warn(&usage.unknown);
    }
    let line = format!(
        "Resource tracking complete. Process completed with status code: {}",
        status_code(status)
    );
    let tree = usage.tree(meant.spelling, Gap::Zero);
    let told = match meant.report.format {
        Format::Text => tell_text(&meant.report, &line, &text::text(&tree)),
        // Stdout is the JSON alone.
        Format::Json => {
            report::say(&line);
            meant.report.write(&json::json(&tree))
        }
    };
    match told {
        Ok(written) => written == Written::AsAsked,
        Err(refusal) => refusal.report() == 0,
    }
}

/// The report goes to its file, also when nobody reads the line any more.
fn tell_text(report: &Report, line: &str, text: &str) -> Result<Written, Refusal> {
    if report.path().is_none() {
        return report::print(&format!("{line}\n{text}"));
    }
    let said = report::print(line);
    let written = report.write(text);
    Ok(said?.max(written?))
}

fn warn_of_killed(count: u32) {
    let who = if count == 1 { "process" } else { "processes" };
    let words = format!("{count} {who} of the command did not end when asked to: killed");
    report::say(&format!("gpu-tracker: warning: {words}"));
}

/// One line, whatever is missing.
fn warn(unknown: &[Unknown]) {
    let words = unknown.iter().map(|unknown| match unknown {
        Unknown::Gpu(NoGpu::NoDriver(why)) => format!("all of the GPUs ({why})"),
        Unknown::Gpu(NoGpu::NotInTime) => {
            "all of the GPUs (the command was over before the driver had answered)".to_owned()
        }
        Unknown::Gpu(NoGpu::NotAsked) => "all of the GPUs (nobody asked)".to_owned(),
        Unknown::Card(index, why) => format!("card {index} ({why})"),
        Unknown::Figure(name, why) => format!("{name} ({why})"),
    });
    let words = words.collect::<Vec<_>>().join(", ");
    let words = safe(&words);
    let warning = "0.0 stands for what could not be measured";
    report::say(&format!("gpu-tracker: warning: {warning}: {words}"));
}

/// The line has it as Python does: a signal is its number below zero.
fn status_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| -signal)).unwrap_or(1)
}
