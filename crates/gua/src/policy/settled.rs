//! What the config says of rules, and where that comes from again and again.

use std::fmt;

use gua_core::Thresholds;

use crate::config::policy::{Notify, Policy};
use crate::failure::Failure;

/// What the config says now.
#[derive(Debug, Clone)]
pub struct Settled {
    pub policy: Policy,
    pub notify: Notify,
    pub thresholds: Thresholds,
}

/// Where rules come from, again and again.
pub trait Rules: fmt::Debug + Send {
    /// What the config says, where it was changed since the last time: or what is wrong in it.
    fn changed(&mut self) -> Option<Result<Settled, Failure>>;
}
