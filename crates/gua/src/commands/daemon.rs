//! `gua daemon`: record, in the background or in the foreground.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use probe::nvml::Wants;
use probe::units::UnixMillis;

use super::already;
use super::listener::Listener;
use super::policy;
use super::served::RecordAnswers;
use crate::cli;
use crate::config::{Config, Files, Listen, Machine, Settings};
use crate::counting::{Keeper, Losses};
use crate::failure::Failure;
use crate::metrics::{Host, Wanted};
use crate::push::{self, Pusher};
use crate::recorder::{self, Beat, Log, Outcome, Place, Recording, Signals, Witness};
use crate::render::words;
use crate::sampler::Sampler;
use crate::service::{self, Existing, Found, Held, Places, Process, Started};
use crate::store::{self, Identity, Keep, RecorderLock, Run};
use crate::talk::say;

/// What a history is made of; the rest is for looking at now.
const WANTS: Wants = Wants { power: true, temperature: true, shares: true, ..Wants::ESSENTIALS };

pub(super) fn run(machine: &Machine, files: &Files, typed: &cli::Daemon) -> Result<u8, Failure> {
    let settings = files.settings()?;
    policy::check_rules(files, &settings)?;
    if let Some(line) = settings.check_kept(&typed.into())?.filter(|_| !typed.detached) {
        say(format_args!("{line}"));
    }
    let places = places(&settings.settled(), typed)?;
    let config = settings.clone().with(typed.into()).settled();
    push::check(&config.remote_write)?;
    if let Some(pid) = already_running(&places)? {
        return is_recording(&said_of(pid), Some(pid), &settings, typed);
    }
    // Its pid file may have been taken away. Who names another one means another recorder.
    let is_usual = !typed.foreground && typed.pid_file.is_none();
    if is_usual && RecorderLock::is_taken(&places.database) == Some(true) {
        let said = format!("recording already into {}", places.database.display());
        return is_recording(&said, None, &settings, typed);
    }
    service::check(&places, existing(typed))?;
    let listen = listen(typed)?;
    if typed.foreground {
        Foreground { machine, files, config: &config, typed, places: &places }.record(listen)
    } else {
        background(&config, typed, &places)
    }
}

/// Whether to listen, and to whom; said before anything is begun.
fn listen(typed: &cli::Daemon) -> Result<Option<Listen>, Failure> {
    let protection = &typed.protection;
    let is_protected = protection.token_file.is_some() || protection.tls_cert.is_some();
    let is_opened = protection.public_metrics || !protection.allow_host.is_empty();
    if typed.listen.is_none() && (is_protected || is_opened) {
        return Err(Failure::Usage {
            what: "who may read it was said, but not where to listen".to_owned(),
            next: "Add --listen ADDR, such as --listen 127.0.0.1:7071.".to_owned(),
        });
    }
    typed.listen.as_deref().map(|address| Listen::new(address, protection)).transpose()
}

/// Who hears of ticks: those that scrape and those that are pushed to.
struct Outlets {
    keeper: Option<Keeper>,
    pusher: Option<Pusher>,
}

fn outlets(
    config: &Config,
    typed: &cli::Daemon,
    places: &Places,
    us: &Host,
    listens: bool,
) -> Result<Outlets, Failure> {
    let (wanted, losses) = (Wanted::from(config), Arc::new(Losses::default()));
    let pusher = Pusher::new(
        &config.remote_write,
        wanted,
        places.database.clone(),
        us.clone(),
        Arc::clone(&losses),
        aside(typed, places),
    );
    let keeper = || {
        let database = places.database.clone();
        Keeper::new(database, us.clone(), wanted, losses, aside(typed, places))
    };
    Ok(Outlets { pusher: pusher?, keeper: listens.then(keeper) })
}

/// What is said by who works beside the recorder. The log is opened for each line: it may be
/// moved away meanwhile, and there is little to say.
fn aside(typed: &cli::Daemon, places: &Places) -> impl Fn(&str) + Send + Sync + 'static {
    let log_file = typed.log_file.is_some().then(|| places.log_file.clone());
    move |text: &str| {
        let log = log_file.as_deref().map(Log::to_file);
        log.and_then(Result::ok).unwrap_or(Log::to_stderr()).say(text);
    }
}

fn places(config: &Config, typed: &cli::Daemon) -> Result<Places, Failure> {
    let (db, pid_file, log_file) = (&typed.db, &typed.pid_file, &typed.log_file);
    Places::new(config, db.as_deref(), pid_file.as_deref(), log_file.as_deref())
}

const fn existing(typed: &cli::Daemon) -> Existing {
    if typed.append { Existing::Append } else { Existing::Refuse }
}

