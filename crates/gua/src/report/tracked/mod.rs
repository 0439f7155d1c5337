//! What did one command use, and what should be asked for next time?
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `answer` | what is told, as plain structs |
//! | `subject` | what was followed: its name, without its arguments |
//! | `ending` | how it ended |
//! | `asked` | what it was compared with: options, a Slurm job, a cgroup, the machine |
//! | `gpu` | the cards, and which of them it held |
//! | `suggestion` | what to ask for next time, with head room |
//! | `remarks` | what the figures mean |
//! | `points` | the time line, in bounded room |
//! | `finish` | from a measurement to the answer |

mod answer;
mod asked;
mod ending;
#[cfg(test)]
pub mod examples;
mod finish;
mod gpu;
mod points;
mod remarks;
mod subject;
mod suggestion;

pub use answer::{Cpu, Load, Parts, Processes, Ram, RamPeak, Sampling, Tracked};
pub use asked::{Asked, Request, Slurm, Source};
pub use ending::Ending;
pub use finish::{Measured, tracked};
pub use gpu::{Card, Gpu, MemorySource};
pub use points::{Point, Points, thinned};
pub use remarks::{Remark, Rule};
pub use subject::{Subject, command_name};
pub use suggestion::{HEAD_ROOM_PERCENT, Suggestion};
