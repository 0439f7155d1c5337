//! From ticks to what is kept of them: entries, spans, events (pure).
//!
//! A [`Judge`] makes a tick an [`Entry`]: judged, with the time that it speaks for. [`Spans`]
//! make runs of entries in one state into single rows; [`Timeline`] says which time an entry
//! speaks for, and why there is a gap before it.
//!
//! Back again, from spans: a [`Piece`] is a card over a time in which nothing changes, and
//! [`Weights`] split such a time among those who hold the card. A [`Fold`] tells how long
//! somebody has held it idle.

mod entry;
mod event;
mod holding;
mod judge;
mod numbers;
mod part;
mod pieces;
mod spans;
mod spell;
mod split;

mod timeline;

pub use entry::{CardEntry, Crew, Entry, HolderEntry, Identity, Measures, OwnerEntry, ProcessKey};
pub use event::{Event, Kind, Trouble};
pub use gua_core::period::{self, HOUR, Period, next_hour, portion};
pub use holding::{Holding, settled};
pub use judge::Judge;
pub use numbers::ByNumber;
pub use part::Part;
pub use pieces::{CardTime, Held, HolderPart, Piece};
pub use probe::Clocks;
pub use spans::{Change, Spans};
pub use spell::{Beginning, Fold, Passage, Says, Spell, bridge};
pub use split::{Share, Sharer, Weights, whole};
pub use timeline::{Stretch, Timeline};
