//! The report as Markdown, for an issue or a wiki.

use std::io::{self, Write};

use gua_query::usage::{By, PersonPage, Session, Usage};

use super::accounts::{self, PrintedAccounts};
use super::figures::{hours, largest, mark, percent};
use super::heatmap::{DAYS, title, week};
use super::sections::{amount, basis, called, capacity, cost, place, shown};
use super::sessions::{self, Standing};
use super::{View, compared, energy, format_verdict, header, money, person};
use crate::render::markdown::{code, row, table, text};
use crate::render::table::Align;

/// Writes the report.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, usage: &Usage, view: &View) -> io::Result<()> {
    writeln!(out, "# {}\n", text(&header::name(usage)))?;
    writeln!(out, "{}", text(&header::window(usage, &view.tz)))?;
    for line in [header::end(usage, &view.tz), header::missing(usage)].into_iter().flatten() {
        writeln!(out, "\n{}", text(&line))?;
    }
    if usage.cards.is_empty() {
        let step = header::next_step(usage, view);
        let step = if step.contains('`') { step } else { format!("`{step}`") };
        writeln!(out, "\n{}\n\n→ {step}", text(&header::nothing_here(usage, &view.tz)))?;
    }
    match &usage.person {
        Some(person) => of_one(out, usage, view, person),
        None if !usage.cards.is_empty() => of_everybody(out, usage, view),
        None => Ok(()),
    }
}

fn of_everybody(out: &mut impl Write, usage: &Usage, view: &View) -> io::Result<()> {
    headline(out, usage, view)?;
    writeln!(out, "\n## §2 Idle capacity\n")?;
    for (state, told) in capacity(usage) {
        writeln!(out, "- {}: {}", state.word(), text(&told))?;
    }
    if let Some(basis) = money::basis(usage) {
        writeln!(out, "\n{}", text(&basis))?;
    }
    cards(out, usage)?;
    writeln!(out, "\n## {}", accounts::TITLE)?;
    accounts(out, usage, view)?;
    energy_section(out, usage)?;
    heatmap(out, usage)?;
    sessions(out, usage, view)?;
    side_by_side(out, usage, view)?;
    verdict(out, usage)
}

pub(in crate::render) fn verdict(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    let Some(verdict) = &usage.verdict else { return Ok(()) };
    writeln!(out, "\n## Verdict\n\n{}", text(&format_verdict(usage, verdict)))?;
    let Some((head, named)) = sessions::format_largest(usage) else { return Ok(()) };
    writeln!(out, "\n{}\n", text(&head))?;
    named.into_iter().try_for_each(|session| {
        let parts = sessions::format_session(session).map(|part| text(&part));
        let parts = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        writeln!(out, "- {}", parts.join(", "))
    })
}

/// The report on one person.
fn of_one(out: &mut impl Write, usage: &Usage, view: &View, about: &PersonPage) -> io::Result<()> {
    writeln!(out, "\n## {}\n", text(&person::title(about)))?;
    table(out, &["", "", ""], &[false, true, false])?;
    for cells in person::figures(usage, about) {
        row(out, &cells)?;
    }
    energy_notes(out, usage)?;
    writeln!(out, "\n## Where")?;
    accounts(out, usage, view)?;
    sessions(out, usage, view)?;
    side_by_side(out, usage, view)?;
    writeln!(out, "\n## Suggestion\n\n{}", text(&person::suggestion(usage, about)))?;
    match person::command(about) {
        Some(command) => writeln!(out, "\n→ {}", code(command)),
        None => Ok(()),
    }
}

fn headline(out: &mut impl Write, usage: &Usage, view: &View) -> io::Result<()> {
    writeln!(out, "\n## §1 Headline\n")?;
    basis(usage, &view.tz).iter().try_for_each(|line| writeln!(out, "{}\n", text(line)))?;
    let has_money = usage.money.is_some();
    let columns = if has_money { 5 } else { 4 };
    let heads = ["state", "", "share", "GPU-h", "cost"];
    let rights = [false, false, true, true, true];
    table(out, heads.get(..columns).unwrap_or(&heads), rights.get(..columns).unwrap_or(&rights))?;
    for state in shown(usage) {
        let amount = amount(&usage.states, state);
        let mut cells = vec![
            state.word().to_owned(),
            mark(state).to_string(),
            percent(amount.share),
            hours(amount.gpu_hours, largest(&usage.states)),
        ];
        if has_money {
            cells.push(cost(usage, state).unwrap_or_default());
        }
        row(out, &cells)?;
    }
    match energy::headline(usage) {
        Some(energy) => writeln!(out, "\n{}", text(&energy)),
        None => Ok(()),
    }
}

fn cards(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    writeln!(out, "\n## §3 Per-GPU\n")?;
    let states: Vec<_> = shown(usage).collect();
    let mut heads = vec!["#", "card"];
    heads.extend(states.iter().map(|state| state.word()));
    let energy = energy::card_column(usage);
    heads.extend(energy.as_ref().map(|_| "kWh"));
    let mut rights = vec![true, false];
    rights.resize(heads.len(), true);
    table(out, &heads, &rights)?;
    for (place_in_list, card) in usage.cards.iter().enumerate() {
        let mut cells = vec![place(card), called(card)];
        cells.extend(states.iter().map(|state| percent(amount(&card.states, *state).share)));
        cells.extend(energy.as_ref().and_then(|energy| energy.get(place_in_list)).cloned());
        row(out, &cells)?;
    }
    Ok(())
}

