//! What could not be pushed, told by who pushes to who counts.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::metrics::{Counters, Loss};

/// Counts ticks that the receiver did not get; both sides have it.
#[derive(Debug, Default)]
pub struct Losses([AtomicU64; Loss::ALL.len()]);

impl Losses {
    pub fn add(&self, loss: Loss, ticks: u64) {
        if let Some(count) = self.0.get(loss as usize) {
            count.fetch_add(ticks, Ordering::Relaxed);
        }
    }

    /// Counts what was added since the last time.
    pub fn count_into(&self, counters: &mut Counters) {
        for (loss, count) in Loss::ALL.into_iter().zip(&self.0) {
            counters.lose(loss, count.swap(0, Ordering::Relaxed));
        }
    }
}
