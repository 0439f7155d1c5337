//! The most that was used at any time, each figure on its own.

use probe::units::Bytes;

use crate::parts::Parts;
use crate::ram::is_much;
use crate::sample::Ram;
use crate::tree::Spikes;

/// Maxima of the memory and of the number of threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peaks {
    pub ram: Parts<Ram>,
    pub threads: Parts<u32>,
    /// The memory as of the last look.
    last: Parts<Ram>,
    /// The most that the totals can have been, where nothing can tell any more.
    at_most: Parts<u64>,
    /// The same since the maps were read; the next reading may tell.
    open: Parts<u64>,
    /// The same at the last look alone.
    last_open: Parts<u64>,
}

/// The memory at one look.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    pub ram: Parts<Ram>,
    /// How much more than the totals it may have been.
    pub doubt: Parts<u64>,
    /// Memory that descendants which are gone may have had in addition, after the look before.
    pub late: u64,
    /// How far the totals stood above this since the look before.
    pub unseen: Parts<Spikes>,
    /// Whether the maps of all have been read once. Until then everything looks shared.
    pub are_maps_read: Parts<bool>,
}

impl Peaks {
    /// Takes in a look.
    pub fn look(&mut self, seen: Seen, threads: Parts<u32>) {
        self.last = seen.ram;
        let now = seen.ram.zip(seen.are_maps_read).zip(seen.unseen);
        self.ram = self.ram.zip(now).map(|(peak, ((now, are_maps_read), unseen))| Ram {
            total: peak.total.max(Bytes(now.total.0.saturating_add(unseen.highest))),
            private: peak.private.max(now.private),
            shared: if are_maps_read { peak.shared.max(now.shared) } else { peak.shared },
        });
        self.threads = self.threads.zip(threads).map(|(most, now)| most.max(now));
        self.at_most = self
            .at_most
            .zip(now)
            .map(|(most, ((now, _), unseen))| most.max(now.total.0.saturating_add(unseen.sum)));
        let late = Parts { main: 0, descendants: seen.late, combined: seen.late };
        let before = self.last_open.zip(late).map(|(before, late)| before.saturating_add(late));
        self.last_open =
            seen.ram.zip(seen.doubt).map(|(now, doubt)| now.total.0.saturating_add(doubt));
        let open = self.open.zip(before.zip(self.last_open));
        self.open = open.map(|(open, (before, now))| open.max(before).max(now));
    }

    /// The maps were read, and the look that saw them was taken in. They have told what was in
    /// doubt, but for `lost`, which was gone before.
    pub fn settle(&mut self, lost: u64) {
        let known = self.at_most.zip(self.open).zip(self.ram);
        self.at_most =
            known.map(|((most, open), peak)| most.max(open.min(peak.total.0.saturating_add(lost))));
        self.open = Parts::default();
    }

    /// The most that the memory of all can have been, where that is much more than the peak: then
    /// the peak is a lower bound.
    #[must_use]
    pub fn at_most(&self) -> Option<Bytes> {
        let most = self.at_most.zip(self.open).map(|(most, open)| most.max(open)).zip(self.ram);
        let is_bound =
            most.map(|(most, peak)| is_much(most.saturating_sub(peak.total.0), peak.total.0));
        let is_bound = is_bound.main || is_bound.descendants || is_bound.combined;
        is_bound.then(|| Bytes(most.combined.0.max(self.ram.combined.total.0)))
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
        let with_others = size.0.saturating_add(self.ram.descendants.total.0);
        self.at_most.combined = self.at_most.combined.max(with_others);
        raise(&mut self.ram.main, size);
        raise(&mut self.ram.combined, combined);
    }

    /// The same of a descendant; it is not known what the others had then. It may be the one that
    /// was `seen` as the largest, and a little smaller; otherwise nobody has seen it.
    pub fn descendant_had(&mut self, size: Bytes, seen: Bytes) {
        let is_new = size.0 / 5 * 4 > seen.0;
        let more = if is_new { size.0 } else { size.0.saturating_sub(seen.0) };
        let peak = self.ram.map(|peak| peak.total.0.saturating_add(more));
        self.at_most.descendants = self.at_most.descendants.max(peak.descendants);
        self.at_most.combined = self.at_most.combined.max(peak.combined);
        raise(&mut self.ram.descendants, size);
        raise(&mut self.ram.combined, size);
    }
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
    const NO_SPIKES: Parts<Spikes> = {
        let none = Spikes { highest: 0, sum: 0 };
        Parts { main: none, descendants: none, combined: none }
    };
    const ONE: Parts<u32> = Parts { main: 1, descendants: 0, combined: 1 };

    const fn read(ram: Parts<Ram>) -> Seen {
        let are_maps_read = Parts { main: true, descendants: true, combined: true };
        Seen { ram, doubt: NONE, late: 0, unseen: NO_SPIKES, are_maps_read }
    }

    fn totals(peaks: &Peaks) -> [u64; 3] {
        let Parts { main, descendants, combined } = peaks.ram;
        [main, descendants, combined].map(|ram| ram.total.0)
    }

