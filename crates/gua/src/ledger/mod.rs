//! From ticks to what is kept of them: entries, spans, events (pure).
//!
//! A [`Judge`] makes a tick an [`Entry`]: judged, with the time that it speaks for. [`Spans`]
//! make runs of entries in one state into single rows; [`Timeline`] says which time an entry
//! speaks for, and why there is a gap before it.

mod entry;
mod event;
mod holding;
mod judge;
mod period;
mod spans;
mod timeline;

pub use entry::{CardEntry, Crew, Entry, HolderEntry, Identity, Measures, OwnerEntry, ProcessKey};
pub use event::{Event, Kind, Trouble};
pub use holding::{Holding, settled};
pub use judge::Judge;
pub use period::{HOUR, Period, next_hour};
pub use spans::{Change, Spans};
pub use timeline::{Clocks, Stretch, Timeline};
