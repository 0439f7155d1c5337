//! Typed answers from the record and the driver. Command line, page, Python and metrics all use these.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | [`snapshot`] | all cards and holders now, live or as last seen |
//! | [`usage`] | what cards and people did over a window |

pub mod snapshot;
pub mod usage;
