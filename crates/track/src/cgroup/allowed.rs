//! What a cgroup allows, and where it is. Both are long to read, and the same from one measurement to
//! the next where they follow each other closely.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use probe::{Reading, Why};

use super::place::{self, Controller, Place};
use super::{core_limit, memory_limit};
use crate::usage::Limits;

/// What was read so long ago is read again.
const OLD: Duration = Duration::from_secs(1);

static NEWEST: Mutex<Option<Remembered>> = Mutex::new(None);

/// What a cgroup allows, and where its memory is accounted for.
#[derive(Debug, Clone)]
pub struct Allowed {
    pub memory: Option<Place>,
    pub limits: Limits,
}

#[derive(Debug)]
struct Remembered {
    membership: String,
    root: PathBuf,
    allowed: Allowed,
    at: Instant,
}

/// What is allowed to a process, by the text of its `cgroup` file.
#[must_use]
pub fn to(membership: &str, root: &Path) -> Allowed {
    if let Some(allowed) = recalled(membership, root) {
        return allowed;
    }
    let allowed = read(membership, root);
    let (membership, root) = (membership.to_owned(), root.to_owned());
    let newest = Remembered { membership, root, allowed: allowed.clone(), at: Instant::now() };
    if let Ok(mut place) = NEWEST.try_lock() {
        *place = Some(newest);
    }
    allowed
}

fn recalled(membership: &str, root: &Path) -> Option<Allowed> {
    // In a fork of somebody who was here it is held for ever; then nothing is remembered.
    let newest = NEWEST.try_lock().ok()?;
    let is_same = |one: &&Remembered| one.membership == membership && one.root == root;
    let same = newest.as_ref().filter(is_same).filter(|one| one.at.elapsed() < OLD);
    same.map(|one| one.allowed.clone())
}

fn read(membership: &str, root: &Path) -> Allowed {
    let Ok(mounts) = fs::read(root.join("proc/self/mountinfo")) else {
        // Somewhere there may be a limit.
        return Allowed { memory: None, limits: Limits::unknown(Why::Garbled) };
    };
    // Anybody may mount something under a name that is no text.
    let mounts = String::from_utf8_lossy(&mounts);
    let find = |controller| place::find(membership, &mounts, controller, root);
    let memory = find(Controller::Memory);
    let limits = Limits {
        ram: Reading::Known(memory.as_ref().and_then(memory_limit)),
        cores: Reading::Known(find(Controller::Cpu).as_ref().and_then(core_limit)),
    };
    Allowed { memory, limits }
}
