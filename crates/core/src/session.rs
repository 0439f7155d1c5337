//! Sessions: stretches in which one process holds a card without using it.

use std::mem;
use std::sync::Arc;

use crate::card::CardFacts;
use crate::period::Period;
use crate::process::ProcessId;
use crate::span::{HolderId, HolderTime, Span, Work};
use crate::state::{State, Thresholds};
use crate::units::{Bytes, UnixMillis};

/// Shortest session that is kept.
pub const SHORTEST_SESSION_MS: i64 = 300_000;

/// Longest time without knowledge that does not end a session: a card that could not be read, or a
/// recorder that was started again.
pub const LONGEST_DOUBT_MS: i64 = 120_000;

/// A stretch in which one process held a card without using it.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub card: Arc<CardFacts>,
    pub process: ProcessId,
    pub period: Period,
    /// False if it may have begun earlier: before that, nothing is known.
    pub is_begin_seen: bool,
    /// Part of the period in which nothing is known.
    pub doubt_ms: i64,
    /// Share of the card's idle-held time.
    pub unused_share_ms: i64,
    /// Part of the period in which another process worked on the card.
    pub idle_beside_ms: i64,
    /// Memory held, in MiB × seconds.
    pub memory: f64,
    pub peak: Option<Bytes>,
}

/// A change of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionUpdate {
    /// It goes on.
    Open(Session),
    Ended(Session),
}

impl Session {
    fn is_same_as(&self, other: &Self) -> bool {
        self.process == other.process
            && self.period.from == other.period.from
            && self.card.is_same_card(&other.card)
    }
}

/// Builds sessions from the spans of all cards. Spans of one card come in order of time.
#[derive(Debug, Clone)]
pub struct SessionBuilder {
    /// Memory above which a card is held.
    held: Bytes,
    cards: Vec<CardSessions>,
    ended: Vec<Session>,
}

#[derive(Debug, Clone)]
struct CardSessions {
    card: Arc<CardFacts>,
    /// End of the newest span in which the card could be read.
    read_until: Option<UnixMillis>,
    holders: Vec<HolderState>,
}

#[derive(Debug, Clone)]
struct HolderState {
    process: ProcessId,
    session: Option<Session>,
    /// End of the newest time in which nothing is known of the process.
    doubt_until: Option<UnixMillis>,
}

/// What a span says of a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Holds,
    /// It works, or holds next to nothing.
    Ends,
    Doubt,
}

impl SessionBuilder {
    #[must_use]
    pub const fn new(thresholds: &Thresholds) -> Self {
        Self { held: thresholds.held, cards: Vec::new(), ended: Vec::new() }
    }

    /// Goes on with sessions of an earlier run whose processes are seen again soon enough. The others
    /// end where they were last seen.
    pub fn resume(&mut self, sessions: impl IntoIterator<Item = Session>) {
        for session in sessions {
            let doubt_until = Some(session.period.to);
            let process = session.process;
            let state = HolderState { process, session: Some(session.clone()), doubt_until };
            self.card(&session.card).holders.push(state);
        }
    }

    /// Adds a span that has ended.
    pub fn add(&mut self, span: &Span) {
        let held = self.held;
        let mut ended = mem::take(&mut self.ended);
        self.card(&span.card).add(span, held, &mut ended);
        self.ended = ended;
    }

    /// Returns the changes up to the final time: sessions that ended since the last call, and those
    /// that go on, with `open` spans added to them.
    pub fn take_updates(&mut self, open: &[Span], final_until: UnixMillis) -> Vec<SessionUpdate> {
        let mut current = self.clone();
        open.iter().for_each(|span| current.add(span));
        self.end_before(final_until, Some(&current));
        let ended = mem::take(&mut self.ended).into_iter().map(SessionUpdate::Ended);
        // Those that end in an open span go on until it is closed.
        let still = |session: &Session| {
            !session.period.is_empty() && final_until.0 - session.period.to.0 <= LONGEST_DOUBT_MS
        };
        let open = current.cards.iter().flat_map(|card| &card.holders);
        let open = open.filter_map(|holder| holder.session.clone()).filter(still);
        ended.chain(open.map(SessionUpdate::Open)).collect()
    }

    /// Ends all sessions where they were last seen.
    pub fn finish(&mut self) -> Vec<SessionUpdate> {
        self.end_before(UnixMillis(i64::MAX), None);
        mem::take(&mut self.ended).into_iter().map(SessionUpdate::Ended).collect()
    }

    /// Ends the sessions that were last seen too long before a time, also by `current`.
    fn end_before(&mut self, at: UnixMillis, current: Option<&Self>) {
        let extended = |session: &Session| {
            let holders = current?.cards.iter().flat_map(|card| &card.holders);
            let mut sessions = holders.filter_map(|holder| holder.session.as_ref());
            sessions.find(|it| it.is_same_as(session)).map(|it| it.period.to)
        };
        for holder in self.cards.iter_mut().flat_map(|card| &mut card.holders) {
            let is_over = |session: &mut Session| {
                let until = extended(session).unwrap_or(session.period.to);
                at.0.saturating_sub(until.0) > LONGEST_DOUBT_MS
            };
            self.ended.extend(holder.session.take_if(is_over));
        }
    }

