//! Many hosts, by what an engine has of them: `gua fleet`, `gua report --prometheus` and
//! `gua who --prometheus`.

mod access;
mod now;
mod report;

pub(super) use now::{fleet, who};
pub(super) use report::report;
