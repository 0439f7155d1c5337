//! The rule by which time counts as work: every 5 seconds whose mean utilization reaches a
//! threshold, from the first to the last sample in them that reaches it.

/// Microseconds since boot.
pub type Micros = i64;

/// Length over which a mean is taken. 3 s would split training with pauses of 3 s; 10 s would close
/// evaluation pauses of 8 s.
pub const WINDOW: Micros = 5_000_000;

/// Hundredths of a percent. Integers, so that sums and comparisons are exact.
pub type CentiPercent = u32;

/// Time with one utilization.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub from: Micros,
    pub to: Micros,
    pub value: CentiPercent,
    pub basis: PieceBasis,
}

/// Meaning of a piece's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceBasis {
    /// Mean over the piece: a piece at the edge of work may be partly idle.
    Mean,
    /// Value at one moment, which stands for the piece.
    Moment,
    /// Value of a short part of the piece, of a process: an edge counts in proportion, a lone one in full.
    Process,
}

impl Piece {
    pub const fn length(&self) -> Micros {
        self.to - self.from
    }
}

/// Time from one moment up to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub from: Micros,
    pub to: Micros,
}

impl Stretch {
    pub const fn length(&self) -> Micros {
        self.to - self.from
    }

    pub const fn covers(&self, other: Self) -> bool {
        self.from <= other.from && other.to <= self.to
    }

    /// Returns the time between both, 0 if they touch or overlap.
    pub fn distance(&self, other: Self) -> Micros {
        (other.from - self.to).max(self.from - other.to).max(0)
    }
}

/// Returns the stretches of work in the pieces, which are in order and do not overlap. Where pieces do
/// not abut, nothing was observed, and no window spans that time.
pub fn work(pieces: &[Piece], threshold: CentiPercent) -> Vec<Stretch> {
    let marks = marks(pieces, threshold);
    marks.into_iter().map(|(first, last)| stretch(&pieces[first..=last])).collect()
}

/// Returns the first and the last piece of each stretch of work.
fn marks(pieces: &[Piece], threshold: CentiPercent) -> Vec<(usize, usize)> {
    let needed = i64::from(threshold) * WINDOW;
    let mut marks: Vec<(usize, usize)> = Vec::new();
    let (mut left, mut sum, mut busy, mut last_busy) = (0, 0, 0, None);
    for (right, piece) in pieces.iter().enumerate() {
        if right > 0 && pieces[right - 1].to != piece.from {
            (left, sum, busy, last_busy) = (right, 0, right, None);
        }
        sum += weight(piece);
        if piece.value >= threshold {
            last_busy = Some(right);
        }
        let begin = piece.to - WINDOW;
        while pieces[left].to <= begin {
            sum -= weight(&pieces[left]);
            left += 1;
        }
        let outside = (begin - pieces[left].from).max(0);
        if sum - outside * i64::from(pieces[left].value) < needed {
            continue;
        }
        // A piece that lies for the most part before the window counts only in the mean.
        let inside = pieces[left].to - begin;
        let is_before = 2 * inside < pieces[left].length().min(WINDOW);
        let first = if is_before { left + 1 } else { left };
        let Some(last) = last_busy.filter(|last| *last >= first) else { continue };
        busy = busy.max(first);
        while pieces[busy].value < threshold {
            busy += 1;
        }
        match marks.last_mut() {
            Some(mark) if mark.1 + 1 >= busy && pieces[mark.1].to >= pieces[busy].from => {
                mark.1 = last;
            }
            _ => marks.push((busy, last)),
        }
    }
    marks
}

fn weight(piece: &Piece) -> i64 {
    i64::from(piece.value) * piece.length()
}

