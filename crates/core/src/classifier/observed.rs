//! A card's time while it can be read: the recent past, and its classification once it is final.

use crate::card::{Basis, ProcessSample, Vitals};
use crate::clocks::Clocks;
use crate::poll::{CardPoll, Exit};
use crate::reading::{Reading, Reason};
use crate::span::{HolderId, Work};
use crate::state::{State, Thresholds};
use crate::units::{Bytes, Percent};

use super::activity::{self, CentiPercent, Micros, Piece, PieceBasis, Stretch, Sums, WINDOW};
use super::holders::{HolderFact, HolderList, Presence, Presences, ProcessSamples, mean, middle};
use super::open_span::{HolderPiece, SpanPiece};
use super::samples::{PollTime, SampleLine, micros};

/// Distance within which a holder's own samples say who did work that nobody was seen to do; and over
/// which the SM use of those who work at once is compared.
const NEARBY: Micros = 15_000_000;

/// Time after which shares of several holders no longer change.
const SHARED_DELAY: Micros = 16_000_000;

/// Time before the final time that is needed to classify what follows it.
const LOOKBACK: Micros = NEARBY + 2 * WINDOW;

/// Time after its last work for which a holder counts as a recent worker.
const RECENTLY: Micros = 60_000_000;

/// Thresholds as exact integers. A card is never classified as busier than it was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines {
    pub active: CentiPercent,
    pub worked: CentiPercent,
    pub thresholds: Thresholds,
}

