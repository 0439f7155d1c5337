//! Utilization, memory and holders of a card over a period, straight from the scenario.

use std::sync::Arc;

use gua_core::card::CardFacts;
use gua_core::classifier::activity::{CentiPercent, Micros, Piece, PieceBasis, Stretch, Sum, Sums};
use gua_core::classifier::open_span::PieceEnergy;
use gua_core::span::HolderId;
use gua_core::units::{Bytes, Celsius, Milliwatts, Percent};
use gua_core::{Slices, Thresholds};
use gua_store::CardSample;
use scenario::state::Place;
use scenario::{Card, Load, Process, Scenario};

use super::identity::process_id;
use super::timeline::{Timeline, between};
use super::work::{whole_millis, work};
use crate::demo::play::Scene;

/// A card over a time in which it can be read.
#[derive(Debug)]
pub(super) struct Course<'a> {
    scenario: &'a Scenario,
    pub place: Place<'a>,
    /// Part of a GPU that the card is.
    slices: Slices,
    pub timeline: Timeline,
    pub holders: Vec<Holder<'a>>,
    /// Utilization; empty where the card does not offer it.
    pub utilization: Vec<Piece>,
}

/// A holder of the card.
#[derive(Debug)]
pub(super) struct Holder<'a> {
    pub id: HolderId,
    /// `None` for unlisted memory.
    pub process: Option<&'a Process>,
    pub stay: Stretch,
    pub memory: Option<Bytes>,
    /// Its work, where several holders make it necessary to know.
    pub own: Vec<Stretch>,
}

impl<'a> Course<'a> {
    pub fn new(
        scene: &'a Scene,
        (place, slices): (Place<'a>, Slices),
        time: Stretch,
        thresholds: &Thresholds,
    ) -> Self {
        let timeline = Timeline::new(scene);
        let processes = scene.scenario.processes.iter().filter(|process| place.holds(process));
        let mut holders: Vec<_> =
            processes.filter_map(|process| Holder::new(process, timeline, time)).collect();
        holders.sort_by_key(|holder| holder.id);
        let unlisted = Bytes(place.unattributed());
        if unlisted > thresholds.held {
            let id = HolderId::Unlisted;
            let memory = Some(unlisted);
            holders.push(Holder { id, process: None, stay: time, memory, own: Vec::new() });
        }
        let scenario = &scene.scenario;
        let utilization = Vec::new();
        let mut course = Self { scenario, place, slices, timeline, holders, utilization };
        // An instance's processes have no SM samples.
        if place.instance.is_none() && course.holders.len() > 1 {
            for holder in &mut course.holders {
                holder.find_work(timeline, centipercent(thresholds.worked.0));
            }
        }
        if place.instance.is_none() || place.card.gpm {
            course.utilization = course.utilization(time);
        }
        course
    }

    /// Returns the utilization of the card, a piece for each of its values.
    fn utilization(&self, time: Stretch) -> Vec<Piece> {
        if let Some(load) = self.place.load() {
            let cuts = changes(load, self.timeline, time);
            return pieces(time, cuts, |part| mean(load, self.timeline, part));
        }
        let processes = self.holders.iter().filter_map(|it| Some((it.stay, &it.process?.sm)));
        let cuts = processes.clone().flat_map(|(stay, load)| {
            let changes = changes(load, self.timeline, stay);
            changes.into_iter().chain([stay.from, stay.to])
        });
        pieces(time, cuts.collect(), |part| {
            let present = processes.clone().filter(|(stay, _)| stay.covers(part));
            present.map(|(_, load)| mean(load, self.timeline, part)).sum()
        })
    }

    /// Adds samples for plots, each the mean of the time before it.
    pub fn sample(
        &self,
        facts: &Arc<CardFacts>,
        times: impl Iterator<Item = Stretch>,
        mut each: impl FnMut(Micros, CardSample),
    ) {
        let temperature = &self.place.card.temperature;
        let is_card = self.place.instance.is_none();
        let sums = Sums::new(&self.utilization);
        for time in times {
            let Sum { sum, known } = sums.over(time);
            let percent = (known > 0).then(|| sum as f64 / known as f64 / 100.0);
            let of_card = percent.filter(|_| is_card);
            let watts = |percent: f64| watts(self.place.card, percent);
            each(
                time.to,
                CardSample {
                    card: Arc::clone(facts),
                    utilization: percent.map(Percent),
                    memory: Some(self.used_memory(Stretch { from: time.to - 1000, ..time })),
                    memory_total: Some(Bytes(self.place.memory_total())),
                    power: of_card.map(|percent| Milliwatts(rounded(watts(percent) * 1000.0))),
                    temperature: of_card.map(|percent| Celsius(rounded(temperature.at(percent)))),
                },
            );
        }
    }

    /// Returns the energy of a time.
    pub fn energy(&self, time: Stretch) -> PieceEnergy {
        energy(self.scenario, self.place.card, self.slices, time, self.timeline)
    }

    pub fn present(&self, time: Stretch) -> impl Iterator<Item = &Holder<'a>> {
        self.holders.iter().filter(move |holder| holder.stay.covers(time))
    }

