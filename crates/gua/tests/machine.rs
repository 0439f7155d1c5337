//! A pretend machine to run the real program on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::CommandFactory;
use gua::cli::Gua;
use gua::context::{CardSource, Clock, Context};
use gua::env::Env;
use gua::terminal::Terminal;
use jiff::Timestamp;
use nvidia_ml::install::{self, Installed};
use scenario::Scenario;
use tempfile::TempDir;

/// Two ticks of a card, as the first version of the Python gua wrote them; later ones only
/// add to its layout.
pub const PYTHON_GUA: &str = "
    CREATE TABLE host (hostname TEXT, env_kind TEXT, driver_version TEXT, first_seen TEXT,
                       last_seen TEXT);
    CREATE TABLE gpu_sample (ts TEXT, gpu_uuid TEXT, util_pct INTEGER);
    CREATE TABLE proc_sample (ts TEXT, gpu_uuid TEXT, pid INTEGER, mem_used_mb INTEGER,
                              loginuid_user TEXT);
    INSERT INTO gpu_sample VALUES ('2026-11-15T20:00:00+00:00', 'GPU-1', 80);
    INSERT INTO gpu_sample VALUES ('2026-11-15T20:00:30+00:00', 'GPU-1', 2);
    INSERT INTO proc_sample VALUES ('2026-11-15T20:00:30+00:00', 'GPU-1', 7, 500, 'ann');
";

/// One machine, gone with its files when dropped.
pub struct Machine {
    dir: TempDir,
    installed: Installed,
}

/// What a run of the program left behind.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Machine {
    /// A machine that behaves as the scenario says, from now on.
    pub fn new(scenario: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scenario.toml");
        fs::write(&path, scenario).unwrap();
        let installed = install::install(dir.path(), &path).unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        Self { dir, installed }
    }

    /// The machine of a scenario file that comes with the project.
    pub fn bundled(name: &str) -> Self {
        Self::new(&fs::read_to_string(project().join("scenarios").join(name)).unwrap())
    }

    /// Where the machine's files are.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The user's home on it; `gua` keeps its files in `.gua` there.
    pub fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Where the host's `/` is.
    pub fn root(&self) -> &Path {
        &self.installed.root
    }

    /// The folder in front of PATH, where `nvidia-smi` is.
    pub fn bin(&self) -> &Path {
        &self.installed.bin
    }

    /// The library as it is installed.
    pub fn library(&self) -> &Path {
        &self.installed.library
    }

    /// Changes what the machine does from now on.
    pub fn becomes(&self, scenario: &str) {
        self.installed.becomes(scenario).unwrap();
    }

    /// The program with these arguments, not yet started.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = program(args);
        command.envs(self.installed.envs()).env("HOME", self.home());
        command.env("GUA_RESERVATIONS", self.reservations());
        command.env("GUA_SNOOZES", self.dir.path().join("snoozes"));
        command.env("GUA_SYSTEM_CONFIG", self.system_config());
        command
    }

    /// Where its system-wide config file would be.
    pub fn system_config(&self) -> PathBuf {
        self.dir.path().join("etc-gua-config.toml")
    }

    /// Where cards are reserved on it.
    pub fn reservations(&self) -> PathBuf {
        self.dir.path().join("reservations")
    }

    /// The second program, `gpu-tracker`, with these arguments, not yet started.
    pub fn gpu_tracker(&self, args: &[&str]) -> Command {
        let mut command = gpu_tracker(args);
        command.envs(self.installed.envs()).env("HOME", self.home());
        command
    }

    /// Runs the program to its end.
    pub fn gua(&self, args: &[&str]) -> Run {
        run(self.command(args))
    }
}

/// The program on this host as it is, without a pretend machine.
pub fn program(args: &[&str]) -> Command {
    on_this_host(env!("CARGO_BIN_EXE_gua"), args)
}

/// The second program, the same way.
pub fn gpu_tracker(args: &[&str]) -> Command {
    on_this_host(env!("CARGO_BIN_EXE_gpu-tracker"), args)
}

