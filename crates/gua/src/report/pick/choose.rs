//! From cards with their evidence to those that are chosen, and why the others are not.

use std::cmp::Reverse;
use std::fmt;

use probe::units::{Bytes, Percent, UnixMillis};
use probe::{Reading, Why};

use super::Wishes;
use super::evidence::{Candidate, Work};
use crate::classify::State;
use crate::reservation::Reserved;

/// All cards in their order, each chosen or with the reason why not.
#[derive(Debug, Clone, PartialEq)]
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
    Reserved {
        by: Reserved,
        seconds: Option<i64>,
    },
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
    if let Some(by) = reserved.iter().find(|by| card.is_of(&by.card)) {
        let seconds = by.until.map(|until| until.0.saturating_sub(now.0).max(0) / 1000 + 1);
        return Some(Refusal::Reserved { by: by.clone(), seconds });
    }
    busy(card, wishes).or_else(|| full(card, wishes)).or_else(|| held(card, wishes))
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
            Self::Reserved { .. } => "reserved",
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
            Self::Reserved { by, seconds: Some(seconds) } => {
                write!(f, "reserved by uid {} for another {seconds} s", by.uid)
            }
            Self::Reserved { by, seconds: None } => {
                write!(f, "reserved by uid {} while its command runs (pid {})", by.uid, by.pid)
            }
            Self::Busy { percent, over: None } => write!(f, "busy: {:.0} % now", percent.0),
            Self::Busy { percent, over: Some(work) } => {
                write!(f, "busy: {:.0} % over the last {}", percent.0, minutes(work.seconds))
            }
            Self::Held { by, free } => {
                let by = if by.is_empty() { "somebody unseen".to_owned() } else { by.join(", ") };
                write!(f, "held by {by}")?;
                match free {
                    Reading::Known(free) => write!(f, ", {} left", gib(*free)),
                    Reading::Unknown(_) => Ok(()),
                }
            }
            Self::MemoryUnknown(why) => write!(f, "how much memory is left is unknown: {why}"),
            Self::Full { free, wanted } => {
                write!(f, "{} of memory left, {} wanted", gib(*free), gib(*wanted))
            }
            Self::Spare => f.write_str("would do"),
        }
    }
}

fn gib(bytes: Bytes) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let gib = bytes.0 as f64 / f64::from(1 << 30);
    format!("{gib:.1} GiB")
}

fn minutes(seconds: f64) -> String {
    if seconds < 120.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}
