//! Classifies the time of one card, piece by piece: state, who works, shares and energy.

use crate::reading::Reason;
use crate::span::{HolderId, Work};
use crate::state::State;
use crate::units::Bytes;

use super::activity::{self, Micros, Piece, Stretch, Sums, WINDOW};
use super::holders::{HolderFact, HolderList, Stay, mean, middle};
use super::observed::{ExactThresholds, Observed, PollFacts};
use super::open_span::{HolderPiece, SpanPiece};

/// Distance within which a holder's own samples say who did work that nobody was seen to do; and over
/// which the SM use of those who work at once is compared.
pub(super) const NEARBY: Micros = 15_000_000;

/// Classifies a time that is final. `is_end` is true if no more samples come.
pub(super) fn classify(
    observed: &Observed,
    time: Stretch,
    is_end: bool,
    thresholds: &ExactThresholds,
    mut each: impl FnMut(SpanPiece),
) {
    let end = Some(time.to).filter(|_| is_end);
    let samples = observed.samples.pieces(time.from - 2 * WINDOW, end);
    let mut active = activity::work(&samples, thresholds.active);
    let work = activity::union(&active, &activity::work(&samples, thresholds.worked));
    // A sample in which work begins or ends may be below the threshold of the card.
    active.iter_mut().for_each(|stretch| snap(stretch, &work, observed.samples.period()));
    let view = View {
        observed,
        sums: Sums::new(&samples),
        own: own_work(observed, &work, time, thresholds),
        active,
        work,
        thresholds,
    };
    let mut from = time.from;
    for to in view.cuts(time) {
        each(view.piece(Stretch { from, to }));
        from = to;
    }
}

/// Work of one holder by its own samples.
struct OwnWork {
    id: HolderId,
    stretches: Vec<Stretch>,
    pieces: Vec<Piece>,
}

/// Returns what each listed holder's own samples say of its work, where the card is shared.
fn own_work(
    observed: &Observed,
    work: &[Stretch],
    time: Stretch,
    thresholds: &ExactThresholds,
) -> Vec<OwnWork> {
    let near = Stretch { from: time.from - NEARBY, to: time.to + NEARBY };
    let is_near = |it: &&Stay| it.from < near.to && it.to.is_none_or(|to| to > near.from);
    let present: Vec<_> = observed.stays.0.iter().filter(is_near).collect();
    if present.len() < 2 {
        return Vec::new();
    }
    let within = Stretch { from: near.from - 2 * WINDOW, to: near.to + WINDOW };
    let own = |stay: &&Stay| {
        let HolderId::Process(id) = stay.id else { return None };
        let pieces = observed.process_samples.pieces(id.pid, within);
        let mut stretches = activity::work(&pieces, thresholds.worked);
        stretches.iter_mut().for_each(|it| snap(it, work, observed.samples.period()));
        Some(OwnWork { id: stay.id, stretches, pieces })
    };
    let mut all: Vec<OwnWork> = present.iter().filter_map(own).collect();
    join_edges(&mut all, observed.samples.period());
    all
}

/// Moves the edges of a stretch to those of the card's work within a period.
fn snap(stretch: &mut Stretch, work: &[Stretch], period: Micros) {
    for card in work {
        if (stretch.from - card.from).abs() <= period {
            stretch.from = card.from;
        }
        if (stretch.to - card.to).abs() <= period {
            stretch.to = card.to;
        }
    }
}

