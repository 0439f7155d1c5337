//! The report as one long table: a row a figure.

use std::io::{self, Write};

use crate::render::csv::{name, row};
use crate::render::words::safe;
use crate::report::usage::{Card, HeatCell, Person, States, Usage};

const COLUMNS: [&str; 12] = [
    "kind",
    "card_index",
    "card_slot",
    "card_uuid",
    "card_name",
    "user",
    "uid",
    "weekday",
    "hour",
    "state",
    "gpu_hours",
    "share",
];

/// What a row is about; what does not apply is empty.
#[derive(Debug, Clone, Default)]
struct Row {
    kind: &'static str,
    card: [String; 4],
    person: [String; 2],
    time: [String; 2],
    state: &'static str,
    gpu_hours: f64,
    share: Option<f64>,
}

impl Row {
    fn write(self, out: &mut impl Write) -> io::Result<()> {
        let Self { kind, card, person, time, state, gpu_hours, share } = self;
        let mut fields = vec![kind.to_owned()];
        fields.extend(card);
        fields.extend(person);
        fields.extend(time);
        fields.extend([
            state.to_owned(),
            gpu_hours.to_string(),
            share.map(|share| share.to_string()).unwrap_or_default(),
        ]);
        row(out, &fields)
    }
}

/// Writes the report. Shares are of what the row is about: of all card time, of the card's,
/// of the person's, of the hour's.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    row(out, &COLUMNS.map(str::to_owned))?;
    states(out, &usage.states, &Row { kind: "total", ..Row::default() })?;
    for card in &usage.cards {
        states(
            out,
            &card.states,
            &Row { kind: "card", card: card_fields(card), ..Row::default() },
        )?;
    }
    for one in usage.identities.iter().flatten() {
        person(out, one)?;
    }
    usage.heatmap.iter().try_for_each(|cell| hour(out, cell))
}

fn states(out: &mut impl Write, states: &States, about: &Row) -> io::Result<()> {
    states.all().into_iter().try_for_each(|(state, amount)| {
        let row = Row {
            state: state.slug(),
            gpu_hours: amount.gpu_hours,
            share: amount.share,
            ..about.clone()
        };
        row.write(out)
    })
}

fn card_fields(card: &Card) -> [String; 4] {
    let text = |text: &Option<String>| text.as_deref().map(|t| name(&safe(t))).unwrap_or_default();
    let slot = card.slot.map(|slot| slot.to_string()).unwrap_or_default();
    [card.index.to_string(), slot, text(&card.uuid), text(&card.name)]
}

/// All of the time, and what of it was idle-held.
fn person(out: &mut impl Write, person: &Person) -> io::Result<()> {
    let user = person.user.as_deref().map(|user| name(&safe(user))).unwrap_or_default();
    let uid = person.uid.map(|uid| uid.to_string()).unwrap_or_default();
    let all = Row {
        kind: "identity",
        person: [user, uid],
        state: "all",
        gpu_hours: person.gpu_hours,
        share: Some(1.0),
        ..Row::default()
    };
    let idle_held = Row {
        state: "idle_held",
        gpu_hours: person.idle_held_gpu_hours,
        share: person.idle_held_share,
        ..all.clone()
    };
    all.write(out)?;
    idle_held.write(out)
}

fn hour(out: &mut impl Write, cell: &HeatCell) -> io::Result<()> {
    let hours = cell.observed_seconds / 3_600.0 * cell.active_share;
    let row = Row {
        kind: "heatmap",
        time: [cell.weekday.to_string(), cell.hour.to_string()],
        state: "active",
        gpu_hours: (hours * 1e6).round() / 1e6,
        share: Some(cell.active_share),
        ..Row::default()
    };
    row.write(out)
}
