//! The rule by which time counts as work, on an exact utilization: every 5 seconds whose mean reaches
//! a threshold, from the first to the last moment in them that reaches it.
//!
//! The classifier applies it to samples of a fraction of a second. Here a piece may last for hours, so
//! windows end at any moment, not only at the end of a piece.

use gua_core::classifier::activity::{CentiPercent, Micros, Piece, Stretch, WINDOW, union};

/// Returns the stretches of work in pieces that abut, in whole milliseconds.
pub(super) fn work(pieces: &[Piece], threshold: CentiPercent) -> Vec<Stretch> {
    let busy = busy(pieces, threshold);
    let hull = |window: Stretch| {
        let begin = window.from - WINDOW;
        let first = busy.get(busy.partition_point(|busy| busy.to <= begin))?;
        let last = busy.partition_point(|busy| busy.from < window.to).checked_sub(1)?;
        let (from, to) = (first.from.max(begin), busy.get(last)?.to.min(window.to));
        Some(Stretch { from: whole_millis(from), to: whole_millis(to) })
    };
    let work: Vec<Stretch> = windows(pieces, threshold).into_iter().filter_map(hull).collect();
    union(&work, &[])
}

/// Returns the stretches in which the utilization itself reaches the threshold.
fn busy(pieces: &[Piece], threshold: CentiPercent) -> Vec<Stretch> {
    let busy = pieces.iter().filter(|piece| piece.value >= threshold);
    let busy: Vec<_> = busy.map(|piece| Stretch { from: piece.from, to: piece.to }).collect();
    union(&busy, &[])
}

/// Returns the stretches in which windows end whose mean reaches the threshold. The sum over a window
/// is linear between two changes of the utilization at its begin or its end.
fn windows(pieces: &[Piece], threshold: CentiPercent) -> Vec<Stretch> {
    let needed = i64::from(threshold) * WINDOW;
    let mut found: Vec<Stretch> = Vec::new();
    let Some(first) = pieces.first() else { return found };
    // The pieces in which the window ends and begins.
    let (mut right, mut left) = (0, 0);
    let (mut at, mut sum) = (first.from, 0);
    while let Some(entering) = pieces.get(right) {
        let leaving = pieces.get(left).filter(|_| at >= first.from + WINDOW);
        let leaves_at = leaving.map_or(first.from, |piece| piece.to) + WINDOW;
        let next = entering.to.min(leaves_at);
        let slope = i64::from(entering.value) - leaving.map_or(0, |it| i64::from(it.value));
        let after = sum + slope * (next - at);
        // Where the sum crosses what is needed.
        let crossing = || at + (needed - sum) / slope;
        let reached = match (sum >= needed, after >= needed) {
            (true, true) => Some(Stretch { from: at, to: next }),
            (true, false) => Some(Stretch { from: at, to: crossing() }),
            (false, true) => Some(Stretch { from: crossing(), to: next }),
            (false, false) => None,
        };
        if let Some(reached) = reached {
            add(&mut found, reached);
        }
        right += usize::from(next == entering.to);
        left += usize::from(leaving.is_some() && next == leaves_at);
        (at, sum) = (next, after);
    }
    found
}

fn add(found: &mut Vec<Stretch>, reached: Stretch) {
    match found.last_mut() {
        Some(last) if last.to == reached.from => last.to = reached.to,
        _ => found.push(reached),
    }
}

/// Returns a time in whole milliseconds, as spans have them.
pub(super) const fn whole_millis(at: Micros) -> Micros {
    (at + 500).div_euclid(1000) * 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use gua_core::classifier::activity::PieceBasis;

    /// Pieces of so many seconds with a utilization in percent.
    #[expect(clippy::cast_possible_truncation, reason = "whole microseconds")]
    fn pieces(lengths: &[(f64, u32)]) -> Vec<Piece> {
        let mut from = 0;
        let piece = |(seconds, percent): &(f64, u32)| {
            let to = from + (seconds * 1e6) as Micros;
            let piece = Piece { from, to, value: percent * 100, basis: PieceBasis::Moment };
            from = to;
            piece
        };
        lengths.iter().map(piece).collect()
    }

    fn found(lengths: &[(f64, u32)]) -> Vec<(f64, f64)> {
        let found = work(&pieces(lengths), 1000);
        found.iter().map(|it| (it.from as f64 / 1e6, it.to as f64 / 1e6)).collect()
    }

    #[test]
    fn lone_burst_needs_half_a_second_of_full_work() {
        assert_eq!(found(&[(60.0, 0), (0.5, 100), (60.0, 0)]), [(60.0, 60.5)]);
        assert_eq!(found(&[(60.0, 0), (0.49, 100), (60.0, 0)]), []);
        assert_eq!(found(&[(0.2, 100), (4.8, 0), (0.2, 100), (4.8, 0)]), []);
    }

    #[test]
    fn pauses_within_work_are_work_up_to_a_length() {
        // 5 s - 50 % / 90 % = 4.44 s
        assert_eq!(found(&[(60.0, 90), (4.44, 0), (60.0, 90)]), [(0.0, 124.44)]);
        assert_eq!(found(&[(60.0, 90), (4.45, 0), (60.0, 90)]), [(0.0, 60.0), (64.45, 124.45)]);
        assert_eq!(found(&[(60.0, 20), (2.5, 0), (60.0, 20)]), [(0.0, 122.5)]);
        assert_eq!(found(&[(60.0, 20), (2.51, 0), (60.0, 20)]).len(), 2);
    }

    #[test]
    fn a_background_below_the_threshold_does_not_stretch_work() {
        assert_eq!(found(&[(3600.0, 3), (50.0, 60), (3600.0, 3)]), [(3600.0, 3650.0)]);
        assert_eq!(found(&[(3600.0, 9)]), []);
        assert_eq!(found(&[(3600.0, 10)]), [(0.0, 3600.0)]);
    }

    /// Short samples of the same utilization give the same work by the classifier's own rule.
    #[test]
    fn samples_give_the_same_work() {
        let courses: [&[(f64, u32)]; 4] = [
            &[(41.0, 90), (53.0, 0), (41.0, 90), (3.0, 0), (7.0, 70), (9.0, 0)],
            &[(7.0, 0), (0.5, 95), (2.0, 0), (0.5, 95), (30.0, 0), (2.0, 12), (1.0, 0)],
            &[(1.0, 95), (1.0, 0), (1.0, 95), (1.0, 0), (1.0, 95), (8.0, 0), (4.0, 60)],
            &[(6.0, 5), (6.0, 50), (4.0, 0), (6.0, 50), (6.0, 5), (6.0, 11), (6.0, 0)],
        ];
        for course in courses {
            let exact = work(&pieces(course), 1000);
            let samples = gua_core::classifier::activity::work(&sampled(&pieces(course)), 1000);
            let same = |(one, other): (&Stretch, &Stretch)| {
                one.from.abs_diff(other.from) <= 50_000 && one.to.abs_diff(other.to) <= 50_000
            };
            assert_eq!(exact.len(), samples.len(), "{course:?}: {exact:?} {samples:?}");
            assert!(exact.iter().zip(&samples).all(same), "{course:?}: {exact:?} {samples:?}");
        }
    }

    /// Cuts pieces into samples of 50 ms.
    fn sampled(pieces: &[Piece]) -> Vec<Piece> {
        let samples = |piece: &Piece| {
            let piece = *piece;
            let begins = (piece.from..piece.to).step_by(50_000);
            begins.map(move |from| Piece { from, to: from + 50_000, ..piece })
        };
        pieces.iter().flat_map(samples).collect()
    }
}