pub(in crate::render) fn energy_section(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    let Some(energy) = energy::table(usage) else { return Ok(()) };
    writeln!(out, "\n## {}\n", energy::TITLE)?;
    let heads: Vec<_> = energy.heads.iter().map(String::as_str).collect();
    let rights: Vec<_> = (0..heads.len()).map(|column| column > 0).collect();
    table(out, &heads, &rights)?;
    energy.rows.iter().try_for_each(|cells| row(out, cells))?;
    energy_notes(out, usage)
}

fn energy_notes(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    energy::notes(usage).iter().try_for_each(|note| writeln!(out, "\n{}", text(note)))
}

pub(in crate::render) fn accounts(
    out: &mut impl Write,
    usage: &Usage,
    view: &View,
) -> io::Result<()> {
    for by in &usage.accounts_by {
        accounts_by(out, usage, *by, view.is_wide)?;
    }
    let figures = usage.accounts_by.iter();
    let figures: Vec<_> =
        figures.flat_map(|by| accounts::figures(usage, *by, view.is_wide)).collect();
    match usage.accounts.is_empty() {
        true => Ok(()),
        false => writeln!(out, "\n{}", text(&accounts::legend(usage, &figures))),
    }
}

fn accounts_by(out: &mut impl Write, usage: &Usage, by: By, is_wide: bool) -> io::Result<()> {
    let all = accounts::listed(usage, by, is_wide);
    if all.is_empty() {
        return writeln!(out, "\n{}", accounts::NOBODY);
    }
    writeln!(out)?;
    let figures = accounts::figures(usage, by, is_wide);
    let heads: Vec<_> = figures.iter().map(|figure| figure.head(by)).collect();
    let rights: Vec<_> = figures.iter().map(|figure| figure.align() == Align::Right).collect();
    table(out, &heads, &rights)?;
    let printed = PrintedAccounts::new(usage, &all, accounts::MOST);
    printed.cells(&figures).iter().try_for_each(|cells| row(out, cells))?;
    match accounts::and_more(&printed) {
        Some(more) => writeln!(out, "\n{more}"),
        None => Ok(()),
    }
}

fn sessions(out: &mut impl Write, usage: &Usage, view: &View) -> io::Result<()> {
    if usage.sessions.is_empty() || view.sessions == 0 {
        return Ok(());
    }
    writeln!(out, "\n## Holding sessions")?;
    if let Some(host) = sessions::elsewhere(usage, view.is_here) {
        writeln!(out, "\n{}", text(&host))?;
    }
    for standing in Standing::ALL {
        let (shown, more) = sessions::shown(usage, standing, view.sessions);
        if shown.is_empty() {
            continue;
        }
        writeln!(out, "\n{}\n", standing.title())?;
        of_standing(out, &shown, usage, view)?;
        if more > 0 {
            writeln!(out, "\n{}", sessions::and_more(more))?;
        }
    }
    Ok(())
}

fn of_standing(
    out: &mut impl Write,
    shown: &[&Session],
    usage: &Usage,
    view: &View,
) -> io::Result<()> {
    table(out, &sessions::HEADS, &[true, false, true, true, false, true, false])?;
    for session in shown {
        row(out, &sessions::cells(session, usage, &view.tz))?;
    }
    let mut commands = shown.iter().filter(|session| session.end.is_some()).peekable();
    if commands.peek().is_some() {
        writeln!(out)?;
    }
    for session in commands {
        let words = [("ask", &session.ask), ("end", &session.end)];
        let words = words.into_iter().filter_map(|(word, command)| Some((word, command.as_ref()?)));
        let words: Vec<_> = words.map(|(word, it)| format!("{word}: {}", code(it))).collect();
        writeln!(
            out,
            "- {}, card {}: {}",
            text(&sessions::who(session)),
            sessions::place(session),
            words.join(", ")
        )?;
    }
    Ok(())
}

fn side_by_side(out: &mut impl Write, usage: &Usage, view: &View) -> io::Result<()> {
    let Some(before) = &usage.compared else { return Ok(()) };
    writeln!(out, "\n## {}\n", text(&compared::title(before, &view.tz)))?;
    if let Some(doubt) = compared::doubt(usage, before) {
        writeln!(out, "{}\n", text(&doubt))?;
    }
    table(out, &compared::HEADS, &[false, true, true, true])?;
    compared::all_rows(usage, before).iter().try_for_each(|cells| row(out, cells))
}

/// Whole percents of card time active; what was not observed is empty.
pub(in crate::render) fn heatmap(out: &mut impl Write, usage: &Usage) -> io::Result<()> {
    writeln!(out, "\n## {}\n\nactive, in % of the observed card time\n", text(&title(usage)))?;
    let hours: Vec<_> = (0..24).map(|hour| format!("{hour:02}")).collect();
    let mut heads = vec![""];
    heads.extend(hours.iter().map(String::as_str));
    table(out, &heads, &[true; 25])?;
    for (day, hours) in DAYS.iter().zip(week(usage).chunks(24)) {
        let mut cells = vec![(*day).to_owned()];
        let shares = hours.iter().map(|share| share.map(|share| format!("{:.0}", share * 100.0)));
        cells.extend(shares.map(Option::unwrap_or_default));
        row(out, &cells)?;
    }
    Ok(())
}
