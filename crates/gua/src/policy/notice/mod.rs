//! What a person is told, and how it reaches them.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `fields` | what is known of a holder, in words (pure) |
//! | `letter` | one notice to one person (pure) |
//! | `post` | a queue and a thread for each way, so that none waits for another |
//! | `answers` | when a notice counts as delivered (pure) |
//! | `tty`, `terminals`, `utmp` | the person's terminals |
//! | `mail` | through the local sendmail |
//! | `webhook` | as JSON, to a URL |
//! | `command`, `child` | a command of the administrator's own |
//! | `error` | why it did not reach anybody |

mod answers;
mod child;
mod command;
mod error;
mod fields;
mod letter;
mod mail;
mod post;
mod terminals;
#[cfg(test)]
mod tests;
mod tty;
mod utmp;
mod webhook;

pub use answers::Answers;
pub use child::run;
pub use error::NotDelivered;
pub use fields::Fields;
pub use letter::{Figures, Letter, To};
pub use post::{Post, Report};
