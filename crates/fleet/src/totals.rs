//! Counts every tick, in its transaction.

use std::sync::Arc;
use std::time::Duration;

use gua_core::Poll;
use gua_core::units::UnixMillis;
use gua_recorder::{Log, RecordedTick, TickObserver};
use gua_store::{Database, Problem, StoreError, TickTransaction, Writer};

use crate::counters::{Counters, Key};
use crate::counting::Counting;
use crate::family::Counter;
use crate::frame::{Frame, Host, Sensors};
use crate::labels::OwnerLabels;
use crate::message::{self, Gauges, MessageContext};
use crate::outbox::{self, Outbox};
use crate::poll_times::{PollSums, PollTimes};
use crate::slot::Slot;

/// Time by which a message may lie before the last one. If it is more, the last one was stamped by a
/// clock that was far ahead, and waiting for it would take too long.
const LONGEST_SET_BACK_MS: i64 = 86_400_000;

/// Limits of the outbox, and labels on every series.
#[derive(Debug, Clone)]
pub struct OutboxOptions {
    pub labels: Vec<(String, String)>,
    /// Age at which messages are given up.
    pub give_up_after: Duration,
    /// Bytes beyond which the oldest messages are given up.
    pub most_bytes: u64,
}

impl OutboxOptions {
    /// Returns the options with the labels that a scrape would add, so that both can be queried alike.
    #[must_use]
    pub fn new(labels: &[(String, String)], hostname: &str) -> Self {
        let mut labels = labels.to_vec();
        for (name, value) in [("job", "gua"), ("instance", hostname)] {
            if !labels.iter().any(|(known, _)| known == name) {
                labels.push((name.to_owned(), value.to_owned()));
            }
        }
        Self { labels, give_up_after: Duration::from_secs(7 * 86_400), most_bytes: 256 << 20 }
    }
}

/// Counts the final time of each tick.
#[derive(Debug)]
pub struct Totals {
    host: Host,
    labels: OwnerLabels,
    sending: Option<(OutboxOptions, Arc<Outbox>)>,
    slot: Arc<Slot>,
    poll_times: Arc<PollTimes>,
    sensors: Sensors,
    state: TotalsState,
    /// The state after a tick that is not committed yet.
    next: Option<(TotalsState, Arc<Frame>)>,
}

/// State after a tick.
#[derive(Debug, Clone, Default)]
struct TotalsState {
    counting: Counting,
    counting_since: Option<UnixMillis>,
    polls: PollSums,
    outbox_bytes: i64,
    /// Rejected messages that were counted.
    rejected: i64,
    /// Number of the tick that was put into the outbox last.
    sent: u64,
    gauges: Gauges,
}

