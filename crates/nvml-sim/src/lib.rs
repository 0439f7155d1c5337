//! `libnvidia-ml.so.1` that answers from a scenario file, for machines without a GPU.
//!
//! Built as a shared library it has NVML's C interface, so that any program that reads
//! GPUs through NVML reads the pretend machine that `NVML_SIM_SCENARIO` describes,
//! faults included. As a Rust library it offers [`install`], which lays that library, a
//! matching `nvidia-smi` and a matching `/proc` into a directory.
//!
//! # Environment
//!
//! | variable | meaning |
//! |---|---|
//! | `NVML_SIM_SCENARIO` | the scenario file; read again when it changes, looked at every 2 ms at most |
//! | `NVML_SIM_START` | the scenario's `t = 0` in µs of the Unix epoch; else the first `nvmlInit` |
//! | `NVML_SIM_CALLS` | a file for the number of calls of each function, written at the end |
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | [`abi`] | NVML's codes, structures and constants |
//! | [`machine`] | a scenario as it is being played: its clock and its faults |
//! | `watch` | whether the scenario file has changed |
//! | `library` | what one process shares: the machine, and how often it was initialised |
//! | `gate` | the one way into every call: counted, faulty when it should be |
//! | `tally` | how often each function was called |
//! | `handle` | device handles |
//! | `pointer` | the caller's memory; unsafe, as is the one `atexit` of `tally`, and nothing else |
//! | `calls` | the functions themselves |
//! | [`functions`] | their names, and scenarios that name others |
//! | [`reported`] | how the driver puts what it reports |
//! | [`install`] | the library, `nvidia-smi` and a pretend root in a directory |
//! | [`skip`] | for the tests of this workspace: how one says that it could not run |

pub mod abi;
mod calls;
pub mod functions;
mod gate;
mod handle;
pub mod install;
mod library;
pub mod machine;
mod pointer;
pub mod reported;
pub mod skip;
mod tally;
mod watch;
