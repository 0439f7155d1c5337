//! A span that goes on: sums of the pieces that it has so far.

use std::sync::Arc;

use crate::card::CardFacts;
use crate::period::{Period, portion};
use crate::span::{HolderId, HolderTime, Integral, Span, Work};
use crate::state::State;
use crate::units::{Bytes, UnixMillis};

use super::activity::{Micros, Stretch, Sum};

/// A stretch of a card's time in which nothing changes.
#[derive(Debug)]
pub struct SpanPiece {
    pub time: Stretch,
    pub state: State,
    pub busy: Sum,
    pub memory: Option<Bytes>,
    /// Joules.
    pub energy: Option<f64>,
    pub holders: Vec<HolderPiece>,
}

/// A holder's part of a piece.
#[derive(Debug, Clone, Copy)]
pub struct HolderPiece {
    pub id: HolderId,
    pub work: Work,
    /// Part of the piece's time and energy, 0 to 1.
    pub share: f64,
    pub memory: Option<Bytes>,
}

/// Sums over the pieces of a span.
#[derive(Debug)]
pub struct OpenSpan {
    from: UnixMillis,
    time: Stretch,
    state: State,
    busy: KnownSum,
    memory: KnownSum,
    energy: KnownSum,
    holders: Vec<OpenHolder>,
}

#[derive(Debug)]
struct OpenHolder {
    id: HolderId,
    work: Work,
    /// Microseconds.
    share: f64,
    memory: KnownSum,
    peak: Option<Bytes>,
    energy: f64,
}

/// Sum over the time for which a quantity is known.
#[derive(Debug, Clone, Copy, Default)]
struct KnownSum {
    sum: f64,
    time: Micros,
}

impl KnownSum {
    fn add(&mut self, sum: f64, time: Micros) {
        self.sum += sum;
        self.time += time;
    }

    /// Adds memory held for a time, in MiB × seconds.
    fn add_memory(&mut self, memory: Option<Bytes>, time: Micros) {
        if let Some(memory) = memory {
            self.add(memory.0 as f64 / f64::from(1 << 20) * time as f64 / 1e6, time);
        }
    }

    /// Returns the sum with its time as a part of the span, which has whole milliseconds.
    fn integral(self, span: Stretch, millis: i64) -> Integral {
        let length = span.to - span.from;
        Integral { sum: self.sum, known_ms: portion(millis, self.time, length) }
    }
}

impl OpenSpan {
    /// Starts a span with a piece. `from` is the wall time of the piece's begin.
    pub fn new(piece: &SpanPiece, from: UnixMillis) -> Self {
        let holder = |holder: &HolderPiece| OpenHolder {
            id: holder.id,
            work: holder.work,
            share: 0.0,
            memory: KnownSum::default(),
            peak: None,
            energy: 0.0,
        };
        let mut span = Self {
            from,
            time: Stretch { from: piece.time.from, to: piece.time.from },
            state: piece.state,
            busy: KnownSum::default(),
            memory: KnownSum::default(),
            energy: KnownSum::default(),
            holders: piece.holders.iter().map(holder).collect(),
        };
        span.add(piece);
        span
    }

    /// Returns true if a piece continues this span.
    pub fn continues_with(&self, piece: &SpanPiece) -> bool {
        let is_same = |(holder, piece): (&OpenHolder, &HolderPiece)| {
            holder.id == piece.id && holder.work == piece.work
        };
        self.time.to == piece.time.from
            && self.state == piece.state
            && self.holders.len() == piece.holders.len()
            && self.holders.iter().zip(&piece.holders).all(is_same)
    }

    pub fn add(&mut self, piece: &SpanPiece) {
        let length = piece.time.to - piece.time.from;
        self.time.to = piece.time.to;
        self.busy.add(piece.busy.sum as f64 / 1e8, piece.busy.known);
        self.memory.add_memory(piece.memory, length);
        if let Some(energy) = piece.energy {
            self.energy.add(energy, length);
        }
        for (holder, piece_of_it) in self.holders.iter_mut().zip(&piece.holders) {
            holder.share += piece_of_it.share * length as f64;
            holder.memory.add_memory(piece_of_it.memory, length);
            holder.peak = holder.peak.max(piece_of_it.memory);
            holder.energy += piece.energy.unwrap_or(0.0) * piece_of_it.share;
        }
    }

