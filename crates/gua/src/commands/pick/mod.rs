//! `gua pick`: which cards to use, for a shell or for a command.

mod launch;
mod round;

use std::io::{self, BufWriter, Write};
use std::time::{Duration, Instant};

use gua_query::pick::{Pick, PickRequest, VisibleDevices};
use gua_query::snapshot::{CardSelection, LiveSource};
use probe::nvml::Wants;
use probe::units::{Bytes, Percent};

use self::round::{Attempt, Round};
use super::live;
use crate::cli::{self, PickFormat};
use crate::config::{self, Config, Machine, Screen};
use crate::failure::Failure;
use crate::interval::Interval;
use crate::render::{json, pick as render, words};
use crate::reservation::Folder;
use crate::talk::{CLEARED, say, say_plainly};

/// Besides whether they are free, whether CUDA can use them at all.
const WANTS: Wants = Wants { mig: true, compute_mode: true, ..Wants::ESSENTIALS };

/// How often to look while waiting.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub(super) fn run(machine: &Machine, config: &Config, typed: &cli::Pick) -> Result<u8, Failure> {
    let request = request(typed, config);
    let mut source = live::open(machine, config, WANTS)?;
    let folder = folder(typed)?;
    let mut selection = CardSelection::new(&typed.id);
    let mut waiting = Waiting::new(typed);
    let devices = devices(typed);
    let (folder, devices) = (folder.as_ref(), devices.as_deref());
    let round = Round { machine, typed, config, request: &request, folder, devices };
    let mut last = attempt(&round, &mut selection, &mut source)?;
    while waiting.goes_on(&last, &request) {
        last = attempt(&round, &mut selection, &mut source)?;
    }
    waiting.end();
    // The driver is let go of before a command comes in our place.
    drop(source);
    finish(last, &round)
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
fn devices(typed: &cli::Pick) -> Option<String> {
    config::visible_devices().filter(|_| !typed.all_cards)
}

/// Where to reserve; `None` where nothing is to be.
fn folder(typed: &cli::Pick) -> Result<Option<Folder>, Failure> {
    if typed.no_reserve {
        return Ok(None);
    }
    Ok(Some(Folder::open(&config::reservations())?))
}

fn finish(attempt: Attempt, round: &Round<'_>) -> Result<u8, Failure> {
    let Round { typed, folder, .. } = *round;
    let pick = &attempt.pick;
    if typed.json {
        show_json(pick)?;
    } else {
        talk(pick, typed);
    }
    if !pick.enough {
        attempt.driver?;
        if !typed.json {
            let reasons = render::reasons(pick).join("\n");
            say(format_args!("{reasons}\n     {}", render::next_step(pick)));
        }
        return Ok(1);
    }
    match typed.command.split_first() {
        Some((program, arguments)) => {
            Ok(launch::become_command(program, arguments, &attempt, folder))
        }
        None if typed.json => Ok(0),
        None => Ok(show(pick, typed.format).map(|()| 0)?),
    }
}

/// Says what a person should know of the choice.
fn talk(pick: &Pick, typed: &cli::Pick) {
    if let Some(devices) = &pick.visible_devices {
        let variable = config::VISIBLE_DEVICES;
        let devices = words::safe(devices);
        say(format_args!("only cards in {variable}={devices}; --all-cards looks beyond"));
    }
    if let Some(reason) = &pick.reservations_reason {
        say(format_args!("what is reserved is not known: {}", words::safe(reason)));
    }
    if let Some(doubt) = round::format_doubt(pick, typed.over) {
        say(doubt);
    }
    if round::has_several_instances(pick) {
        say("a CUDA program uses one MIG instance only, the first that it is given");
    }
}

fn show(pick: &Pick, format: PickFormat) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match format {
        PickFormat::Indices => writeln!(out, "{}", render::indices(pick)),
        PickFormat::Uuids => writeln!(out, "{}", pick.uuids()),
        PickFormat::Env => writeln!(out, "{}={}", config::VISIBLE_DEVICES, pick.uuids()),
    }
}