/// Lets one holder's work begin where another's ends, if both are within a period. There are few
/// stretches in the half minute that is looked at.
fn join_edges(all: &mut [OwnWork], period: Micros) {
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
    own: Vec<OwnWork>,
    thresholds: &'a ExactThresholds,
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
        let own = self.own.iter().flat_map(|own| own.stretches.iter().copied());
        let card = self.active.iter().chain(&self.work).copied();
        for stretch in card.chain(own).chain(self.sums.holes()) {
            cut(stretch.from);
            cut(stretch.to);
        }
        for stay in &self.observed.stays.0 {
            cut(stay.from);
            stay.to.into_iter().for_each(&mut cut);
        }
        for pair in self.observed.polls.windows(2) {
            cut(middle(pair[0].at, pair[1].at));
            cut(pair[1].at);
        }
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }

    fn piece(&self, time: Stretch) -> SpanPiece {
        let at = middle(time.from, time.to);
        let polls = &self.observed.polls;
        let nearest = self.observed.nearest_poll(at).and_then(|place| polls.get(place));
        let covering = polls.get(polls.partition_point(|poll| poll.at < time.to)).or(polls.last());
        let busy = self.sums.over(time);
        let present = self.observed.stays.0.iter().filter(|stay| stay.covers(time));
        let facts: Vec<_> = present.filter_map(|stay| self.fact(stay.id, at)).collect();
        let state = self.state(time, nearest.zip(covering), busy.known > 0, &facts);
        let mut holders: Vec<HolderPiece> = facts
            .iter()
            .map(|it| HolderPiece { id: it.id, work: Work::Idle, share: 0.0, memory: it.memory })
            .collect();
        self.set_work(time, state, covering, &facts, &mut holders);
        self.set_shares(time, state, &facts, &mut holders);
        SpanPiece {
            time,
            state,
            busy,
            memory: nearest.and_then(|poll| poll.used),
            energy: covering.and_then(|poll| self.energy(time, poll)),
            holders,
        }
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
        polls: Option<(&PollFacts, &PollFacts)>,
        has_samples: bool,
        facts: &[&HolderFact],
    ) -> State {
        let Some((nearest, covering)) = polls else { return State::Unknown(Reason::FirstLook) };
        if self.active.iter().any(|stretch| stretch.covers(time)) {
            return State::Active;
        }
        let held = self.thresholds.given.held;
        let idle = idle_state(&nearest.list, facts.iter().copied(), held);
        let lost = (!has_samples).then_some(Reason::NotTold);
        match covering.utilization_unknown.or(lost) {
            Some(reason) => unknown_state(idle, &nearest.list, reason),
            None => idle,
        }
    }

    /// Finds out who of the holders works. The CPU time of `covering` is that since the poll before.
    fn set_work(
        &self,
        time: Stretch,
        state: State,
        covering: Option<&PollFacts>,
        facts: &[&HolderFact],
        holders: &mut [HolderPiece],
    ) {
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
        let distances: Vec<_> = holders.iter().map(|it| self.distance(it.id, time)).collect();
        let nearest = distances.iter().flatten().min();
        // One that has ended before the poll is as busy as it was last seen.
        let is_busy = |fact: &HolderFact| {
            let covered = covering.and_then(|poll| poll.list.get(fact.id));
            covered.unwrap_or(fact).is_busy_on_cpu
        };
        let busy = facts.iter().filter(|fact| is_busy(fact)).count();
        for ((holder, fact), distance) in holders.iter_mut().zip(facts).zip(&distances) {
            holder.work = match nearest {
                Some(_) if distance.as_ref() == nearest => Work::Working,
                // The driver counts the work of a client of MPS for its server.
                Some(_) if fact.is_mps => Work::Unknown,
                Some(_) => Work::Idle,
                None if busy == 1 && is_busy(fact) => Work::Working,
                None if busy == 1 => Work::Idle,
                None => Work::Unknown,
            };
        }
    }

    /// Returns the distance of a time to the nearest work that a holder's samples show: -1 where they
    /// show it at that time, `None` where there is none nearby.
    fn distance(&self, id: HolderId, time: Stretch) -> Option<Micros> {
        let own = self.own.iter().filter(|own| own.id == id).flat_map(|own| &own.stretches);
        let distances = own.map(|stretch| match stretch.covers(time) {
            true => -1,
            false => stretch.distance(time),
        });
        distances.filter(|distance| *distance <= NEARBY).min()
    }

    /// Splits a piece among the holders.
    fn set_shares(
        &self,
        time: Stretch,
        state: State,
        facts: &[&HolderFact],
        holders: &mut [HolderPiece],
    ) {
        let by_memory: Vec<f64> = facts.iter().map(|fact| fact.weight as f64).collect();
        let is_worker = |holder: &HolderPiece| holder.work == Work::Working;
        let may_work = |holder: &HolderPiece| holder.work != Work::Idle;
        match state {
            State::TrulyIdle => {}
            State::IdleHeld | State::Unknown(_) => split(holders, |_| true, &by_memory),
            State::Active if !holders.iter().any(may_work) => split(holders, |_| true, &by_memory),
            // Where it is not known who works, all who may have a share.
            State::Active if holders.iter().any(|it| may_work(it) && !is_worker(it)) => {
                split(holders, may_work, &by_memory);
            }
            State::Active => {
                let by_sm: Vec<f64> = match holders.iter().filter(|it| is_worker(it)).count() {
                    1 => vec![1.0; holders.len()],
                    _ => holders.iter().map(|holder| self.sm(holder.id, time)).collect(),
                };
                let workers = holders.iter().zip(&by_sm).filter(|(holder, _)| is_worker(holder));
                let total: f64 = workers.map(|(_, weight)| weight).sum();
                split(holders, is_worker, if total > 0.0 { &by_sm } else { &by_memory });
            }
        }
    }

    /// Returns a holder's mean SM use around the time between two polls, while it works.
    fn sm(&self, id: HolderId, time: Stretch) -> f64 {
        let Some(own) = self.own.iter().find(|own| own.id == id) else { return 0.0 };
        let polls = &self.observed.polls;
        let place = polls.partition_point(|poll| poll.at < time.to);
        let end = polls.get(place).map_or(time.to, |poll| poll.at);
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
        let (total, idle) = poll.energy?;
        let polls = &self.observed.polls;
        let before = polls.partition_point(|other| other.at < poll.at).checked_sub(1)?;
        let interval = Stretch { from: polls.get(before)?.at, to: poll.at };
        let part_of_time = time.length() as f64 / interval.length().max(1) as f64;
        let (part, all) = (self.sums.over(time).sum, self.sums.over(interval).sum);
        let part_of_work = if all > 0 { part as f64 / all as f64 } else { part_of_time };
        Some(idle * part_of_time + (total - idle) * part_of_work)
    }
}

