//! Holders of a card: its process lists, merged, with each holder's share of the work.

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::card_samples::{LONGEST_PERIOD, micros};
use super::options::Wants;
use super::process_samples::{ProcessSamples, Share, Taken, Window, no_share};
use super::raw::{self, Gpu, List, ListError, Listed, ProcessSampleBuffer, Version};
use super::utilization::CardTime;
use crate::card::ProcessSample;
use crate::clocks::Clocks;
use crate::process::{Holder, Holders, Kinds};
use crate::reading::{Reading, Why};
use crate::units::Bytes;

/// Reader of a card's holders.
#[derive(Debug)]
pub(super) struct HolderReader {
    compute: ListReader,
    graphics: ListReader,
    mps: ListReader,
    /// On a MIG instance "no samples" says nothing about who works.
    is_instance: bool,
    without_samples: bool,
    /// Time up to which process samples were taken.
    taken_until: Option<u64>,
    buffer: ProcessSampleBuffer,
    samples: ProcessSamples,
    last: Option<LastShares>,
}

/// Each pid's share of the work at the last look.
#[derive(Debug)]
struct LastShares {
    /// Time stamp of the card's newest sample then.
    card_sample: u64,
    shares: Vec<(u32, Share)>,
}

impl HolderReader {
    pub fn new(is_instance: bool, lists: Version) -> Self {
        Self {
            compute: ListReader::new(List::Compute, Need::Must, lists),
            graphics: ListReader::new(List::Graphics, Need::May, lists),
            mps: ListReader::new(List::Mps, Need::May, lists),
            is_instance,
            without_samples: false,
            taken_until: None,
            buffer: ProcessSampleBuffer::default(),
            samples: ProcessSamples::default(),
            last: None,
        }
    }

    /// Returns the holders, complete or with the reason why not, and the process samples since the
    /// last look.
    pub fn read(
        &mut self,
        nvml: &Nvml,
        gpu: Gpu,
        wants: Wants,
        now: &Clocks,
        card_time: Option<CardTime>,
    ) -> (Holders, Reading<Vec<ProcessSample>>) {
        let mut holders = self.list(nvml, gpu, wants.all_lists);
        if !wants.shares {
            holders.seen.iter_mut().for_each(|holder| set_share(holder, unknown(Why::NotAsked)));
            self.last = None;
            // The next mean must not include the time in which shares were not wanted.
            self.taken_until = card_time.map(|time| time.now).or(self.taken_until);
            return (holders, Reading::Unknown(Why::NotAsked));
        }
        if self.repeat_work(card_time, &mut holders.seen) {
            return (holders, Reading::Unknown(Why::NotAsked));
        }
        let samples = self.add_work(nvml, gpu, now, card_time, &mut holders.seen);
        self.remember(card_time, &holders.seen);
        (holders, samples)
    }

    fn remember(&mut self, card_time: Option<CardTime>, seen: &[Holder]) {
        let mut shares = self.last.take().map_or_else(Vec::new, |last| last.shares);
        shares.clear();
        shares.extend(seen.iter().map(|holder| (holder.pid, (holder.sm, holder.engines))));
        self.last = card_time.map(|time| LastShares { card_sample: time.newest_sample, shares });
    }

    /// Reads the process samples since the last look, for the next one: many drivers return only
    /// their newest period. Does nothing if the last look found no process or did not ask for
    /// shares. The next look reports an error.
    pub fn drain(&mut self, nvml: &Nvml, gpu: Gpu, now: &Clocks, card_time: Option<CardTime>) {
        let is_held = self.last.as_ref().is_some_and(|last| !last.shares.is_empty());
        if is_held && !self.without_samples && self.sample(nvml, gpu, now, card_time).is_ok() {
            self.samples.was_drained = true;
        }
    }

    /// Reads the process samples since the last look or the last call. They count in the shares of
    /// the next look, too.
    pub fn process_samples(
        &mut self,
        nvml: &Nvml,
        gpu: Gpu,
        now: &Clocks,
        card_time: Option<CardTime>,
    ) -> Reading<Vec<ProcessSample>> {
        if self.is_instance || self.without_samples {
            return Reading::Unknown(Why::NotSupported);
        }
        let answer = self.sample(nvml, gpu, now, card_time);
        self.samples.was_drained |= answer.is_ok();
        Reading::from(answer.map(|()| self.samples.take_returned()))
    }

    /// Forgets the times of the samples, after the clock was set.
    pub const fn forget_times(&mut self) {
        self.taken_until = None;
    }

    fn list(&mut self, nvml: &Nvml, gpu: Gpu, all: bool) -> Holders {
        merge([
            (Kinds::COMPUTE, self.compute.read(nvml, gpu, true)),
            (Kinds::GRAPHICS, self.graphics.read(nvml, gpu, all)),
            (Kinds::MPS, self.mps.read(nvml, gpu, all)),
        ])
    }