fn show_json(pick: &Pick) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    json::pretty(&mut out, pick)?;
    out.flush()
}

/// Returns what `--json` prints after one look.
pub(super) fn answer(
    machine: &Machine,
    config: &Config,
    typed: &cli::Pick,
) -> Result<Pick, Failure> {
    let request = request(typed, config);
    let mut source = live::open(machine, config, WANTS)?;
    let folder = folder(typed)?;
    let devices = devices(typed);
    let (folder, devices) = (folder.as_ref(), devices.as_deref());
    let round = Round { machine, typed, config, request: &request, folder, devices };
    let attempt = attempt(&round, &mut CardSelection::new(&typed.id), &mut source)?;
    attempt.driver?;
    Ok(attempt.pick)
}

/// Looks, and chooses among the selected cards that CUDA is shown.
fn attempt(
    round: &Round<'_>,
    selection: &mut CardSelection,
    source: &mut LiveSource,
) -> Result<Attempt, Failure> {
    let snapshot = source.snapshot();
    let visible = VisibleDevices::new(round.devices, &snapshot);
    round.attempt(selection.apply(snapshot)?, &visible, live::check_driver(source))
}

/// Whether to look again, and what is said meanwhile.
struct Waiting {
    /// `None` where nobody asked to wait; the end of it, where there is one.
    wanted: Option<Option<Duration>>,
    begun: Instant,
    interval: Interval,
    /// What was said last.
    said: String,
}

impl Waiting {
    fn new(typed: &cli::Pick) -> Self {
        Self {
            wanted: typed.wait,
            begun: Instant::now(),
            interval: Interval::new(LOOK_AGAIN),
            said: String::new(),
        }
    }

    /// Waits for the next look, unless there is nothing more to wait for.
    fn goes_on(&mut self, attempt: &Attempt, request: &PickRequest) -> bool {
        let Some(most) = self.wanted else { return false };
        let is_over = most.is_some_and(|most| self.begun.elapsed() >= most);
        if attempt.pick.enough || is_over || can_never_be(attempt, request) {
            return false;
        }
        self.speak(match &attempt.driver {
            Ok(()) => render::headline(&attempt.pick),
            Err(error) => words::safe(&format!("the driver cannot be read: {error}")),
        });
        let left = most.map(|most| most.saturating_sub(self.begun.elapsed()));
        match left.filter(|left| *left < LOOK_AGAIN) {
            Some(left) => std::thread::sleep(left),
            None => self.interval.wait(),
        }
        true
    }

    /// In place on a terminal; elsewhere a line whenever there is something new.
    fn speak(&mut self, standing: String) {
        let screen = screen();
        if screen.rows.is_some() {
            let waited = words::duration(self.begun.elapsed().as_secs_f64());
            let line = format!("gua: waiting for {waited}; {standing}");
            // A line that is wrapped could not be taken away again.
            let room = screen.columns.map_or(usize::MAX, |columns| columns.saturating_sub(1));
            say_plainly(format_args!("{CLEARED}{}", words::cut(&line, room)));
        } else if self.said != standing {
            say(format_args!("waiting; {standing}"));
        }
        self.said = standing;
    }

    /// Takes away the line that says so.
    fn end(&self) {
        if screen().rows.is_some() && !self.said.is_empty() {
            say_plainly(CLEARED);
        }
    }
}

/// No waiting makes more cards; while the driver is away, they cannot be counted.
fn can_never_be(attempt: &Attempt, request: &PickRequest) -> bool {
    attempt.driver.is_ok() && attempt.pick.visible() < request.count
}

/// What the progress is told on. Asked anew each time: the window may have been resized.
fn screen() -> Screen {
    Screen::of_stderr(&cli::Color { color: cli::When::Never, no_color: true })
}
