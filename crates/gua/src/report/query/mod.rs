//! What do the cards, or their holders, say to the fields that were chosen?
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `field` | one thing that can be asked for, and what it needs to be read |
//! | `cards`, `holders` | the fields of each |
//! | `names` | fields by the names that were typed, and what may have been meant |
//! | `value` | what a field says, with its unit |

mod cards;
mod field;
mod holders;
mod names;
mod value;

use gua_core::snapshot::Snapshot;
use jiff::Timestamp;

pub use self::field::{Column, Need, Needs};
pub use self::holders::Kinds;
pub use self::names::WrongFields;
pub use self::value::{Cell, NoValue, Unit, Value};

use self::cards::{CardAt, CardField};
use self::field::Field;
use self::holders::{HolderAt, HolderField};

/// What is asked of whom.
#[derive(Debug, Clone)]
pub enum Question {
    Cards(Vec<&'static CardField>),
    Holders {
        fields: Vec<&'static HolderField>,
        kinds: Kinds,
        /// Whether a card without holders has a row too.
        with_free_cards: bool,
    },
}

/// What one look says to a question: a row a card or a holder, a cell a field.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub time: Timestamp,
    /// Why the driver cannot be read, while it cannot.
    pub driver_error: Option<String>,
    pub rows: Vec<Vec<Cell>>,
}

impl Question {
    /// Fields of cards, by name.
    ///
    /// # Errors
    /// When a name means nothing, or there is none.
    pub fn of_cards<S: AsRef<str>>(names: &[S]) -> Result<Self, WrongFields> {
        match names::find(names, cards::FIELDS) {
            Ok(fields) => Ok(Self::Cards(fields)),
            Err(wrong) => Err(wrong.or_of("holders: add --apps", holders::FIELDS)),
        }
    }

    /// The same, with a row for each card that nobody holds.
    #[must_use]
    pub fn with_free_cards(self) -> Self {
        match self {
            Self::Holders { fields, kinds, .. } => {
                Self::Holders { fields, kinds, with_free_cards: true }
            }
            cards @ Self::Cards(_) => cards,
        }
    }

    /// Fields of holders, by name.
    ///
    /// # Errors
    /// When a name means nothing, or there is none.
    pub fn of_holders<S: AsRef<str>>(names: &[S], kinds: Kinds) -> Result<Self, WrongFields> {
        match names::find(names, holders::FIELDS) {
            Ok(fields) => Ok(Self::Holders { fields, kinds, with_free_cards: false }),
            Err(wrong) => Err(wrong.or_of("cards: leave --apps out", cards::FIELDS)),
        }
    }

    /// Whether it is asked of cards, not of their holders.
    #[must_use]
    pub const fn is_of_cards(&self) -> bool {
        matches!(self, Self::Cards(_))
    }

    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        match self {
            Self::Cards(fields) => fields.iter().map(|field| field.column()).collect(),
            Self::Holders { fields, .. } => fields.iter().map(|field| field.column()).collect(),
        }
    }

    /// What has to be read to answer it.
    #[must_use]
    pub fn needs(&self) -> Needs {
        match self {
            Self::Cards(fields) => fields.iter().map(|field| field.needs).collect(),
            Self::Holders { fields, .. } => fields.iter().map(|field| field.needs).collect(),
        }
    }

    /// Answers from one snapshot.
    #[must_use]
    pub fn answer(&self, snapshot: &Snapshot) -> Answer {
        let at = |card| CardAt { snapshot, card };
        Answer {
            time: snapshot.time,
            driver_error: snapshot.host.driver_error.clone(),
            rows: snapshot.cards.iter().flat_map(|card| self.rows(at(card))).collect(),
        }
    }

    fn rows(&self, at: CardAt<'_>) -> Vec<Vec<Cell>> {
        match self {
            Self::Cards(fields) => vec![fields.iter().map(|field| (field.read)(&at)).collect()],
            Self::Holders { fields, kinds, with_free_cards } => {
                let row = |at: HolderAt<'_>| fields.iter().map(|field| (field.read)(&at)).collect();
                holders::on(at, *kinds, *with_free_cards).into_iter().map(row).collect()
            }
        }
    }
}

/// All fields that there are, of cards and of holders.
#[must_use]
pub fn all_fields() -> (Vec<Column>, Vec<Column>) {
    let columns = |fields: &[CardField]| fields.iter().map(Field::column).collect();
    let of_holders = |fields: &[HolderField]| fields.iter().map(Field::column).collect();
    (columns(cards::FIELDS), of_holders(holders::FIELDS))
}