    fn card(&mut self, card: &Arc<CardFacts>) -> &mut CardSessions {
        let place = self.cards.iter().position(|known| known.card.is_same_card(card));
        let place = place.unwrap_or_else(|| {
            let card = Arc::clone(card);
            self.cards.push(CardSessions { card, read_until: None, holders: Vec::new() });
            self.cards.len() - 1
        });
        &mut self.cards[place]
    }
}

impl CardSessions {
    fn add(&mut self, span: &Span, held: Bytes, ended: &mut Vec<Session>) {
        if matches!(span.state, State::Unknown(_)) {
            for holder in &mut self.holders {
                holder.doubt_until = Some(span.period.to);
            }
            return;
        }
        let was_read = self.read_until.is_some_and(|until| is_near(until, span.period.from));
        let is_listed = |process: ProcessId| {
            span.holders.iter().any(|time| time.holder == HolderId::Process(process))
        };
        for gone in self.holders.extract_if(.., |holder| !is_listed(holder.process)) {
            ended.extend(gone.session);
        }
        if !was_read {
            for holder in &mut self.holders {
                holder.doubt_until = Some(span.period.from);
            }
        }
        for time in &span.holders {
            let HolderId::Process(process) = time.holder else { continue };
            let place = self.holders.iter().position(|holder| holder.process == process);
            let place = place.unwrap_or_else(|| {
                let doubt_until = (!was_read).then_some(span.period.from);
                self.holders.push(HolderState { process, session: None, doubt_until });
                self.holders.len() - 1
            });
            self.holders[place].add(span, time, held, ended);
        }
        self.read_until = Some(span.period.to);
    }
}

impl HolderState {
    fn add(&mut self, span: &Span, time: &HolderTime, held: Bytes, ended: &mut Vec<Session>) {
        match use_of(span, time, held) {
            Use::Ends => {
                ended.extend(self.session.take());
                self.doubt_until = None;
            }
            Use::Doubt => self.doubt_until = Some(span.period.to),
            Use::Holds => self.hold(span, time, ended),
        }
    }

    fn hold(&mut self, span: &Span, time: &HolderTime, ended: &mut Vec<Session>) {
        let from = span.period.from;
        let is_over = |session: &mut Session| !is_near(session.period.to, from);
        ended.extend(self.session.take_if(is_over));
        let is_begin_seen = !self.doubt_until.is_some_and(|until| is_near(until, from));
        let session = self.session.get_or_insert_with(|| Session {
            card: Arc::clone(&span.card),
            process: self.process,
            period: Period::none_at(from),
            is_begin_seen,
            doubt_ms: 0,
            unused_share_ms: 0,
            idle_beside_ms: 0,
            memory: 0.0,
            peak: None,
        });
        session.doubt_ms += (from.0 - session.period.to.0).max(0);
        session.period.to = span.period.to;
        if span.state == State::IdleHeld {
            session.unused_share_ms += time.share_ms;
        }
        if span.holders.iter().any(|other| other.work == Work::Working) {
            session.idle_beside_ms += span.period.millis();
        }
        session.memory += time.memory.sum;
        session.peak = session.peak.max(time.peak);
    }
}

/// A holder keeps others from a card if it does not work and holds much, or all on the card idle.
fn use_of(span: &Span, time: &HolderTime, held: Bytes) -> Use {
    match time.work {
        Work::Working => Use::Ends,
        Work::Unknown => Use::Doubt,
        Work::Idle if span.state == State::IdleHeld => Use::Holds,
        Work::Idle => match time.memory.mean() {
            Some(mib) if mib * 1_048_576.0 > held.0 as f64 => Use::Holds,
            Some(_) => Use::Ends,
            None => Use::Doubt,
        },
    }
}

