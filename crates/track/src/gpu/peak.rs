//! The most of something at any look, as far as it was known.

use probe::units::Bytes;
use probe::{Reading, Why};

/// The most at any look.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Peak {
    most: Bytes,
    /// Whether there was a look in which nothing was missing.
    is_known: bool,
    /// Why something was missing, the newest reason.
    missing: Option<Why>,
}

impl Peak {
    /// There was so much at least; and why there may have been more.
    pub fn see(&mut self, known: Bytes, missing: Option<Why>) {
        self.most = self.most.max(known);
        self.is_known |= missing.is_none();
        self.missing = missing.or(self.missing);
    }

    /// There was this much once, whatever the looks saw. Whether that is news.
    pub fn lift(&mut self, most: Bytes) -> bool {
        let is_news = most > self.most;
        self.most = self.most.max(most);
        is_news
    }

    /// Nothing is missing any more.
    pub const fn complete(&mut self) {
        self.is_known = true;
    }

    /// What it was, even where something was missing.
    pub const fn at_least(&self) -> Bytes {
        self.most
    }

    pub const fn tell(&self) -> Reading<Bytes> {
        match (self.is_known, self.missing) {
            (true, _) => Reading::Known(self.most),
            (false, Some(why)) => Reading::Unknown(why),
            (false, None) => Reading::Unknown(Why::NotAsked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_whole_look_makes_it_known_and_partial_ones_count_as_far_as_they_go() {
        let mut peak = Peak::default();
        assert_eq!(peak.tell(), Reading::Unknown(Why::NotAsked));
        peak.see(Bytes(5), Some(Why::Lost));
        assert_eq!(peak.tell(), Reading::Unknown(Why::Lost));
        peak.see(Bytes(3), None);
        assert_eq!(peak.tell(), Reading::Known(Bytes(5)), "there was so much at least");
        peak.see(Bytes(9), Some(Why::TimedOut));
        assert_eq!(peak.tell(), Reading::Known(Bytes(9)));
    }

    #[test]
    fn it_can_be_lifted_from_outside() {
        let mut peak = Peak::default();
        peak.see(Bytes(5), Some(Why::NoPermission));
        assert!(!peak.lift(Bytes(4)));
        assert!(peak.lift(Bytes(7)));
        assert_eq!((peak.at_least(), peak.tell().why()), (Bytes(7), Some(Why::NoPermission)));
        peak.complete();
        assert_eq!(peak.tell(), Reading::Known(Bytes(7)));
    }
}