/// Returns the state of a card that does not work, while some of the holders of a poll are there.
/// Memory that no listed process is known to have counts while somebody is there who may have it.
pub(super) fn idle_state<'a>(
    list: &HolderList,
    holders: impl Iterator<Item = &'a HolderFact>,
    held: Bytes,
) -> State {
    let (mut listed, mut has_remainder, mut memory_unknown) = (Bytes(0), false, None);
    for holder in holders {
        match (holder.id, holder.memory) {
            (HolderId::Process(_), Some(memory)) => listed = listed + memory,
            (HolderId::Unlisted, _) => has_remainder = true,
            (HolderId::Process(_), None) => {
                has_remainder = true;
                memory_unknown = Some(list.memory_unknown.unwrap_or(Reason::NotTold));
            }
        }
    }
    if listed > held || (has_remainder && list.remainder.is_some_and(|memory| memory > held)) {
        return State::IdleHeld;
    }
    // What is hidden may hold the card.
    list.hidden.or(memory_unknown).map_or(State::TrulyIdle, State::Unknown)
}

/// Returns the state of a card of which it is not known how busy it is: a card that nobody holds cannot
/// work.
pub(super) fn unknown_state(idle: State, list: &HolderList, reason: Reason) -> State {
    match idle {
        State::TrulyIdle if list.holders.is_empty() => State::TrulyIdle,
        _ => State::Unknown(reason),
    }
}

/// Splits a piece among some holders by weight, evenly if none of them has any.
fn split(holders: &mut [HolderPiece], is_among: impl Fn(&HolderPiece) -> bool, weights: &[f64]) {
    let among: Vec<bool> = holders.iter().map(is_among).collect();
    let total: f64 = weights.iter().zip(&among).filter(|(_, is)| **is).map(|(it, _)| it).sum();
    let count = among.iter().filter(|is| **is).count();
    for ((holder, weight), is_among) in holders.iter_mut().zip(weights).zip(among) {
        holder.share = match is_among {
            false => 0.0,
            true if total > 0.0 => weight / total,
            true => 1.0 / count as f64,
        };
    }
}
