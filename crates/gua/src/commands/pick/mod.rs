//! `gua pick`: which cards to use, for a shell or for a command.

mod launch;
mod round;

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use gua_query::pick::{Pick, PickRequest, VisibleDevices};
use gua_query::snapshot::CardSelection;
use probe::nvml::Wants;
use probe::units::{Bytes, Percent};

use self::round::{Attempt, Round};
use super::live::{self, Cards};
use crate::cli::{self, PickFormat};
use crate::config::{self, Config, Machine};
use crate::context::{CLEARED, Clock, Context, Start};
use crate::env::Env;
use crate::failure::Failure;
use crate::interval::Interval;
use crate::render::{json, pick as render, words};
use crate::reservation::Folder;

/// Besides whether they are free, whether CUDA can use them at all.
const WANTS: Wants = Wants { mig: true, compute_mode: true, ..Wants::ESSENTIALS };

/// How often to look while waiting.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub(super) fn run(
    machine: &Machine,
    config: &Config,
    typed: &cli::Pick,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let request = request(typed, config);
    let reservations = config::reservations(&context.env);
    let mut source = live::open(machine, config, WANTS, context)?;
    let folder = folder(typed, &reservations)?;
    let mut selection = CardSelection::new(&typed.id);
    let mut waiting = Waiting::new(typed, context.clock);
    let devices = devices(typed, &context.env);
    let (folder, devices) = (folder.as_ref(), devices.as_deref());
    let round = Round {
        machine,
        typed,
        config,
        request: &request,
        folder,
        devices,
        reservations: &reservations,
    };
    let mut last = attempt(&round, &mut selection, &mut source, context.clock)?;
    while waiting.goes_on(&last, &request, context) {
        last = attempt(&round, &mut selection, &mut source, context.clock)?;
    }
    waiting.end(context);
    // The driver is let go of before a command comes in our place.
    drop(source);
    finish(last, &round, context)
}

fn request(typed: &cli::Pick, config: &Config) -> PickRequest {
    PickRequest {
        count: typed.count.try_into().unwrap_or(usize::MAX),
        min_free: typed.min_free.map(Bytes),
        max_utilization: typed.max_util.map(Percent),
        active: config.thresholds.active,
        // Who waits for free cards, waits for those that they have reserved as well.
        uid: typed.wait.is_none().then(|| rustix::process::geteuid().as_raw()),
    }
}

/// Returns the value of `CUDA_VISIBLE_DEVICES`, unless it does not matter.
fn devices(typed: &cli::Pick, env: &Env) -> Option<String> {
    config::visible_devices(env).filter(|_| !typed.all_cards)
}

/// Where to reserve; `None` where nothing is to be.
fn folder(typed: &cli::Pick, path: &Path) -> Result<Option<Folder>, Failure> {
    if typed.no_reserve {
        return Ok(None);
    }
    Ok(Some(Folder::open(path)?))
}

fn finish(attempt: Attempt, round: &Round<'_>, context: &mut Context<'_>) -> Result<u8, Failure> {
    let Round { typed, folder, .. } = *round;
    let pick = &attempt.pick;
    if typed.json {
        show_json(pick, context)?;
    } else {
        talk(pick, typed, context);
    }
    if !pick.enough {
        attempt.driver?;
        if !typed.json {
            let reasons = render::reasons(pick).join("\n");
            context.say(format_args!("{reasons}\n     {}", render::next_step(pick)));
        }
        return Ok(1);
    }
    match typed.command.split_first() {
        Some((program, arguments)) => {
            Ok(launch::become_command(program, arguments, &attempt, folder, context))
        }
        None if typed.json => Ok(0),
        None => Ok(show(pick, typed.format, context).map(|()| 0)?),
    }
}

/// Says what a person should know of the choice.
fn talk(pick: &Pick, typed: &cli::Pick, context: &mut Context<'_>) {
    if let Some(devices) = &pick.visible_devices {
        let variable = config::VISIBLE_DEVICES;
        let devices = words::safe(devices);
        context.say(format_args!("only cards in {variable}={devices}; --all-cards looks beyond"));
    }
    if let Some(reason) = &pick.reservations_reason {
        context.say(format_args!("what is reserved is not known: {}", words::safe(reason)));
    }
    if let Some(doubt) = round::format_doubt(pick, typed.over) {
        context.say(doubt);
    }
    if round::has_several_instances(pick) {
        context.say("a CUDA program uses one MIG instance only, the first that it is given");
    }
}

