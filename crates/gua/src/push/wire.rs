//! Remote write 1.0: the message as it goes over the wire.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    pub timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TimeSeries {
    /// In the order of their names.
    #[prost(message, repeated, tag = "1")]
    pub labels: Vec<Label>,
    /// In the order of time.
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct Label {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Sample {
    #[prost(double, tag = "1")]
    pub value: f64,
    /// In milliseconds since 1970.
    #[prost(int64, tag = "2")]
    pub timestamp: i64,
}
