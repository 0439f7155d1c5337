//! What is kept of somebody on a card.

use crate::classify::{Holds, State, Work};

/// What they held, or what they were found to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What they hold, and what they did, which may follow from what the card did.
    Holds(Holds, Work),
    /// Judged by another program, and taken over as it was.
    Judged(State),
}

impl Part {
    /// Whether what they did is what their card did: the driver did not tell them apart, or
    /// whoever judged them did not look.
    #[must_use]
    pub const fn is_as_the_card(self) -> bool {
        matches!(self, Self::Holds(_, Work::AsTheCard) | Self::Judged(_))
    }

    /// What they were doing while their card was in this state.
    #[must_use]
    pub const fn state(self, card: State) -> State {
        match self {
            Self::Holds(holds, work) => work.state(holds, card),
            Self::Judged(state) => state,
        }
    }
}
