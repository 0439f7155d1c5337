//! Config files: what is in force, what is wrong in them, and what they change.

/// Bad files, and how they are told.
mod check;
/// The example that comes with the project.
mod example;
/// Laws of reading and showing.
mod law;
/// What is in force, and where it came from.
mod show;
/// The commands do as the config says.
mod used;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::machine::{Machine, Run};

/// A machine with these files.
fn with(system: &str, user: &str) -> Machine {
    let machine = Machine::bundled("lab.toml");
    write_system(&machine, system);
    write_user(&machine, user);
    machine
}

fn write_system(machine: &Machine, text: &str) {
    write(&machine.system_config(), text);
}

fn write_user(machine: &Machine, text: &str) {
    fs::create_dir_all(machine.home().join(".gua")).unwrap();
    write(&machine.home().join(".gua/config.toml"), text);
}

fn write(path: &std::path::Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
}

/// What was printed, with the machine's own folder by a name that stays the same.
fn told(machine: &Machine, run: &Run) -> String {
    let dir = machine.dir().display().to_string();
    format!("{}{}[{:?}]", run.stdout, run.stderr, run.code).replace(&dir, "[DIR]")
}
