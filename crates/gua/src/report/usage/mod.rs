//! What did the cards do over a time, and whose was it?
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `answer` | what is told, as plain structs |
//! | `tally` | adds up spans, one by one |
//! | `times`, `people`, `hours` | time by state, by person, by hour of the week |
//! | `account` | what is told of one account |
//! | `session`, `remedy` | stretches of holding without working, and what to type about them |
//! | `holdings` | accounts and sessions, from sums to what is told |
//! | `money` | what idle time costs |
//! | `person_page`, `suggestion` | the page for one person, and what would help most |
//! | `compared` | two windows side by side |
//! | `judged_by` | by which lines accounts and sessions were recorded |
//! | `coverage`, `gaps` | which time was observed, and why the rest was not |
//! | `verdict` | what the figures mean |
//! | `finish` | from sums to the answer |

mod account;
pub(super) mod answer;
mod compared;
mod coverage;
#[cfg(test)]
pub mod examples;
pub(super) mod finish;
mod gaps;
mod holdings;
pub(super) mod hours;
mod judged_by;
mod money;
mod people;
mod person_page;
mod remedy;
mod session;
mod suggestion;
pub(super) mod tally;
#[cfg(test)]
mod tests;
pub(super) mod times;
pub(super) mod verdict;

pub use account::Account;
pub use answer::{Card, Equivalent, HeatCell, Host, JudgedAgain, Lines, Stretch, Usage, Window};
pub use compared::{Compared, ComparedAccount, ComparedState, Pair};
pub use coverage::observed;
pub use finish::Facts;
pub use gaps::{Gap, Reason};
pub use holdings::{Book, Holdings};
pub use hours::HourOfWeek;
pub use judged_by::{AsRecorded, JudgedBy, Recorded, recorded};
pub use money::{Cost, Money, Price};
pub use people::Person;
pub use person_page::PersonPage;
pub use remedy::Hand;
pub use session::{Culprits, MOST_CULPRITS, Onlooker, Session};
pub use suggestion::Suggestion;
pub use tally::{Question, Tally};
pub use times::{Amount, Shown, States};
pub use verdict::Verdict;
