//! One measure over time, with what is not known of it.

use probe::{Reading, Why};
use track::usage::Load;

use crate::report::tracked::Point;

/// What was measured over a stretch: the value and, where that is a mean, the most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Piece {
    pub from: f64,
    pub until: f64,
    pub value: f64,
    pub most: f64,
}

/// A stretch of which nothing is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Gap {
    pub from: f64,
    pub until: f64,
    pub why: Why,
}

/// How the value lies between two measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It was read at moments.
    Level,
    /// It is the mean over a stretch.
    Mean,
}

/// One measure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    pub kind: Kind,
    /// Pieces that follow each other without a gap.
    pub runs: Vec<Vec<Piece>>,
    pub gaps: Vec<Gap>,
}

impl Series {
    pub fn memory(points: &[Point], of: impl Fn(&Point) -> Reading<u64>) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a picture shows three figures")]
        Self::new(Kind::Level, points, |point| of(point).map(|bytes| (bytes as f64, bytes as f64)))
    }

    pub fn load(points: &[Point], of: impl Fn(&Point) -> Reading<Load>) -> Self {
        Self::new(Kind::Mean, points, |point| of(point).map(|load| (load.mean.0, load.max.0)))
    }

    fn new(kind: Kind, points: &[Point], of: impl Fn(&Point) -> Reading<(f64, f64)>) -> Self {
        let mut series = Self { kind, runs: Vec::new(), gaps: Vec::new() };
        let mut is_open = false;
        for point in points {
            let (from, until) = (point.from.as_secs_f64(), point.until.as_secs_f64());
            match of(point) {
                Reading::Known((value, most)) if value.is_finite() && most.is_finite() => {
                    let piece = Piece { from, until, value, most: most.max(value) };
                    match series.runs.last_mut() {
                        Some(run) if is_open => run.push(piece),
                        _ => series.runs.push(vec![piece]),
                    }
                    is_open = true;
                }
                Reading::Known(_) => is_open = false,
                Reading::Unknown(why) => {
                    is_open = false;
                    series.unknown(Gap { from, until, why });
                }
            }
        }
        series
    }

    fn unknown(&mut self, gap: Gap) {
        match self.gaps.last_mut() {
            Some(last) if last.why == gap.why && last.until >= gap.from => last.until = gap.until,
            _ => self.gaps.push(gap),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The piece with the most, the first of several.
    pub fn peak(&self) -> Option<Piece> {
        let pieces = self.runs.iter().flatten().copied();
        pieces.reduce(|best, piece| if piece.most > best.most { piece } else { best })
    }

    /// Whether there are means with something above them.
    pub fn has_band(&self) -> bool {
        self.runs.iter().flatten().any(|piece| piece.most > piece.value)
    }
}
