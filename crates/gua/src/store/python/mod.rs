//! Databases of the Python gua: read as they are, or taken over into ours.
//!
//! Its rules are kept where they make its numbers:
//!
//! - The state of a card at a tick is the one that the Python gua reports: 10 % or more is
//!   active, less with more than 100 MB in processes idle-held, else truly idle. Memory that
//!   it could not read counts as 0 there, although we would call such a card unknown. What
//!   is kept as history is its judgement, so that GPU-hours before and after agree; the
//!   evidence beside it says what was hidden, so that judging again tells the truth.
//! - A tick counts for the interval of its run, whatever the distance to the last one; for
//!   30 s where no interval was written down. So a span has an extent, in which it lies, and
//!   a count, which is what it adds to GPU-hours.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `source` | a file, opened without a trace, and which columns it has |
//! | `moment`, `survey` | its times, and whether its rows are in their order |
//! | `rows`, `ticks` | rows with values that make sense, joined to ticks |
//! | `verdict` | the states by the Python gua's rules |
//! | `extent` | the time in which a tick lies, and what of its count falls into which hour |
//! | `recording`, `spans`, `counted`, `names` | ticks as runs, samples and spans in our database |
//! | `tally` | what was read, held against what was written |
//! | `import`, `target`, `take_over` | a file into a database, into a place, in its place |
//! | `holder` | who else has a file open |

mod counted;
mod extent;
mod holder;
mod import;
mod moment;
mod names;
mod recording;
mod rows;
mod source;
mod spans;
mod survey;
mod take_over;
mod tally;
mod target;
#[cfg(test)]
mod tests;
mod ticks;
mod verdict;

pub use import::{Progress, history, import};
pub use take_over::{TakenOver, take_over};
pub use tally::{ByState, Imported, Refused};
pub use target::{Placed, import_to};
