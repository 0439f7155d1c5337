//! Typed answers from the record and the driver. Command line, page, Python and metrics all use these.
//!
//! # Layout
//!
//! | module | contents |
//! |---|---|
//! | [`snapshot`] | all cards and holders now, live or as last seen |
//! | [`who`] | who holds which card, and since when without using it |
//! | [`pick`] | which cards to use |
//! | [`status`] | whether a recorder runs, and how it does |
//! | [`timeline`] | what each card did when, for pictures |
//! | [`page`] | a window, its timeline and all cards now, for one page |
//! | [`usage`] | what cards and people did over a window |

pub mod page;
pub mod pick;
pub mod snapshot;
pub mod status;
pub mod timeline;
pub mod usage;
pub mod who;
