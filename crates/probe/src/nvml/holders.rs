//! Who holds a card: its process lists in one, with each holder's share of the work.

use std::collections::BTreeMap;

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::raw::{self, Gpu, List, Listed, ProcessSample, Version};
use super::utilization::FIRST_LOOK;
use crate::process::{Holder, Holders, Kinds};
use crate::reading::{Reading, Why};
use crate::units::{Bytes, Percent};

/// How far a process sample may lie ahead of the card's own newest one. Beyond it the
/// timestamp is garbage, and remembering it would hide every sample to come.
const AHEAD_MICROS: u64 = 10_000_000;

/// What a card remembers about its holders.
#[derive(Debug)]
pub(super) struct HolderReader {
    version: Version,
    /// On a MIG instance "no samples" says nothing about who works.
    is_instance: bool,
    without_graphics: bool,
    without_mps: bool,
    without_samples: bool,
    newest_sample: Option<u64>,
    last: Option<LastShares>,
}

/// What each pid's share of the work was at the last look.
#[derive(Debug)]
struct LastShares {
    /// The card's newest sample at that time.
    card_sample: u64,
    shares: Vec<(u32, Reading<Percent>)>,
}

impl HolderReader {
    pub const fn new(is_instance: bool) -> Self {
        Self {
            version: Version::V3,
            is_instance,
            without_graphics: false,
            without_mps: false,
            without_samples: false,
            newest_sample: None,
            last: None,
        }
    }

    /// The holders, complete or with the reason why not. `card_sample` is the time of the
    /// card's own newest sample.
    pub fn read(&mut self, nvml: &Nvml, gpu: Gpu, card_sample: Option<u64>) -> Holders {
        let compute = self.list(nvml, gpu, List::Compute);
        let graphics =
            optional(&mut self.without_graphics, self.version, nvml, gpu, List::Graphics);
        let mps = optional(&mut self.without_mps, self.version, nvml, gpu, List::Mps);
        let mut holders =
            merge([(Kinds::COMPUTE, compute), (Kinds::GRAPHICS, graphics), (Kinds::MPS, mps)]);
        if !self.repeat_work(card_sample, &mut holders.seen) {
            self.add_work(nvml, gpu, card_sample, &mut holders.seen);
            let shares = holders.seen.iter().map(|holder| (holder.pid, holder.sm)).collect();
            self.last = card_sample.map(|card_sample| LastShares { card_sample, shares });
        }
        holders
    }

    /// Where the driver has sampled nothing since the last look, what it said then still
    /// stands: no new samples are not yet no work.
    fn repeat_work(&self, card_sample: Option<u64>, seen: &mut [Holder]) -> bool {
        let Some(last) = &self.last else { return false };
        if card_sample != Some(last.card_sample) {
            return false;
        }
        for holder in seen {
            let share = last.shares.iter().find(|(pid, _)| *pid == holder.pid);
            holder.sm = share.map_or(Reading::Unknown(Why::FirstLook), |(_, share)| *share);
        }
        true
    }

    /// The compute list, stepping down to older versions where the driver lacks the newer.
    fn list(&mut self, nvml: &Nvml, gpu: Gpu, list: List) -> Result<Vec<Listed>, Why> {
        loop {
            let error = match raw::processes(nvml, gpu, list, self.version) {
                Ok(listed) => return Ok(listed),
                Err(error) => error,
            };
            let lacking =
                matches!(error, NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound);
            self.version = match self.version {
                Version::V3 if lacking => Version::V2,
                Version::V2 if lacking => Version::V1,
                _ => return Err(error.into()),
            };
        }
    }

