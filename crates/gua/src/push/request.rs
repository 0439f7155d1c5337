//! Ticks made into one request.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message;

use super::wire::{Label, Sample, TimeSeries, WriteRequest};
use crate::ledger::Period;
use crate::metrics::{Family, Frame, Kind, Labels, Sink, tell};

/// A value that says that a series has ended, as Prometheus marks it.
const STALE: u64 = 0x7ff0_0000_0000_0002;

type Key = Vec<(String, String)>;

/// What is to be sent.
#[derive(Debug, Default)]
pub struct Request {
    /// By labels, in the order of their names.
    series: BTreeMap<Key, Vec<(i64, f64)>>,
    samples: usize,
}

/// The gauges that the last tick told, so as to say which have ended.
#[derive(Debug, Clone, Default)]
pub struct Told(BTreeSet<Key>);

impl Request {
    #[must_use]
    pub const fn samples(&self) -> usize {
        self.samples
    }

    /// Adds a tick that covers this time. A new series begins with 0 where the time begins.
    pub fn add(
        &mut self,
        frame: &Frame,
        covers: Period,
        more: &[(String, String)],
        told: &mut Told,
    ) {
        let mut taking = Taking {
            request: self,
            more,
            covers,
            number: frame.counters.ticks,
            family: None,
            told: BTreeSet::new(),
        };
        tell(frame, &mut taking);
        let now = std::mem::take(&mut taking.told);
        for ended in told.0.difference(&now) {
            self.put(ended.clone(), covers.to.0, f64::from_bits(STALE));
        }
        told.0 = now;
    }

    fn put(&mut self, key: Key, at: i64, value: f64) {
        self.series.entry(key).or_default().push((at, value));
        self.samples += 1;
    }

    /// As it goes over the wire.
    ///
    /// # Errors
    /// When it is too large to be compressed.
    pub fn body(self) -> Result<Vec<u8>, snap::Error> {
        let timeseries = self.series.into_iter().map(|(key, samples)| TimeSeries {
            labels: key.into_iter().map(|(name, value)| Label { name, value }).collect(),
            samples: samples
                .into_iter()
                .map(|(timestamp, value)| Sample { value, timestamp })
                .collect(),
        });
        let message = WriteRequest { timeseries: timeseries.collect() }.encode_to_vec();
        snap::raw::Encoder::new().compress_vec(&message)
    }
}

/// Takes the samples of one tick.
struct Taking<'a> {
    request: &'a mut Request,
    more: &'a [(String, String)],
    covers: Period,
    number: u64,
    family: Option<&'static Family>,
    told: BTreeSet<Key>,
}

impl Sink for Taking<'_> {
    fn family(&mut self, family: &'static Family) {
        self.family = Some(family);
    }

    fn sample(&mut self, suffix: &str, labels: &Labels<'_>, born: u64, value: f64) {
        let Some(family) = self.family else { return };
        // How long looks took is not kept in the history.
        if family.kind == Kind::Histogram {
            return;
        }
        let mut key: Key = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .chain(self.more.iter().cloned())
            .collect();
        key.push(("__name__".to_owned(), format!("{}{suffix}", family.name)));
        key.sort();
        let Period { from, to } = self.covers;
        if family.kind == Kind::Counter && born == self.number && from < to {
            self.request.put(key.clone(), from.0, 0.0);
        }
        if family.kind == Kind::Gauge {
            self.told.insert(key.clone());
        }
        self.request.put(key, to.0, value);
    }
}
