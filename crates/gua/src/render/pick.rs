//! `gua pick` as a person reads it: the reasons card by card.

use gua_query::pick::{Pick, PickCard, Refusal};

use super::paint::Paint;
use super::table::{self, Align, Cell, Line};
use super::words::{card_name, safe};

/// How far the cards stand in.
const INDENT: usize = 5;

/// The cards as they are counted: `0,2:1`.
#[must_use]
pub fn indices(pick: &Pick) -> String {
    pick.chosen().iter().map(|card| card.card.label()).collect::<Vec<_>>().join(",")
}

/// Why there are not enough, a line a card.
#[must_use]
pub fn reasons(pick: &Pick) -> Vec<String> {
    let rows: Vec<Vec<Cell>> = pick.cards.iter().map(row).collect();
    let columns = table::fit(&[Align::Left; 3], rows.iter().map(Vec::as_slice));
    let line = |row: &Vec<Cell>| {
        let mut line = Line::default();
        table::put_row(&mut line, INDENT, row, &columns, usize::MAX, Paint(false));
        line.text
    };
    std::iter::once(headline(pick)).chain(rows.iter().map(line)).collect()
}

fn row(card: &PickCard) -> Vec<Cell> {
    let name = card.card.name.as_deref().map_or("?", card_name);
    let reason = card.refusal.as_ref().map(Refusal::to_string).unwrap_or_default();
    let place = format!("[{}]", card.card.label());
    [place, safe(name), safe(&reason)].map(Cell::plain).to_vec()
}

/// Where things stand, in a line.
#[must_use]
pub fn headline(pick: &Pick) -> String {
    let wanted = pick.wanted;
    let plural = if wanted == 1 { "" } else { "s" };
    let found = match (pick.cards.len(), pick.suitable()) {
        (0, _) => "no card found".to_owned(),
        (cards, 0) => format!("no suitable card among {cards}"),
        (cards, fit) => format!("{fit} suitable among {cards}"),
    };
    format!("{wanted} card{plural} wanted: {found}")
}

/// How to come by more.
#[must_use]
pub fn next_step(pick: &Pick) -> &'static str {
    let wanted = pick.wanted;
    let has = |slug| {
        pick.cards.iter().any(|card| card.refusal.as_ref().is_some_and(|it| it.slug() == slug))
    };
    match () {
        () if wanted > pick.cards.len() => "Ask for fewer, or look with `gua stat`.",
        () if wanted > pick.visible() => {
            "Ask for fewer, or look beyond what this program was given with --all-cards."
        }
        () if has("held") => {
            "`gua who` tells whom to ask, --min-free SIZE shares a card, --wait waits."
        }
        () => "Wait for them with --wait; `gua who` tells who holds or reserved what.",
    }
}