    /// Repeats the last shares if the card has no new sample since then: process samples may then
    /// be missing although processes work. Returns true if it did.
    fn repeat_work(&self, card_time: Option<CardTime>, seen: &mut [Holder]) -> bool {
        let (Some(last), Some(time)) = (&self.last, card_time) else { return false };
        let is_recent = time.now - time.newest_sample < micros(LONGEST_PERIOD);
        if time.newest_sample != last.card_sample || !is_recent || self.samples.was_drained {
            return false;
        }
        for holder in seen {
            let share = last.shares.iter().find(|(pid, _)| *pid == holder.pid);
            set_share(holder, share.map_or(unknown(Why::FirstLook), |(_, share)| *share));
        }
        true
    }

    fn add_work(
        &mut self,
        nvml: &Nvml,
        gpu: Gpu,
        now: &Clocks,
        card_time: Option<CardTime>,
        seen: &mut [Holder],
    ) -> Reading<Vec<ProcessSample>> {
        if seen.is_empty() {
            return Reading::Unknown(Why::NotAsked);
        }
        if self.without_samples {
            return Reading::Unknown(Why::NotSupported);
        }
        let answer = self.sample(nvml, gpu, now, card_time);
        let none = match &answer {
            Ok(()) if self.samples.had_only_garbage => unknown(Why::Garbled),
            Ok(()) => no_share(),
            Err(why) => unknown(*why),
        };
        for holder in seen {
            set_share(holder, self.samples.share(holder.pid, none));
        }
        let samples = self.samples.take();
        Reading::from(answer.map(|()| samples))
    }

    /// Adds what is new to what was samples since the last look.
    fn sample(
        &mut self,
        nvml: &Nvml,
        gpu: Gpu,
        now: &Clocks,
        card_time: Option<CardTime>,
    ) -> Result<(), Why> {
        let card_time = card_time.map(|time| time.now);
        let window = Window::new(self.taken_until, card_time, *now);
        let taken = match self.buffer.read(nvml, gpu, window.asked_since()) {
            Ok(samples) => self.samples.add_those_in(&window, samples),
            // For an instance this answer says nothing.
            Err(ListError::Driver(NvmlError::NotFound)) if self.is_instance => {
                return Err(Why::NotSupported);
            }
            // No process worked.
            Err(ListError::Driver(NvmlError::NotFound)) => Taken::default(),
            Err(error) => {
                let why = Why::from(error);
                self.without_samples = why == Why::NotSupported;
                return Err(why);
            }
        };
        self.taken_until = taken.newest.or(card_time).or(window.after).or(taken.newest_stale);
        Ok(())
    }
}

const fn unknown(why: Why) -> Share {
    (Reading::Unknown(why), Reading::Unknown(why))
}

const fn set_share(holder: &mut Holder, share: Share) {
    (holder.sm, holder.engines) = share;
}

/// Reader of one of a card's lists, in the version that the driver has.
#[derive(Debug)]
struct ListReader {
    list: List,
    need: Need,
    version: Version,
    is_lacking: bool,
    /// Number of entries that were needed last.
    room: usize,
    /// Last answer; `None` before the first.
    last: Option<Result<Vec<Listed>, Why>>,
}

/// Meaning of a list that a card does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// The processes are hidden.
    Must,
    /// There are none.
    May,
}

impl ListReader {
    const fn new(list: List, need: Need, version: Version) -> Self {
        Self { list, need, version, is_lacking: false, room: 0, last: None }
    }

    /// Returns the list: read now if `fresh`, else as it was last read.
    fn read(&mut self, nvml: &Nvml, gpu: Gpu, fresh: bool) -> Result<&[Listed], Why> {
        let last = match self.last.take() {
            Some(last) if self.is_lacking || !fresh => last,
            _ => match self.newest(nvml, gpu) {
                Err(Why::NotSupported) if self.need == Need::May => {
                    self.is_lacking = true;
                    Ok(Vec::new())
                }
                read => read,
            },
        };
        self.last.insert(last).as_deref().map_err(|why| *why)
    }

    /// Reads the newest version that the driver has and that has entries of the declared size.
    fn newest(&mut self, nvml: &Nvml, gpu: Gpu) -> Result<Vec<Listed>, Why> {
        loop {
            let error = match raw::processes(nvml, gpu, self.list, self.version, &mut self.room) {
                Ok(listed) => return Ok(listed),
                Err(error) => error,
            };
            let is_unusable = matches!(
                error,
                ListError::Driver(NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound)
                    | ListError::EntrySize
            );
            self.version = match self.version.older() {
                Some(older) if is_unusable => older,
                _ => return Err(error.into()),
            };
        }
    }
}

