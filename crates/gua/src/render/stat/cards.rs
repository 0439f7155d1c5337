//! A card's own line: what it is, its state, and its figures.

use probe::Why;

use super::{Power, View};
use crate::render::paint::Ink;
use crate::render::table::{self, Align, Cell, Column, Line};
use crate::render::words::{card_name, gib, safe};
use crate::report::now::Card;

/// A name is not cut shorter than this while there is something else to leave out.
const SHORTEST_NAME: usize = 12;

/// The columns in their order.
const ALIGNS: [Align; 9] = [
    Align::Left,
    Align::Left,
    Align::Left,
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
const POWER: usize = 7;

/// What a narrow screen leaves out, first things first.
const DISPENSABLE: [usize; 4] = [CODEC, FAN, POWER, TEMPERATURE];

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
    let index = match card.mig_slot {
        Some(slot) => format!("[{}:{slot}]", card.index),
        None => format!("[{}]", card.index),
    };
    let name = card.name.as_deref().map_or_else(|| "?".to_owned(), |name| safe(card_name(name)));
    vec![
        Cell::plain(index),
        Cell::plain(name),
        Cell::new(card.state, state_ink(card.state)),
        Cell::plain(work(card)),
        Cell::plain(card.temperature_celsius.map_or_else(String::new, |t| format!("{t} °C"))),
        Cell::plain(if view.fan { fan(card) } else { String::new() }),
        Cell::plain(if view.codec { codec(card) } else { String::new() }),
        Cell::plain(power(card, view.power)),
        Cell::plain(memory(card)),
    ]
}

fn state_ink(state: &str) -> Ink {
    match state {
        "active" => Ink::Good,
        "idle-held" => Ink::Notice,
        "unknown" => Ink::Bad,
        _ => Ink::Plain,
    }
}

fn work(card: &Card) -> String {
    match card.utilization_percent {
        Some(percent) => {
            let mark = if card.utilization_basis == Some("instant") { "~" } else { "" };
            format!("{mark}{percent:.0} %")
        }
        None => "–".to_owned(),
    }
}

fn fan(card: &Card) -> String {
    match card.fan_percent {
        Some(percent) => format!("fan {percent:.0} %"),
        None if card.unknown.get("fan_percent") == Some(&Why::NotSupported.slug()) => {
            "no fan".into()
        }
        None => String::new(),
    }
}

fn codec(card: &Card) -> String {
    match (card.encoder_percent, card.decoder_percent) {
        (Some(encoder), Some(decoder)) => format!("enc/dec {encoder:.0}/{decoder:.0} %"),
        _ => String::new(),
    }
}

fn power(card: &Card, which: Power) -> String {
    let (draw, limit) = (card.power_watts, card.power_limit_watts);
    if draw.is_none() && limit.is_none() {
        return String::new();
    }
    let shown = |watts: Option<f64>| watts.map_or_else(|| "?".to_owned(), |w| format!("{w:.0}"));
    match which {
        Power::Draw => format!("{} W", shown(draw)),
        Power::Limit => format!("limit {} W", shown(limit)),
        Power::Both => format!("{}/{} W", shown(draw), shown(limit)),
    }
}

fn memory(card: &Card) -> String {
    match (card.memory_used_bytes, card.memory_total_bytes) {
        (Some(used), Some(total)) => format!("{}/{} GiB", gib(used), gib(total)),
        _ => String::new(),
    }
}
