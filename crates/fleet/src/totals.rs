//! Counts every tick, in its transaction.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use gua_core::units::UnixMillis;
use gua_recorder::{Log, RecordedTick, TickObserver};
use gua_store::{Database, Problem, StoreError, TickTransaction, Writer};

use crate::counters::{Counters, Key};
use crate::counting::Counting;
use crate::family::Counter;
use crate::frame::{Frame, Host, SeenNow};
use crate::labels::OwnerLabels;
use crate::message::{self, Gauges, MessageContext};
use crate::outbox::{self, Outbox};
use crate::poll_times::{PollSums, PollTimes};
use crate::slot::Slot;

/// Time by which a message may lie before the last one. If it is more, the last one was stamped by a
/// clock that was far ahead, and waiting for it would take too long.
const LONGEST_SET_BACK_MS: i64 = 86_400_000;

/// Longest time between the first 0 of a series and its first value: after a long time in which nothing
/// could be stored, the receiver would take the 0 no more, and nothing beside it.
const LONGEST_BEGIN_MS: i64 = 600_000;

/// Age at which messages are given up by default.
const GIVE_UP_AFTER: Duration = Duration::from_secs(7 * 86_400);

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
        Self { labels, give_up_after: GIVE_UP_AFTER, most_bytes: 256 << 20 }
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
    state: TotalsState,
    /// The state after a tick that is not committed yet.
    next: Option<(TotalsState, Arc<Frame>)>,
    /// Reasons of losses that were logged.
    logged: HashSet<&'static str>,
    is_cap_logged: bool,
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
    seen: Arc<SeenNow>,
}

