//! What the tree holds of the cards and does on them. A driver that is slow or hangs must not slow
//! the rest.
//!
//! # What is told when something cannot be read
//!
//! - **The tree's memory on a card** is the most over those looks in which the card's list of
//!   holders was read. It is unknown when there was no such look, or when a process of the tree
//!   was on the card and its memory was never told.
//! - **The tree's memory on all cards** is known when one look was complete, or when each card's
//!   is known. Then it is the largest sum of any look, and what was missing there is not
//!   guessed: a card that is lost half-way spoils neither the others nor what it held before.
//! - **A card that was lost from the beginning** is left out of all sums: nobody can take memory
//!   on it. It is among the cards, unknown.
//! - **In a container** the driver may tell the host's pids. As long as none of them was one of
//!   the tree's, what the tree has is unknown, not zero.
//! - **The driver's accounting** knows the most that a process ever held. It counts for processes
//!   that began meanwhile and raises a peak that the looks missed. Processes need not have held
//!   their most at the same time, so only the largest of them counts; but one process is taken
//!   to have held its most on several cards at once, as it mostly keeps what it has.
//! - **Utilization**: the first look's figure speaks of the time before and is left out. The mean
//!   of a card is over the time that its figures cover; that of all chosen cards is the sum of
//!   theirs. The largest is that of the looks in which all chosen cards could be read.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | [`available`](mod@available) | which cards there are |
//! | [`choice`] | what was typed for cards, and which are meant |
//! | `watch` | opens the driver, looks, ends, with a thread for what lasts |
//! | `pace` | when to look again |
//! | `tree` | what of one card's holders belongs to the tree |
//! | `tally` | all looks as one sum |
//! | `card` | the same for one card |
//! | `peak`, `course`, `energy`, `sum` | the most of something, a percentage over time, a counter, a sum |

pub mod available;
pub mod choice;

mod card;
mod course;
mod energy;
mod pace;
mod peak;
mod sum;
mod tally;
mod tree;
mod watch;

#[cfg(test)]
mod tests;

pub use available::{Available, available};
pub use choice::{ChoiceError, choose};
pub(crate) use watch::Gpu;