    #[test]
    fn maxima_need_not_fall_on_one_moment() {
        let mut peaks = Peaks::default();
        peaks.look(read(parts(100, 10, 105)), ONE);
        peaks.look(read(parts(20, 80, 90)), ONE);
        assert_eq!(totals(&peaks), [100, 80, 105]);
    }

    #[test]
    fn a_spike_between_two_looks_is_added_to_what_was_there() {
        let mut peaks = Peaks::default();
        let spike = Spikes { highest: 500, sum: 500 };
        let unseen = Parts { main: spike, combined: spike, ..NO_SPIKES };
        peaks.look(Seen { unseen, ..read(parts(100, 10, 105)) }, ONE);
        assert_eq!(totals(&peaks), [600, 10, 605]);
        assert_eq!(peaks.ram.main.private, Bytes(100), "nobody has seen whose the pages were");
    }

    #[test]
    fn what_nobody_has_looked_at_yet_is_not_shared() {
        let mut peaks = Peaks::default();
        let unread = Parts { main: true, descendants: false, combined: false };
        peaks.look(Seen { are_maps_read: unread, ..read(parts(100, 80, 150)) }, ONE);
        peaks.look(read(parts(100, 10, 105)), ONE);
        assert_eq!(totals(&peaks), [100, 80, 150]);
        let Parts { main, descendants, combined } = peaks.ram;
        assert_eq!([main, descendants, combined].map(|ram| ram.shared.0), [0, 10, 5]);
    }

    #[test]
    fn the_last_account_raises_what_it_exceeds() {
        let mut peaks = Peaks::default();
        peaks.look(read(parts(100, 10, 105)), ONE);
        peaks.main_had(Bytes(300));
        assert_eq!(totals(&peaks), [300, 10, 305]);
        peaks.descendant_had(Bytes(400), Bytes(100));
        assert_eq!(totals(&peaks), [300, 400, 400]);
        peaks.descendant_had(Bytes(7), Bytes(100));
        assert_eq!(totals(&peaks), [300, 400, 400]);
    }

    const MB: u64 = 1_000_000;

    fn seen(main: u64, combined: u64, doubt: u64) -> Seen {
        let doubt = Parts { combined: doubt * MB, ..NONE };
        Seen { doubt, ..read(parts(main * MB, main * MB, combined * MB)) }
    }

    fn at_most(peaks: &Peaks) -> Option<u64> {
        peaks.at_most().map(|bytes| bytes.0 / MB)
    }

    #[test]
    fn doubt_that_the_maps_have_settled_is_none() {
        let mut peaks = Peaks::default();
        peaks.look(seen(500, 500, 120), ONE);
        assert_eq!(at_most(&peaks), Some(620), "nothing has settled it yet");
        peaks.look(seen(500, 600, 0), ONE);
        peaks.settle(0);
        peaks.look(seen(500, 600, 3), ONE);
        assert_eq!(at_most(&peaks), None);
    }

    #[test]
    fn doubt_about_a_process_that_is_gone_remains() {
        let mut peaks = Peaks::default();
        peaks.look(seen(500, 500, 120), ONE);
        peaks.look(seen(500, 530, 0), ONE);
        peaks.settle(70 * MB);
        assert_eq!(at_most(&peaks), Some(600), "the maps showed 30 MB, 70 MB were gone");
        peaks.look(seen(500, 595, 0), ONE);
        assert_eq!(at_most(&peaks), None, "a later peak is as high");
    }

    #[test]
    fn copies_after_the_last_look_at_a_process_are_in_doubt() {
        let mut peaks = Peaks::default();
        peaks.look(seen(500, 500, 60), ONE);
        peaks.look(Seen { late: 40 * MB, ..seen(500, 500, 0) }, ONE);
        assert_eq!(at_most(&peaks), Some(600));
        peaks.look(seen(500, 500, 0), ONE);
        peaks.settle(100 * MB);
        assert_eq!(at_most(&peaks), Some(600));
    }

    #[test]
    fn two_spikes_may_have_been_at_one_time() {
        let mut peaks = Peaks::default();
        let spikes = Spikes { highest: 300 * MB, sum: 500 * MB };
        let unseen = Parts { descendants: spikes, combined: spikes, ..NO_SPIKES };
        peaks.look(Seen { unseen, ..seen(100, 100, 0) }, ONE);
        assert_eq!(at_most(&peaks), Some(600));
    }

    #[test]
    fn a_process_that_nobody_saw_may_have_come_on_top() {
        let mut peaks = Peaks::default();
        peaks.look(seen(500, 500, 0), ONE);
        peaks.descendant_had(Bytes(503 * MB), Bytes(500 * MB));
        assert_eq!(at_most(&peaks), None, "it was seen, a little smaller");
        peaks.descendant_had(Bytes(900 * MB), Bytes(503 * MB));
        assert_eq!(at_most(&peaks), Some(1403));
    }
}