    pub fn used_memory(&self, time: Stretch) -> Bytes {
        let processes = self.present(time).filter(|holder| holder.process.is_some());
        let held: Bytes = processes.filter_map(|holder| holder.memory).sum();
        (held + Bytes(self.place.unattributed())).min(Bytes(self.place.memory_total()))
    }
}

impl<'a> Holder<'a> {
    /// Returns a process that is there at some time; `None` if it is not.
    fn new(process: &'a Process, timeline: Timeline, time: Stretch) -> Option<Self> {
        let end = process.end.map_or(time.to, |end| timeline.micros(end));
        let from = whole_millis(timeline.micros(process.begin)).max(time.from);
        let stay = Stretch { from, to: whole_millis(end).min(time.to) };
        (stay.from < stay.to).then(|| Self {
            id: HolderId::Process(process_id(process, timeline)),
            process: Some(process),
            stay,
            memory: process.memory.map(Bytes),
            own: Vec::new(),
        })
    }

    fn find_work(&mut self, timeline: Timeline, threshold: CentiPercent) {
        let Some(process) = self.process else { return };
        let cuts = changes(&process.sm, timeline, self.stay);
        let pieces = pieces(self.stay, cuts, |part| mean(&process.sm, timeline, part));
        self.own = work(&pieces, threshold);
    }
}

/// Returns the energy of a part of a GPU over a time.
pub(super) fn energy(
    scenario: &Scenario,
    card: &Card,
    slices: Slices,
    time: Stretch,
    timeline: Timeline,
) -> PieceEnergy {
    let [from, to] = [time.from, time.to].map(|at| timeline.moment(at));
    let percent = scenario.mean_utilization(Place::card(card), from, to);
    let seconds = time.length() as f64 / 1e6;
    let joules = watts(card, percent) * seconds * slices.weight();
    PieceEnergy { joules, is_estimated: false }
}

fn watts(Card { power, .. }: &Card, percent: f64) -> f64 {
    power.idle_watts + (power.full_watts - power.idle_watts) * percent / 100.0
}

/// Returns pieces between cuts, each with the mean over it, in percent.
fn pieces(time: Stretch, cuts: Vec<Micros>, mean: impl Fn(Stretch) -> f64) -> Vec<Piece> {
    let piece = |part: Stretch| {
        let value = centipercent(mean(part).clamp(0.0, 100.0));
        Piece { from: part.from, to: part.to, value, basis: PieceBasis::Moment }
    };
    between(time, cuts).map(piece).collect()
}

fn changes(load: &Load, timeline: Timeline, time: Stretch) -> Vec<Micros> {
    let changes = load.changes(timeline.moment(time.from), timeline.moment(time.to));
    changes.into_iter().map(|at| timeline.micros(at)).collect()
}

fn mean(load: &Load, timeline: Timeline, time: Stretch) -> f64 {
    load.mean(timeline.moment(time.from), timeline.moment(time.to))
}

pub(super) fn centipercent(percent: f64) -> CentiPercent {
    rounded(percent * 100.0)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
fn rounded(value: f64) -> u32 {
    value.round() as u32
}
