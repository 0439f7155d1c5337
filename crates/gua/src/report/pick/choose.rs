//! From cards with their evidence to those that are chosen, and why the others are not.

use std::cmp::Reverse;
use std::fmt;

use probe::card::ComputeMode;
use probe::units::{Bytes, Percent, UnixMillis};
use probe::{Reading, Why};

use super::Wishes;
use super::evidence::{Candidate, Work};
use crate::classify::State;
use crate::quantity::{duration, memory};
use crate::reservation::Reserved;

/// All cards in their order, each chosen or with the reason why not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Choice {
    pub cards: Vec<(Candidate, Option<Refusal>)>,
    wanted: usize,
}

/// Why a card was not chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// It has no UUID to be named by.
    Nameless(Why),
    Unknown(Why),
    /// No CUDA program can use it as it is set up.
    Barred(Bar),
    /// The variable that this program was started with leaves it out.
    NotVisible,
    /// By whom and how long.
    Reserved(String),
    /// It works, now or over the time that is recorded.
    Busy {
        percent: Percent,
        over: Option<Work>,
    },
    Held {
        by: Vec<String>,
        free: Reading<Bytes>,
    },
    MemoryUnknown(Why),
    Full {
        free: Bytes,
        wanted: Bytes,
    },
    /// It would do, and is not chosen: there are better ones, or not enough of them.
    Spare,
}

/// What keeps CUDA programs from a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bar {
    /// It is to be used in MIG instances, and has none.
    NoInstance,
    /// Nobody may compute on it.
    Prohibited,
    /// One process may compute on it, and there is one.
    Exclusive,
}

/// Chooses. Truly idle cards come first, then those with the most memory left.
#[must_use]
pub fn choose(
    cards: Vec<Candidate>,
    reserved: &[Reserved],
    wishes: &Wishes,
    now: UnixMillis,
) -> Choice {
    let mut judged: Vec<_> = cards
        .into_iter()
        .map(|card| {
            let refusal = refusal(&card, reserved, wishes, now);
            (card, refusal)
        })
        .collect();
    let mut fit: Vec<_> =
        (0..).zip(&judged).filter(|(_, (_, refusal))| refusal.is_none()).collect();
    fit.sort_by_key(|(_, (card, _))| rank(card));
    let fit: Vec<usize> = fit.into_iter().map(|(place, _)| place).collect();
    // None of them when they are not enough: half of a choice is of no use.
    let taken = if fit.len() < wishes.count { 0 } else { wishes.count };
    for spare in fit.into_iter().skip(taken) {
        if let Some((_, refusal)) = judged.get_mut(spare) {
            *refusal = Some(Refusal::Spare);
        }
    }
    Choice { cards: judged, wanted: wishes.count }
}

type Rank = (bool, Reverse<u64>, u32, Option<u32>);

fn rank(card: &Candidate) -> Rank {
    let free = card.free.known().map_or(0, |bytes| bytes.0);
    let is_held = card.state != State::TrulyIdle;
    (is_held, Reverse(free), card.identity.index, card.identity.mig_slot)
}

fn refusal(
    card: &Candidate,
    reserved: &[Reserved],
    wishes: &Wishes,
    now: UnixMillis,
) -> Option<Refusal> {
    if let State::Unknown(why) = card.state {
        return Some(Refusal::Unknown(why));
    }
    if let Reading::Unknown(why) = card.uuid {
        return Some(Refusal::Nameless(why));
    }
    if !card.is_visible {
        return Some(Refusal::NotVisible);
    }
    if let Some(bar) = bar(card) {
        return Some(Refusal::Barred(bar));
    }
    if let Some(by) = reserved.iter().find(|by| card.is_of(&by.card)) {
        return Some(Refusal::Reserved(by.terms(now)));
    }
    busy(card, wishes).or_else(|| full(card, wishes)).or_else(|| held(card, wishes))
}

/// What cannot be read bars nobody: most cards have no MIG and say so.
fn bar(card: &Candidate) -> Option<Bar> {
    let is_whole = card.identity.mig_slot.is_none();
    match card.compute_mode.known() {
        Some(ComputeMode::Prohibited) => return Some(Bar::Prohibited),
        Some(ComputeMode::ExclusiveProcess | ComputeMode::ExclusiveThread)
            if card.state != State::TrulyIdle =>
        {
            return Some(Bar::Exclusive);
        }
        _ => {}
    }
    card.mig.is_known_and(|is_on| is_on && is_whole).then_some(Bar::NoInstance)
}

