//! A frame as samples, family by family.

use gua_core::State;
use gua_core::units::UnixMillis;

use crate::counters::{Key, Total};
use crate::family::{self, Counter, Family};
use crate::frame::{CardGauges, Frame};
use crate::labels::owner_labels;

/// Names and values of labels.
pub type Labels<'a> = [(&'a str, &'a str)];

/// Takes samples.
pub trait Sink {
    /// Begins a family.
    fn family(&mut self, family: &'static Family);

    /// Takes a sample of the family. `born` is the number of the tick that made the series; 0 if it
    /// was there from the beginning.
    fn sample(&mut self, suffix: &str, labels: &Labels<'_>, born: u64, value: f64);
}

/// Gives all samples of a frame to a sink.
pub fn write_samples(frame: &Frame, sink: &mut impl Sink) {
    write_info(frame, sink);
    write_card_gauges(frame, sink);
    write_user_gauges(frame, sink);
    write_times(frame, sink);
    let mut last: Option<&'static Family> = None;
    for counter in Counter::ALL {
        let Some(family) = counter.family() else { continue };
        if last != Some(family) {
            sink.family(family);
            last = Some(family);
        }
        match counter {
            Counter::PollBucket => write_poll_buckets(frame, sink),
            Counter::PollSum => write_poll_sum(frame, sink),
            counter => write_counter(frame, *counter, sink),
        }
    }
}

fn write_counter(frame: &Frame, counter: Counter, sink: &mut impl Sink) {
    for (key, total) in frame.counters.all(counter) {
        let mut labels = Vec::new();
        if !key.card.is_empty() {
            labels.push(("UUID", &*key.card));
        }
        match counter {
            Counter::Errors => labels.push(("reason", &*key.label)),
            _ if !key.label.is_empty() => labels.extend(owner_labels(&key.label)),
            _ => {}
        }
        labels.extend(counter.label());
        sink.sample("", &labels, total.born, counter.unit().exported(total.exported));
    }
}

fn write_info(frame: &Frame, sink: &mut impl Sink) {
    sink.family(&family::BUILD_INFO);
    let labels = [("version", env!("CARGO_PKG_VERSION")), ("hostname", frame.host.name.as_str())];
    sink.sample("", &labels, 0, 1.0);
    sink.family(&family::GPU_INFO);
    let driver = frame.host.driver_version.as_deref().unwrap_or("unknown");
    let cards = frame.cards.iter().map(|card| (&card.uuid, &card.gpu, &card.model));
    let rests = frame.unpartitioned.iter().map(|card| (&card.uuid, &card.gpu, &card.model));
    for (uuid, gpu, model) in cards.chain(rests) {
        let labels = [
            ("UUID", &**uuid),
            ("gpu", gpu.as_str()),
            ("model_name", model.as_deref().unwrap_or("unknown")),
            ("driver_version", driver),
        ];
        sink.sample("", &labels, 0, 1.0);
    }
}

fn write_card_gauges(frame: &Frame, sink: &mut impl Sink) {
    sink.family(&family::GPU_STATE);
    for card in &frame.cards {
        for word in ["active", "idle_held", "truly_idle", "unknown"] {
            let is = if word == state_word(card.state) { 1.0 } else { 0.0 };
            sink.sample("", &[("UUID", &*card.uuid), ("state", word)], 0, is);
        }
    }
    let mut gauge = |family, value: fn(&CardGauges) -> Option<f64>| {
        sink.family(family);
        for card in &frame.cards {
            if let Some(value) = value(card) {
                sink.sample("", &[("UUID", &*card.uuid)], 0, value);
            }
        }
    };
    gauge(&family::GPU_UTILIZATION, |card| card.utilization_ratio);
    gauge(&family::GPU_MEMORY_USED, |card| card.memory_used_bytes.map(float));
    gauge(&family::GPU_MEMORY_TOTAL, |card| card.memory_total_bytes.map(float));
    gauge(&family::GPU_POWER, |card| card.power_watts);
    gauge(&family::GPU_TEMPERATURE, |card| card.temperature_celsius.map(f64::from));
    sink.family(&family::HOLDERS);
    for card in &frame.cards {
        for (kind, count) in ["compute", "graphics", "mps"].into_iter().zip(card.holders) {
            sink.sample("", &[("UUID", &*card.uuid), ("kind", kind)], 0, float(count));
        }
    }
}

fn write_user_gauges(frame: &Frame, sink: &mut impl Sink) {
    sink.family(&family::USER_MEMORY);
    for card in &frame.cards {
        for (user, bytes) in &card.user_memory_bytes {
            sink.sample("", &[("UUID", &*card.uuid), ("user", user)], 0, float(*bytes));
        }
    }
    sink.family(&family::USER_IDLE_SINCE);
    for (key, since) in frame.counters.all(Counter::IdleSince) {
        // Nobody holds a card that is not there any more.
        if frame.cards.iter().any(|card| card.uuid == key.card) {
            let labels = [("UUID", &*key.card), ("user", &*key.label)];
            sink.sample("", &labels, 0, seconds(UnixMillis(since.value)));
        }
    }
}

fn write_times(frame: &Frame, sink: &mut impl Sink) {
    sink.family(&family::LAST_TICK);
    sink.sample("", &[], 0, seconds(frame.at));
    let mut gauge = |family, value: Option<UnixMillis>| {
        sink.family(family);
        if let Some(value) = value {
            sink.sample("", &[], 0, seconds(value));
        }
    };
    gauge(&family::FINAL_UNTIL, frame.final_until);
    gauge(&family::INTERVAL, frame.host.interval_ms.map(UnixMillis));
    gauge(&family::COUNTING_SINCE, frame.counting_since);
}

fn write_poll_buckets(frame: &Frame, sink: &mut impl Sink) {
    let exported = |total: &Total| Counter::PollBucket.unit().exported(total.exported);
    for bound in crate::poll_times::BOUNDS {
        if let Some(total) = frame.counters.get(&Key::host(Counter::PollBucket, bound)) {
            sink.sample("_bucket", &[("le", bound)], total.born, exported(total));
        }
    }
}

fn write_poll_sum(frame: &Frame, sink: &mut impl Sink) {
    let [sum, count] = [Key::host(Counter::PollSum, ""), Key::host(Counter::PollBucket, "+Inf")];
    for (suffix, key) in [("_sum", sum), ("_count", count)] {
        if let Some(total) = frame.counters.get(&key) {
            let value = key.counter.unit().exported(total.exported);
            sink.sample(suffix, &[], total.born, value);
        }
    }
}

const fn state_word(state: State) -> &'static str {
    match state {
        State::Active => "active",
        State::IdleHeld => "idle_held",
        State::TrulyIdle => "truly_idle",
        State::Unknown(_) => "unknown",
    }
}

#[expect(clippy::cast_precision_loss, reason = "bytes of a host fit 53 bits")]
const fn float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit 53 bits")]
fn seconds(time: UnixMillis) -> f64 {
    time.0 as f64 / 1000.0
}
