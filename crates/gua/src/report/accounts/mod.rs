//! Who had the cards, who worked on them and who only held them: GPU-hours by account.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `by`, `name` | what an account is of: a person, a job, a card; and what it is called |
//! | `tally` | adds up pieces of time, one by one |
//! | `account` | what comes of it |

mod account;
mod by;
mod name;
mod tally;
#[cfg(test)]
mod tests;

pub use account::{Account, HeldIdle, OnCard, Peak};
pub use by::By;
pub use name::{Known, Name, Unattributed};
pub use tally::Accounts;
