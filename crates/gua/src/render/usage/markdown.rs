//! The report as Markdown, for an issue or a wiki.

use std::io::{self, Write};

use super::View;
use super::figures::{hours, mark, percent, who};
use super::header;
use super::heatmap::{DAYS, title, week};
use super::sections::{
    MOST_PEOPLE, NOT_JUDGED_AGAIN, SHARED_CARDS, amount, basis, called, capacity, judged_again,
    largest, most_hours, of_all, place, shown,
};
use crate::render::markdown::{row, table, text};
use crate::report::usage::Usage;

/// Writes the report.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, usage: &Usage, view: &View) -> io::Result<()> {
    writeln!(out, "# {}\n", text(&header::name(usage)))?;
    writeln!(out, "{}", text(&header::window(usage, &view.tz)))?;
    if let Some(missing) = header::missing(usage) {
        writeln!(out, "\n{}", text(&missing))?;
    }
    if usage.cards.is_empty() {
        let step = header::next_step(usage, view);
        let step = if step.contains('`') { step } else { format!("`{step}`") };
        return writeln!(out, "\n{}\n\n→ {step}", text(&header::nothing_here(usage, &view.tz)));
    }
    headline(out, usage, view)?;
    writeln!(out, "\n## §2 Idle capacity\n")?;
    for (state, told) in capacity(usage) {
        writeln!(out, "- {}: {}", state.word(), text(&told))?;
    }
    cards(out, usage)?;
    people(out, usage)?;
    heatmap(out, usage)?;
    writeln!(out, "\n## Verdict\n\n{}", text(&usage.verdict.sentence))
}

fn headline(out: &mut impl Write, usage: &Usage, view: &View) -> io::Result<()> {
    writeln!(out, "\n## §1 Headline\n\n{}\n", text(&basis(usage)))?;
    if let Some(judged) = judged_again(usage, &view.tz) {
        writeln!(out, "{}\n", text(&judged))?;
    }
    table(out, &["state", "", "share", "GPU-h"], &[false, false, true, true])?;
    for state in shown(&usage.states) {
        let amount = amount(&usage.states, state);
        let cells = [
            state.word().to_owned(),
            mark(state).to_string(),
            percent(amount.share),
            hours(amount.gpu_hours, largest(&usage.states)),
        ];
        row(out, &cells)?;
    }
    Ok(())
}

fn cards(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    writeln!(out, "\n## §3 Per-GPU\n")?;
    let states: Vec<_> = shown(&usage.states).collect();
    let mut heads = vec!["#", "card"];
    heads.extend(states.iter().map(|state| state.word()));
    let mut rights = vec![true, false];
    rights.resize(heads.len(), true);
    table(out, &heads, &rights)?;
    for card in &usage.cards {
        let mut cells = vec![place(card), called(card)];
        cells.extend(states.iter().map(|state| percent(amount(&card.states, *state).share)));
        row(out, &cells)?;
    }
    Ok(())
}

fn people(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    writeln!(out, "\n## §4 Top identities\n")?;
    let Some(people) = &usage.identities else {
        return writeln!(out, "{}", text(NOT_JUDGED_AGAIN));
    };
    if people.is_empty() {
        return writeln!(out, "nobody held a card");
    }
    let heads = ["who", "GPU-hours", "idle-held", "of all idle-held"];
    table(out, &heads, &[false, true, true, true])?;
    for person in people.iter().take(MOST_PEOPLE) {
        let cells = [
            who(person),
            hours(person.gpu_hours, most_hours(people)),
            percent(person.idle_held_share),
            percent(of_all(person.idle_held_gpu_hours, usage)),
        ];
        row(out, &cells)?;
    }
    writeln!(out, "\n{SHARED_CARDS}")?;
    match people.len().saturating_sub(MOST_PEOPLE) {
        0 => Ok(()),
        more => writeln!(out, "\nand {more} more; --json has all"),
    }
}

/// Whole percents of card time active; what was not observed is empty.
pub(in crate::render) fn heatmap(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    writeln!(out, "\n## {}\n\nactive, in % of the observed card time\n", text(&title(usage)))?;
    let hours: Vec<_> = (0..24).map(|hour| format!("{hour:02}")).collect();
    let mut heads = vec![""];
    heads.extend(hours.iter().map(String::as_str));
    table(out, &heads, &[true; 25])?;
    for (day, hours) in DAYS.iter().zip(week(&usage.heatmap).chunks(24)) {
        let mut cells = vec![(*day).to_owned()];
        let shares = hours.iter().map(|share| share.map(|share| format!("{:.0}", share * 100.0)));
        cells.extend(shares.map(Option::unwrap_or_default));
        row(out, &cells)?;
    }
    Ok(())
}