impl Totals {
    #[must_use]
    pub fn new(host: Host, labels: OwnerLabels) -> Self {
        Self {
            host,
            labels,
            sending: None,
            slot: Arc::default(),
            poll_times: Arc::default(),
            state: TotalsState::default(),
            next: None,
            logged: HashSet::new(),
            is_cap_logged: false,
        }
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

    fn count(&self, state: &mut TotalsState, recorded: &RecordedTick<'_>) {
        let TotalsState { counting, .. } = state;
        counting.begin(recorded, &outbox::LOSSES);
        counting.count(recorded, self.labels);
        let polls = self.poll_times.sums();
        let stamp = counting.stamp(recorded.tick.at);
        polls.count(state.polls, &mut counting.counters, stamp);
        state.polls = polls;
    }

    /// Deletes what the pusher acknowledged, and what is given up. Without a receiver, messages wait for
    /// one to be configured again.
    fn clear_outbox(
        &self,
        state: &mut TotalsState,
        at: UnixMillis,
        transaction: &mut TickTransaction<'_>,
    ) -> Result<(), Problem> {
        let (mut give_up_after, mut most_bytes) = (GIVE_UP_AFTER, u64::MAX);
        if let Some((options, outbox)) = &self.sending {
            (give_up_after, most_bytes) = (options.give_up_after, options.most_bytes);
            let done = transaction.drop_pushes(outbox.position().done_until)?;
            state.outbox_bytes -= done.bytes;
            let rejected = outbox.rejected();
            state.counting.add_errors(outbox::REJECTED, rejected - state.rejected, at);
            state.rejected = rejected;
        }
        if state.outbox_bytes == 0 {
            return Ok(());
        }
        let longest = i64::try_from(give_up_after.as_millis()).unwrap_or(i64::MAX);
        let most_bytes = i64::try_from(most_bytes).unwrap_or(i64::MAX);
        let oldest = UnixMillis(at.0.saturating_sub(longest));
        let excess = state.outbox_bytes - most_bytes;
        let given_up = transaction.drop_oldest_pushes(oldest, excess)?;
        state.outbox_bytes -= given_up.bytes;
        state.counting.add_errors(outbox::GIVEN_UP, given_up.rows, at);
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

    /// Logs ticks that are not sent, each reason once.
    fn log_losses(&mut self, next: &Counters, log: &mut Log) {
        let losses = [
            (outbox::GIVEN_UP, "remote write gives up the oldest ticks of its outbox"),
            (
                outbox::OLDER,
                "remote write skips ticks: the clock was set back, and later ones were sent",
            ),
        ];
        for (reason, words) in losses {
            let key = Key::host(Counter::Errors, reason);
            let count = |counters: &Counters| counters.get(&key).map_or(0, |it| it.value);
            if count(next) > count(&self.state.counting.counters) && self.logged.insert(reason) {
                log.write(&format!("{words}. gua_errors_total counts them as {reason}."));
            }
        }
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
            begin: state.counting.begin.max(Some(UnixMillis(at.0 - LONGEST_BEGIN_MS))),
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
    /// Loads the totals of the database: they begin with the file.
    fn opened(&mut self, database: &Database) -> Result<(), StoreError> {
        let mut counting = Counting::new(Counters::from_stored(database.totals()?));
        let counting_since = database.counting_since()?;
        let known = &self.state;
        if known.counting_since.is_some()
            && known.counting_since == counting_since
            && known.counting.final_until() == counting.final_until()
        {
            // It is the same file. What was counted of spans that go on must not be counted again.
            return Ok(());
        }
        if let Some((_, outbox)) = &self.sending
            && known.counting.number > 0
        {
            outbox.begin_file();
        }
        // Series of another file are new, but ticks are counted on.
        counting.number = known.counting.number;
        let outbox_bytes = database.push_bytes()?;
        self.state = TotalsState { counting, counting_since, outbox_bytes, ..self.state.clone() };
        Ok(())
    }

    fn poll_took(&mut self, time: Duration) {
        self.poll_times.add(time);
    }

    fn write(
        &mut self,
        recorded: &RecordedTick<'_>,
        transaction: &mut TickTransaction<'_>,
    ) -> Result<(), Problem> {
        self.next = None;
        let mut state = self.state.clone();
        if state.counting_since.is_none() {
            state.counting_since = transaction.counting_since()?;
        }
        self.count(&mut state, recorded);
        let at = recorded.tick.at;
        self.clear_outbox(&mut state, at, transaction)?;
        let sent_at = self.sending.as_ref().and_then(|_| Self::message_time(&mut state, at));
        state.counting.counters.write(transaction)?;
        if let Some(latest) = recorded.tick.latest {
            state.seen = SeenNow::from_tick(latest, &state.counting.counters).into();
        }
        let since = state.counting_since;
        let frame = Frame::new(at, &state.counting, &self.host, since, &state.seen);
        if let Some(sent_at) = sent_at {
            self.send(&mut state, &frame, sent_at, transaction)?;
        }
        self.next = Some((state, Arc::new(frame)));
        Ok(())
    }

    fn stored(&mut self, _: &RecordedTick<'_>, _: &mut Writer, log: &mut Log) {
        let Some((state, frame)) = self.next.take() else { return };
        if !self.is_cap_logged && state.counting.capped() > self.state.counting.capped() {
            self.is_cap_logged = true;
            log.write(&format!(
                "more than {} people hold cards (metrics.most_owners): the others are counted as \
                 `others`, their jobs for their users. gua_errors_total counts them as owners_capped.",
                self.labels.most_owners
            ));
        }
        self.log_losses(&state.counting.counters, log);
        self.state = state;
        self.slot.put(frame);
        if let Some((_, outbox)) = &self.sending {
            outbox.notify();
        }
    }

    fn close(&mut self, writer: &mut Writer, log: &mut Log) {
        let Some((_, outbox)) = &self.sending else { return };
        outbox.close();
        let deleted = writer.write_between(|transaction| {
            transaction.drop_pushes(outbox.position().done_until)?;
            Ok(())
        });
        if let Err(error) = deleted {
            log.write(&format!("remote write will send some ticks again: {error}"));
        }
    }
}
