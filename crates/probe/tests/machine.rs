//! A pretend machine to look at, in a process of its own.
//!
//! The simulated library takes its scenario from the environment, which belongs to a
//! whole process. So a test starts its own binary again, for itself alone, on a machine
//! that was made for it.

use std::cell::Cell;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use nvidia_ml::install;
use probe::nvml::{Look, Options, Patience, Prober, Wants};
use probe::{CardLook, Reading};

/// Set inside: the scenario's path, and which of the test's machines this process is for.
const INSIDE: &str = "PROBE_TEST_INSIDE";
const WHICH: &str = "PROBE_TEST_WHICH";

thread_local! {
    /// How many machines this test has had so far.
    static MACHINES: Cell<u32> = const { Cell::new(0) };
}

/// The machine, from the inside.
pub struct Machine {
    scenario: PathBuf,
}

/// Runs `check` on a machine that behaves as the scenario says.
pub fn on(scenario: &str, check: impl FnOnce(&Machine)) {
    let which = MACHINES.replace(MACHINES.get() + 1).to_string();
    if let Some(path) = env::var_os(INSIDE) {
        if env::var(WHICH).unwrap() == which {
            check(&Machine { scenario: path.into() });
        }
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scenario.toml");
    fs::write(&path, scenario).unwrap();
    let installed = install::install(dir.path(), &path).unwrap();
    let this_test = std::thread::current().name().unwrap().to_owned();
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", &this_test, "--nocapture"])
        .envs(installed.envs())
        .env("NVML_SIM_CALLS", dir.path().join("calls"))
        .env(INSIDE, &path)
        .env(WHICH, which)
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("1 passed"), "{shown}\n{}", String::from_utf8_lossy(&output.stderr));
    print!("{shown}");
}

impl Machine {
    pub fn prober(&self) -> Prober {
        Prober::open(self.options()).unwrap()
    }

    pub fn options(&self) -> Options {
        Options {
            library: None,
            host_root: self.root(),
            wants: Wants::ALL,
            patience: Patience::default(),
        }
    }

    /// How the calls were counted; written when the library is shut down.
    pub fn calls(&self) -> String {
        fs::read_to_string(self.scenario.with_file_name("calls")).unwrap()
    }

    /// How often one function was called.
    pub fn calls_of(&self, name: &str) -> u32 {
        let calls = self.calls();
        let line = calls.lines().find(|line| line.split(' ').next() == Some(name));
        line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
    }

    /// What a program wants that does not wait long for a failing card.
    pub fn hasty(&self) -> Options {
        let patience = Patience {
            open: Duration::from_secs(5),
            attach: Duration::from_millis(500),
            card: Duration::from_millis(500),
            look: Duration::from_secs(5),
        };
        Options { patience, ..self.options() }
    }

    /// The machine as the simulated library plays it, to hold figures against.
    pub fn truth(&self) -> nvidia_ml::machine::Machine {
        let scenario = scenario::parse::from_file(&self.scenario).unwrap();
        nvidia_ml::machine::Machine::new(scenario, nvidia_ml::machine::start_from_env().unwrap())
    }

    pub fn root(&self) -> PathBuf {
        self.scenario.with_file_name("root")
    }

    /// Changes what the machine does from now on.
    pub fn becomes(&self, scenario: &str) {
        install::replace_scenario(&self.scenario, scenario).unwrap();
    }
}

/// Looks until the look is as wanted; a change of the scenario takes a moment to be seen.
pub fn look_until(prober: &mut Prober, what: &str, wanted: impl Fn(&Look) -> bool) -> Look {
    look_until_with(prober, what, wanted, |_| {})
}

/// Looks until the look is as wanted, and does something else before each.
pub fn look_until_with(
    prober: &mut Prober,
    what: &str,
    wanted: impl Fn(&Look) -> bool,
    before: impl Fn(&mut Prober),
) -> Look {
    let mut last = String::new();
    for _ in 0..500 {
        before(prober);
        let look = prober.look();
        if wanted(&look) {
            return look;
        }
        last = format!("{look:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("never {what}: {last}");
}

/// What of a card is asked about most.
pub fn percent(card: &CardLook) -> Reading<f64> {
    card.vitals.utilization.map(|work| work.percent.0)
}

/// The pids on a card.
pub fn pids(card: &CardLook) -> Vec<u32> {
    card.vitals.holders.seen.iter().map(|holder| holder.pid).collect()
}
