//! Ends a process that the rules have decided on: after one more look at everything, through a
//! handle that can mean no other.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `order` | who is to be ended, and how |
//! | `look` | whether it is still due, by everything read anew |
//! | `act` | one end, step by step |
//! | `words` | a command that ends a job in place of a signal, where it can be trusted |
//! | `crew` | each end on a thread of its own |

mod act;
mod crew;
mod look;
mod order;
mod words;

#[cfg(test)]
mod tests;

pub use act::act;
pub use crew::{Crew, Done};
pub use look::{DriverLook, Look, Looked, ReadConfig};
pub use order::{By, NotEnded, Order};
