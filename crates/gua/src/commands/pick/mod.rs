//! `gua pick`: which cards to use, for a shell or for a command.

mod launch;
mod round;

use std::io::{self, BufWriter, Write};
use std::time::{Duration, Instant};

use probe::nvml::Wants;
use probe::units::{Bytes, Percent};

use self::round::{Given, Round};
use super::chosen::Chosen;
use crate::calendar;
use crate::cli::{self, PickFormat};
use crate::config::{self, Config, Machine, Screen};
use crate::failure::Failure;
use crate::render::{json, pick as render, words};
use crate::report::pick::{Pick, Visible, Wishes};
use crate::reservation::Folder;
use crate::sampler::{Beat, Sampler, Tick};
use crate::talk::{CLEARED, say, say_plainly};

/// Besides whether they are free, whether CUDA can use them at all.
const WANTS: Wants = Wants { mig: true, compute_mode: true, ..Wants::ESSENTIALS };

/// How often to look while waiting.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub(super) fn run(machine: &Machine, config: &Config, typed: &cli::Pick) -> Result<u8, Failure> {
    let wishes = wishes(typed, config);
    let mut sampler = Sampler::open(machine, WANTS)?;
    let folder = folder(typed)?;
    let mut chosen = Chosen::new(&typed.id);
    let mut waiting = Waiting::new(typed);
    let devices = config::visible_devices().filter(|_| !typed.all_cards);
    let round = Round { machine, typed, config, wishes: &wishes, folder: folder.as_ref() };
    let mut attempt = |tick| attempt(&round, &mut chosen, devices.as_deref(), tick);
    let mut given = attempt(sampler.first_tick())?;
    while waiting.goes_on(&given, &wishes) {
        given = attempt(sampler.tick())?;
    }
    waiting.end();
    // The driver is let go of before a command comes in our place.
    drop(sampler);
    finish(given, &round, devices)
}

fn wishes(typed: &cli::Pick, config: &Config) -> Wishes {
    Wishes {
        count: typed.count.try_into().unwrap_or(usize::MAX),
        min_free: typed.min_free.map(Bytes),
        max_work: typed.max_util.map(Percent),
        active: config.thresholds.active,
    }
}

/// Where to reserve; `None` where nothing is to be.
fn folder(typed: &cli::Pick) -> Result<Option<Folder>, Failure> {
    if typed.no_reserve {
        return Ok(None);
    }
    Ok(Some(Folder::open(&config::reservations())?))
}

fn finish(given: Given, round: &Round<'_>, devices: Option<String>) -> Result<u8, Failure> {
    let Round { typed, wishes, folder, .. } = *round;
    if typed.json {
        show_json(&given, round, devices)?;
    } else {
        talk(&given, typed, devices.as_deref());
    }
    if !given.choice.is_enough() {
        given.tick.driver?;
        if !typed.json {
            let reasons = render::reasons(&given.choice, wishes.count).join("\n");
            let next = render::next_step(&given.choice, wishes.count);
            say(format_args!("{reasons}\n     {next}"));
        }
        return Ok(1);
    }
    match typed.command.split_first() {
        Some((program, arguments)) => {
            Ok(launch::become_command(program, arguments, &given, folder))
        }
        None if typed.json => Ok(0),
        None => Ok(show(&given, typed.format).map(|()| 0)?),
    }
}

/// What a person should know of the choice.
fn talk(given: &Given, typed: &cli::Pick, devices: Option<&str>) {
    if let Some(devices) = devices {
        let variable = config::VISIBLE_DEVICES;
        let devices = words::safe(devices);
        say(format_args!("only cards in {variable}={devices}; --all-cards looks beyond"));
    }
    if let Some(reason) = &given.reservations_reason {
        say(format_args!("what is reserved is not known: {}", words::safe(reason)));
    }
    if let Some(doubt) = given.doubt(typed.over) {
        say(doubt);
    }
    if given.has_several_instances() {
        say("a CUDA program uses one MIG instance only, the first that it is given");
    }
}

