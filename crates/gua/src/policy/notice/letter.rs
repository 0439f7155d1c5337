//! One notice to one person.

use std::sync::Arc;

use crate::config::policy::Channel;
use crate::policy::Token;

use super::Fields;

/// What is to be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    pub token: Token,
    pub to: To,
    pub fields: Fields,
    pub channels: Vec<Channel>,
}

/// Whom it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct To {
    pub uid: u32,
    /// `None` where the uid has no name.
    pub name: Option<Arc<str>>,
}
