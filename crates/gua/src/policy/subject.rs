//! One process that holds cards, as the rules see it.

use std::sync::Arc;

use probe::identity::{Source, Who};
use probe::proc::status::Uids;
use probe::units::{Bytes, Percent, UnixMillis};
use probe::{Reading, Why};

use crate::config::policy::Kind;

/// What a process is known by during one boot. Whatever it holds on several cards is judged
/// together: who works on one of them is not idle on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    pub pid: u32,
    /// In clock ticks since boot; `None` where the host does not show the process.
    pub start_ticks: Option<u64>,
}

impl From<gua_core::process::ProcessId> for Subject {
    fn from(id: gua_core::process::ProcessId) -> Self {
        Self { pid: id.pid, start_ticks: id.start_ticks }
    }
}

/// A process at one tick.
#[derive(Debug, Clone)]
pub struct Holding {
    pub subject: Subject,
    pub facts: Arc<Facts>,
    /// On all of its cards together.
    pub memory: Reading<Bytes>,
    pub activity: Activity,
    /// What that was judged from.
    pub signs: Signs,
    /// Until when it is left alone, where somebody who may say so has said so.
    pub snoozed: Reading<Option<UnixMillis>>,
    /// Others of its job or group.
    pub company: Vec<Subject>,
}

/// What a process did over a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activity {
    /// It holds cards, and every sign is low.
    Idle,
    /// Told by this sign.
    Works(Sign),
    /// No more than a runtime takes without any data in it.
    HoldsLittle,
    Unknown(Why),
}

/// What can tell that a process works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sign {
    Sm,
    Encoder,
    Decoder,
    /// The processors, in the whole tree below it.
    Cpu,
    /// Others of its job or group work.
    Company,
}

impl Sign {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sm => "SM",
            Self::Encoder => "encoder",
            Self::Decoder => "decoder",
            Self::Cpu => "CPU",
            Self::Company => "others of its job",
        }
    }
}

/// The signs in figures: the highest of all its cards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signs {
    pub sm: Reading<Percent>,
    pub encoder: Reading<Percent>,
    pub decoder: Reading<Percent>,
    /// Of one processor core.
    pub cpu: Reading<Percent>,
}

impl Signs {
    /// None was read, for one reason.
    #[must_use]
    pub const fn unknown(why: Why) -> Self {
        let unknown = Reading::Unknown(why);
        Self { sm: unknown, encoder: unknown, decoder: unknown, cpu: unknown }
    }
}

/// The names of a person's groups.
pub type Groups = Reading<Arc<[Arc<str>]>>;

/// What a process is, and whose.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// `None` where nobody is known to be behind it.
    pub person: Option<Person>,
    /// Whose process the host says it is, which in a container need not be the person.
    pub owner: Reading<Uids>,
    /// The groups of the person; `NotAsked` where no rule asks.
    pub groups: Groups,
    pub program: Option<Arc<str>>,
    pub who: Reading<Arc<Who>>,
    pub cards: Vec<Card>,
    pub nature: Nature,
    /// Its control groups, as the kernel writes them.
    pub cgroup: Reading<Arc<str>>,
}

/// Somebody who can be told, and where they are known from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub uid: u32,
    pub name: Option<Arc<str>>,
    pub source: Source,
}

impl Person {
    /// Their name, or their number where they have none.
    #[must_use]
    pub fn shown(&self) -> String {
        self.name.as_ref().map_or_else(|| format!("uid {}", self.uid), ToString::to_string)
    }
}

/// A card that it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    pub number: u32,
    pub slot: Option<u32>,
    pub uuid: Option<Arc<str>>,
    pub model: Option<Arc<str>>,
}

impl Card {
    /// As it is shown: its number, and that of an instance.
    #[must_use]
    pub fn shown(&self) -> String {
        match self.slot {
            Some(slot) => format!("{}:{slot}", self.number),
            None => self.number.to_string(),
        }
    }
}

/// What must never be ended, whoever's it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    Ordinary,
    /// A server or a client of MPS: what it does is not told apart from what others do.
    Mps,
    /// Somebody's screen.
    Display,
    /// Ourselves, or what started us.
    Ourselves,
}

impl Facts {
    /// What it is, where that is known.
    #[must_use]
    pub fn kinds(&self) -> Reading<Vec<Kind>> {
        self.who.as_ref().map(|who| {
            let is = [
                (who.notebook.is_some(), Kind::Notebook),
                (who.job.is_some(), Kind::Job),
                (who.container.is_some(), Kind::Container),
                (who.pod.is_some(), Kind::Pod),
                (who.group.is_some(), Kind::Group),
            ];
            let kinds: Vec<_> =
                is.into_iter().filter(|(is, _)| *is).map(|(_, kind)| kind).collect();
            if kinds.is_empty() { vec![Kind::Plain] } else { kinds }
        })
    }

    /// The script or module that it runs, where that is known.
    #[must_use]
    pub fn script(&self) -> Option<&str> {
        self.who.as_ref().known().and_then(|who| who.script.as_deref())
    }
}
