//! A holder of a card, and the process behind it.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::identity::{Person, Source, Who};
use crate::reading::{Reading, Reason};
use crate::units::{Bytes, Percent, UnixMillis};

/// One process on one card, as the driver lists it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Holder {
    pub pid: u32,
    pub kinds: Kinds,
    pub memory: Reading<Bytes>,
    /// Its share of the card's SMs: the mean of what the driver has sampled since the last
    /// look, of the periods in which it used them. Many drivers tell only their newest period, a
    /// fraction of a second; drains between looks add those that they meet.
    pub sm: Reading<Percent>,
    /// Its shares of the card's other engines, from the same samples.
    pub engines: Reading<Engines>,
}

/// What a process takes of a card besides its SMs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Engines {
    /// Of the time in which memory was read or written.
    pub memory: Percent,
    pub encoder: Percent,
    pub decoder: Percent,
}

/// How a process uses a card; it may do so in several ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds {
    pub compute: bool,
    pub graphics: bool,
    pub mps: bool,
}

impl Kinds {
    pub const COMPUTE: Self = Self { compute: true, graphics: false, mps: false };
    pub const GRAPHICS: Self = Self { compute: false, graphics: true, mps: false };
    pub const MPS: Self = Self { compute: false, graphics: false, mps: true };

    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            compute: self.compute || other.compute,
            graphics: self.graphics || other.graphics,
            mps: self.mps || other.mps,
        }
    }

    /// The kinds by name, in a fixed order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        [(self.compute, "compute"), (self.graphics, "graphics"), (self.mps, "mps")]
            .into_iter()
            .filter_map(|(is, name)| is.then_some(name))
    }
}

/// Serializes the names.
impl Serialize for Kinds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.names())
    }
}

/// A name of a later version is left out.
impl<'de> Deserialize<'de> for Kinds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        let has = |name: &str| names.iter().any(|known| known == name);
        Ok(Self { compute: has("compute"), graphics: has("graphics"), mps: has("mps") })
    }
}

/// Who holds a card: those that were listed, and whether a list could not be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Holders {
    /// By pid, each once.
    pub seen: Vec<Holder>,
    /// Reason there may be more than those seen; `None` when the list is complete.
    pub unread: Option<Reason>,
}

impl Holders {
    /// No list could be read.
    #[must_use]
    pub const fn unread(why: Reason) -> Self {
        Self { seen: Vec::new(), unread: Some(why) }
    }

    /// The memory of all holders together; unknown when one is unknown or unseen.
    #[must_use]
    pub fn memory(&self) -> Reading<Bytes> {
        if let Some(why) = self.unread {
            return Reading::Unknown(why);
        }
        let unknown = self.seen.iter().find_map(|holder| holder.memory.why());
        match unknown {
            Some(why) => Reading::Unknown(why),
            None => Reading::Known(self.known_memory()),
        }
    }

    /// The memory of those holders that have a known one: a lower bound.
    #[must_use]
    pub fn known_memory(&self) -> Bytes {
        self.seen.iter().filter_map(|holder| holder.memory.known()).sum()
    }
}

/// Identity of a process. A process whose owner changes is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    pub pid: u32,
    /// Start in clock ticks since boot; `None` where it cannot be read.
    pub start_ticks: Option<u64>,
    pub uid: Option<u32>,
}

impl ProcessId {
    /// Returns the identity of a process of which only the pid is known.
    #[must_use]
    pub const fn unread(pid: u32) -> Self {
        Self { pid, start_ticks: None, uid: None }
    }

    /// Returns true if both may be the same process, as far as they are known.
    #[must_use]
    pub fn matches(self, other: Self) -> bool {
        let agree = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        self.pid == other.pid
            && agree(self.start_ticks, other.start_ticks)
            && agree(self.uid.map(u64::from), other.uid.map(u64::from))
    }
}

/// What the host says of a pid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    Here(Arc<ProcessFacts>),
    /// The driver lists it, the host does not have it.
    Gone,
    /// It lives outside of our view: the pid is the host's and we are in a container.
    Foreign,
    /// It is there but may not be read.
    Hidden(Reason),
}

/// What `/proc` says of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessFacts {
    pub pid: u32,
    pub parent: u32,
    /// In clock ticks since boot. With the pid, what a process is known by.
    pub start_ticks: u64,
    pub started: Reading<UnixMillis>,
    /// The kernel's short name of it.
    pub program: Arc<str>,
    pub uid: Reading<u32>,
    /// `None` where the uid has no name.
    pub user: Reading<Option<Arc<str>>>,
    /// Who is behind it; `NotAsked` where it is not asked for.
    pub who: Reading<Arc<Who>>,
}

impl ProcessFacts {
    /// Returns the person behind the process, else its owner. If a person was looked for and not found,
    /// it is nobody: the owner of a process in a container may be anybody's root.
    #[must_use]
    pub fn person(&self) -> Person {
        match self.who.as_ref().known() {
            Some(who) => who.user.as_ref().map_or_else(Person::default, Person::from),
            None => {
                let uid = self.uid.known();
                let user = self.user.as_ref().known().and_then(Clone::clone);
                Person { user, uid, source: uid.map(|_| Source::Uid) }
            }
        }
    }
}
