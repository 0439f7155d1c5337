//! Who was given a card and may not hold it yet?

use jiff::Timestamp;
use probe::units::UnixMillis;
use serde::Serialize;

use super::now::Now;
use super::unknowns::Reason;
use crate::reservation::{Reserved, Term, card_key};

/// A card that somebody was given by `gua pick`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reservation {
    pub user: Option<String>,
    pub uid: u32,
    /// Of the command that it is given to as long as that runs; else null.
    pub pid: Option<u32>,
    /// Null where no time ends it, or where its user keeps that from others.
    pub seconds_left: Option<i64>,
    /// By whom and how long, in words.
    #[serde(skip)]
    pub terms: String,
}

impl Reservation {
    fn new(by: &Reserved, now: Timestamp) -> Self {
        let now = UnixMillis(now.as_millisecond());
        Self {
            user: by.user.clone(),
            uid: by.uid,
            pid: match by.term {
                Term::Command { pid } => Some(pid),
                Term::Until(_) | Term::Untold => None,
            },
            seconds_left: by.seconds_left(now),
            terms: by.terms(now),
        }
    }
}

impl Now {
    /// The same with what is reserved, or that it is not known.
    #[must_use]
    pub fn with_reservations(mut self, reserved: Option<&[Reserved]>) -> Self {
        for card in &mut self.cards {
            let Some(reserved) = reserved else {
                card.unknown.note("reservations", Reason::NoReservations);
                continue;
            };
            let key = card.identity.uuid.as_deref().map(card_key);
            let of_card = reserved.iter().filter(|by| key.as_ref() == Some(&by.card));
            card.reservations = of_card.map(|by| Reservation::new(by, self.time)).collect();
        }
        self
    }
}