fn on_this_host(path: &str, args: &[&str]) -> Command {
    let mut command = Command::new(path);
    command.args(args).stdin(Stdio::null());
    for variable in [
        "GUA_NVML",
        "GUA_HOST_ROOT",
        "GUA_HOME",
        "GUA_CONFIG",
        "GUA_RESERVATIONS",
        "GUA_SNOOZES",
        "CUDA_VISIBLE_DEVICES",
        "NO_COLOR",
        "COLUMNS",
        "LD_LIBRARY_PATH",
    ] {
        command.env_remove(variable);
    }
    command.env("TZ", "UTC");
    // What this host has in /etc is none of a test's business.
    command.env("GUA_SYSTEM_CONFIG", "/nowhere/gua/config.toml");
    command
}

/// What a program of this machine prints on a terminal of so many columns, stderr included; `None`
/// where no terminal can be had.
pub fn on_a_terminal(gua: &Command, columns: usize) -> Option<String> {
    let words = std::iter::once(gua.get_program()).chain(gua.get_args());
    let words: Vec<_> = words.map(|word| format!("'{}'", word.to_str().unwrap())).collect();
    let mut terminal = Command::new("script");
    let shell = format!("stty rows 24 cols {columns}; exec {}", words.join(" "));
    terminal.args(["-qefc", &shell, "/dev/null"]);
    for (name, value) in gua.get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    terminal.env("TERM", "dumb");
    let shown = terminal.stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8(shown.stdout).unwrap().replace('\r', ""))
}

/// No line of a text takes more columns than this.
pub fn assert_fits(text: &str, columns: usize) {
    for line in text.lines() {
        let width = unicode_width::UnicodeWidthStr::width(line);
        assert!(width <= columns, "{width} > {columns}: {line}");
    }
}

/// Runs the program in this process, with nothing of its environment and no terminal, on cards that
/// are simulated from its clock on. Returns the clock afterwards, too.
pub fn in_process(args: &[&str], env: Env, scenario: Scenario, now: Timestamp) -> (Run, Timestamp) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut context = Context {
        env,
        stdout: Terminal::None,
        stderr: Terminal::None,
        clock: Clock::Fixed(now),
        cards: CardSource::Simulated { scenario: Box::new(scenario), origin: now.into() },
        ..Context::of_process(&mut out, &mut err)
    };
    // The zone of the host is not in the context.
    let zone: &[&str] = if takes_zone(args) { &["--tz", "UTC"] } else { &[] };
    let args = std::iter::once("gua").chain(args.iter().copied()).chain(zone.iter().copied());
    let args = args.map(Into::into);
    let code = gua::commands::run(args, &mut context);
    let then = context.now();
    let run = Run {
        code: Some(code.into()),
        stdout: String::from_utf8(out).unwrap(),
        stderr: String::from_utf8(err).unwrap(),
    };
    (run, then)
}

/// Time of the clock in [`simulated`] and [`in_process_without_cards`].
pub const NOW: &str = "2026-11-15T20:00:00Z";

/// Runs the program in this process on the cards of a scenario, with files in a folder. Returns the
/// time that it waited.
pub fn simulated(args: &[&str], scenario: &str, dir: &Path) -> (Run, Duration) {
    let file = |name: &str| dir.join(name);
    let env = [
        ("HOME", file("home")),
        ("GUA_SYSTEM_CONFIG", file("system.toml")),
        ("GUA_RESERVATIONS", file("reservations")),
    ];
    let scenario = scenario::parse::from_str("test.toml", scenario).unwrap();
    let now = NOW.parse().unwrap();
    let (run, then) = in_process(args, env.into_iter().collect(), scenario, now);
    (run, Duration::try_from(then.duration_since(now)).unwrap())
}

/// Runs a command in this process that needs neither a card nor files of its user.
pub fn in_process_without_cards(args: &[&str]) -> Run {
    simulated(args, "[[card]]\n", Path::new("/nowhere")).0
}

/// Returns true if a command has the option `--tz` and it is not among the arguments.
fn takes_zone(args: &[&str]) -> bool {
    let program = Gua::command();
    let inner =
        |command, arg: &&str| clap::Command::find_subcommand(command, arg).unwrap_or(command);
    let command = args.iter().fold(&program, inner);
    let mut options = command.get_arguments().filter_map(clap::Arg::get_long);
    options.any(|option| option == "tz") && !args.contains(&"--tz")
}

/// Runs a command to its end.
pub fn run(mut command: Command) -> Run {
    let output = command.output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The project's root folder.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}