/// That is what was wanted, unless it was wanted in another way.
fn is_recording(
    said: &str,
    pid: Option<u32>,
    settings: &Settings,
    typed: &cli::Daemon,
) -> Result<u8, Failure> {
    let ignored = already::without_effect(pid, settings, typed);
    if !ignored.is_empty() {
        return Err(already::refusal(said, &ignored));
    }
    tell(&format!("gua is {said}"));
    Ok(0)
}

fn said_of(pid: u32) -> String {
    format!("recording already, pid {pid}")
}

/// The recorder that there is already.
fn already_running(places: &Places) -> Result<Option<u32>, Failure> {
    let (file, process) = match service::find(&places.pid_file) {
        Found::None | Found::Empty => return Ok(None),
        Found::Process(file, process) => (file, process),
        Found::Garbled => return Err(cannot_take(places, "it is not a pid file")),
        Found::Unreadable(error) => return Err(cannot_take(places, &error.to_string())),
    };
    let pid = file.pid;
    match (process, &file.database) {
        (Process::Gone | Process::Other, _) => Ok(None),
        (Process::Hidden, _) => {
            Err(cannot_take(places, &format!("process {pid} of another user may be a recorder")))
        }
        (Process::Recorder, _) if file.start_ticks.is_none() => Err(cannot_take(
            places,
            &format!("process {pid} is a recorder of another gua, maybe the Python one"),
        )),
        (Process::Recorder, Some(database)) if !is_same(database, &places.database) => {
            Err(Failure::Usage {
                what: format!("a recorder (pid {pid}) already records into {}", database.display()),
                next: "Stop it first, or name another --pid-file for a second one.".to_owned(),
            })
        }
        (Process::Recorder, _) => Ok(Some(pid)),
    }
}

/// Also when one of them leads there through a link.
pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one == other || real(one) == real(other)
}

fn background(config: &Config, typed: &cli::Daemon, places: &Places) -> Result<u8, Failure> {
    // Here somebody still hears why not.
    to_log(places)?;
    if matches!(store::identify(&places.database), Identity::PythonGua) {
        tell("gua takes over the history of the Python gua; its file is kept");
    }
    let started = service::start(places, &arguments(typed, places));
    match started.map_err(|error| cannot_start(&error))? {
        Started::Recording { pid } => {
            let every = words::interval(config.recorder.interval);
            let database = places.database.display();
            let report = match typed.db {
                None => "gua report".to_owned(),
                Some(_) => {
                    let path = places.database.display().to_string();
                    format!("gua report --db {}", words::shell_word(&path))
                }
            };
            tell(&format!(
                "gua records every {every} into {database}, pid {pid}; `{report}` shows it"
            ));
            Ok(0)
        }
        Started::Failed { code, log } => {
            // Another that was started at the same time may have been faster.
            if let Ok(Some(pid)) = already_running(places) {
                tell(&format!("gua is {}", said_of(pid)));
                return Ok(0);
            }
            say(format_args!("the recorder did not start; the end of its log:\n{log}"));
            Ok(code)
        }
    }
}

/// The arguments of this program again, and what makes it a recorder in the foreground.
fn arguments(typed: &cli::Daemon, places: &Places) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
    arguments.extend(["--foreground".into(), "--detached".into()]);
    if typed.log_file.is_none() {
        arguments.extend(["--log-file".into(), places.log_file.clone().into_os_string()]);
    }
    arguments
}

/// A recorder in the foreground, as it was asked for.
struct Foreground<'a> {
    machine: &'a Machine,
    files: &'a Files,
    config: &'a Config,
    typed: &'a cli::Daemon,
    places: &'a Places,
}