/// Returns the time of a mark. The work began and ended within its edge pieces, which count in
/// proportion to their value.
fn stretch(mark: &[Piece]) -> Stretch {
    const FULL: CentiPercent = 10_000;
    let counted = |edge: Piece, full: CentiPercent| match edge.basis {
        PieceBasis::Moment => edge.length(),
        PieceBasis::Mean | PieceBasis::Process => {
            edge.length() * i64::from(edge.value) / i64::from(edge.value.max(full).max(1))
        }
    };
    let counted_alone = |edge: Piece| match edge.basis {
        PieceBasis::Moment | PieceBasis::Process => edge.length(),
        PieceBasis::Mean => counted(edge, FULL),
    };
    match *mark {
        [] => Stretch { from: 0, to: 0 },
        [lone] => Stretch { from: lone.from, to: lone.from + counted_alone(lone) },
        [first, last] => {
            Stretch { from: first.to - counted_alone(first), to: last.from + counted_alone(last) }
        }
        [first, second, .., before_last, last] | [first, second @ before_last, last] => Stretch {
            from: first.to - counted(first, second.value),
            to: last.from + counted(last, before_last.value),
        },
    }
}

/// Returns the union of two lists of stretches, each in order.
pub fn union(one: &[Stretch], other: &[Stretch]) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = one.iter().chain(other).copied().collect();
    all.sort_unstable_by_key(|stretch| stretch.from);
    all.dedup_by(|next, last| {
        let touches = next.from <= last.to;
        if touches {
            last.to = last.to.max(next.to);
        }
        touches
    });
    all
}

/// Integral of the utilization over pieces, for any part of them.
#[derive(Debug)]
pub struct Sums<'a> {
    pieces: &'a [Piece],
    /// Sum up to the begin of each piece.
    before: Vec<i64>,
}

/// Utilization over some time, and how much of that time has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    /// Hundredths of a percent × microseconds.
    pub sum: i64,
    pub known: Micros,
}

impl<'a> Sums<'a> {
    pub fn new(pieces: &'a [Piece]) -> Self {
        let mut sum = 0;
        let before = pieces.iter().map(|piece| {
            let before = sum;
            sum += weight(piece);
            before
        });
        Self { before: before.collect(), pieces }
    }

    /// Returns the times between pieces that do not abut.
    pub fn holes(&self) -> impl Iterator<Item = Stretch> {
        let pairs = self.pieces.windows(2).filter(|pair| pair[0].to != pair[1].from);
        pairs.map(|pair| Stretch { from: pair[0].to, to: pair[1].from })
    }

    /// Returns the utilization at a moment, in percent; `None` where it is not known: outside of all
    /// pieces, and in a mean over a time in which it changes, as the pieces before and after show.
    pub fn at_moment(&self, at: Micros) -> Option<f64> {
        let place = self.pieces.partition_point(|piece| piece.to < at);
        let Piece { value, basis, .. } = *self.pieces.get(place).filter(|it| it.from <= at)?;
        let is_close = |piece: &Piece| piece.value.abs_diff(value) <= value / 10;
        let around = || self.pieces.get(place.checked_sub(1)?..place + 2);
        let is_steady = || around().is_some_and(|around| around.iter().all(is_close));
        (basis == PieceBasis::Moment || is_steady()).then(|| f64::from(value) / 100.0)
    }

