//! What the recorder says about itself.

/// A log.
#[derive(Debug)]
pub struct Log;
