//! `gua report --prometheus`: the report over all hosts.

use std::collections::BTreeSet;
use std::io::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use probe::units::UnixMillis;

use super::access::{blamed, client, no_series, selection, told_of_flaws};
use crate::calendar;
use crate::cli;
use crate::commands::report::{self, Output, cost, width};
use crate::config::{Config, Screen, Window};
use crate::engine::{Client, EngineError, Span};
use crate::failure::Failure;
use crate::ledger::Period;
use crate::render::fleet as render;
use crate::render::json;
use crate::render::paint::Paint;
use crate::render::usage::{View, html};
use crate::report::board::Page;
use crate::report::fleet::{
    Around, Edge, FleetUsage, Gather, Questions, Side, Source, Special, TargetId, Targets,
};

pub(in crate::commands) fn report(
    config: &Config,
    typed: &cli::Report,
    url: &str,
) -> Result<u8, Failure> {
    refuse_accounts(&typed.accounts)?;
    let picture = refuse_bands(typed)?;
    let output = Output::new(typed.output.as_ref())?;
    let now = Timestamp::now();
    let window = Window::new(&typed.window, now)?;
    let client = client(&typed.engine, url)?;
    let moment = |at: Timestamp| UnixMillis(at.as_millisecond());
    let questions = Questions {
        selection: selection(&typed.engine),
        window: Period::new(moment(window.from), moment(window.until)),
        now: moment(now),
    };
    let gather = Gather::new(questions.window, window.zone.tz.clone());
    let mut asking = Asking { client: &client, questions, gather, among: None };
    let asked = asking.hosts();
    asked.map_err(|error| blamed(error, &asking.questions.selection))?;
    if asking.gather.targets.is_empty() {
        return Err(no_series(&client, &asking.questions.selection));
    }
    asking.counters()?;
    asking.specials()?;
    asking.hours(&window.zone.tz)?;
    let source = Source {
        url: client.url().to_owned(),
        matching: asking.questions.selection.matching.clone(),
        host: asking.questions.selection.host.clone(),
        flaws: client.flaws(),
    };
    let fleet = asking.gather.finish(
        source,
        window.zone.name.clone(),
        &cost(&typed.accounts, config.cost.clone()),
    );
    let view = view(&window, typed, url, now);
    output.write(|mut out| show(&mut out, &fleet, &view, (typed, picture)))?;
    Ok(told_of_flaws(&client))
}

/// What an engine does not know is asked of the hosts themselves.
fn refuse_accounts(typed: &cli::Accounts) -> Result<(), Failure> {
    if typed.by.iter().all(|by| *by == cli::By::User) {
        return Ok(());
    }
    Err(Failure::Usage {
        what: "--by: over many hosts, only people are told apart".to_owned(),
        next: "Ask a host itself with `gua report --by`, or the engine for the labels that \
               [metrics] in the config adds."
            .to_owned(),
    })
}

/// Counters tell how long, not when.
fn refuse_bands(typed: &cli::Report) -> Result<cli::Picture, Failure> {
    let picture = report::picture(typed)?;
    let is_told = match picture {
        cli::Picture::Habit | cli::Picture::States => true,
        cli::Picture::Time | cli::Picture::People => false,
    };
    if typed.format != cli::ReportFormat::Svg || is_told {
        return Ok(picture);
    }
    Err(Failure::Usage {
        what: "--picture: over many hosts there are only the pictures habit and states".to_owned(),
        next: "Add --picture habit or --picture states, or ask a host itself.".to_owned(),
    })
}

/// The questions, one after the other; how many there are does not depend on the hosts.
struct Asking<'a> {
    client: &'a Client,
    questions: Questions,
    gather: Gather,
    /// The matcher for the hosts that are meant, where not all are.
    among: Option<String>,
}

