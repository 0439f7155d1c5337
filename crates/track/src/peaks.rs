//! The most that was used at any time, each figure on its own.

use probe::units::Bytes;

use crate::parts::Parts;
use crate::sample::Ram;

/// Maxima of the memory and of the number of threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peaks {
    pub ram: Parts<Ram>,
    pub threads: Parts<u32>,
    /// The memory as of the last look.
    last: Parts<Ram>,
}

/// The memory at one look.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    pub ram: Parts<Ram>,
    /// Whether the maps of all have been read once. Until then everything looks shared.
    pub are_maps_read: Parts<bool>,
}

impl Peaks {
    /// Takes in a look, and by how much the totals were higher since the look before.
    pub fn look(&mut self, seen: Seen, unseen: Parts<u64>, threads: Parts<u32>) {
        self.last = seen.ram;
        let now = seen.ram.zip(seen.are_maps_read).zip(unseen);
        self.ram = self.ram.zip(now).map(|(peak, ((now, are_maps_read), unseen))| Ram {
            total: peak.total.max(Bytes(now.total.0.saturating_add(unseen))),
            private: peak.private.max(now.private),
            shared: if are_maps_read { peak.shared.max(now.shared) } else { peak.shared },
        });
        self.threads = self.threads.zip(threads).map(|(most, now)| most.max(now));
    }

    /// Returns the most that the memory of all can have been, where that is much more than the peak: a
    /// mark of the main process from before the measurement hides spikes below it.
    #[must_use]
    pub fn at_most_below(&self, old_mark: Option<u64>) -> Option<Bytes> {
        let above = old_mark?.saturating_sub(self.ram.main.total.0);
        let most = self.ram.combined.total.0.saturating_add(above);
        is_much(above, self.ram.main.total.0).then_some(Bytes(most))
    }

    /// The kernel's account at the end tells of a size that no look has seen: the main process
    /// itself had it.
    pub fn main_had(&mut self, size: Bytes) {
        let above = size.saturating_sub(self.last.main.total);
        let combined = Bytes(self.last.combined.total.0.saturating_add(above.0));
        raise(&mut self.ram.main, size);
        raise(&mut self.ram.combined, combined);
    }

    /// The same of a descendant; it is not known what the others had then.
    pub fn descendant_had(&mut self, size: Bytes) {
        raise(&mut self.ram.descendants, size);
        raise(&mut self.ram.combined, size);
    }
}

/// Returns true if so much more than a total makes the total a lower bound.
const fn is_much(amount: u64, total: u64) -> bool {
    amount > total / 50 && amount > 4_000_000
}

fn raise(peak: &mut Ram, total: Bytes) {
    peak.total = peak.total.max(total);
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ram(total: u64, private: u64) -> Ram {
        Ram { total: Bytes(total), private: Bytes(private), shared: Bytes(total - private) }
    }

    const fn parts(main: u64, descendants: u64, combined: u64) -> Parts<Ram> {
        Parts {
            main: ram(main, main),
            descendants: ram(descendants, 0),
            combined: ram(combined, main),
        }
    }

    const NONE: Parts<u64> = Parts { main: 0, descendants: 0, combined: 0 };
    const ONE: Parts<u32> = Parts { main: 1, descendants: 0, combined: 1 };

    const fn read(ram: Parts<Ram>) -> Seen {
        Seen { ram, are_maps_read: Parts { main: true, descendants: true, combined: true } }
    }

    fn totals(peaks: &Peaks) -> [u64; 3] {
        let Parts { main, descendants, combined } = peaks.ram;
        [main, descendants, combined].map(|ram| ram.total.0)
    }

    #[test]
    fn maxima_need_not_fall_on_one_moment() {
        let mut peaks = Peaks::default();
        peaks.look(read(parts(100, 10, 105)), NONE, ONE);
        peaks.look(read(parts(20, 80, 90)), NONE, ONE);
        assert_eq!(totals(&peaks), [100, 80, 105]);
    }

    #[test]
    fn a_spike_between_two_looks_is_added_to_what_was_there() {
        let mut peaks = Peaks::default();
        peaks.look(
            read(parts(100, 10, 105)),
            Parts { main: 500, descendants: 0, combined: 500 },
            ONE,
        );
        assert_eq!(totals(&peaks), [600, 10, 605]);
        assert_eq!(peaks.ram.main.private, Bytes(100), "nobody has seen whose the pages were");
    }

    #[test]
    fn what_nobody_has_looked_at_yet_is_not_shared() {
        let mut peaks = Peaks::default();
        let unread = Parts { main: true, descendants: false, combined: false };
        peaks.look(Seen { are_maps_read: unread, ..read(parts(100, 80, 150)) }, NONE, ONE);
        peaks.look(read(parts(100, 10, 105)), NONE, ONE);
        assert_eq!(totals(&peaks), [100, 80, 150]);
        let Parts { main, descendants, combined } = peaks.ram;
        assert_eq!([main, descendants, combined].map(|ram| ram.shared.0), [0, 10, 5]);
    }

    #[test]
    fn the_last_account_raises_what_it_exceeds() {
        let mut peaks = Peaks::default();
        peaks.look(read(parts(100, 10, 105)), NONE, ONE);
        peaks.main_had(Bytes(300));
        assert_eq!(totals(&peaks), [300, 10, 305]);
        peaks.descendant_had(Bytes(400));
        assert_eq!(totals(&peaks), [300, 400, 400]);
        peaks.descendant_had(Bytes(7));
        assert_eq!(totals(&peaks), [300, 400, 400]);
    }
}
