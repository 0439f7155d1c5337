//! `gua daemon`: records, in the background or in the foreground.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use gua_core::units::UnixMillis;
use gua_fleet::{Outbox, OutboxOptions, OwnerLabels, Pusher, Slot, Totals};
use gua_recorder::background::{self, leave_session, report_ready};
use gua_recorder::pid_file::running_recorder;
use gua_recorder::places::GivenPaths;
use gua_recorder::schedule::poll_interval;
use gua_recorder::{
    ExistingFile, Log, Options, Outcome, PidFileLock, Places, RECORDER, RULE, Recorder,
    RecorderError, Signals, Start, TickObserver, boot_id,
};
use gua_store::Run;
use gua_store::lock::RecorderLock;
use probe::nvml::{Prober, Wants};
use probe::poller::Poller;
use probe::proc::Host;

use super::already;
use super::listener::Listener;
use super::places::places;
use super::policy;
use super::remote_write;
use super::served::RecordAnswers;
use crate::cli;
use crate::config::{self, Config, Files, Listen, Machine, Metrics, Settings};
use crate::context::Context;
use crate::failure::Failure;
use crate::render::words;

pub(super) fn run(
    machine: &Machine,
    files: &Files,
    typed: &cli::Daemon,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let settings = files.settings()?;
    policy::check_rules(files, &settings)?;
    if let Some(line) = settings.check_kept(&typed.into())?.filter(|_| !typed.detached) {
        context.say(line);
    }
    let places = places(&settings.settled(), given_paths(typed), &context.env)?;
    let config = settings.clone().with(typed.into()).settled();
    remote_write::access(&config.remote_write)?;
    if let Some(pid) = running_recorder(&places)? {
        return already_recording(&running_as(pid), Some(pid), &settings, typed, context);
    }
    // Its pid file may have been deleted. Whoever names another one means another recorder.
    let is_usual = !typed.foreground && typed.pid_file.is_none();
    if is_usual && RecorderLock::is_taken(&places.database) == Some(true) {
        let words = format!("recording already into {}", places.database.display());
        return already_recording(&words, None, &settings, typed, context);
    }
    places.check_database(existing(typed))?;
    let listen = listen(typed)?;
    if typed.foreground {
        let snoozes = config::snoozes(&context.env);
        let config = &config;
        Foreground { machine, files, config, typed, places: &places, snoozes }.record(listen)
    } else {
        start(&config, typed, &places, context)
    }
}

fn given_paths(typed: &cli::Daemon) -> GivenPaths<'_> {
    GivenPaths {
        database: typed.db.as_deref(),
        pid_file: typed.pid_file.as_deref(),
        log_file: typed.log_file.as_deref(),
    }
}

const fn existing(typed: &cli::Daemon) -> ExistingFile {
    if typed.append { ExistingFile::Append } else { ExistingFile::Refuse }
}

/// Returns where to listen, and who is let in. Refuses protection of nothing.
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

/// Succeeds if a recorder that runs already does what was typed.
fn already_recording(
    words: &str,
    pid: Option<u32>,
    settings: &Settings,
    typed: &cli::Daemon,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    let ignored = already::without_effect(pid, settings, typed);
    if !ignored.is_empty() {
        return Err(already::refusal(words, &ignored));
    }
    print(&format!("gua is {words}"), context);
    Ok(0)
}

fn running_as(pid: u32) -> String {
    format!("recording already, pid {pid}")
}

/// Starts a recorder in the background.
fn start(
    config: &Config,
    typed: &cli::Daemon,
    places: &Places,
    context: &mut Context<'_>,
) -> Result<u8, Failure> {
    // In the background nobody would see why not.
    places.open_log()?;
    if places.has_python_history() {
        print("gua takes over the history of the Python gua; its file is kept", context);
    }
    match background::start(places, &arguments(typed, places))? {
        Start::Recording { pid } => {
            let every = words::interval(config.recorder.interval);
            let database = places.database.display().to_string();
            let report = match typed.db {
                None => "gua report".to_owned(),
                Some(_) => format!("gua report --db {}", words::shell_word(&database)),
            };
            let text = format!(
                "gua records every {every} into {database}, pid {pid}; `{report}` shows it"
            );
            print(&text, context);
            Ok(0)
        }
        Start::Failed { code, log } => {
            // Another one that was started at the same time may have been faster.
            if let Ok(Some(pid)) = running_recorder(places) {
                print(&format!("gua is {}", running_as(pid)), context);
                return Ok(0);
            }
            context.say(format_args!("the recorder did not start; the end of its log:\n{log}"));
            Ok(code)
        }
    }
}

/// Returns the arguments of this program, and those that make it a recorder in the foreground.
fn arguments(typed: &cli::Daemon, places: &Places) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = env::args_os().skip(1).collect();
    arguments.extend(["--foreground".into(), "--detached".into()]);
    if typed.log_file.is_none() {
        arguments.extend(["--log-file".into(), places.log_file.clone().into_os_string()]);
    }
    arguments
}

/// A recorder in the foreground.
struct Foreground<'a> {
    machine: &'a Machine,
    files: &'a Files,
    config: &'a Config,
    typed: &'a cli::Daemon,
    places: &'a Places,
    snoozes: PathBuf,
}

