//! The least, the most, the mean and the spread of some values (pure).

use serde::Deserialize;

use super::comparison::Statistic;
use crate::gpu_tracker::Tree;

/// Four statistics. The spread is that of the values themselves (divided by n, not n − 1):
/// they are all there is, not a sample of more.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Summary {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub std: f64,
}

impl Summary {
    /// Of no values there is none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let first = *values.first()?;
        #[allow(clippy::cast_precision_loss, reason = "fewer than 2^53 values")]
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        Some(Self {
            min: values.iter().copied().fold(first, f64::min),
            max: values.iter().copied().fold(first, f64::max),
            mean,
            std: (squares / count).sqrt(),
        })
    }

    #[must_use]
    pub const fn get(&self, statistic: Statistic) -> f64 {
        match statistic {
            Statistic::Min => self.min,
            Statistic::Max => self.max,
            Statistic::Mean => self.mean,
            Statistic::Std => self.std,
        }
    }
}

/// The statistics by name; each is missing where there is no summary.
pub(super) fn entries(summary: Option<Summary>) -> Vec<(String, Tree)> {
    let entry = |statistic: Statistic| {
        (statistic.name().to_owned(), summary.map(|summary| summary.get(statistic)).into())
    };
    Statistic::ALL.map(entry).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_that_of_all_values() {
        let summary = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!(summary, Summary { min: 2.0, max: 9.0, mean: 5.0, std: 2.0 });
    }

    #[test]
    fn one_value_has_no_spread_and_none_has_no_summary() {
        assert_eq!(Summary::of(&[3.5]).unwrap().std, 0.0);
        assert_eq!(Summary::of(&[]), None);
    }
}