    /// Returns the integral over a time.
    pub fn over(&self, time: Stretch) -> Sum {
        let begin = self.pieces.partition_point(|piece| piece.to <= time.from);
        let end = self.pieces.partition_point(|piece| piece.from < time.to);
        let part = |piece: &Piece| {
            let length = piece.to.min(time.to) - piece.from.max(time.from);
            Sum { sum: i64::from(piece.value) * length, known: length }
        };
        match self.pieces.get(begin..end) {
            None | Some([]) => Sum::default(),
            Some([only]) => part(only),
            Some([first, .., last]) => {
                let (head, tail) = (part(first), part(last));
                let inner = self.before[end - 1] - self.before[begin] - weight(first);
                // Holes between pieces are rare; those between counted lengths are not known.
                let holes: Micros =
                    self.pieces[begin..end].windows(2).map(|pair| pair[1].from - pair[0].to).sum();
                let between = last.from - first.to - holes;
                Sum { sum: head.sum + inner + tail.sum, known: head.known + between + tail.known }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Micros = 1_000_000;

    /// Pieces of one second each, in percent.
    fn seconds(values: &[u32]) -> Vec<Piece> {
        let piece = |(at, value): (Micros, &u32)| Piece {
            from: at * SECOND,
            to: (at + 1) * SECOND,
            value: value * 100,
            basis: PieceBasis::Mean,
        };
        (0..).zip(values).map(piece).collect()
    }

    fn found(pieces: &[Piece], threshold: CentiPercent) -> Vec<(f64, f64)> {
        let seconds = |at: Micros| at as f64 / SECOND as f64;
        let found = work(pieces, threshold);
        found.iter().map(|stretch| (seconds(stretch.from), seconds(stretch.to))).collect()
    }

    #[test]
    fn a_lone_burst_needs_half_a_second_of_full_work() {
        assert_eq!(found(&seconds(&[0, 0, 0, 0, 0, 50, 0, 0]), 1000), [(5.0, 5.5)]);
        assert_eq!(found(&seconds(&[0, 0, 0, 0, 0, 49, 0, 0]), 1000), []);
    }

    #[test]
    fn short_pauses_within_work_are_work() {
        let paused = [0, 90, 90, 90, 0, 0, 0, 90, 90, 90, 0, 0, 0, 0, 0, 0];
        assert_eq!(found(&seconds(&paused), 1000), [(1.0, 10.0)]);
        let longer = [0, 90, 90, 90, 0, 0, 0, 0, 0, 0, 90, 90, 90, 0, 0, 0, 0, 0, 0];
        assert_eq!(found(&seconds(&longer), 1000), [(1.0, 4.0), (10.0, 13.0)]);
    }

    #[test]
    fn edges_count_in_proportion() {
        assert_eq!(found(&seconds(&[0, 40, 80, 80, 20, 0]), 1000), [(1.5, 4.25)]);
        assert_eq!(found(&seconds(&[0, 50, 100, 0]), 1000), [(1.5, 3.0)]);
        let mut pieces = seconds(&[0, 50, 100, 0]);
        pieces.iter_mut().for_each(|piece| piece.basis = PieceBasis::Moment);
        assert_eq!(found(&pieces, 1000), [(1.0, 3.0)]);
    }

    #[test]
    fn a_background_below_the_threshold_does_not_stretch_work() {
        assert_eq!(found(&seconds(&[3, 3, 3, 60, 60, 60, 3, 3, 3]), 1000), [(3.0, 6.0)]);
        assert_eq!(found(&seconds(&[9; 20]), 1000), []);
        assert_eq!(found(&seconds(&[10; 20]), 1000), [(0.0, 20.0)]);
    }

    #[test]
    fn no_window_spans_time_that_was_not_observed() {
        let mut pieces = seconds(&[90, 0, 0, 90]);
        pieces.remove(1);
        pieces.remove(1);
        assert_eq!(found(&pieces, 1000), [(0.0, 0.9), (3.0, 3.9)]);
    }

    #[test]
    fn sums_of_parts() {
        let pieces = seconds(&[10, 20, 30]);
        let sums = Sums::new(&pieces);
        // In quarters of a second.
        let over = |from: Micros, to: Micros| {
            let sum = sums.over(Stretch { from: from * SECOND / 4, to: to * SECOND / 4 });
            (sum.sum / 100 / SECOND, sum.known)
        };
        assert_eq!(over(0, 12), (60, 3 * SECOND));
        assert_eq!(over(2, 10), (40, 2 * SECOND));
        assert_eq!(over(8, 36), (30, SECOND));
        assert_eq!(over(20, 36), (0, 0));
        assert_eq!(over(5, 7), (10, SECOND / 2));
    }
}
