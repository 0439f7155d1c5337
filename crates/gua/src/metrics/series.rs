//! A frame as samples, family by family, for whoever writes them.

use super::card::{CardCounters, OwnerCounters, STATES, place};
use super::family::{self, Family};
use super::frame::{CardNow, Frame};

/// Names and values of labels.
pub type Labels<'a> = [(&'a str, &'a str)];

/// Takes samples.
pub trait Sink {
    /// What follows is of this family.
    fn family(&mut self, family: &'static Family);

    /// One sample of it. `born` is the number of the tick that first made the series; 0 for
    /// those that were always there.
    fn sample(&mut self, suffix: &str, labels: &Labels<'_>, born: u64, value: f64);
}

/// Tells everything that there is to show.
pub fn tell(frame: &Frame, sink: &mut impl Sink) {
    about_the_host(frame, sink);
    about_cards_now(frame, sink);
    about_cards(frame, sink);
    about_people_now(frame, sink);
    about_people(frame, sink);
    about_time(frame, sink);
}

fn about_the_host(frame: &Frame, sink: &mut impl Sink) {
    sink.family(&family::BUILD_INFO);
    let labels = [("version", env!("CARGO_PKG_VERSION")), ("hostname", frame.host.name.as_str())];
    sink.sample("", &labels, 0, 1.0);
}

fn about_cards_now(frame: &Frame, sink: &mut impl Sink) {
    sink.family(&family::GPU_INFO);
    let driver = frame.host.driver_version.as_deref().unwrap_or("unknown");
    for card in &frame.cards {
        let model = card.model.as_deref().unwrap_or("unknown");
        let labels = [
            ("UUID", card.uuid.as_str()),
            ("gpu", &card.gpu),
            ("model_name", model),
            ("driver_version", driver),
        ];
        sink.sample("", &labels, 0, 1.0);
    }
    sink.family(&family::GPU_STATE);
    for card in &frame.cards {
        for (state, word) in STATES.into_iter().enumerate() {
            let is = if state == place(card.state) { 1.0 } else { 0.0 };
            sink.sample("", &[("UUID", &card.uuid), ("state", word)], 0, is);
        }
    }
    gauge(frame, sink, &family::GPU_UTILIZATION, |card| card.utilization_ratio);
    gauge(frame, sink, &family::GPU_MEMORY_USED, |card| card.used_bytes.map(float));
    gauge(frame, sink, &family::GPU_MEMORY_TOTAL, |card| card.total_bytes.map(float));
    gauge(frame, sink, &family::GPU_POWER, |card| card.power_watts);
    gauge(frame, sink, &family::GPU_TEMPERATURE, |card| card.temperature_celsius.map(f64::from));
    sink.family(&family::HOLDERS);
    for card in &frame.cards {
        for (kind, count) in card.holders {
            sink.sample("", &[("UUID", &card.uuid), ("kind", kind)], 0, float(count));
        }
    }
}

fn gauge(
    frame: &Frame,
    sink: &mut impl Sink,
    family: &'static Family,
    value: impl Fn(&CardNow) -> Option<f64>,
) {
    sink.family(family);
    for card in &frame.cards {
        if let Some(value) = value(card) {
            sink.sample("", &[("UUID", &card.uuid)], 0, value);
        }
    }
}

fn about_cards(frame: &Frame, sink: &mut impl Sink) {
    let cards = &frame.counters.cards;
    sink.family(&family::GPU_STATE_SECONDS);
    for (uuid, card) in cards {
        by_state(sink, &[("UUID", uuid)], card.born, STATES.into_iter().zip(card.states));
    }
    let mut counter = |family, micros: fn(&CardCounters) -> u64| {
        sink.family(family);
        for (uuid, card) in cards {
            sink.sample("", &[("UUID", uuid)], card.born, millionth(micros(card)));
        }
    };
    counter(&family::GPU_BUSY_SECONDS, |card| card.busy);
    counter(&family::GPU_ENERGY, |card| card.energy_microjoules);
}

fn by_state(
    sink: &mut impl Sink,
    labels: &Labels<'_>,
    born: u64,
    states: impl IntoIterator<Item = (&'static str, u64)>,
) {
    for (word, micros) in states {
        let mut labels = labels.to_vec();
        labels.push(("state", word));
        sink.sample("", &labels, born, millionth(micros));
    }
}

fn about_people_now(frame: &Frame, sink: &mut impl Sink) {
    sink.family(&family::USER_MEMORY);
    for card in &frame.cards {
        for (user, bytes) in &card.memory {
            sink.sample("", &[("UUID", &card.uuid), ("user", user)], 0, float(*bytes));
        }
    }
    sink.family(&family::USER_IDLE_SINCE);
    // Nobody holds a card that is not there any more.
    for CardNow { uuid, .. } in &frame.cards {
        for person in frame.counters.cards.get(uuid).into_iter().flat_map(|card| &card.people) {
            if let Some(since) = person.idle_since() {
                let labels = [("UUID", uuid.as_str()), ("user", &person.user)];
                sink.sample("", &labels, 0, seconds(since.0));
            }
        }
    }
}

fn about_people(frame: &Frame, sink: &mut impl Sink) {
    let cards = &frame.counters.cards;
    shares(frame, sink, &family::USER_SECONDS, |card| &card.owners);
    shares(frame, sink, &family::WORKLOAD_SECONDS, |card| &card.workloads);
    sink.family(&family::USER_PRESENT_SECONDS);
    for (uuid, card) in cards {
        for person in &card.people {
            let labels = [("UUID", uuid.as_str()), ("user", &person.user)];
            by_state(sink, &labels, person.born, STATES.into_iter().zip(person.states));
        }
    }
}

fn shares(
    frame: &Frame,
    sink: &mut impl Sink,
    family: &'static Family,
    owners: fn(&CardCounters) -> &[OwnerCounters],
) {
    sink.family(family);
    for (uuid, card) in &frame.counters.cards {
        for owner in owners(card) {
            let mut labels = vec![("UUID", uuid.as_str()), ("user", &owner.owner.user)];
            labels.extend(owner.owner.more.iter().map(|(name, it)| (name.as_str(), it.as_str())));
            // Nobody has a share of a card that is free.
            let states = STATES.into_iter().zip(owner.states);
            let states = states.filter(|(word, _)| *word != "truly_idle");
            by_state(sink, &labels, owner.born, states);
        }
    }
}

fn about_time(frame: &Frame, sink: &mut impl Sink) {
    let counters = &frame.counters;
    sink.family(&family::LAST_TICK);
    sink.sample("", &[], 0, seconds(frame.at.0));
    sink.family(&family::INTERVAL);
    if let Some(interval) = frame.host.interval_millis {
        sink.sample("", &[], 0, seconds(interval));
    }
    sink.family(&family::COUNTING_SINCE);
    sink.sample("", &[], 0, seconds(counters.since_millis));
    sink.family(&family::OBSERVED_SECONDS);
    sink.sample("", &[], 0, float(counters.observed_millis) / 1000.0);
    sink.family(&family::GAP_SECONDS);
    sink.sample("", &[], 0, float(counters.gap_millis) / 1000.0);
    sink.family(&family::ERRORS);
    for (reason, count) in &counters.errors {
        sink.sample("", &[("reason", reason)], 0, float(*count));
    }
    about_looks(frame, sink);
}

fn about_looks(frame: &Frame, sink: &mut impl Sink) {
    let looks = &frame.counters.looks;
    sink.family(&family::TICK_SECONDS);
    for (bound, count) in looks.up_to() {
        sink.sample("_bucket", &[("le", &bound.to_string())], 0, float(count));
    }
    sink.sample("_bucket", &[("le", "+Inf")], 0, float(looks.count()));
    sink.sample("_sum", &[], 0, millionth(looks.sum_micros()));
    sink.sample("_count", &[], 0, float(looks.count()));
}

#[expect(clippy::cast_precision_loss, reason = "bytes and microseconds of a century fit 53 bits")]
const fn float(count: u64) -> f64 {
    count as f64
}

fn millionth(count: u64) -> f64 {
    float(count) / 1e6
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit 53 bits")]
fn seconds(millis: i64) -> f64 {
    millis as f64 / 1000.0
}
