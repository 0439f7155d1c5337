//! Who had the cards, who worked on them and who only held them: GPU-hours by account.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `by` | what an account is of: a person, a job, a card |
//! | `tally` | adds up pieces of time, one by one |
//! | `account` | what comes of it |

mod account;
mod by;
mod tally;
#[cfg(test)]
mod tests;

pub use account::{Account, HeldIdle};
pub use by::{By, Name};
pub use tally::Accounts;