fn show(given: &Given, format: PickFormat) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match format {
        PickFormat::Indices => writeln!(out, "{}", render::indices(&given.choice)),
        PickFormat::Uuids => writeln!(out, "{}", given.choice.uuids()),
        PickFormat::Env => writeln!(out, "{}={}", config::VISIBLE_DEVICES, given.choice.uuids()),
    }
}

fn show_json(given: &Given, round: &Round<'_>, devices: Option<String>) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    json::pretty(&mut out, &told(given, round, devices))?;
    out.flush()
}

fn told(given: &Given, round: &Round<'_>, devices: Option<String>) -> Pick {
    let time = calendar::nearest(given.tick.at);
    Pick {
        reserved_until: given.reserved_until,
        history_reason: given.history_reason(),
        visible_devices: devices,
        reservations_reason: given.reservations_reason.clone(),
        ..Pick::new(&given.choice, round.wishes, time, round.typed.over.as_secs_f64())
    }
}

/// What `--json` would print after one look.
pub(super) fn answer(
    machine: &Machine,
    config: &Config,
    typed: &cli::Pick,
) -> Result<Pick, Failure> {
    let wishes = wishes(typed, config);
    let mut sampler = Sampler::open(machine, WANTS)?;
    let folder = folder(typed)?;
    let devices = config::visible_devices().filter(|_| !typed.all_cards);
    let round = Round { machine, typed, config, wishes: &wishes, folder: folder.as_ref() };
    let mut chosen = Chosen::new(&typed.id);
    let given = attempt(&round, &mut chosen, devices.as_deref(), sampler.first_tick())?;
    let pick = told(&given, &round, devices);
    given.tick.driver?;
    Ok(pick)
}

/// Chooses among the cards of one look that CUDA is shown.
fn attempt(
    round: &Round<'_>,
    chosen: &mut Chosen,
    devices: Option<&str>,
    tick: Tick,
) -> Result<Given, Failure> {
    let cards: Vec<_> = tick.cards.iter().map(|card| &*card.facts).collect();
    let visible = Visible::of(devices, &cards);
    round.of(chosen.among(tick)?, &visible)
}

/// Whether to look again, and what is said meanwhile.
struct Waiting {
    /// `None` where nobody asked to wait; the end of it, where there is one.
    wanted: Option<Option<Duration>>,
    begun: Instant,
    beat: Beat,
    /// What was said last.
    said: String,
}

impl Waiting {
    fn new(typed: &cli::Pick) -> Self {
        Self {
            wanted: typed.wait,
            begun: Instant::now(),
            beat: Beat::new(LOOK_AGAIN),
            said: String::new(),
        }
    }

    /// Waits for the next look, unless there is nothing more to wait for.
    fn goes_on(&mut self, given: &Given, wishes: &Wishes) -> bool {
        let Some(most) = self.wanted else { return false };
        let is_over = most.is_some_and(|most| self.begun.elapsed() >= most);
        if given.choice.is_enough() || is_over || can_never_be(given, wishes) {
            return false;
        }
        self.speak(match &given.tick.driver {
            Ok(_) => render::headline(&given.choice, wishes.count),
            Err(error) => words::safe(&format!("the driver cannot be read: {error}")),
        });
        let left = most.map(|most| most.saturating_sub(self.begun.elapsed()));
        match left.filter(|left| *left < LOOK_AGAIN) {
            Some(left) => std::thread::sleep(left),
            None => self.beat.wait(),
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
fn can_never_be(given: &Given, wishes: &Wishes) -> bool {
    given.tick.driver.is_ok() && given.choice.visible() < wishes.count
}

/// What the progress is told on. Asked anew each time: the window may have been resized.
fn screen() -> Screen {
    Screen::of_stderr(&cli::Color { color: cli::When::Never, no_color: true })
}
