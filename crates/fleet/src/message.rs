//! Remote write 1.0: a frame as a message.

use std::collections::BTreeSet;

use gua_core::units::UnixMillis;
use prost::Message;

use crate::family::{Family, Kind};
use crate::frame::Frame;
use crate::samples::{Labels, Sink, write_samples};

/// Value with which Prometheus marks the end of a series.
const STALE: u64 = 0x7ff0_0000_0000_0002;

/// Message of remote write. Several in a row are one message with the series of all.
#[derive(Clone, PartialEq, Message)]
pub struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    pub timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TimeSeries {
    /// In the order of their names.
    #[prost(message, repeated, tag = "1")]
    pub labels: Vec<Label>,
    /// In the order of time.
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Message)]
pub struct Label {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub struct Sample {
    #[prost(double, tag = "1")]
    pub value: f64,
    /// Milliseconds since 1970.
    #[prost(int64, tag = "2")]
    pub timestamp: i64,
}

/// Series of gauges in the last message, to mark those that end.
pub(crate) type Gauges = BTreeSet<Vec<Label>>;

/// What a message needs besides a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageContext<'a> {
    /// Time of all samples.
    pub at: UnixMillis,
    /// Labels on every series.
    pub labels: &'a [(String, String)],
    /// Number of the tick that was sent last. A counter that was made later begins with 0.
    pub sent: u64,
    /// Time of that 0.
    pub begin: Option<UnixMillis>,
    pub gauges: &'a Gauges,
}

/// Returns the message of a frame, and the gauges in it.
pub(crate) fn encode(frame: &Frame, context: MessageContext<'_>) -> (Vec<u8>, Gauges) {
    let mut sink = MessageSink { context, series: Vec::new(), family: None, gauges: Gauges::new() };
    write_samples(frame, &mut sink);
    let MessageSink { mut series, gauges, .. } = sink;
    let ended = context.gauges.difference(&gauges).map(|labels| TimeSeries {
        labels: labels.clone(),
        samples: vec![Sample { value: f64::from_bits(STALE), timestamp: context.at.0 }],
    });
    series.extend(ended);
    (WriteRequest { timeseries: series }.encode_to_vec(), gauges)
}

struct MessageSink<'a> {
    context: MessageContext<'a>,
    series: Vec<TimeSeries>,
    family: Option<&'static Family>,
    gauges: Gauges,
}

impl Sink for MessageSink<'_> {
    fn family(&mut self, family: &'static Family) {
        self.family = Some(family);
    }

    fn sample(&mut self, suffix: &str, labels: &Labels<'_>, born: u64, value: f64) {
        let Some(family) = self.family else { return };
        let MessageContext { at, labels: more, sent, begin, .. } = self.context;
        let label = |name: &str, value: &str| Label { name: name.into(), value: value.into() };
        let mut labels: Vec<Label> =
            labels.iter().map(|(name, value)| label(name, value)).collect();
        labels.extend(more.iter().map(|(name, value)| label(name, value)));
        labels.push(label("__name__", &format!("{}{suffix}", family.name)));
        labels.sort();
        let mut samples = Vec::with_capacity(1);
        if let Some(begin) = begin.filter(|begin| *begin < at)
            && family.kind != Kind::Gauge
            && born > sent
        {
            samples.push(Sample { value: 0.0, timestamp: begin.0 });
        }
        if family.kind == Kind::Gauge {
            self.gauges.insert(labels.clone());
        }
        samples.push(Sample { value, timestamp: at.0 });
        self.series.push(TimeSeries { labels, samples });
    }
}
