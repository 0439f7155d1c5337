//! Sends the queries one after the other: at most 15, or 19 if some hosts have rare ticks.

use std::collections::BTreeSet;

use gua_query::usage::UsageRequest;
use jiff::Timestamp;

use super::answer::{FleetUsage, Source};
use super::collect::{Collector, Edge, Unfinished};
use super::queries::{Around, Queries, Reach};
use crate::engine::{Client, EngineError};
use crate::selection::Selection;
use crate::target::{TargetId, Targets};

/// Reads the report on a window from an engine.
#[derive(Debug)]
pub struct FleetReader<'a> {
    client: &'a Client,
    request: &'a UsageRequest,
    queries: Queries,
    collector: Collector,
    /// Matcher for the targets that are read, if not all are.
    among: Option<String>,
}

impl<'a> FleetReader<'a> {
    #[must_use]
    pub fn new(client: &'a Client, selection: Selection, request: &'a UsageRequest) -> Self {
        let queries = Queries { selection, window: request.window, now: request.now };
        let collector = Collector::new(request.window);
        Self { client, request, queries, collector, among: None }
    }

    /// Finds the hosts. Only these queries can fail because of what the selection says.
    ///
    /// # Errors
    /// When the engine does not respond, or has no hosts of the selection.
    pub fn find_hosts(&mut self) -> Result<(), EngineError> {
        let Self { client, queries, collector, .. } = self;
        let until = queries.window.to;
        let (mut hosts, mut times) = (Vec::new(), Vec::new());
        client.query(&queries.hosts(), until, |one| hosts.push(one))?;
        if queries.selection.host.is_some() {
            self.among = Targets::matcher_of_series(&hosts);
        }
        let among = self.among.as_deref();
        client.query(&queries.last_times(among), until, |one| times.push(one))?;
        collector.targets = Targets::new(&hosts, &times);
        client.query(&queries.cards(among), until, |one| collector.targets.add_card(&one))?;
        let first_times = queries.first_times(among);
        client.query(&first_times, until, |one| collector.targets.add_first_time(&one))?;
        let counts = queries.sample_counts(among);
        client.query(&counts, until, |one| collector.add_sample_count(&one))?;
        match collector.targets.is_empty() {
            true => Err(EngineError::NoSeries {
                url: client.url().to_owned(),
                filter: queries.selection.describe(),
            }),
            false => Ok(()),
        }
    }

    /// Reads the counters of the hosts, and returns the report.
    ///
    /// # Errors
    /// When the engine does not respond.
    pub fn read(mut self) -> Result<FleetUsage, EngineError> {
        let reaches = Queries::reaches(self.collector.distance(), &self.collector.targets);
        self.read_around(&reaches, Around::FinalTimes)?;
        self.collector.find_epochs();
        self.read_around(&reaches, Around::Counters)?;
        let Unfinished { partly_seen, with_resets } = self.collector.unfinished();
        if !partly_seen.is_empty() {
            self.read_extremes(&partly_seen)?;
        }
        if !with_resets.is_empty() {
            self.read_samples(&with_resets)?;
        }
        self.collector.settle();
        self.read_hours()?;
        let source = Source {
            url: self.client.url().to_owned(),
            matching: self.queries.selection.matching,
            host: self.queries.selection.host,
            warnings: self.client.warnings(),
        };
        Ok(self.collector.finish(source, self.request))
    }

    /// Reads samples around both ends of the window.
    fn read_around(&mut self, reaches: &[Reach], what: Around) -> Result<(), EngineError> {
        let Self { client, queries, collector, among, .. } = self;
        let window = queries.window;
        for (edge, moment) in [(Edge::Begin, window.from), (Edge::End, window.to)] {
            for reach in reaches {
                let matcher = match reaches.len() {
                    1 => None,
                    _ => collector.targets.matcher(&reach.targets),
                };
                let among = matcher.as_deref().or(among.as_deref());
                let (query, at) = queries.around(moment, reach.millis, what, among);
                client.query(&query, at, |one| match what {
                    Around::FinalTimes => collector.add_final_times(edge, &reach.targets, &one),
                    Around::Counters => collector.add_counter(edge, &reach.targets, &one),
                })?;
            }
        }
        Ok(())
    }

    fn read_extremes(&mut self, targets: &BTreeSet<TargetId>) -> Result<(), EngineError> {
        let Self { client, queries, collector, among, .. } = self;
        let until = queries.window.to;
        let among = collector.targets.matcher(targets).or_else(|| among.clone());
        let [least, most] = queries.extremes(among.as_deref());
        collector.forget(targets);
        client.query(&least, until, |one| collector.add_least(targets, &one))?;
        client.query(&most, until, |one| collector.add_most(targets, &one))
    }

    /// Reads all samples. Few hosts need that, unless all of them lost their counters: then they are read
    /// in parts, as engines limit a response.
    fn read_samples(&mut self, targets: &BTreeSet<TargetId>) -> Result<(), EngineError> {
        let distance = self.collector.distance();
        let Self { client, queries, collector, among, .. } = self;
        let until = queries.window.to;
        let matcher = collector.targets.matcher(targets).or_else(|| among.clone());
        client.query(&queries.since(matcher.as_deref()), until, |one| collector.add_since(&one))?;
        let all: Vec<_> = targets.iter().copied().collect();
        let cards = |target: &TargetId| {
            collector.targets.get(*target).map_or(0, |target| target.cards.len())
        };
        let most_cards = all.iter().map(cards).max().unwrap_or(0);
        for part in all.chunks(queries.targets_at_once(distance, most_cards)) {
            let matcher = collector.targets.matcher(part);
            let (of, among) = match &matcher {
                Some(_) => (part.iter().copied().collect(), &matcher),
                None => (targets.clone(), &*among),
            };
            let samples = queries.all_samples(among.as_deref());
            client.query(&samples, until, |one| collector.add_samples(&of, &one))?;
            if matcher.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Reads the counters at full hours of the zone.
    fn read_hours(&mut self) -> Result<(), EngineError> {
        let Self { client, queries, collector, among, request } = self;
        let begin: Timestamp = queries.window.from.into();
        let offset = request.zone.to_offset(begin).seconds();
        let Some(range) = queries.full_hours(offset) else { return Ok(()) };
        collector.hours.set_step(i64::try_from(range.step.as_millis()).unwrap_or(i64::MAX));
        let observed = queries.observed_hours(among.as_deref());
        client.query_range(&observed, range, |one| collector.add_observed_hours(&one))?;
        let hours = queries.card_hours(among.as_deref());
        client.query_range(&hours, range, |one| collector.add_hours(&one))
    }
}
