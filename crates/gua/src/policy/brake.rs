//! Whether an end that was decided on may still be carried out: a grace is long enough for
//! somebody to stop all rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::switch::Switch;

/// Shared by who decides and who carries out.
#[derive(Debug, Clone)]
pub struct Brake {
    switch: Switch,
    is_held: Arc<AtomicBool>,
}

impl Brake {
    /// With the switch, which counts at once.
    #[must_use]
    pub fn of(switch: Switch) -> Self {
        Self { switch, is_held: Arc::default() }
    }

    /// Stops all ends that are on their way, or lets them go on.
    pub fn hold(&self, is_held: bool) {
        self.is_held.store(is_held, Ordering::Relaxed);
    }

    #[must_use]
    pub fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed) || !self.switch.is_on()
    }
}
