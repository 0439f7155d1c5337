//! Rules for cards that are held idle: notice first, end last.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `subject` | one process that holds cards, as the rules see it |
//! | `matching`, `judged`, `guard` | which rule it falls under; what is never ended (pure) |
//! | `watch` | the timers of one holder (pure) |
//! | `engine`, `limits` | all holders and the rules, tick by tick (pure) |
//! | [`notice`] | what a person is told, and how it reaches them |

mod engine;
mod guard;
mod judged;
mod limits;
mod matching;
pub mod notice;
mod subject;
mod watch;

#[cfg(test)]
mod tests;

pub use engine::{
    Answer, Decision, Doubt, Engine, Evidence, Phase, Relief, Saved, Standing, Step, Wait, What,
};
pub use guard::{Guard, nature};
pub use judged::{Judged, Spared};
pub use limits::Limits;
pub use matching::Missing;
pub use subject::{Activity, Card, Facts, Holding, Nature, Person, Sign, Signs, Subject};
pub use watch::{Next, Token, Watch};