impl Totals {
    /// Loads the totals of a database.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn load(database: &Database, host: Host, labels: OwnerLabels) -> Result<Self, StoreError> {
        let state = TotalsState {
            counting: Counting::new(Counters::from_stored(database.totals()?)),
            counting_since: database.counting_since()?,
            outbox_bytes: database.push_bytes()?,
            ..TotalsState::default()
        };
        Ok(Self {
            host,
            labels,
            sending: None,
            slot: Arc::default(),
            poll_times: Arc::default(),
            sensors: Sensors::default(),
            state,
            next: None,
        })
    }

    /// Puts each tick into the outbox, for a [`crate::Pusher`] that has the same `outbox`.
    #[must_use]
    pub fn with_outbox(mut self, options: OutboxOptions, outbox: Arc<Outbox>) -> Self {
        self.sending = Some((options, outbox));
        self
    }

    /// Returns where the newest frame is.
    #[must_use]
    pub fn slot(&self) -> Arc<Slot> {
        Arc::clone(&self.slot)
    }

    /// Returns where whoever polls adds how long that took.
    #[must_use]
    pub fn poll_times(&self) -> Arc<PollTimes> {
        Arc::clone(&self.poll_times)
    }

    /// Returns a copy of the state; that of the file if it is another one than at the last tick, as
    /// the old one was moved away.
    fn begin(&self, transaction: &TickTransaction<'_>) -> Result<TotalsState, Problem> {
        let since = transaction.counting_since()?;
        let mut state = self.state.clone();
        if state.counting_since.is_some() && state.counting_since != since {
            let counting = Counting::new(Counters::from_stored(transaction.totals()?));
            let outbox_bytes = transaction.push_bytes()?;
            state = TotalsState { counting, outbox_bytes, ..state };
            state.counting.number = self.state.counting.number;
            if let Some((_, outbox)) = &self.sending {
                outbox.begin_file();
            }
        }
        state.counting_since = since;
        Ok(state)
    }

    fn count(&self, state: &mut TotalsState, recorded: &RecordedTick<'_>) {
        let TotalsState { counting, .. } = state;
        counting.begin(recorded, &outbox::LOSSES);
        counting.count(recorded, self.labels);
        let polls = self.poll_times.sums();
        let stamp = counting.stamp(recorded.tick.at);
        polls.count(state.polls, &mut counting.counters, stamp);
        state.polls = polls;
    }

    /// Deletes what the pusher acknowledged, and what is given up.
    fn clear_outbox(
        &self,
        state: &mut TotalsState,
        at: UnixMillis,
        transaction: &mut TickTransaction<'_>,
    ) -> Result<(), Problem> {
        let Some((options, outbox)) = &self.sending else { return Ok(()) };
        let done = transaction.drop_pushes(outbox.position().done_until)?;
        state.outbox_bytes -= done.bytes;
        let longest = i64::try_from(options.give_up_after.as_millis()).unwrap_or(i64::MAX);
        let most_bytes = i64::try_from(options.most_bytes).unwrap_or(i64::MAX);
        let oldest = UnixMillis(at.0.saturating_sub(longest));
        let excess = state.outbox_bytes - most_bytes;
        let given_up = transaction.drop_oldest_pushes(oldest, excess)?;
        state.outbox_bytes -= given_up.bytes;
        let rejected = outbox.rejected();
        state.counting.add_errors(outbox::GIVEN_UP, given_up.rows, at);
        state.counting.add_errors(outbox::REJECTED, rejected - state.rejected, at);
        state.rejected = rejected;
        Ok(())
    }

    /// Returns the time of the message of a tick; `None` if the receiver has that time already.
    fn message_time(state: &mut TotalsState, at: UnixMillis) -> Option<UnixMillis> {
        let until = state.counting.final_until()?;
        let key = Key::host(Counter::PushedUntil, "");
        let last = state.counting.counters.get(&key).map_or(i64::MIN, |it| it.value);
        let is_ahead = last.saturating_sub(until.0) > LONGEST_SET_BACK_MS;
        if until.0 <= last && !is_ahead {
            state.counting.add_errors(outbox::OLDER, i64::from(until.0 < last), at);
            return None;
        }
        let stamp = state.counting.stamp(at);
        state.counting.counters.set(key, until.0, stamp);
        Some(until)
    }

    /// Puts a frame into the outbox.
    fn send(
        &self,
        state: &mut TotalsState,
        frame: &Frame,
        at: UnixMillis,
        transaction: &mut TickTransaction<'_>,
    ) -> Result<(), Problem> {
        let Some((options, _)) = &self.sending else { return Ok(()) };
        let context = MessageContext {
            at,
            labels: &options.labels,
            // A series of before this program is not new to the receiver.
            sent: state.sent,
            begin: state.counting.begin,
            gauges: &state.gauges,
        };
        let (message, gauges) = message::encode(frame, context);
        let compressed = snap::raw::Encoder::new().compress_vec(&message);
        let body = compressed.map_err(|error| Problem::Io(std::io::Error::other(error)))?;
        transaction.add_push(at, &body)?;
        state.outbox_bytes += i64::try_from(body.len()).unwrap_or(i64::MAX);
        state.sent = state.counting.number;
        state.gauges = gauges;
        Ok(())
    }
}

impl TickObserver for Totals {
    fn polled(&mut self, poll: &Poll) {
        if let Ok(cards) = &poll.cards {
            self.sensors.read(cards, poll.clocks.wall);
        }
    }

    fn write(
        &mut self,
        recorded: &RecordedTick<'_>,
        transaction: &mut TickTransaction<'_>,
    ) -> Result<(), Problem> {
        self.next = None;
        let mut state = self.begin(transaction)?;
        self.count(&mut state, recorded);
        let at = recorded.tick.at;
        self.clear_outbox(&mut state, at, transaction)?;
        let sent_at = self.sending.as_ref().and_then(|_| Self::message_time(&mut state, at));
        state.counting.counters.write(transaction)?;
        let frame =
            Frame::new(recorded, &state.counting, &self.host, state.counting_since, &self.sensors);
        if let Some(sent_at) = sent_at {
            self.send(&mut state, &frame, sent_at, transaction)?;
        }
        self.next = Some((state, Arc::new(frame)));
        Ok(())
    }

    fn stored(&mut self, _: &RecordedTick<'_>, _: &mut Writer, _: &mut Log) {
        let Some((state, frame)) = self.next.take() else { return };
        self.state = state;
        self.slot.put(frame);
        if let Some((_, outbox)) = &self.sending {
            outbox.notify();
        }
    }

    fn close(&mut self, writer: &mut Writer, _: &mut Log) {
        let Some((_, outbox)) = &self.sending else { return };
        outbox.close();
        // If that fails, the messages are sent again, with the same times and values.
        let _ = writer.write_between(|transaction| {
            transaction.drop_pushes(outbox.position().done_until)?;
            Ok(())
        });
    }
}