impl Foreground<'_> {
    /// Records until it is told to stop, or cannot go on.
    fn record(&self, listen: Option<Listen>) -> Result<u8, Failure> {
        let Self { typed, places, .. } = *self;
        let mut log = log(typed, places)?;
        if typed.detached {
            // Out of the session of whoever started us: its end must not be ours.
            leave_the_terminal().map_err(|error| cannot_start(&error))?;
        }
        let listener = listen.map(Listener::take).transpose()?;
        let sampler = self.sampler()?;
        // Before the database: of two that start at the same time the second then knows the first.
        let held = Arc::new(take_pid_file(places)?);
        let place = service::prepare(places, existing(typed), &mut log)?;
        // Not before: until then nobody would act on them, and a driver that does not answer is
        // waited for. They end what has not begun.
        let signals = Signals::catch().map_err(|error| cannot_start(&error))?;
        let hostname = sampler.host().name();
        let us = self.us(hostname.clone());
        let Outlets { keeper, pusher } =
            outlets(self.config, typed, places, &us, listener.is_some())?;
        if let (Some(listener), Some(keeper)) = (listener, &keeper) {
            log.say(&self.listen(listener, keeper, hostname)?);
        }
        let interval = self.config.recorder.interval;
        let (every, database) = (words::interval(interval), places.database.display());
        log.say(&format!("gua records every {every} into {database}"));
        let recording = self.recording(place, us, sampler.host().root(), keeper);
        let beat = Beat::new(recording, signals, interval, log, give_up(Arc::clone(&held)));
        let beat = beat.map_err(|error| cannot_start(&error))?;
        let outcome = beat.run(sampler, || begun(typed.detached, pusher));
        held.remove();
        match outcome {
            Outcome::Stopped => Ok(0),
            Outcome::Failed(error) => Err(error.failure(&places.database)),
        }
    }

    fn sampler(&self) -> Result<Sampler, Failure> {
        let sampler = Sampler::open(self.machine, WANTS)?
            .with_sensors_every(self.config.recorder.sensors_every, WANTS)
            .with_first_commands(self.config.identity.store_command)
            .with_who(true);
        Ok(sampler)
    }

    /// As whom we record.
    fn us(&self, hostname: Option<String>) -> Host {
        Host {
            name: hostname.unwrap_or_else(|| "unknown".to_owned()),
            driver_version: None,
            interval_millis: i64::try_from(self.config.recorder.interval.as_millis()).ok(),
        }
    }

    /// Lets others ask for what is recorded; tells where.
    fn listen(
        &self,
        listener: Listener,
        _: &Keeper,
        hostname: Option<String>,
    ) -> Result<String, Failure> {
        // The recorder of the new record fills this slot with `gua_fleet::Totals`.
        let slot = Arc::<gua_fleet::Slot>::default();
        let database = self.places.database.clone();
        let answers =
            RecordAnswers::of_this_process(database, self.config.clone(), Arc::clone(&slot));
        listener.start(slot, Arc::new(answers), hostname)
    }

    /// What is recorded at each beat, with the rules beside it and who counts.
    fn recording(&self, place: Place, us: Host, root: &Path, keeper: Option<Keeper>) -> Recording {
        let Self { machine, files, config, places, .. } = *self;
        let rules = policy::keeper(machine, files, config, root, us.name.clone(), &places.database);
        let run = Run {
            host: us.name,
            boot: recorder::boot_id(),
            driver: None,
            recorder: recorder::name(),
            interval_millis: us.interval_millis,
            started: UnixMillis(0),
        };
        let (interval, keep) = (config.recorder.interval, Keep::from(config.retention));
        Recording::new(place, run, interval, config.thresholds.into(), keep)
            .attended_by(Box::new(rules))
            .with_witness(keeper.map(|keeper| Box::new(keeper) as Box<dyn Witness>))
    }
}

/// How it ends where a driver that hangs keeps it from ending in order.
fn give_up(held: Arc<Held>) -> impl Fn() + Send + 'static {
    move || {
        held.remove();
        probe::nvml::exit_at_once(0);
    }
}

/// What waits for the first tick to be stored.
fn begun(detached: bool, pusher: Option<Pusher>) {
    if detached {
        service::report_ready();
    }
    // Not before the recorder has opened the database, which looks at the file first.
    if let Some(Err(error)) = pusher.map(Pusher::start) {
        say(format_args!("cannot push: {error}"));
    }
}

fn log(typed: &cli::Daemon, places: &Places) -> Result<Log, Failure> {
    if typed.log_file.is_none() {
        return Ok(Log::to_stderr());
    }
    to_log(places)
}

fn to_log(places: &Places) -> Result<Log, Failure> {
    let opened = service::make_folder(&places.log_file);
    opened.and_then(|()| Log::to_file(&places.log_file)).map_err(|error| Failure::Usage {
        what: format!("cannot open the log {}: {error}", places.log_file.display()),
        next: "Name another one with --log-file PATH.".to_owned(),
    })
}

fn take_pid_file(places: &Places) -> Result<Held, Failure> {
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock => cannot_take(places, "another recorder holds it"),
        _ => cannot_take(places, &error.to_string()),
    };
    service::make_folder(&places.pid_file).map_err(cannot)?;
    Held::take(&places.pid_file, &places.database).map_err(cannot)
}

fn cannot_take(places: &Places, why: &str) -> Failure {
    Failure::Failed {
        what: format!("cannot use the pid file {}: {why}", places.pid_file.display()),
        next: "Name another one with --pid-file PATH.".to_owned(),
    }
}

fn leave_the_terminal() -> io::Result<()> {
    rustix::process::setsid()?;
    env::set_current_dir("/")
}

fn cannot_start(error: &io::Error) -> Failure {
    Failure::Failed {
        what: format!("cannot start the recorder: {error}"),
        next: "`gua doctor` checks what it needs.".to_owned(),
    }
}

/// Says it to whoever reads. A reader that went away is not worth a word, and whatever else keeps
/// it from being written costs no recorder and no exit code: what was done is done.
fn tell(text: &str) {
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            say(format_args!("cannot write the output: {error}"));
        }
        Ok(()) | Err(_) => {}
    }
}
