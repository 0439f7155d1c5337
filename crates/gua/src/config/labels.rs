//! The labels that our series have: others must not take their names.

pub use gua_fleet::labels::OUR_LABELS;