impl Asking<'_> {
    fn hosts(&mut self) -> Result<(), EngineError> {
        let Self { client, questions, gather, .. } = self;
        let until = questions.window.to;
        let (mut hosts, mut ticks) = (Vec::new(), Vec::new());
        client.at(&questions.hosts(), until, |one| hosts.push(one))?;
        if questions.selection.host.is_some() {
            self.among = Targets::matcher_of(&hosts);
        }
        let among = self.among.as_deref();
        client.at(&questions.last_ticks(among), until, |one| ticks.push(one))?;
        gather.targets = Targets::new(&hosts, &ticks);
        client.at(&questions.cards(among), until, |one| gather.targets.add_card(&one))?;
        client.at(&questions.first_ticks(among), until, |one| gather.targets.add_first(&one))?;
        client.at(&questions.samples(among), until, |one| gather.add_count(&one))
    }

    fn counters(&mut self) -> Result<(), EngineError> {
        let sides = Questions::sides(self.gather.distance(), &self.gather.targets);
        self.around(&sides, Around::Ticks)?;
        self.gather.find_counters();
        self.around(&sides, Around::Counters)
    }

    /// What there is around both ends of the window.
    fn around(&mut self, sides: &[Side], what: Around) -> Result<(), EngineError> {
        let Self { client, questions, gather, among } = self;
        let window = questions.window;
        for (edge, moment) in [(Edge::Begin, window.from), (Edge::End, window.to)] {
            for side in sides {
                let matcher =
                    if sides.len() == 1 { None } else { gather.targets.matcher(&side.of) };
                let among = matcher.as_deref().or(among.as_deref());
                let (question, at) = questions.around(moment, side.millis, what, among);
                client.at(&question, at, |one| match what {
                    Around::Ticks => gather.add_ticks(edge, &side.of, &one),
                    Around::Counters => gather.add_counter(edge, &side.of, &one),
                })?;
            }
        }
        Ok(())
    }

    /// Hosts that were not there all the time, and those that count anew.
    fn specials(&mut self) -> Result<(), EngineError> {
        let Special { partly, anew } = self.gather.special();
        if !partly.is_empty() {
            self.partly(&partly)?;
        }
        if !anew.is_empty() {
            self.anew(&anew)?;
        }
        self.gather.settle();
        Ok(())
    }

    fn partly(&mut self, partly: &BTreeSet<TargetId>) -> Result<(), EngineError> {
        let Self { client, questions, gather, among } = self;
        let until = questions.window.to;
        let among = gather.targets.matcher(partly).or_else(|| among.clone());
        let [least, most] = questions.extremes(among.as_deref());
        gather.forget(partly);
        client.at(&least, until, |one| gather.add_least(partly, &one))?;
        client.at(&most, until, |one| gather.add_most(partly, &one))
    }

    /// They are few, unless all hosts lost what they counted; then they are asked for in pieces,
    /// as engines do not tell everything at once.
    fn anew(&mut self, anew: &BTreeSet<TargetId>) -> Result<(), EngineError> {
        let distance = self.gather.distance();
        let Self { client, questions, gather, among } = self;
        let until = questions.window.to;
        let matcher = gather.targets.matcher(anew).or_else(|| among.clone());
        client.at(&questions.since(matcher.as_deref()), until, |one| gather.add_since(&one))?;
        let ways: Vec<_> = anew.iter().copied().collect();
        let cards = |way: &TargetId| gather.targets.get(*way).map_or(0, |it| it.cards.len());
        let at_once = questions.at_once(distance, ways.iter().map(cards).max().unwrap_or(0));
        for piece in ways.chunks(at_once) {
            let matcher = gather.targets.matcher(piece);
            let (of, among) = match &matcher {
                Some(_) => (piece.iter().copied().collect(), &matcher),
                None => (anew.clone(), &*among),
            };
            let everything = questions.everything(among.as_deref());
            client.at(&everything, until, |one| gather.add_all(&of, &one))?;
            if matcher.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn hours(&mut self, tz: &TimeZone) -> Result<(), EngineError> {
        let Self { client, questions, gather, among } = self;
        let begin = calendar::timestamp(questions.window.from);
        let offset = begin.map_or(0, |begin| tz.to_offset(begin).seconds());
        if let Some((period, step)) = questions.grid(offset) {
            let span = Span { from: period.from, to: period.to, step };
            gather.set_step(i64::try_from(step.as_millis()).unwrap_or(i64::MAX));
            let observed = questions.observed_hours(among.as_deref());
            client.over(&observed, span, |one| gather.add_observed_hours(&one))?;
            let hours = questions.hours(among.as_deref());
            client.over(&hours, span, |one| gather.add_hours(&one))?;
        }
        gather.end_hours();
        Ok(())
    }
}

fn show(
    out: &mut impl Write,
    fleet: &FleetUsage,
    view: &View,
    (typed, picture): (&cli::Report, cli::Picture),
) -> io::Result<()> {
    let format = if typed.json { cli::ReportFormat::Json } else { typed.format };
    match format {
        cli::ReportFormat::Text => render::write(out, fleet, view),
        cli::ReportFormat::Json => json::pretty(out, fleet),
        cli::ReportFormat::Csv => render::csv::write(out, fleet),
        cli::ReportFormat::Markdown => render::markdown::write(out, fleet, view),
        cli::ReportFormat::Html => render::write_html(out, fleet, view),
        cli::ReportFormat::Svg => {
            let page = Page { usage: fleet.usage.clone(), bands: None, board: None };
            html::picture::write(out, &page, view, picture)
        }
    }
}

fn view(window: &Window, typed: &cli::Report, url: &str, now: Timestamp) -> View {
    let screen = Screen::of_stdout(&typed.color);
    View {
        paint: Paint(screen.color),
        width: width(typed.width, &screen),
        tz: window.zone.tz.clone(),
        now,
        command: format!("gua report --prometheus {url}"),
        sessions: 0,
        is_here: false,
    }
}
