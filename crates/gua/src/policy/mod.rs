//! Rules for cards that are held idle: notices first, an end last.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | `subject` | one process that holds cards, as the rules see it |
//! | `matching`, `judged`, `guard` | which rule applies to it; what is never ended (pure) |
//! | `company` | which processes work together, and are judged together (pure) |
//! | `watch` | the timers of one holder (pure) |
//! | `decision`, `standing` | what is decided, and where a holder stands |
//! | `engine`, `limits` | all holders and the rules, step by step (pure) |
//! | [`input`] | what the rules judge, from the recorder or from its record |
//! | `present`, `groups`, `meter`, `own` | what the host says of holders |
//! | `simulation` | what the rules would have done over a history (pure) |
//! | [`notice`] | what a person is told, and how it is delivered |
//! | `actor`, `brake` | ends a process, after one more look at everything; what stops that |
//! | `snooze`, `switch` | what exempts one process for a time, and what stops all rules |
//! | `settled` | what the config says, and where that comes from |
//! | `runner`, `state` | the rules beside a recorder, and what outlasts a restart |
//! | `deeds` | what the rules did, as entries of the log |

mod actor;
mod brake;
mod company;
mod decision;
mod deeds;
mod engine;
mod groups;
mod guard;
pub mod input;
mod judged;
mod limits;
mod matching;
mod meter;
pub mod notice;
mod own;
mod present;
mod runner;
mod settled;
mod simulation;
mod snooze;
mod standing;
mod state;
mod subject;
mod switch;
mod watch;

#[cfg(test)]
mod tests;

pub use actor::{Crew, DriverLook, Look, Looked, NotEnded, Order, ReadConfig};
pub use brake::Brake;
pub use company::Grouping;
pub use decision::{Answer, Decision, Evidence, Relief, Step, What, time_of_day};
pub use deeds::Moment;
pub use engine::{Engine, Saved};
pub use guard::{Guard, nature};
pub use judged::{Judged, Spared};
pub use limits::Limits;
pub use matching::Missing;
pub use runner::{PolicyRunner, RunnerPlaces};
pub use settled::{Rules, Settled};
pub use simulation::{Case, Simulation, Unjudged};
pub use snooze::{Sleeper, SnoozeError, SnoozePlace, Snoozes};
pub use standing::{Doubt, Phase, Standing, Wait};
pub use state::{read_engine, restore_engine};
pub use subject::{Activity, Card, Facts, Groups, Holding, Nature, Person, Sign, Signs, Subject};
pub use switch::Switch;
pub use watch::{Followed, Next, Token, Watch};