fn show(pick: &Pick, format: PickFormat, context: &mut Context<'_>) -> io::Result<()> {
    let out = &mut context.out;
    match format {
        PickFormat::Indices => writeln!(out, "{}", render::indices(pick)),
        PickFormat::Uuids => writeln!(out, "{}", pick.uuids()),
        PickFormat::Env => writeln!(out, "{}={}", config::VISIBLE_DEVICES, pick.uuids()),
    }?;
    out.flush()
}

fn show_json(pick: &Pick, context: &mut Context<'_>) -> io::Result<()> {
    json::pretty(&mut context.out, pick)?;
    context.out.flush()
}

/// Returns what `--json` prints after one look.
pub(super) fn answer(
    machine: &Machine,
    config: &Config,
    typed: &cli::Pick,
    context: &Context<'_>,
) -> Result<Pick, Failure> {
    let request = request(typed, config);
    let reservations = config::reservations(&context.env);
    let mut source = live::open(machine, config, WANTS, context)?;
    let folder = folder(typed, &reservations)?;
    let devices = devices(typed, &context.env);
    let (folder, devices) = (folder.as_ref(), devices.as_deref());
    let round = Round {
        machine,
        typed,
        config,
        request: &request,
        folder,
        devices,
        reservations: &reservations,
    };
    let attempt = attempt(&round, &mut CardSelection::new(&typed.id), &mut source, context.clock)?;
    attempt.driver?;
    Ok(attempt.pick)
}

/// Looks, and chooses among the selected cards that CUDA is shown.
fn attempt(
    round: &Round<'_>,
    selection: &mut CardSelection,
    source: &mut Cards,
    clock: Clock,
) -> Result<Attempt, Failure> {
    let snapshot = source.snapshot(clock);
    let visible = VisibleDevices::new(round.devices, &snapshot);
    round.attempt(selection.apply(snapshot)?, &visible, source.check_driver(), clock)
}

/// Whether to look again, and what is said meanwhile.
struct Waiting {
    /// `None` where nobody asked to wait; the end of it, where there is one.
    wanted: Option<Option<Duration>>,
    start: Start,
    interval: Interval,
    /// What was said last.
    said: String,
}

impl Waiting {
    fn new(typed: &cli::Pick, clock: Clock) -> Self {
        let start = Start::new(clock);
        Self {
            wanted: typed.wait,
            start,
            interval: Interval::new(LOOK_AGAIN, start.instant()),
            said: String::new(),
        }
    }

    /// Waits for the next look, unless there is nothing more to wait for.
    fn goes_on(
        &mut self,
        attempt: &Attempt,
        request: &PickRequest,
        context: &mut Context<'_>,
    ) -> bool {
        let Some(most) = self.wanted else { return false };
        let elapsed = self.start.elapsed(context.clock);
        let is_over = most.is_some_and(|most| elapsed >= most);
        if attempt.pick.enough || is_over || can_never_be(attempt, request) {
            return false;
        }
        let standing = match &attempt.driver {
            Ok(()) => render::headline(&attempt.pick),
            Err(error) => words::safe(&format!("the driver cannot be read: {error}")),
        };
        self.speak(standing, elapsed, context);
        let left = most.map(|most| most.saturating_sub(self.start.elapsed(context.clock)));
        let time = left.filter(|left| *left < LOOK_AGAIN);
        let next = || self.interval.until_next(self.start.now(context.clock));
        let time = time.unwrap_or_else(next);
        context.clock.wait(time);
        true
    }

    /// In place on a terminal; elsewhere a line whenever there is something new.
    fn speak(&mut self, standing: String, elapsed: Duration, context: &mut Context<'_>) {
        let screen = context.stderr_screen(&PLAIN);
        if screen.rows.is_some() {
            let waited = words::duration(elapsed.as_secs_f64());
            let line = format!("gua: waiting for {waited}; {standing}");
            // A line that is wrapped could not be taken away again.
            let room = screen.columns.map_or(usize::MAX, |columns| columns.saturating_sub(1));
            context.say_plainly(format_args!("{CLEARED}{}", words::cut(&line, room)));
        } else if self.said != standing {
            context.say(format_args!("waiting; {standing}"));
        }
        self.said = standing;
    }

    /// Takes away the line that says so.
    fn end(&self, context: &mut Context<'_>) {
        if context.stderr_screen(&PLAIN).rows.is_some() && !self.said.is_empty() {
            context.say_plainly(CLEARED);
        }
    }
}

/// No waiting makes more cards; while the driver is away, they cannot be counted.
fn can_never_be(attempt: &Attempt, request: &PickRequest) -> bool {
    attempt.driver.is_ok() && attempt.pick.visible() < request.count
}

/// Progress has no colors.
const PLAIN: cli::Color = cli::Color { color: cli::When::Never, no_color: true };