    fn add_work(&mut self, nvml: &Nvml, gpu: Gpu, card_sample: Option<u64>, seen: &mut [Holder]) {
        if seen.is_empty() || self.without_samples {
            return;
        }
        let first_look = u64::try_from(FIRST_LOOK.as_micros()).unwrap_or(u64::MAX);
        let since = self
            .newest_sample
            .or_else(|| card_sample.map(|newest| newest.saturating_sub(first_look)))
            .unwrap_or(0);
        let samples = match raw::process_samples(nvml, gpu, since) {
            Ok(samples) => samples,
            Err(NvmlError::NotFound) if !self.is_instance => Vec::new(),
            Err(NvmlError::NotFound) => return,
            Err(error) => {
                let why = Why::from(error);
                self.without_samples = why == Why::NotSupported;
                seen.iter_mut().for_each(|holder| holder.sm = Reading::Unknown(why));
                return;
            }
        };
        let until = card_sample.map(|newest| newest.saturating_add(AHEAD_MICROS));
        let valid = |sample: &&ProcessSample| {
            sample.sm <= 100
                && sample.micros > since
                && until.is_none_or(|until| sample.micros <= until)
        };
        for holder in seen {
            let own = || samples.iter().filter(valid).filter(|sample| sample.pid == holder.pid);
            holder.sm = Reading::Known(Percent(mean(own().map(|sample| sample.sm))));
        }
        let newest = samples.iter().filter(valid).map(|sample| sample.micros).max();
        self.newest_sample = newest.or(card_sample).or(self.newest_sample);
    }
}

/// A list that not every card has: where it is not supported it is empty, and not asked again.
fn optional(
    without: &mut bool,
    version: Version,
    nvml: &Nvml,
    gpu: Gpu,
    list: List,
) -> Result<Vec<Listed>, Why> {
    if *without {
        return Ok(Vec::new());
    }
    match raw::processes(nvml, gpu, list, version).map_err(Why::from) {
        Err(Why::NotSupported) => {
            *without = true;
            Ok(Vec::new())
        }
        result => result,
    }
}

/// One holder a pid: the kinds of all lists it is on, and the largest memory of them.
fn merge(lists: [(Kinds, Result<Vec<Listed>, Why>); 3]) -> Holders {
    let mut holders: BTreeMap<u32, Holder> = BTreeMap::new();
    let mut unread = None;
    for (kind, list) in lists {
        let listed = list.unwrap_or_else(|why| {
            unread = unread.or(Some(why));
            Vec::new()
        });
        for Listed { pid, memory } in listed {
            let blank =
                Holder { pid, kinds: kind, memory, sm: Reading::Unknown(Why::NotSupported) };
            let holder = holders.entry(pid).or_insert(blank);
            holder.kinds = holder.kinds.and(kind);
            holder.memory = larger(holder.memory, memory);
        }
    }
    Holders { seen: holders.into_values().collect(), unread }
}

fn larger(a: Reading<Bytes>, b: Reading<Bytes>) -> Reading<Bytes> {
    match (a, b) {
        (Reading::Known(a), Reading::Known(b)) => Reading::Known(a.max(b)),
        (known @ Reading::Known(_), _) => known,
        (Reading::Unknown(_), other) => other,
    }
}

/// The driver gives no samples of a process that did nothing, so none means zero.
fn mean(values: impl Iterator<Item = u32>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, n), value| (sum + f64::from(value), n + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (Kinds::COMPUTE, Ok(vec![listed(9, Some(100)), listed(7, None)])),
            (Kinds::GRAPHICS, Ok(vec![listed(9, Some(300)), listed(7, Some(5))])),
            (Kinds::MPS, Ok(vec![])),
        ]);
        let seen: Vec<_> = holders.seen.iter().map(|h| (h.pid, h.memory)).collect();
        let known = |mib| Reading::Known(Bytes::from_mib(mib));
        assert_eq!(seen, [(7, known(5)), (9, known(300))]);
        assert_eq!(holders.seen[1].kinds.names().collect::<Vec<_>>(), ["compute", "graphics"]);
        assert_eq!(holders.unread, None);
    }

    #[test]
    fn one_denied_list_leaves_the_others_and_the_doubt() {
        let holders = merge([
            (Kinds::COMPUTE, Err(Why::NoPermission)),
            (Kinds::GRAPHICS, Ok(vec![listed(3, Some(64))])),
            (Kinds::MPS, Ok(vec![])),
        ]);
        assert_eq!(holders.seen.len(), 1);
        assert_eq!(holders.unread, Some(Why::NoPermission));
        assert_eq!(holders.memory(), Reading::Unknown(Why::NoPermission));
    }
}