fn is_near(end: UnixMillis, from: UnixMillis) -> bool {
    from.0.saturating_sub(end.0) <= LONGEST_DOUBT_MS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Reading, Reason};
    use crate::span::Integral;

    const MINUTE: i64 = 60_000;

    fn card() -> Arc<CardFacts> {
        let uuid = Reading::Known("GPU-1".into());
        Arc::new(CardFacts { uuid, ..CardFacts::unread(0, Reason::NotAsked) })
    }

    fn process() -> ProcessId {
        ProcessId { pid: 7, start_ticks: Some(70), uid: Some(1000) }
    }

    fn time(process: ProcessId, work: Work, mib: u32, minutes: i64) -> HolderTime {
        let known_ms = minutes * MINUTE;
        HolderTime {
            holder: HolderId::Process(process),
            work,
            share_ms: known_ms / 2,
            memory: Integral { sum: f64::from(mib) * known_ms as f64 / 1000.0, known_ms },
            peak: Some(Bytes::from_mib(mib.into())),
            energy: 0.0,
        }
    }

    fn span(from: i64, to: i64, state: State, holders: Vec<HolderTime>) -> Span {
        let period = Period::new(UnixMillis(from * MINUTE), UnixMillis(to * MINUTE));
        let [busy, memory, energy] = [Integral::default(); 3];
        Span { card: card(), period, state, holders, busy, memory, energy }
    }

    fn idle(from: i64, to: i64) -> Span {
        span(from, to, State::IdleHeld, vec![time(process(), Work::Idle, 8000, to - from)])
    }

    fn works(from: i64, to: i64) -> Span {
        span(from, to, State::Active, vec![time(process(), Work::Working, 8000, to - from)])
    }

    fn builder(spans: &[Span]) -> SessionBuilder {
        let mut builder = SessionBuilder::new(&Thresholds::default());
        spans.iter().for_each(|span| builder.add(span));
        builder
    }

    /// Returns begin, end in minutes, whether the begin was seen, and minutes of doubt.
    fn sessions(spans: &[Span]) -> Vec<(i64, i64, bool, i64)> {
        builder(spans).finish().into_iter().map(|update| figures(&update)).collect()
    }

    fn figures(update: &SessionUpdate) -> (i64, i64, bool, i64) {
        let (SessionUpdate::Open(session) | SessionUpdate::Ended(session)) = update;
        let Period { from, to } = session.period;
        (from.0 / MINUTE, to.0 / MINUTE, session.is_begin_seen, session.doubt_ms / MINUTE)
    }

    #[test]
    fn work_ends_a_session() {
        let spans = [works(0, 5), idle(5, 20), idle(20, 30), works(30, 31), idle(31, 40)];
        assert_eq!(sessions(&spans), [(5, 30, true, 0), (31, 40, true, 0)]);
    }

    /// Trap: sessions bridge doubts of up to 2 min; "at least" where the begin was not seen.
    #[test]
    fn session_bridges_doubts_of_up_to_two_minutes() {
        let lost = |from, to| span(from, to, State::Unknown(Reason::Lost), vec![]);
        let spans = [idle(0, 10), lost(10, 12), idle(12, 20), lost(20, 23), idle(23, 30)];
        assert_eq!(sessions(&spans), [(0, 20, false, 2), (23, 30, false, 0)]);
        let who_works = |from, to| {
            span(from, to, State::Active, vec![time(process(), Work::Unknown, 1, to - from)])
        };
        let spans = [works(0, 1), idle(1, 10), who_works(10, 12), idle(12, 20)];
        assert_eq!(sessions(&spans), [(1, 20, true, 2)]);
        let gap = [works(0, 1), idle(1, 10), idle(12, 20), idle(23, 30)];
        assert_eq!(sessions(&gap), [(1, 20, true, 2), (23, 30, false, 0)]);
    }

    #[test]
    fn idle_memory_on_a_busy_card_is_a_session() {
        let other = ProcessId { pid: 8, ..process() };
        let beside = |mib| {
            let holders =
                vec![time(process(), Work::Idle, mib, 10), time(other, Work::Working, 9000, 10)];
            span(1, 11, State::Active, holders)
        };
        let empty = span(0, 1, State::TrulyIdle, vec![]);
        let updates = builder(&[empty.clone(), beside(8000)]).finish();
        let [SessionUpdate::Ended(session)] = &updates[..] else { panic!("{updates:?}") };
        assert_eq!((session.idle_beside_ms, session.unused_share_ms), (10 * MINUTE, 0));
        assert!(session.is_begin_seen);
        assert_eq!(session.peak, Some(Bytes::from_mib(8000)));
        assert_eq!(sessions(&[empty, beside(50)]), [], "a bare context");
    }

    #[test]
    fn process_that_goes_ends_its_session() {
        let mut builder = builder(&[works(0, 1), idle(1, 9)]);
        let empty = span(9, 10, State::TrulyIdle, vec![]);
        let updates = builder.take_updates(std::slice::from_ref(&empty), UnixMillis(10 * MINUTE));
        assert_eq!(updates, [], "an open span may still change");
        builder.add(&empty);
        let updates = builder.take_updates(&[], UnixMillis(10 * MINUTE));
        assert!(matches!(&updates[..], [SessionUpdate::Ended(_)]), "{updates:?}");
    }

    #[test]
    fn open_spans_count_and_are_replaced() {
        let mut builder = builder(&[works(0, 1), idle(1, 9)]);
        for to in [10, 12] {
            let updates = builder.take_updates(&[idle(9, to)], UnixMillis(to * MINUTE));
            assert_eq!(updates.iter().map(figures).collect::<Vec<_>>(), [(1, to, true, 0)]);
        }
    }

    /// Trap: sessions go on over a restart.
    #[test]
    fn session_goes_on_after_a_restart() {
        let open = builder(&[works(0, 1), idle(1, 9)]).take_updates(&[], UnixMillis(9 * MINUTE));
        let SessionUpdate::Open(session) = open[0].clone() else { panic!("{open:?}") };
        let after = |from| {
            let mut builder = SessionBuilder::new(&Thresholds::default());
            builder.resume([session.clone()]);
            builder.add(&idle(from, from + 10));
            builder.finish().iter().map(figures).collect::<Vec<_>>()
        };
        assert_eq!(after(11), [(1, 21, true, 2)]);
        assert_eq!(after(12), [(1, 9, true, 0), (12, 22, false, 0)]);
    }
}
