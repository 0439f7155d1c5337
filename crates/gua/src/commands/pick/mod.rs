//! `gua pick`: which cards to use, for a shell or for a command.

mod launch;
mod round;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use probe::nvml::Wants;
use probe::units::{Bytes, Percent};

use self::round::{Given, Round};
use super::chosen::Chosen;
use crate::cli::{self, PickFormat};
use crate::config::{self, Machine};
use crate::failure::Failure;
use crate::render::{json, pick as render, words};
use crate::report::pick::{Pick, Wishes};
use crate::reservation::Folder;
use crate::sampler::{Beat, Sampler, Tick};

const WANTS: Wants = Wants::ESSENTIALS;

/// How often to look while waiting.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub(super) fn run(machine: &Machine, typed: &cli::Pick) -> Result<u8, Failure> {
    let wishes = wishes(typed);
    let mut sampler = Sampler::open(machine, WANTS)?;
    let folder = folder(typed)?;
    let mut chosen = Chosen::new(&typed.id);
    let mut waiting = Waiting::new(typed);
    let first = chosen.among(sampler.first_tick())?;
    let mut round = Round::new(typed, &wishes, folder.as_ref()).of(first)?;
    while waiting.goes_on(&round, &wishes) {
        let tick = chosen.among(sampler.tick())?;
        round = Round::new(typed, &wishes, folder.as_ref()).of(tick)?;
    }
    waiting.end();
    // The driver is let go of before a command comes in our place.
    drop(sampler);
    finish(round, &wishes, folder.as_ref(), typed)
}

fn wishes(typed: &cli::Pick) -> Wishes {
    Wishes {
        count: typed.count.try_into().unwrap_or(usize::MAX),
        min_free: typed.min_free.map(Bytes),
        max_work: typed.max_util.map(Percent),
    }
}

/// Where to reserve; `None` where nothing is to be.
fn folder(typed: &cli::Pick) -> Result<Option<Folder>, Failure> {
    if typed.no_reserve {
        return Ok(None);
    }
    Ok(Some(Folder::open(&config::reservations())?))
}

fn finish(
    given: Given,
    wishes: &Wishes,
    folder: Option<&Folder>,
    typed: &cli::Pick,
) -> Result<u8, Failure> {
    if let Some(doubt) = given.doubt(typed.over).filter(|_| !typed.json) {
        eprintln!("gua: {doubt}");
    }
    if given.has_several_instances() {
        eprintln!("gua: a CUDA program uses one MIG instance only, the first that it is given");
    }
    if typed.json {
        show_json(&given, wishes, typed)?;
    }
    if !given.choice.is_enough() {
        given.tick.driver?;
        if !typed.json {
            for line in render::reasons(&given.choice, wishes.count) {
                eprintln!("{}{line}", if line.starts_with(' ') { "" } else { "gua: " });
            }
            eprintln!("     {}", render::next_step(&given.choice, wishes.count));
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

fn show(given: &Given, format: PickFormat) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match format {
        PickFormat::Indices => writeln!(out, "{}", render::indices(&given.choice)),
        PickFormat::Uuids => writeln!(out, "{}", given.choice.uuids()),
        PickFormat::Env => writeln!(out, "{}={}", launch::VARIABLE, given.choice.uuids()),
    }
}

fn show_json(given: &Given, wishes: &Wishes, typed: &cli::Pick) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    json::pretty(&mut out, &told(given, wishes, typed))?;
    out.flush()
}

fn told(given: &Given, wishes: &Wishes, typed: &cli::Pick) -> Pick {
    let time = Timestamp::from_millisecond(given.tick.at.0).unwrap_or_default();
    Pick {
        reserved_until: given.reserved_until,
        history_reason: given.history_reason.clone(),
        ..Pick::new(&given.choice, wishes, time, typed.over.as_secs_f64())
    }
}

/// What `--json` would print after one look.
pub(super) fn answer(machine: &Machine, typed: &cli::Pick) -> Result<Pick, Failure> {
    let wishes = wishes(typed);
    let mut sampler = Sampler::open(machine, WANTS)?;
    let folder = folder(typed)?;
    let tick = Chosen::new(&typed.id).among(sampler.first_tick())?;
    let given = Round::new(typed, &wishes, folder.as_ref()).of(tick)?;
    let pick = told(&given, &wishes, typed);
    given.tick.driver?;
    Ok(pick)
}

/// Whether to look again, and what is said meanwhile.
struct Waiting {
    /// `None` where nobody asked to wait; the end of it, where there is one.
    wanted: Option<Option<Duration>>,
    begun: Instant,
    beat: Beat,
    is_terminal: bool,
    /// What was said last.
    said: String,
}

impl Waiting {
    fn new(typed: &cli::Pick) -> Self {
        Self {
            wanted: typed.wait,
            begun: Instant::now(),
            beat: Beat::new(LOOK_AGAIN),
            is_terminal: io::stderr().is_terminal(),
            said: String::new(),
        }
    }

    /// Waits for the next look, unless there is nothing more to wait for.
    fn goes_on(&mut self, given: &Given, wishes: &Wishes) -> bool {
        let Some(most) = self.wanted else { return false };
        let is_over = most.is_some_and(|most| self.begun.elapsed() >= most);
        if given.choice.is_enough() || is_over || can_never_be(&given.tick, wishes) {
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
        if self.is_terminal {
            let waited = words::duration(self.begun.elapsed().as_secs_f64());
            eprint!("\r\x1b[Kgua: waiting for {waited}; {standing}");
        } else if self.said != standing {
            eprintln!("gua: waiting; {standing}");
        }
        self.said = standing;
    }

    /// Takes away the line that says so.
    fn end(&self) {
        if self.is_terminal && !self.said.is_empty() {
            eprint!("\r\x1b[K");
        }
    }
}

/// No waiting makes more cards; while the driver is away, they cannot be counted.
fn can_never_be(tick: &Tick, wishes: &Wishes) -> bool {
    tick.driver.is_ok() && tick.cards.len() < wishes.count
}
