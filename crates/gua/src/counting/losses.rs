//! What could not be pushed or told apart, shared by who pushes and who counts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::metrics::{Counters, Loss, Wanted};

/// Counts ticks that the receiver did not get; both sides have it.
#[derive(Debug, Default)]
pub struct Losses {
    ticks: [AtomicU64; Loss::ALL.len()],
    /// Whether it was said that not everybody can be told apart.
    is_cap_told: AtomicBool,
}

impl Losses {
    pub fn add(&self, loss: Loss, ticks: u64) {
        if let Some(count) = self.ticks.get(loss as usize) {
            count.fetch_add(ticks, Ordering::Relaxed);
        }
    }

    /// Counts what was added since the last time.
    pub fn count_into(&self, counters: &mut Counters) {
        for (loss, count) in Loss::ALL.into_iter().zip(&self.ticks) {
            counters.lose(loss, count.swap(0, Ordering::Relaxed));
        }
    }

    /// What there is to say when somebody could not be told apart; once, whoever notices.
    pub fn tell_of_the_cap(&self, wanted: &Wanted) -> Option<String> {
        let was_told = self.is_cap_told.swap(true, Ordering::Relaxed);
        (!was_told).then(|| {
            format!(
                "not everybody on the cards is told apart in the metrics: there are more than {} \
                 (metrics.most_owners); people beyond that are counted as `others`, jobs for \
                 their users, and gua_errors_total counts how often (owners_capped)",
                wanted.labels.most_owners
            )
        })
    }
}
