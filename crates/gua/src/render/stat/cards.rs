//! A card's own line: what it is, its state, and its figures.

use gua_core::snapshot::{CardNow, UtilizationBasis};
use gua_core::{Reason, State};

use super::{Power, View};
use crate::render::paint::Ink;
use crate::render::table::{self, Align, Cell, Column, Line};
use crate::render::words::{card_name, memory_of, safe};

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
    pub fn new(cards: &[CardNow], view: &View) -> Self {
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

fn row(card: &CardNow, view: &View) -> Vec<Cell> {
    let identity = &card.card;
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
pub fn is_dark(card: &CardNow) -> bool {
    card.utilization_percent.is_none()
        && card.memory_used_bytes.is_none()
        && card.temperature_celsius.is_none()
        && card.power_watts.is_none()
        && !card.holders_complete
        && card.holders.is_empty()
}

fn figures(card: &CardNow, view: &View) -> [String; 6] {
    let when = |is_wanted, figure: fn(&CardNow) -> String| {
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

fn work(card: &CardNow) -> String {
    match card.utilization_percent {
        Some(percent) => {
            let mark =
                if card.utilization_basis == Some(UtilizationBasis::Instant) { "~" } else { "" };
            format!("{mark}{percent:.0} %")
        }
        None => "–".to_owned(),
    }
}

/// A figure, or the mark of one that the card has and that could not be read; `None` for
/// what it does not have.
fn figure(card: &CardNow, field: &str, value: Option<f64>) -> Option<String> {
    match (value, card.unknown.unread(field)) {
        (Some(value), _) => Some(format!("{value:.0}")),
        (None, Some(Reason::NotSupported | Reason::NotAsked)) => None,
        (None, _) => Some("?".to_owned()),
    }
}

/// Two figures that stand together; nothing where the card has neither.
fn pair(one: Option<String>, other: Option<String>) -> Option<String> {
    let is_there = one.is_some() || other.is_some();
    let shown = |figure: Option<String>| figure.unwrap_or_else(|| "?".to_owned());
    is_there.then(|| format!("{}/{}", shown(one), shown(other)))
}

fn temperature(card: &CardNow) -> String {
    let degrees = card.temperature_celsius.map(f64::from);
    let shown = figure(card, "temperature_celsius", degrees);
    shown.map_or_else(String::new, |degrees| format!("{degrees} °C"))
}

fn fan(card: &CardNow) -> String {
    match figure(card, "fan_percent", card.fan_percent) {
        Some(percent) => format!("fan {percent} %"),
        None => "no fan".to_owned(),
    }
}

fn codec(card: &CardNow) -> String {
    let encoder = figure(card, "encoder_percent", card.encoder_percent);
    let decoder = figure(card, "decoder_percent", card.decoder_percent);
    pair(encoder, decoder).map_or_else(String::new, |both| format!("enc/dec {both} %"))
}

/// Of the SMs and of the memory.
fn clocks(card: &CardNow) -> String {
    let of_sms = figure(card, "sm_clock_mhz", card.sm_clock_mhz.map(f64::from));
    let of_memory = figure(card, "memory_clock_mhz", card.memory_clock_mhz.map(f64::from));
    pair(of_sms, of_memory).map_or_else(String::new, |both| format!("{both} MHz"))
}

fn power(card: &CardNow, which: Power) -> String {
    let draw = || figure(card, "power_watts", card.power_watts);
    let limit = || figure(card, "power_limit_watts", card.power_limit_watts);
    let shown = match which {
        Power::Draw => draw(),
        Power::Limit => limit().map(|watts| format!("limit {watts}")),
        Power::Both => pair(draw(), limit()),
    };
    shown.map_or_else(String::new, |watts| format!("{watts} W"))
}

fn memory(card: &CardNow) -> String {
    memory_of(card.memory_used_bytes, card.memory_total_bytes)
}
