//! `gua pick` as a person reads it: the reasons card by card.

use super::paint::Paint;
use super::table::{self, Align, Cell, Line};
use super::words::{card_name, safe};
use crate::report::pick::{Candidate, Choice, Refusal};

/// How far the cards stand in.
const INDENT: usize = 5;

/// The cards as they are counted: `0,2:1`.
#[must_use]
pub fn indices(choice: &Choice) -> String {
    choice.chosen().map(|card| card.identity.label()).collect::<Vec<_>>().join(",")
}

/// Why there are not enough, a line a card.
#[must_use]
pub fn reasons(choice: &Choice, wanted: usize) -> Vec<String> {
    let rows: Vec<Vec<Cell>> = choice.cards.iter().map(row).collect();
    let columns = table::fit(&[Align::Left; 3], rows.iter().map(Vec::as_slice));
    let line = |row: &Vec<Cell>| {
        let mut line = Line::default();
        table::put_row(&mut line, INDENT, row, &columns, usize::MAX, Paint(false));
        line.text
    };
    std::iter::once(headline(choice, wanted)).chain(rows.iter().map(line)).collect()
}

fn row((card, refusal): &(Candidate, Option<Refusal>)) -> Vec<Cell> {
    let name = card.identity.name.as_deref().map_or("?", card_name);
    let reason = refusal.as_ref().map(Refusal::to_string).unwrap_or_default();
    let place = format!("[{}]", card.identity.label());
    [place, safe(name), safe(&reason)].map(Cell::plain).to_vec()
}

/// Where things stand, in a line.
#[must_use]
pub fn headline(choice: &Choice, wanted: usize) -> String {
    let plural = if wanted == 1 { "" } else { "s" };
    let of = match choice.cards.len() {
        0 => "there is none".to_owned(),
        1 => "there is 1".to_owned(),
        cards => format!("there are {cards}"),
    };
    let fit = match choice.fit() {
        _ if choice.cards.is_empty() => String::new(),
        0 => ", and none will do".to_owned(),
        1 => ", and 1 will do".to_owned(),
        fit => format!(", and {fit} will do"),
    };
    format!("{wanted} card{plural} wanted: {of}{fit}")
}

/// How to come by more.
#[must_use]
pub fn next_step(choice: &Choice, wanted: usize) -> &'static str {
    let has = |slug| choice.cards.iter().any(|(_, r)| r.as_ref().is_some_and(|r| r.slug() == slug));
    match () {
        () if wanted > choice.cards.len() => "Ask for fewer, or look with `gua stat`.",
        () if wanted > choice.visible() => {
            "Ask for fewer, or look beyond what this program was given with --all-cards."
        }
        () if has("held") => {
            "`gua who` tells whom to ask, --min-free SIZE shares a card, --wait waits."
        }
        () => "Wait for them with --wait; `gua who` tells who holds or reserved what.",
    }
}
