//! From marks to calls: which end belongs to which begin (pure).

use std::collections::HashMap;

use super::marks::{Mark, Position};

/// One time that a block ran, in seconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    pub begin: f64,
    pub end: f64,
}

impl Call {
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.end - self.begin
    }
}

/// A block ended that had not begun.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "process {process} stopped `{block}` at {at} without having started it. Is a part of the \
     sub-tracking file missing?"
)]
pub struct NoBegin {
    pub process: i64,
    pub block: String,
    pub at: f64,
}

/// The calls of one block, by when they ended.
///
/// A block may call itself, so an end belongs to the newest begin of its process that is still
/// open. A begin without an end goes on or was cut short: that is no call.
///
/// # Errors
/// When an end has no begin.
pub fn calls<'a>(marks: impl IntoIterator<Item = &'a Mark>) -> Result<Vec<Call>, NoBegin> {
    let mut marks: Vec<&Mark> = marks.into_iter().collect();
    // Stable: of two marks at the same time, the one that was written first came first.
    marks.sort_by(|a, b| a.at.total_cmp(&b.at));
    let mut open: HashMap<i64, Vec<f64>> = HashMap::new();
    let mut calls = Vec::new();
    for mark in marks {
        let begun = open.entry(mark.process).or_default();
        match mark.position {
            Position::Begin => begun.push(mark.at),
            Position::End => {
                let begin = begun.pop().ok_or_else(|| no_begin(mark))?;
                calls.push(Call { begin, end: mark.at });
            }
        }
    }
    Ok(calls)
}

fn no_begin(mark: &Mark) -> NoBegin {
    NoBegin { process: mark.process, block: mark.block.clone(), at: mark.at }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn mark(process: i64, position: Position, at: f64) -> Mark {
        Mark { process, block: "train".to_owned(), position, at }
    }

    fn begins_and_ends(found: &[Call]) -> Vec<(f64, f64)> {
        found.iter().map(|call| (call.begin, call.end)).collect()
    }

    #[test]
    fn a_call_inside_of_another_ends_first() {
        use Position::{Begin, End};
        let marks =
            [mark(1, Begin, 1.0), mark(1, Begin, 2.0), mark(1, End, 3.0), mark(1, End, 9.0)];
        assert_eq!(begins_and_ends(&calls(&marks).unwrap()), [(2.0, 3.0), (1.0, 9.0)]);
    }

    #[test]
    fn processes_are_paired_each_for_itself() {
        use Position::{Begin, End};
        let marks =
            [mark(1, Begin, 1.0), mark(2, Begin, 2.0), mark(1, End, 3.0), mark(2, End, 4.0)];
        assert_eq!(begins_and_ends(&calls(&marks).unwrap()), [(1.0, 3.0), (2.0, 4.0)]);
    }

    #[test]
    fn one_may_begin_as_another_ends() {
        use Position::{Begin, End};
        let marks =
            [mark(1, Begin, 1.0), mark(1, End, 2.0), mark(1, Begin, 2.0), mark(1, End, 3.0)];
        assert_eq!(begins_and_ends(&calls(&marks).unwrap()), [(1.0, 2.0), (2.0, 3.0)]);
    }

    #[test]
    fn what_did_not_end_is_no_call() {
        use Position::{Begin, End};
        let marks = [mark(1, Begin, 1.0), mark(1, End, 2.0), mark(1, Begin, 3.0)];
        assert_eq!(begins_and_ends(&calls(&marks).unwrap()), [(1.0, 2.0)]);
    }

    #[test]
    fn an_end_without_a_begin_is_refused() {
        let refused = calls(&[mark(7, Position::End, 2.5)]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "process 7 stopped `train` at 2.5 without having started it. Is a part of the \
             sub-tracking file missing?"
        );
    }

    /// Any properly nested run of begins (`true`) and ends.
    fn nested() -> impl Strategy<Value = Vec<bool>> {
        prop::collection::vec(prop::bool::ANY, 0..40).prop_map(|wishes| {
            let mut depth = 0;
            let mut marks = Vec::new();
            for wish in wishes {
                let begins = wish || depth == 0;
                depth = if begins { depth + 1 } else { depth - 1 };
                marks.push(begins);
            }
            marks.extend(std::iter::repeat_n(false, depth));
            marks
        })
    }

    proptest! {
        #[test]
        fn nested_calls_lie_inside_of_or_beside_each_other(shape in nested()) {
            let marks: Vec<Mark> = shape
                .iter()
                .zip(0_u32..)
                .map(|(begins, at)| {
                    let position = if *begins { Position::Begin } else { Position::End };
                    mark(1, position, f64::from(at))
                })
                .collect();
            let found = calls(&marks).unwrap();
            prop_assert_eq!(found.len(), marks.len() / 2);
            for a in &found {
                prop_assert!(a.begin < a.end);
                for b in &found {
                    let crosses = a.begin < b.begin && b.begin < a.end && a.end < b.end;
                    prop_assert!(!crosses, "{:?} {:?}", a, b);
                }
            }
        }
    }
}
