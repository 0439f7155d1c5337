//! A card's own line: what it is, its state, and its figures.

use probe::Why;

use super::{Power, View};
use crate::classify::State;
use crate::render::paint::Ink;
use crate::render::table::{self, Align, Cell, Column, Line};
use crate::render::words::{card_name, memory_of, safe};
use crate::report::now::{Basis, Card};

/// A name is not cut shorter than this while there is something else to leave out.
const SHORTEST_NAME: usize = 12;

/// The columns in their order.
const ALIGNS: [Align; 10] = [
    Align::Left,
    Align::Left,
    Align::Left,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
    Align::Right,
];
const NAME: usize = 1;
const TEMPERATURE: usize = 4;
const FAN: usize = 5;
const CODEC: usize = 6;
const CLOCKS: usize = 7;
const POWER: usize = 8;

/// What a narrow screen leaves out, first things first.
const DISPENSABLE: [usize; 5] = [CLOCKS, CODEC, FAN, POWER, TEMPERATURE];

/// All cards' lines, with columns that fit the screen.
pub(super) struct Cards {
    rows: Vec<Vec<Cell>>,
    columns: Vec<Column>,
}

impl Cards {
    pub fn new(cards: &[Card], view: &View) -> Self {
        let rows: Vec<_> = cards.iter().map(|card| row(card, view)).collect();
        let mut columns = table::fit(&ALIGNS, rows.iter().map(Vec::as_slice));
        squeeze(&mut columns, view.most());
        Self { rows, columns }
    }

    pub fn width(&self) -> usize {
        table::total(&self.columns)
    }

    pub fn line(&self, card: usize, view: &View) -> Line {
        let mut line = Line::default();
        if let Some(row) = self.rows.get(card) {
            table::put_row(&mut line, 0, row, &self.columns, view.most(), view.paint);
        }
        line
    }
}

/// Shortens names, then leaves columns out, until the line fits or nothing is left to give.
fn squeeze(columns: &mut [Column], most: usize) {
    table::shorten(columns, NAME, SHORTEST_NAME, most);
    for dispensable in DISPENSABLE {
        if table::total(columns) <= most {
            return;
        }
        if let Some(column) = columns.get_mut(dispensable) {
            column.width = 0;
        }
    }
    table::shorten(columns, NAME, 0, most);
}

fn row(card: &Card, view: &View) -> Vec<Cell> {
    let identity = &card.identity;
    let index = format!("[{}]", identity.label());
    let name = identity.name.as_deref().map_or_else(|| "?".into(), |name| safe(card_name(name)));
    let mut row = vec![
        Cell::plain(index),
        Cell::plain(name),
        Cell::new(card.state.word(), state_ink(card.state)),
        Cell::plain(work(card)),
    ];
    // Of a card that tells nothing, one remark says so, not a question mark in each column.
    if !is_dark(card) {
        row.extend(figures(card, view).map(Cell::plain));
    }
    row
}

/// Whether nothing at all could be read of it.
#[must_use]
pub fn is_dark(card: &Card) -> bool {
    card.work.utilization_percent.is_none()
        && card.memory.memory_used_bytes.is_none()
        && card.sensors.temperature_celsius.is_none()
        && card.sensors.power_watts.is_none()
        && !card.holders_complete
        && card.holders.is_empty()
}

fn figures(card: &Card, view: &View) -> [String; 6] {
    let when = |is_wanted, figure: fn(&Card) -> String| {
        if is_wanted { figure(card) } else { String::new() }
    };
    [
        temperature(card),
        when(view.fan, fan),
        when(view.codec, codec),
        when(view.clocks, clocks),
        power(card, view.power),
        memory(card),
    ]
}

pub(super) const fn state_ink(state: State) -> Ink {
    match state {
        State::Active => Ink::Good,
        State::IdleHeld => Ink::Notice,
        State::TrulyIdle => Ink::Plain,
        State::Unknown(_) => Ink::Bad,
    }
}

fn work(card: &Card) -> String {
    match card.work.utilization_percent {
        Some(percent) => {
            let mark = if card.work.utilization_basis == Some(Basis::Instant) { "~" } else { "" };
            format!("{mark}{percent:.0} %")
        }
        None => "–".to_owned(),
    }
}

/// A figure, or the mark of one that the card has and that could not be read; `None` for
/// what it does not have.
fn figure(card: &Card, field: &str, value: Option<f64>) -> Option<String> {
    match (value, card.unknown.why(field)) {
        (Some(value), _) => Some(format!("{value:.0}")),
        (None, Some(Why::NotSupported | Why::NotAsked)) => None,
        (None, _) => Some("?".to_owned()),
    }
}

/// Two figures that stand together; nothing where the card has neither.
fn pair(one: Option<String>, other: Option<String>) -> Option<String> {
    let is_there = one.is_some() || other.is_some();
    let shown = |figure: Option<String>| figure.unwrap_or_else(|| "?".to_owned());
    is_there.then(|| format!("{}/{}", shown(one), shown(other)))
}

fn temperature(card: &Card) -> String {
    let degrees = card.sensors.temperature_celsius.map(f64::from);
    let shown = figure(card, "temperature_celsius", degrees);
    shown.map_or_else(String::new, |degrees| format!("{degrees} °C"))
}

fn fan(card: &Card) -> String {
    match figure(card, "fan_percent", card.sensors.fan_percent) {
        Some(percent) => format!("fan {percent} %"),
        None => "no fan".to_owned(),
    }
}

fn codec(card: &Card) -> String {
    let encoder = figure(card, "encoder_percent", card.sensors.encoder_percent);
    let decoder = figure(card, "decoder_percent", card.sensors.decoder_percent);
    pair(encoder, decoder).map_or_else(String::new, |both| format!("enc/dec {both} %"))
}

/// Of the SMs and of the memory.
fn clocks(card: &Card) -> String {
    let of_sms = figure(card, "sm_clock_mhz", card.sensors.sm_clock_mhz.map(f64::from));
    let of_memory = figure(card, "memory_clock_mhz", card.sensors.memory_clock_mhz.map(f64::from));
    pair(of_sms, of_memory).map_or_else(String::new, |both| format!("{both} MHz"))
}

fn power(card: &Card, which: Power) -> String {
    let draw = || figure(card, "power_watts", card.sensors.power_watts);
    let limit = || figure(card, "power_limit_watts", card.sensors.power_limit_watts);
    let shown = match which {
        Power::Draw => draw(),
        Power::Limit => limit().map(|watts| format!("limit {watts}")),
        Power::Both => pair(draw(), limit()),
    };
    shown.map_or_else(String::new, |watts| format!("{watts} W"))
}

fn memory(card: &Card) -> String {
    memory_of(card.memory.memory_used_bytes, card.memory.memory_total_bytes)
}
