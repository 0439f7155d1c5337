//! What a pretend GPU machine does at time `t`: its cards, processes and faults,
//! read from a TOML file.
//!
//! Nothing here touches a clock or a driver. Every answer is a pure function of the
//! file and a [`Moment`], so the same scenario can be played in real time behind an NVML
//! library, or weeks of it in a few milliseconds.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | [`moment`] | a point on the scenario's time line |
//! | [`clock`] | from the wall clock to a [`Moment`], at the scenario's speed |
//! | `noise` | the same for the same seed, place and time |
//! | [`load`] | a percentage over time: constant, duty cycle, ramp, points |
//! | [`model`] | what a scenario means: driver, cards, instances, processes |
//! | [`identity`] | who is behind a process, as a host's files have it |
//! | [`fault`] | what goes wrong, where and when |
//! | [`nvml_code`] | NVML's return codes |
//! | [`state`] | the machine at one moment |
//! | [`samples`] | the driver's sample buffers at one moment |
//! | [`parse`] | from a file to a scenario, or a refusal with file, line and reason |
//!
//! ```
//! let lab = scenario::parse::from_str("lab.toml", r#"
//!     [[card]]
//!     name = "NVIDIA A100-SXM4-80GB"
//!     memory = "80GiB"
//!     utilization = { duty = 50, period = "10s", high = 90, low = 2 }
//! "#)?;
//! let card = scenario::state::Place::card(&lab.cards[0]);
//! assert_eq!(lab.utilization_at(card, scenario::Moment::from_secs(3)).round(), 90.0);
//! # Ok::<(), scenario::parse::Refused>(())
//! ```

pub mod clock;
pub mod fault;
pub mod identity;
pub mod load;
pub mod model;
pub mod moment;
mod noise;
pub mod nvml_code;
pub mod parse;
pub mod samples;
pub mod state;

pub use clock::Clock;
pub use fault::{Effect, Fault};
pub use load::Load;
pub use model::{Card, Instance, Kind, Process, Scenario};
pub use moment::Moment;
pub use nvml_code::NvmlCode;
pub use state::Place;
