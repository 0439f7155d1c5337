//! The one thing that would help most.

use serde::Serialize;

use super::account::Account;
use super::session::Session;

/// Less than this part of somebody's time on cards is not worth a word.
const LITTLE: f64 = 0.1;
/// A card of a quarter of the memory would do, and there are such.
const ROOM: u64 = 4;

/// What to do, as data; the words are those of who shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Suggestion {
    /// To end what holds a card now; its place in the list of sessions.
    EndSession {
        session: usize,
        command: Option<String>,
    },
    /// To give back memory that others who work on the card could use.
    FreeMemory {
        session: usize,
        command: Option<String>,
    },
    /// To end what has done its work; nothing is on now.
    EndWhenDone {
        sessions: usize,
        idle_seconds: f64,
    },
    /// To work more at a time, or to share: it worked too little for the card's line.
    WorkedLittle {
        gpu_hours: f64,
    },
    /// To ask for less: it never held more than a part of a card.
    SmallerCard {
        peak_memory_bytes: u64,
        card_memory_bytes: u64,
    },
    Nothing,
}

impl Suggestion {
    /// A stable word, as in JSON.
    #[must_use]
    pub const fn slug(&self) -> &'static str {
        match self {
            Self::EndSession { .. } => "end_session",
            Self::FreeMemory { .. } => "free_memory",
            Self::EndWhenDone { .. } => "end_when_done",
            Self::WorkedLittle { .. } => "worked_little",
            Self::SmallerCard { .. } => "smaller_card",
            Self::Nothing => "nothing",
        }
    }
}

/// From what somebody held, and the memory of the smallest card that they were on.
pub(super) fn suggestion(
    account: &Account,
    sessions: &[Session],
    card_memory_bytes: Option<u64>,
) -> Suggestion {
    let open = (0..).zip(sessions).filter(|(_, session)| session.is_open());
    let weight = |session: &Session| (session.idle_held_gpu_hours, session.idle_seconds);
    let largest = open.max_by(|(_, a), (_, b)| {
        let ((part_a, idle_a), (part_b, idle_b)) = (weight(a), weight(b));
        part_a.total_cmp(&part_b).then(idle_a.total_cmp(&idle_b))
    });
    if let Some((place, session)) = largest {
        let (session_place, command) = (place, session.end.clone());
        return match session.is_on_a_busy_card() {
            true => Suggestion::FreeMemory { session: session_place, command },
            false => Suggestion::EndSession { session: session_place, command },
        };
    }
    if account.idle_gpu_hours > account.gpu_hours * LITTLE && !sessions.is_empty() {
        let idle_seconds = sessions.iter().map(|session| session.idle_seconds).sum();
        return Suggestion::EndWhenDone { sessions: sessions.len(), idle_seconds };
    }
    let worked_little = worked_little(account);
    worked_little
        .or_else(|| smaller_card(account, card_memory_bytes))
        .unwrap_or(Suggestion::Nothing)
}

fn worked_little(account: &Account) -> Option<Suggestion> {
    let gpu_hours = account.worked_on_idle_held_gpu_hours;
    (gpu_hours > account.gpu_hours * LITTLE).then_some(Suggestion::WorkedLittle { gpu_hours })
}

/// By all that they held, not only what they held idle.
fn smaller_card(account: &Account, card_memory_bytes: Option<u64>) -> Option<Suggestion> {
    let card_memory_bytes = card_memory_bytes?;
    let peak_memory_bytes = account.peak_memory_bytes.filter(|most| *most > 0)?;
    (peak_memory_bytes <= card_memory_bytes / ROOM)
        .then_some(Suggestion::SmallerCard { peak_memory_bytes, card_memory_bytes })
}
