//! From ticks to what is kept of them: entries, spans, events (pure).
//!
//! A tick becomes an [`Entry`]: judged, with the time that it speaks for. [`Spans`] make
//! runs of entries in one state into single rows; [`Timeline`] says which time an entry
//! speaks for, and why there is a gap before it.

mod entry;
mod event;
mod period;
mod spans;
mod timeline;

pub use entry::{CardEntry, Entry, HolderEntry, Identity, Measures, OwnerEntry, ProcessKey};
pub use event::{Event, Kind, Trouble};
pub use period::{HOUR, Period, is_full_hour, next_hour};
pub use spans::{Change, Spans};
pub use timeline::{Clocks, Stretch, Timeline};