    pub const fn end(&self) -> Micros {
        self.time.to
    }

    /// Returns the span as it is if it ends at this wall time; `None` if it is shorter than a
    /// millisecond.
    pub fn span(&self, card: &Arc<CardFacts>, to: UnixMillis) -> Option<Span> {
        let period = Period::new(self.from, to);
        let shares = self.shares(period.millis());
        let holder = |(holder, share_ms): (&OpenHolder, i64)| HolderTime {
            holder: holder.id,
            work: holder.work,
            share_ms,
            memory: holder.memory.integral(self.time, period.millis()),
            peak: holder.peak,
            energy: holder.energy,
        };
        (!period.is_empty()).then(|| Span {
            card: Arc::clone(card),
            period,
            state: self.state,
            holders: self.holders.iter().zip(shares).map(holder).collect(),
            busy: self.busy.integral(self.time, period.millis()),
            memory: self.memory.integral(self.time, period.millis()),
            energy: self.energy.integral(self.time, period.millis()),
        })
    }

    /// Returns the shares in whole milliseconds, which add up to the length of the span wherever it is
    /// shared at all: by largest remainder.
    #[expect(clippy::cast_possible_truncation, reason = "shares are parts of the span's length")]
    fn shares(&self, millis: i64) -> Vec<i64> {
        let total: f64 = self.holders.iter().map(|holder| holder.share).sum();
        if total <= 0.0 {
            return vec![0; self.holders.len()];
        }
        let exact = |holder: &OpenHolder| holder.share / total * millis as f64;
        let mut shares: Vec<i64> = self.holders.iter().map(|it| exact(it).floor() as i64).collect();
        let mut by_remainder: Vec<usize> = (0..shares.len()).collect();
        let remainder = |place: &usize| exact(&self.holders[*place]).fract();
        by_remainder.sort_by(|a, b| remainder(b).total_cmp(&remainder(a)));
        let missing = millis - shares.iter().sum::<i64>();
        let missing = usize::try_from(missing).unwrap_or(0);
        for place in by_remainder.into_iter().cycle().take(missing) {
            shares[place] += 1;
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::ProcessId;
    use crate::reading::Reason;

    /// A piece that three holders share by these parts.
    fn piece(from: Micros, to: Micros, parts: [f64; 3]) -> SpanPiece {
        let holder = |(pid, share): (u32, f64)| HolderPiece {
            id: HolderId::Process(ProcessId::unread(pid)),
            work: Work::Idle,
            share,
            memory: None,
        };
        SpanPiece {
            time: Stretch { from, to },
            state: State::IdleHeld,
            busy: Sum::default(),
            memory: None,
            energy: None,
            holders: (1..).zip(parts).map(holder).collect(),
        }
    }

    fn shares(pieces: &[SpanPiece]) -> Vec<i64> {
        let card = Arc::new(CardFacts::unread(0, Reason::NotAsked));
        let mut span = OpenSpan::new(&pieces[0], UnixMillis(0));
        pieces[1..].iter().for_each(|piece| span.add(piece));
        let to = UnixMillis(span.end() / 1000);
        span.span(&card, to).unwrap().holders.iter().map(|holder| holder.share_ms).collect()
    }

    /// Trap: shares without remainder, deterministic rounding.
    #[test]
    fn shares_add_up_without_remainder_and_round_the_same_way() {
        let thirds = [1.0 / 3.0; 3];
        assert_eq!(shares(&[piece(0, 1000, thirds)]), [1, 0, 0]);
        assert_eq!(shares(&[piece(0, 2000, thirds)]), [1, 1, 0]);
        assert_eq!(shares(&[piece(0, 1_000_000, thirds)]), [334, 333, 333]);
        // The largest remainder is rounded up first.
        assert_eq!(shares(&[piece(0, 10_000, [0.11, 0.27, 0.62])]), [1, 3, 6]);
        for cut in (0..1_000_000).step_by(997).skip(1) {
            let parts = [piece(0, cut, thirds), piece(cut, 1_000_000, [0.5, 0.2, 0.3])];
            let found = shares(&parts);
            assert_eq!(found.iter().sum::<i64>(), 1000, "{cut}: {found:?}");
            assert_eq!(found, shares(&parts), "{cut}");
        }
    }
}
