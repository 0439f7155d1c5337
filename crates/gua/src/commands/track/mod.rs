//! `gua track`: what did one command use, and what should be asked for next time?

mod cards;
mod files;
mod followed;
mod live;
mod summary;
mod timeline;

use track::Tracker;

use self::followed::{Outcome, follow};
use self::live::Live;
use self::timeline::Timeline;
use crate::cli;
use crate::config::{Gpus, Machine, Target, Track};
use crate::context::Context;
use crate::env::Env;
use crate::failure::Failure;
use crate::report::tracked::{Measured, Request, Slurm, tracked};

pub(super) fn run(
    machine: &Machine,
    typed: &cli::Track,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let meant = Track::new(typed)?;
    files::check(&meant)?;
    let found = cards::find(machine, &meant)?;
    let timeline = meant.timeline.clone().map(|file| Timeline::new(file, &meant, &found));
    let live = Live::begin(&meant, &typed.color, context);
    let tracker = watched(Tracker::new(found.options), timeline.clone(), live.as_ref());
    let outcome = follow(tracker, &meant.target);
    if let Some(live) = live {
        live.end();
    }
    let outcome = outcome?;
    let request = request(&meant, &context.env);
    let Outcome { subject, ending, usage, killed } = outcome;
    let tracked = tracked(&Measured { subject, ending, usage, killed, request });
    let is_kept = timeline.is_none_or(|timeline| timeline.end(&tracked, meant.unit, context));
    let is_told = summary::tell(&tracked, &meant, typed, context);
    Ok(match tracked.ending.exit_code() {
        0 if !is_kept || !is_told => 1,
        code => code,
    })
}

/// What was asked for. A process that was running already need not be of our job.
fn request(meant: &Track, env: &Env) -> Request {
    let slurm = match meant.target {
        Target::Command(_) => Slurm::new(|name| env.text(name).map(str::to_owned)),
        Target::Pid(_) => Slurm::default(),
    };
    let names_cards = matches!(meant.gpus, Gpus::Named(_));
    Request { cores: meant.cores, names_cards, slurm }
}

/// A tracker that tells those of each sample who want to know.
fn watched(tracker: Tracker, timeline: Option<Timeline>, live: Option<&Live>) -> Tracker {
    let mut feed = live.map(Live::feed);
    if timeline.is_none() && feed.is_none() {
        return tracker;
    }
    tracker.on_sample(move |sample| {
        if let Some(timeline) = &timeline {
            timeline.add(sample);
        }
        if let Some(feed) = &mut feed {
            feed.add(sample);
        }
    })
}
