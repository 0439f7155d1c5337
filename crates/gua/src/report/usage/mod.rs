//! What did the cards do over a time, and whose was it?
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `answer` | what is told, as plain structs |
//! | `tally` | adds up spans, one by one |
//! | `times`, `people`, `hours` | time by state, by person, by hour of the week |
//! | `coverage`, `gaps` | which time was observed, and why the rest was not |
//! | `verdict` | what the figures mean |
//! | `finish` | from sums to the answer |

pub(super) mod answer;
mod coverage;
pub(super) mod finish;
mod gaps;
pub(super) mod hours;
mod people;
pub(super) mod tally;
#[cfg(test)]
mod tests;
pub(super) mod times;
pub(super) mod verdict;

pub use answer::{Card, Equivalent, HeatCell, Host, JudgedAgain, Lines, Stretch, Usage, Window};
pub use finish::Facts;
pub use gaps::{Gap, Reason};
pub use hours::HourOfWeek;
pub use people::Person;
pub use tally::{Question, Tally};
pub use times::{Amount, Shown, States};
pub use verdict::Verdict;
