//! Page for one person: their account, and the one thing that would help most.

use serde::Serialize;

use super::account::Account;
use super::session::Session;
use super::states::share;
use super::sums::{CardTotals, OnCards};

/// Part of somebody's time on cards below which nothing is suggested.
const LITTLE: f64 = 0.1;

/// A card with this part of the memory would do.
const SMALLER: u64 = 4;

/// Person whom a report is about, with all that they had and what would help them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PersonPage {
    #[serde(flatten)]
    pub account: Account,
    pub suggestion: Suggestion,
}

/// What to do. Sessions are named by their place in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Suggestion {
    /// End what holds a card now.
    EndSession { session: usize, command: Option<String> },
    /// Give back memory that others who work on the card could use.
    FreeMemory { session: usize, command: Option<String> },
    /// End programs when their work is done; none is idle now.
    EndWhenDone { sessions: usize, idle_seconds: f64 },
    /// Work more at a time, or share the card: it worked below the threshold of the card.
    WorkedLittle { gpu_hours: f64 },
    /// Use a card with less memory: only a part of it was ever held.
    SmallerCard { peak_memory_bytes: u64, card_memory_bytes: u64 },
    /// Nothing stands out; the share of the time that was active, null without any time.
    Nothing { active_share: Option<f64> },
}

impl Suggestion {
    /// Returns what would help most. `card_memory_bytes` is that of the smallest card.
    #[must_use]
    pub fn new(account: &Account, sessions: &[Session], card_memory_bytes: Option<u64>) -> Self {
        let open = sessions.iter().enumerate().filter(|(_, session)| session.is_open());
        let largest = open.max_by(|(_, a), (_, b)| {
            let held = a.idle_held_gpu_hours.total_cmp(&b.idle_held_gpu_hours);
            held.then(a.idle_seconds.total_cmp(&b.idle_seconds))
        });
        if let Some((session, it)) = largest {
            let command = it.end.clone();
            return match it.is_beside_work() {
                true => Self::FreeMemory { session, command },
                false => Self::EndSession { session, command },
            };
        }
        let little = account.total_gpu_hours * LITTLE;
        if account.unused_gpu_hours > little && !sessions.is_empty() {
            let idle_seconds = sessions.iter().map(|session| session.idle_seconds).sum();
            return Self::EndWhenDone { sessions: sessions.len(), idle_seconds };
        }
        if account.low_use_gpu_hours > little {
            return Self::WorkedLittle { gpu_hours: account.low_use_gpu_hours };
        }
        Self::smaller_card(account, card_memory_bytes).unwrap_or_else(|| Self::Nothing {
            active_share: share(account.active_gpu_hours, account.total_gpu_hours),
        })
    }

    /// Suggests a smaller card by all that was held, not only by what was held idle.
    fn smaller_card(account: &Account, card_memory_bytes: Option<u64>) -> Option<Self> {
        let card_memory_bytes = card_memory_bytes?;
        let peak_memory_bytes = account.peak_memory_bytes.filter(|most| *most > 0)?;
        (peak_memory_bytes <= card_memory_bytes / SMALLER)
            .then_some(Self::SmallerCard { peak_memory_bytes, card_memory_bytes })
    }
}

/// Returns the memory of the smallest card that somebody was on; `None` if one of them is not known.
pub(super) fn smallest_memory(on_cards: &OnCards, cards: &[CardTotals]) -> Option<u64> {
    let memory = on_cards.0.iter().map(|(place, _)| cards.get(*place)?.memory_bytes);
    memory.collect::<Option<Vec<_>>>()?.into_iter().min()
}
