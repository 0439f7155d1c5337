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

mod answer;
mod coverage;
mod finish;
mod gaps;
mod hours;
mod people;
mod tally;
#[cfg(test)]
mod tests;
mod times;
mod verdict;

pub use answer::{Card, Equivalent, HeatCell, Host, JudgedAgain, Lines, Stretch, Usage, Window};
pub use finish::Facts;
pub use gaps::{Gap, Reason};
pub use hours::HourOfWeek;
pub use people::Person;
pub use tally::{Question, Tally};
pub use times::{Amount, Shown, States};
pub use verdict::Verdict;