impl Lines {
    pub fn new(thresholds: Thresholds) -> Self {
        // Rounded up, as values are rounded down: what is below the threshold stays below it.
        let up = |percent: Percent| centi(Percent(percent.0 + 0.009_999));
        Self { active: up(thresholds.active), worked: up(thresholds.worked), thresholds }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn centi(percent: Percent) -> CentiPercent {
    (percent.0 * 100.0) as CentiPercent
}

/// The recent past of a card that can be read.
#[derive(Debug)]
pub(super) struct Observed {
    begin: Micros,
    samples: SampleLine,
    polls: Vec<PollFacts>,
    presences: Presences,
    process_samples: ProcessSamples,
    /// Lowest mean power between two polls so far, in watts.
    idle_power: Option<f64>,
}

/// One poll of the card.
#[derive(Debug)]
struct PollFacts {
    at: Micros,
    list: HolderList,
    used: Option<Bytes>,
    /// Why it is not known how busy the card was before this poll.
    utilization_unknown: Option<Reason>,
    energy_counter: Option<f64>,
    power: Option<f64>,
    /// Energy since the poll before, in joules.
    energy: Option<f64>,
}

impl Observed {
    /// Starts at a time, from which on the first poll covers.
    pub fn new(begin: Micros) -> Self {
        Self {
            begin,
            samples: SampleLine::new(begin),
            polls: Vec::new(),
            presences: Presences::default(),
            process_samples: ProcessSamples::default(),
            idle_power: None,
        }
    }

    pub fn add(&mut self, poll: &CardPoll, exits: &[Exit], clocks: Clocks, lines: &Lines) {
        let at = micros(clocks);
        let last = self.polls.last();
        let before = last.map_or(self.begin, |last| last.at);
        let mut list = HolderList::new(poll, &lines.thresholds);
        match last {
            Some(last) => self.presences.follow((&last.list, &mut list), (last.at, at), exits),
            None => self.presences.begin(&list, self.begin),
        }
        let before = Some(before).filter(|before| *before < at);
        self.add_samples(&poll.reading, PollTime { at, before, clocks });
        if let Reading::Known(samples) = &poll.reading.process_samples {
            self.add_process_samples(samples, clocks, lines);
        }
        let facts = self.facts(&poll.reading, list, at);
        self.polls.push(facts);
    }

    fn add_samples(&mut self, reading: &Vitals, poll: PollTime) {
        let utilization = reading.utilization.known();
        let instant =
            utilization.filter(|it| it.basis == Basis::Instant).map(|it| centi(it.percent));
        match (&reading.samples, utilization) {
            (Reading::Known(answer), _) => self.samples.add(answer, instant, poll),
            (Reading::Unknown(_), Some(utilization)) => {
                let basis = match utilization.basis {
                    Basis::Instant => PieceBasis::Moment,
                    Basis::Counters { .. } | Basis::Samples { .. } => PieceBasis::Mean,
                };
                self.samples.add_poll(centi(utilization.percent), basis, poll);
            }
            (Reading::Unknown(_), None) => {}
        }
    }

    /// Adds process samples, which may also be read between polls.
    pub fn add_process_samples(
        &mut self,
        samples: &[ProcessSample],
        clocks: Clocks,
        lines: &Lines,
    ) {
        let now = micros(clocks);
        let line = &self.samples;
        let time_of = |stamp| line.time_of(stamp, clocks);
        self.process_samples.add(samples, now, now + line.period(), time_of);
        for presence in self.presences.0.iter_mut().filter(|presence| presence.to.is_none()) {
            let HolderId::Process(id) = presence.id else { continue };
            let worked = self.process_samples.last_reaching(id.pid, lines.worked);
            presence.last_worked = presence.last_worked.max(worked);
        }
    }

    fn facts(&mut self, reading: &Vitals, list: HolderList, at: Micros) -> PollFacts {
        let last = self.polls.last();
        let energy_counter = reading.energy.known().map(|energy| energy.0 as f64 / 1e3);
        let power = reading.power.known().map(|power| f64::from(power.0) / 1e3);
        let energy = last.and_then(|last| {
            let seconds = (at - last.at) as f64 / 1e6;
            let counted = energy_counter.zip(last.energy_counter).map(|(now, then)| now - then);
            let estimated = power.zip(last.power).map(|(now, then)| (now + then) / 2.0 * seconds);
            let energy = counted.filter(|energy| *energy >= 0.0).or(estimated)?;
            let mean = energy / seconds;
            self.idle_power = Some(self.idle_power.map_or(mean, |lowest| lowest.min(mean)));
            Some(energy)
        });
        let is_known = reading.utilization.why().is_none() || reading.samples.why().is_none();
        PollFacts {
            at,
            list,
            used: reading.memory.known().map(|memory| memory.used),
            utilization_unknown: reading.utilization.why().filter(|_| !is_known),
            energy_counter,
            power,
            energy,
        }
    }

    /// Returns the time up to which nothing can change any more, as of the last poll.
    pub fn final_until(&self, done: Micros) -> Micros {
        let Some(last) = self.polls.last() else { return done };
        let newest = match last.utilization_unknown {
            Some(_) => last.at,
            None => {
                self.samples.newest().map_or(done, |newest| newest - WINDOW - self.samples.delay())
            }
        };
        let recent = self.polls.iter().rev().take_while(|poll| poll.at > done);
        let is_shared = recent.map(|poll| poll.list.holders.len()).any(|holders| holders > 1);
        let shared = if is_shared { last.at - SHARED_DELAY } else { last.at };
        newest.min(shared).min(last.at)
    }

    /// Forgets what is no longer needed to classify the time from `done` on.
    pub fn forget_before(&mut self, done: Micros) {
        let from = done - LOOKBACK;
        self.samples.forget_before(from);
        self.process_samples.forget_before(from);
        self.presences.forget_before(from);
        // The poll before `done` is the nearest for some of the time after it.
        let count = self.polls.partition_point(|poll| poll.at < done).saturating_sub(1);
        if count > 0 {
            self.polls.drain(..count);
        }
    }

    /// Returns true if two or more holders have worked recently: their process samples are then needed
    /// every second.
    pub fn has_several_workers(&self, now: Micros) -> bool {
        let is_recent = |presence: &&Presence| {
            presence.last_worked.is_some_and(|worked| worked > now - RECENTLY)
        };
        let present = self.presences.0.iter().filter(|presence| presence.to.is_none());
        present.filter(is_recent).count() > 1
    }

    /// Classifies a time that is final, piece by piece.
    pub fn classify(&self, time: Stretch, lines: &Lines, mut each: impl FnMut(SpanPiece)) {
        let samples = self.samples.pieces(time.from - 2 * WINDOW, time.to);
        let mut active = activity::work(&samples, lines.active);
        let work = activity::union(&active, &activity::work(&samples, lines.worked));
        // A sample in which work begins or ends may be below the threshold of the card.
        active.iter_mut().for_each(|stretch| snap(stretch, &work, self.samples.period()));
        let view = View {
            observed: self,
            sums: Sums::new(&samples),
            own: self.own_work(&work, time, lines),
            active,
            work,
            lines,
        };
        let mut from = time.from;
        for to in view.cuts(time) {
            each(view.piece(Stretch { from, to }));
            from = to;
        }
    }

    /// Returns what each listed holder's own samples say of its work, where the card is shared.
    fn own_work(&self, work: &[Stretch], time: Stretch, lines: &Lines) -> Vec<Own> {
        let near = Stretch { from: time.from - NEARBY, to: time.to + NEARBY };
        let is_near = |it: &&Presence| it.from < near.to && it.to.is_none_or(|to| to > near.from);
        let present: Vec<_> = self.presences.0.iter().filter(is_near).collect();
        if present.len() < 2 {
            return Vec::new();
        }
        let within = Stretch { from: near.from - 2 * WINDOW, to: near.to + WINDOW };
        let own = |presence: &&Presence| {
            let HolderId::Process(id) = presence.id else { return None };
            let pieces = self.process_samples.pieces(id.pid, within);
            let mut stretches = activity::work(&pieces, lines.worked);
            for stretch in &mut stretches {
                snap(stretch, work, self.samples.period());
            }
            Some(Own { id: presence.id, stretches, pieces })
        };
        let mut all: Vec<Own> = present.iter().filter_map(own).collect();
        join_edges(&mut all, self.samples.period());
        all
    }

    /// Returns the place of the poll that a time is nearest to.
    fn nearest_poll(&self, at: Micros) -> Option<usize> {
        let after = self.polls.partition_point(|poll| poll.at < at);
        let before = after.checked_sub(1);
        match (before.and_then(|before| self.polls.get(before)), self.polls.get(after)) {
            (Some(earlier), Some(later)) if at - earlier.at < later.at - at => before,
            (_, Some(_)) => Some(after),
            (_, None) => before,
        }
    }

    /// Returns the state now, by the mean of the last seconds.
    pub fn state_now(&self, lines: &Lines) -> Option<State> {
        let poll = self.polls.last()?;
        let idle = idle_state(&poll.list, lines);
        if let Some(reason) = poll.utilization_unknown {
            return Some(unknown_state(idle, &poll.list, reason));
        }
        let is_active = self.mean_now()? >= f64::from(lines.active);
        Some(if is_active { State::Active } else { idle })
    }

    /// Returns the mean utilization of the last seconds that have samples.
    fn mean_now(&self) -> Option<f64> {
        let to = self.samples.newest()?;
        let time = Stretch { from: to - WINDOW, to };
        Some(mean(&self.samples.pieces(time.from, time.to), time))
    }

    /// Returns the holders now: whether each works, and the newest sample in which it did.
    pub fn holders_now(&self, lines: &Lines) -> Vec<(HolderId, Work, Option<Micros>)> {
        let Some(poll) = self.polls.last() else { return Vec::new() };
        let worked = f64::from(lines.worked);
        let card_works = self.mean_now().is_some_and(|mean| mean >= worked);
        let time = Stretch { from: poll.at - WINDOW, to: poll.at };
        let now = |holder: &HolderFact| match (holder.id, poll.list.holders.as_slice()) {
            (id, [_]) => {
                let work = if card_works { Work::Working } else { Work::Idle };
                (id, work, self.samples.last_reaching(lines.worked))
            }
            (HolderId::Unlisted, _) if card_works => (holder.id, Work::Unknown, None),
            (HolderId::Unlisted, _) => (holder.id, Work::Idle, None),
            (HolderId::Process(id), _) => {
                let own = mean(&self.process_samples.pieces(id.pid, time), time);
                let is_known = self.process_samples.are_known() && !holder.is_mps;
                let work = match card_works {
                    _ if own >= worked => Work::Working,
                    true if !is_known => Work::Unknown,
                    _ => Work::Idle,
                };
                (holder.id, work, self.process_samples.last_reaching(id.pid, lines.worked))
            }
        };
        poll.list.holders.iter().map(now).collect()
    }

    pub fn last_busy(&self, lines: &Lines) -> Option<Micros> {
        self.samples.last_reaching(lines.active)
    }
}

/// What one holder's own samples say.
struct Own {
    id: HolderId,
    stretches: Vec<Stretch>,
    pieces: Vec<Piece>,
}

/// Lets one holder's work begin where another's ends, if both are within a period.
fn join_edges(all: &mut [Own], period: Micros) {
    for one in 0..all.len() {
        for other in (0..all.len()).filter(|other| *other != one) {
            for ending in 0..all[one].stretches.len() {
                for beginning in 0..all[other].stretches.len() {
                    let end = all[one].stretches[ending].to;
                    let begin = all[other].stretches[beginning].from;
                    if (end - begin).abs() <= period {
                        let at = middle(end, begin);
                        all[one].stretches[ending].to = at;
                        all[other].stretches[beginning].from = at;
                    }
                }
            }
        }
    }
}

/// Everything that is needed to classify some time of a card.
struct View<'a> {
    observed: &'a Observed,
    sums: Sums<'a>,
    active: Vec<Stretch>,
    /// Time in which somebody works, above the threshold of the card or below it.
    work: Vec<Stretch>,
    own: Vec<Own>,
    lines: &'a Lines,
}

impl View<'_> {
    /// Returns the ends of the pieces of a time in which nothing changes.
    fn cuts(&self, time: Stretch) -> Vec<Micros> {
        let mut cuts = vec![time.to];
        let mut cut = |at: Micros| {
            if time.from < at && at < time.to {
                cuts.push(at);
            }
        };
        for stretch in self.active.iter().chain(&self.work) {
            cut(stretch.from);
            cut(stretch.to);
        }
        for stretch in self.own.iter().flat_map(|own| &own.stretches) {
            cut(stretch.from);
            cut(stretch.to);
        }
        for presence in &self.observed.presences.0 {
            cut(presence.from);
            presence.to.into_iter().for_each(&mut cut);
        }
        for pair in self.observed.polls.windows(2) {
            cut(middle(pair[0].at, pair[1].at));
            cut(pair[1].at);
        }
        for pair in self.sums.holes() {
            cut(pair.from);
            cut(pair.to);
        }
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    fn piece(&self, time: Stretch) -> SpanPiece {
        let at = middle(time.from, time.to);
        let observed = self.observed;
        let polls = &observed.polls;
        let nearest = observed.nearest_poll(at).and_then(|place| polls.get(place));
        let covering = polls.get(polls.partition_point(|poll| poll.at < time.to)).or(polls.last());
        let busy = self.sums.over(time);
        let present = observed.presences.0.iter().filter(|presence| presence.covers(time));
        let mut holders: Vec<HolderPiece> = present.map(|it| self.holder(it.id, at)).collect();
        let state = self.state(time, nearest, covering, busy.known > 0, &holders);
        self.set_work(time, state, &mut holders);
        self.set_shares(time, state, covering, &mut holders);
        SpanPiece {
            time,
            state,
            busy,
            memory: nearest.and_then(|poll| poll.used),
            energy: covering.and_then(|poll| self.energy(time, poll)),
            holders,
        }
    }

    fn holder(&self, id: HolderId, at: Micros) -> HolderPiece {
        let memory = self.fact(id, at).and_then(|fact| fact.memory);
        HolderPiece { id, work: Work::Idle, share: 0.0, memory }
    }

    /// Returns a holder as the nearest poll that lists it saw it.
    fn fact(&self, id: HolderId, at: Micros) -> Option<&HolderFact> {
        let polls = &self.observed.polls;
        let nearest = self.observed.nearest_poll(at)?;
        let around = [Some(nearest), nearest.checked_sub(1), Some(nearest + 1)];
        let mut around = around.into_iter().flatten().filter_map(|place| polls.get(place));
        around.find_map(|poll| poll.list.get(id))
    }

    fn state(
        &self,
        time: Stretch,
        nearest: Option<&PollFacts>,
        covering: Option<&PollFacts>,
        has_samples: bool,
        holders: &[HolderPiece],
    ) -> State {
        let Some(nearest) = nearest else { return State::Unknown(Reason::FirstLook) };
        if self.active.iter().any(|stretch| stretch.covers(time)) {
            return State::Active;
        }
        let known = holders.iter().filter(|it| it.id != HolderId::Unlisted);
        let listed: Bytes = known.filter_map(|holder| holder.memory).sum();
        let held = self.lines.thresholds.held;
        let idle = if listed > held || nearest.list.remainder.is_some_and(|it| it > held) {
            State::IdleHeld
        } else {
            nearest.list.hidden.map_or(State::TrulyIdle, State::Unknown)
        };
        let unknown = covering.and_then(|poll| poll.utilization_unknown);
        match unknown {
            Some(reason) => unknown_state(idle, &nearest.list, reason),
            None if !has_samples => unknown_state(idle, &nearest.list, Reason::NotTold),
            None => idle,
        }
    }

    /// Finds out who of the holders works.
    fn set_work(&self, time: Stretch, state: State, holders: &mut [HolderPiece]) {
        if let State::Unknown(_) = state {
            holders.iter_mut().for_each(|holder| holder.work = Work::Unknown);
            return;
        }
        if !self.work.iter().any(|stretch| stretch.covers(time)) {
            return;
        }
        if let [only] = holders {
            only.work = Work::Working;
            return;
        }
        let at = middle(time.from, time.to);
        // Distance to the nearest work that its samples show; -1 where they show it at this time.
        let distance = |id: HolderId| {
            let own = self.own.iter().filter(|own| own.id == id).flat_map(|own| &own.stretches);
            let distances = own.map(|stretch| match stretch.covers(time) {
                true => -1,
                false => stretch.distance(time),
            });
            distances.filter(|distance| *distance <= NEARBY).min()
        };
        let nearest = holders.iter().filter_map(|holder| distance(holder.id)).min();
        let is_busy_on_cpu =
            |id: HolderId| self.fact(id, at).is_some_and(|fact| fact.is_busy_on_cpu);
        let busy = holders.iter().filter(|holder| is_busy_on_cpu(holder.id)).count();
        for holder in holders.iter_mut() {
            let is_mps = self.fact(holder.id, at).is_some_and(|fact| fact.is_mps);
            holder.work = match nearest {
                Some(nearest) if distance(holder.id) == Some(nearest) => Work::Working,
                // The driver counts the work of a client of MPS for its server.
                Some(_) if is_mps => Work::Unknown,
                Some(_) => Work::Idle,
                None if busy == 1 && is_busy_on_cpu(holder.id) => Work::Working,
                None if busy == 1 => Work::Idle,
                None => Work::Unknown,
            };
        }
    }

    /// Splits a piece among the holders.
    fn set_shares(
        &self,
        time: Stretch,
        state: State,
        covering: Option<&PollFacts>,
        holders: &mut [HolderPiece],
    ) {
        let at = middle(time.from, time.to);
        let by_memory =
            |holder: &HolderPiece| self.fact(holder.id, at).map_or(0.0, |it| it.weight as f64);
        let everybody = |_: &HolderPiece| true;
        match state {
            State::TrulyIdle => {}
            State::IdleHeld | State::Unknown(_) => split(holders, everybody, by_memory),
            State::Active => {
                let is_worker = |holder: &HolderPiece| holder.work == Work::Working;
                let may_work = |holder: &HolderPiece| holder.work != Work::Idle;
                let workers = holders.iter().filter(|holder| is_worker(holder)).count();
                let all = holders.iter().filter(|holder| may_work(holder)).count();
                match (workers, all) {
                    (_, 0) => split(holders, everybody, by_memory),
                    (1, 1) => split(holders, is_worker, |_| 1.0),
                    _ if workers < all => split(holders, may_work, by_memory),
                    _ => {
                        let end = covering.map_or(time.to, |poll| poll.at);
                        let by_sm = |holder: &HolderPiece| self.sm(holder.id, time, end);
                        let total: f64 = holders.iter().filter(|it| is_worker(it)).map(by_sm).sum();
                        if total > 0.0 {
                            split(holders, is_worker, by_sm);
                        } else {
                            split(holders, is_worker, by_memory);
                        }
                    }
                }
            }
        }
    }

    /// Returns a holder's mean SM use around the time between two polls, while it works.
    fn sm(&self, id: HolderId, time: Stretch, end: Micros) -> f64 {
        let Some(own) = self.own.iter().find(|own| own.id == id) else { return 0.0 };
        let polls = &self.observed.polls;
        let place = polls.partition_point(|poll| poll.at < end);
        let begin = place.checked_sub(1).and_then(|before| polls.get(before));
        let at = begin.map_or(end, |poll| middle(poll.at, end));
        let mut around = Stretch { from: at - NEARBY, to: at + NEARBY };
        if let Some(work) = own.stretches.iter().find(|stretch| stretch.covers(time)) {
            around.from = around.from.max(work.from).min(time.from);
            around.to = around.to.min(work.to).max(time.to);
        }
        mean(&own.pieces, around)
    }

    /// Returns the energy of a time between two polls. What exceeds the idle power is split by
    /// utilization.
    fn energy(&self, time: Stretch, poll: &PollFacts) -> Option<f64> {
        let total = poll.energy?;
        let polls = &self.observed.polls;
        let before = polls.partition_point(|other| other.at < poll.at).checked_sub(1)?;
        let interval = Stretch { from: polls.get(before)?.at, to: poll.at };
        let seconds = |time: Stretch| (time.to - time.from) as f64 / 1e6;
        let whole = seconds(interval);
        let idle = self.observed.idle_power.unwrap_or(0.0).min(total / whole);
        let (part, all) = (self.sums.over(time).sum, self.sums.over(interval).sum);
        let fraction = if all > 0 { part as f64 / all as f64 } else { seconds(time) / whole };
        Some(idle * seconds(time) + (total - idle * whole) * fraction)
    }
}

/// Returns the state of a card that does not work.
fn idle_state(list: &HolderList, lines: &Lines) -> State {
    let held = lines.thresholds.held;
    let listed = list.holders.iter().filter(|holder| holder.id != HolderId::Unlisted);
    let listed: Bytes = listed.filter_map(|holder| holder.memory).sum();
    if listed > held || list.remainder.is_some_and(|remainder| remainder > held) {
        return State::IdleHeld;
    }
    // What is hidden may hold the card.
    list.hidden.map_or(State::TrulyIdle, State::Unknown)
}

/// Returns the state of a card of which it is not known how busy it is: a card that nobody holds cannot
/// work.
fn unknown_state(idle: State, list: &HolderList, reason: Reason) -> State {
    match idle {
        State::TrulyIdle if list.holders.is_empty() => State::TrulyIdle,
        _ => State::Unknown(reason),
    }
}

/// Splits a piece among some holders by weight, evenly if nobody has any.
fn split(
    holders: &mut [HolderPiece],
    is_among: impl Fn(&HolderPiece) -> bool,
    weight: impl Fn(&HolderPiece) -> f64,
) {
    let among = || holders.iter().filter(|holder| is_among(holder));
    let total: f64 = among().map(&weight).sum();
    let count = among().count();
    let shares: Vec<f64> = holders
        .iter()
        .map(|holder| match is_among(holder) {
            false => 0.0,
            true if total > 0.0 => weight(holder) / total,
            true => 1.0 / count as f64,
        })
        .collect();
    for (holder, share) in holders.iter_mut().zip(shares) {
        holder.share = share;
    }
}

/// Moves the edges of a stretch to those of the card's work within a period.
fn snap(stretch: &mut Stretch, work: &[Stretch], period: Micros) {
    for card in work {
        if stretch.from.abs_diff(card.from) <= period.unsigned_abs() {
            stretch.from = card.from;
        }
        if stretch.to.abs_diff(card.to) <= period.unsigned_abs() {
            stretch.to = card.to;
        }
    }
}