/// By the look as well as by what is recorded: a pause is not the end of the work, and work
/// that has just begun is work.
fn busy(card: &Candidate, wishes: &Wishes) -> Option<Refusal> {
    let is_too_much = |percent: Percent| match wishes.max_work {
        Some(most) => percent > most,
        None => percent >= wishes.active,
    };
    if let Some(percent) = card.work_now.filter(|percent| is_too_much(*percent)) {
        return Some(Refusal::Busy { percent, over: None });
    }
    let work = card.past.filter(|work| is_too_much(work.percent))?;
    Some(Refusal::Busy { percent: work.percent, over: Some(work) })
}

fn full(card: &Candidate, wishes: &Wishes) -> Option<Refusal> {
    let wanted = wishes.min_free?;
    match card.free {
        Reading::Known(free) if free >= wanted => None,
        Reading::Known(free) => Some(Refusal::Full { free, wanted }),
        Reading::Unknown(why) => Some(Refusal::MemoryUnknown(why)),
    }
}

fn held(card: &Candidate, wishes: &Wishes) -> Option<Refusal> {
    let is_free = card.state == State::TrulyIdle || wishes.may_share();
    (!is_free).then(|| Refusal::Held { by: card.holders.clone(), free: card.free })
}

impl Choice {
    /// Whether it is as many as were wanted.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.chosen().count() == self.wanted
    }

    /// How many would do, chosen or not.
    #[must_use]
    pub fn fit(&self) -> usize {
        let fits = |refusal: &Option<Refusal>| matches!(refusal, None | Some(Refusal::Spare));
        self.cards.iter().filter(|(_, refusal)| fits(refusal)).count()
    }

    /// How many there are at all for who asks.
    #[must_use]
    pub fn visible(&self) -> usize {
        let is_visible = |refusal: &Option<Refusal>| *refusal != Some(Refusal::NotVisible);
        self.cards.iter().filter(|(_, refusal)| is_visible(refusal)).count()
    }

    /// The chosen cards, best first.
    pub fn chosen(&self) -> impl Iterator<Item = &Candidate> {
        let mut chosen: Vec<_> = self
            .cards
            .iter()
            .filter(|(_, refusal)| refusal.is_none())
            .map(|(card, _)| card)
            .collect();
        chosen.sort_by_key(|card| rank(card));
        chosen.into_iter()
    }

    /// Their UUIDs, as CUDA wants them.
    #[must_use]
    pub fn uuids(&self) -> String {
        let uuids = self.chosen().filter_map(|card| card.uuid.as_ref().known().map(String::as_str));
        uuids.collect::<Vec<_>>().join(",")
    }
}

impl Refusal {
    /// A stable word for machine-readable output.
    #[must_use]
    pub const fn slug(&self) -> &'static str {
        match self {
            Self::Nameless(_) | Self::Unknown(_) => "unknown",
            Self::Barred(bar) => bar.slug(),
            Self::NotVisible => "not_visible",
            Self::Reserved(_) => "reserved",
            Self::Busy { .. } => "busy",
            Self::Held { .. } => "held",
            Self::MemoryUnknown(_) => "memory_unknown",
            Self::Full { .. } => "too_little_memory",
            Self::Spare => "not_needed",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nameless(why) => write!(f, "unknown: its UUID cannot be read ({why})"),
            Self::Unknown(why) => write!(f, "unknown: {why}"),
            Self::Barred(bar) => bar.fmt(f),
            Self::NotVisible => f.write_str("not in CUDA_VISIBLE_DEVICES"),
            Self::Reserved(terms) => write!(f, "reserved {terms}"),
            Self::Busy { percent, over: None } => write!(f, "busy: {:.0} % now", percent.0),
            Self::Busy { percent, over: Some(work) } => {
                write!(f, "busy: {:.0} % over the last {}", percent.0, duration(work.seconds))
            }
            Self::Held { by, free } => {
                let by = if by.is_empty() { "somebody unseen".to_owned() } else { by.join(", ") };
                write!(f, "held by {by}")?;
                match free {
                    Reading::Known(free) => write!(f, ", {} left", memory(free.0)),
                    Reading::Unknown(_) => Ok(()),
                }
            }
            Self::MemoryUnknown(why) => write!(f, "how much memory is left is unknown: {why}"),
            Self::Full { free, wanted } => {
                write!(f, "{} of memory left, {} wanted", memory(free.0), memory(wanted.0))
            }
            Self::Spare => f.write_str("would do"),
        }
    }
}

impl Bar {
    const fn slug(self) -> &'static str {
        match self {
            Self::NoInstance => "no_mig_instance",
            Self::Prohibited => "compute_prohibited",
            Self::Exclusive => "compute_exclusive",
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoInstance => "MIG is on and it has no instance, so CUDA cannot use it",
            Self::Prohibited => "its compute mode is Prohibited, so CUDA cannot use it",
            Self::Exclusive => "its compute mode lets one process use it, and one does",
        })
    }
}