impl Foreground<'_> {
    /// Records until it is stopped, or cannot go on.
    fn record(&self, listen: Option<Listen>) -> Result<u8, Failure> {
        let Self { machine, typed, places, .. } = *self;
        let mut log = self.log()?;
        if typed.detached {
            leave_session()?;
        }
        let listener = listen.map(Listener::take).transpose()?;
        let host = Host::new(machine.host_root.clone()).with_identities(true);
        let prober = Prober::open(machine.probe_options(Wants::ESSENTIALS))?;
        // Before the database: of two that start at the same time, the second finds the first.
        let pid_file = Arc::new(PidFileLock::take(places)?);
        places.prepare_database(existing(typed), &mut log)?;
        // Not earlier: until the recorder runs nobody handles them, and a driver may not answer.
        let signals = Signals::catch().map_err(RecorderError::Start)?;
        let hostname = host.name();
        let (totals, pusher) = self.totals(hostname.as_deref())?;
        if let Some(listener) = listener {
            log.write(&self.listen(listener, totals.slot(), hostname.clone())?);
        }
        let interval = self.config.recorder.interval;
        let (every, database) = (words::interval(interval), places.database.display());
        log.write(&format!("gua records every {every} into {database}"));
        let recorder = self.recorder(hostname, &host, totals, log);
        let poller = Poller::new(prober, host, poll_interval(interval));
        let ready = || self.ready(pusher);
        let outcome = recorder.run(poller, signals, ready, give_up(Arc::clone(&pid_file)));
        let outcome = outcome.map_err(RecorderError::Start)?;
        pid_file.remove();
        match outcome {
            Outcome::Stopped => Ok(0),
            Outcome::Failed(error) => Err(error.into()),
        }
    }

    fn log(&self) -> Result<Log, Failure> {
        match self.typed.log_file {
            Some(_) => Ok(self.places.open_log()?),
            None => Ok(Log::to_stderr()),
        }
    }

    /// Returns the counters of this host, and whoever sends them where remote write is configured.
    fn totals(&self, hostname: Option<&str>) -> Result<(Totals, Option<Pusher>), Failure> {
        let Config { recorder, metrics, remote_write: config, .. } = self.config;
        let name = hostname.unwrap_or("unknown").to_owned();
        let interval_ms = i64::try_from(recorder.interval.as_millis()).ok();
        let host = gua_fleet::Host { name: name.clone(), driver_version: None, interval_ms };
        let totals = Totals::new(host, owner_labels(*metrics));
        let Some(access) = remote_write::access(config)? else { return Ok((totals, None)) };
        let outbox = Arc::new(Outbox::default());
        let database = self.places.database.clone();
        let pusher = Pusher::new(access, database, Arc::clone(&outbox), self.other_log())
            .map_err(|error| remote_write::unusable(&error))?;
        let options = OutboxOptions {
            give_up_after: config.give_up_after,
            most_bytes: config.give_up_above.0,
            ..OutboxOptions::new(&config.labels, &name)
        };
        Ok((totals.with_outbox(options, outbox), Some(pusher)))
    }

    /// Returns a log for other threads. It is opened for each line, as it may be moved away.
    fn other_log(&self) -> impl Fn(&str) + Send + 'static {
        let log_file = self.typed.log_file.is_some().then(|| self.places.log_file.clone());
        move |text: &str| {
            let log = log_file.as_deref().map(Log::to_file);
            log.and_then(Result::ok).unwrap_or(Log::to_stderr()).write(text);
        }
    }

    /// Starts the web server. Returns a line for the log.
    fn listen(
        &self,
        listener: Listener,
        slot: Arc<Slot>,
        hostname: Option<String>,
    ) -> Result<String, Failure> {
        let (database, config) = (self.places.database.clone(), self.config.clone());
        let answers = RecordAnswers::of_this_process(database, config, Arc::clone(&slot));
        listener.start(slot, Arc::new(answers), hostname)
    }

    /// Returns the recorder, with the rules and the counters.
    fn recorder(
        &self,
        hostname: Option<String>,
        host: &Host,
        totals: Totals,
        log: Log,
    ) -> Recorder {
        let Self { machine, files, config, places, .. } = *self;
        let hostname = hostname.unwrap_or_else(|| "unknown".to_owned());
        let run = Run {
            host: hostname.clone(),
            boot: boot_id(),
            driver: None,
            recorder: RECORDER.to_owned(),
            rule: RULE.to_owned(),
            thresholds: config.thresholds.into(),
            interval_ms: None,
            started: UnixMillis(0),
        };
        let options = Options {
            interval: config.recorder.interval,
            retention: config.retention.into(),
            store_command: config.identity.store_command,
        };
        let rules = policy::runner(
            machine,
            files,
            config,
            host,
            hostname,
            &places.database,
            self.snoozes.clone(),
        );
        let observers: Vec<Box<dyn TickObserver>> = vec![Box::new(rules), Box::new(totals)];
        Recorder::new(places.database.clone(), run, options, observers, log)
    }

    /// Called once the first tick is stored.
    fn ready(&self, pusher: Option<Pusher>) {
        if self.typed.detached {
            report_ready();
        }
        if let Some(Err(error)) = pusher.map(Pusher::start) {
            self.other_log()(&format!("cannot start remote write: {error}"));
        }
    }
}

const fn owner_labels(metrics: Metrics) -> OwnerLabels {
    let Metrics { job, container, notebook, most_owners } = metrics;
    OwnerLabels { job, container, notebook, most_owners }
}

/// Returns how to end the process when a driver that does not answer keeps it from ending.
fn give_up(pid_file: Arc<PidFileLock>) -> impl Fn() + Send + 'static {
    move || {
        pid_file.remove();
        probe::nvml::exit_at_once(0);
    }
}

/// Prints a line. The recorder runs, whether or not somebody reads that.
fn print(text: &str, context: &mut Context<'_>) {
    match writeln!(context.out, "{text}").and_then(|()| context.out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            context.say(format_args!("cannot write the output: {error}"));
        }
        Ok(()) | Err(_) => {}
    }
}
