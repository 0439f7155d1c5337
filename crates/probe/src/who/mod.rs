//! Who is behind a process: a person, a job, a container, a notebook, each with the place that
//! it is known from.
//!
//! [`Reader`] reads what there is of a process and of those it came from into an [`Evidence`];
//! [`who`] makes a [`Who`] of that and touches nothing. One file a sign: parsing stands apart
//! from reading.

mod attribution;
mod cgroup;
mod container;
mod environ;
mod environment;
mod evidence;
mod group;
mod jupyter;
mod labels;
mod launcher;
mod login;
mod maker;
mod masked;
mod pod;
mod reader;
mod script;
mod slurm;
mod text;

#[cfg(test)]
mod tests;

pub use attribution::who;
pub use cgroup::Cgroup;
pub use container::docker_name;
pub use environ::{Environ, NAMES};
pub use evidence::{Ancestor, Evidence, Records, names};
pub use gua_core::identity::{
    Client, Container, Environment, EnvironmentKind, Group, GroupKind, Job, Launcher, Notebook,
    Pod, Runtime, Source, Told, User, Who,
};
pub use jupyter::{Kernel, kernel};
pub use masked::masked;
pub use reader::{Reader, Subject};
pub use script::script;