/// Merges lists to one holder for each pid: with the kinds of all lists that it is on, and the largest
/// memory.
fn merge(lists: [(Kinds, Result<&[Listed], Why>); 3]) -> Holders {
    let mut seen: Vec<Holder> = Vec::new();
    let mut unread = None;
    for (kinds, list) in lists {
        let (sm, engines) = unknown(Why::NotSupported);
        let holder = |&Listed { pid, memory }: &Listed| Holder { pid, kinds, memory, sm, engines };
        match list {
            Ok(listed) => seen.extend(listed.iter().map(holder)),
            Err(why) => unread = unread.or(Some(why)),
        }
    }
    // The sort is stable, so a pid on several lists keeps their order.
    seen.sort_by_key(|holder| holder.pid);
    seen.dedup_by(|again, holder| {
        let is_the_same = again.pid == holder.pid;
        if is_the_same {
            holder.kinds = holder.kinds.and(again.kinds);
            holder.memory = larger(holder.memory, again.memory);
        }
        is_the_same
    });
    Holders { seen, unread }
}

fn larger(a: Reading<Bytes>, b: Reading<Bytes>) -> Reading<Bytes> {
    match (a, b) {
        (Reading::Known(a), Reading::Known(b)) => Reading::Known(a.max(b)),
        (known @ Reading::Known(_), _) => known,
        (Reading::Unknown(_), other) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Engines;
    use crate::units::Percent;

    const fn listed(pid: u32, mib: Option<u64>) -> Listed {
        let memory = match mib {
            Some(mib) => Reading::Known(Bytes::from_mib(mib)),
            None => Reading::Unknown(Why::NotTold),
        };
        Listed { pid, memory }
    }

    /// Trap: one pid in the compute and in the graphics list.
    #[test]
    fn one_pid_on_two_lists_is_one_holder_with_the_larger_memory() {
        let holders = merge([
            (Kinds::COMPUTE, Ok(&[listed(9, Some(100)), listed(7, None)])),
            (Kinds::GRAPHICS, Ok(&[listed(9, Some(300)), listed(7, Some(5))])),
            (Kinds::MPS, Ok(&[])),
        ]);
        let seen: Vec<_> = holders.seen.iter().map(|h| (h.pid, h.memory)).collect();
        let known = |mib| Reading::Known(Bytes::from_mib(mib));
        assert_eq!(seen, [(7, known(5)), (9, known(300))]);
        assert_eq!(holders.seen[1].kinds.names().collect::<Vec<_>>(), ["compute", "graphics"]);
        assert_eq!(holders.unread, None);
    }

    #[test]
    fn shares_are_repeated_until_the_card_tells_of_another_sample() {
        let busy = Reading::Known(Percent(70.0));
        let encodes = Engines { encoder: Percent(5.0), ..Engines::default() };
        let share = (busy, Reading::Known(encodes));
        let reader = HolderReader {
            last: Some(LastShares { card_sample: 100, shares: vec![(1, share)] }),
            ..HolderReader::new(false, Version::V3)
        };
        let memory = Reading::Known(Bytes(1));
        let (sm, engines) = unknown(Why::NotAsked);
        let mut seen = [Holder { pid: 1, kinds: Kinds::COMPUTE, memory, sm, engines }];
        // A card's sample with an earlier time is another one, too.
        let at =
            |newest_sample, since| Some(CardTime { newest_sample, now: newest_sample + since });
        let second = 1_000_000;
        for (newest_sample, is_repeated) in [(100, true), (110, false), (90, false)] {
            assert_eq!(reader.repeat_work(at(newest_sample, second), &mut seen), is_repeated);
        }
        // A buffer that has run dry says nothing.
        assert!(!reader.repeat_work(at(100, 3 * second), &mut seen));
        assert_eq!((seen[0].sm, seen[0].engines), share);
        assert!(!reader.repeat_work(None, &mut seen));
        // What was drained since then is newer than what was said at the last look.
        let mut drained = reader;
        drained.samples.was_drained = true;
        assert!(!drained.repeat_work(at(100, 0), &mut seen));
    }

    #[test]
    fn one_denied_list_leaves_the_others_and_the_doubt() {
        let holders = merge([
            (Kinds::COMPUTE, Err(Why::NoPermission)),
            (Kinds::GRAPHICS, Ok(&[listed(3, Some(64))])),
            (Kinds::MPS, Ok(&[])),
        ]);
        assert_eq!(holders.seen.len(), 1);
        assert_eq!(holders.unread, Some(Why::NoPermission));
        assert_eq!(holders.memory(), Reading::Unknown(Why::NoPermission));
    }
}
