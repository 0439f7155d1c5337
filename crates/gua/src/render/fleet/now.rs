//! The hosts now: a line for each host, free card or holder.

use std::io::{self, Write};

use gua_fleet::now::{FleetNow, HolderOnHost, HoldersNow, HostCards, LongestIdle};

use crate::cli::Zone;
use crate::render::paint::{Ink, Paint};
use crate::render::table::{Align, Cell, Line, fit, put_row};
use crate::render::words::{card_name, duration, memory_or_unknown, safe};
use crate::wrap::hung;

/// The screen that it is shown on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    pub paint: Paint,
    /// Columns; `None` if lines may be of any length.
    pub width: Option<usize>,
}

/// Writes a line for each host.
///
/// # Errors
/// When the writer fails.
pub fn hosts(out: &mut impl Write, fleet: &FleetNow, zone: &Zone, view: View) -> io::Result<()> {
    let totals = fleet.totals;
    let headline = format!(
        "{} hosts, {} cards: {} active  {} idle-held  {} free  {} unknown",
        fleet.hosts.len(),
        totals.cards,
        totals.active,
        totals.idle_held,
        totals.free,
        totals.unknown
    );
    write_sentence(out, &headline, view)?;
    let heads = ["host", "cards", "active", "idle-held", "free", "unknown", "longest idle"];
    let mut rows = vec![heads.map(|head| Cell::new(head, Ink::Quiet)).to_vec()];
    rows.extend(fleet.hosts.iter().map(|it| host(it, zone)));
    let mut aligns = [Align::Right; 7];
    aligns[0] = Align::Left;
    aligns[6] = Align::Left;
    put(out, &aligns, &rows, view)
}

fn host(host: &HostCards, zone: &Zone) -> Vec<Cell> {
    let totals = host.totals;
    let count = |count: usize, ink: Ink| match count {
        0 => Cell::new("–", Ink::Quiet),
        count => Cell::new(count.to_string(), ink),
    };
    let last = match (&host.longest_idle, host.is_silent) {
        (_, true) => Cell::new(format!("silent since {}", since(host, zone)), Ink::Bad),
        (Some(idle), false) => Cell::new(format_idle(idle), Ink::Notice),
        (None, false) => Cell::plain(""),
    };
    vec![
        Cell::plain(safe(&host.name)),
        Cell::plain(totals.cards.to_string()),
        count(totals.active, Ink::Good),
        count(totals.idle_held, Ink::Notice),
        count(totals.free, Ink::Plain),
        count(totals.unknown, Ink::Bad),
        last,
    ]
}

fn since(host: &HostCards, zone: &Zone) -> String {
    let last = host.last_tick.map(|last| zone.format(last, "%-d %b %H:%M %Z"));
    last.unwrap_or_else(|| "always".to_owned())
}

fn format_idle(idle: &LongestIdle) -> String {
    let who = idle.user.as_deref().map_or_else(|| "unattributed".to_owned(), safe);
    format!("{who} {} on card {}", duration(idle.seconds), gpu(idle.gpu.as_deref()))
}

/// Writes a line for each free card.
///
/// # Errors
/// When the writer fails.
pub fn free(
    out: &mut impl Write,
    fleet: &FleetNow,
    model: Option<&str>,
    view: View,
) -> io::Result<()> {
    let free = fleet.free();
    if free.cards.is_empty() {
        let of = model.map_or_else(String::new, |model| format!(" of model {}", safe(model)));
        return write_sentence(
            out,
            &format!("no card{of} is free on {} hosts", fleet.hosts.len()),
            view,
        );
    }
    let heads = ["host", "card", "model", "memory"];
    let mut rows = vec![heads.map(|head| Cell::new(head, Ink::Quiet)).to_vec()];
    rows.extend(free.cards.iter().map(|card| {
        vec![
            Cell::plain(safe(&card.host)),
            Cell::plain(gpu(card.gpu.as_deref())),
            Cell::plain(model_name(card.model.as_deref())),
            Cell::plain(memory_or_unknown(card.memory_total_bytes)),
        ]
    }));
    put(out, &[Align::Left, Align::Right, Align::Left, Align::Right], &rows, view)
}

/// Writes a line for each person on a card, longest idle first.
///
/// # Errors
/// When the writer fails.
pub fn who(out: &mut impl Write, holders: &HoldersNow, view: View) -> io::Result<()> {
    if holders.holders.is_empty() {
        writeln!(out, "nobody")?;
    } else {
        let heads = ["idle", "who", "host", "card", "model", "memory", "card is"];
        let mut rows = vec![heads.map(|head| Cell::new(head, Ink::Quiet)).to_vec()];
        rows.extend(holders.holders.iter().map(holder));
        let mut aligns = [Align::Left; 7];
        (aligns[0], aligns[3], aligns[5]) = (Align::Right, Align::Right, Align::Right);
        put(out, &aligns, &rows, view)?;
    }
    if !holders.silent_hosts.is_empty() {
        let names: Vec<_> = holders.silent_hosts.iter().map(|name| safe(name)).collect();
        let silent = format!("silent, nothing is known of them now: {}", names.join(", "));
        write_sentence(out, &silent, view)?;
    }
    Ok(())
}

fn holder(on_host: &HolderOnHost) -> Vec<Cell> {
    let idle = on_host.holder.idle_seconds.map_or_else(|| "–".to_owned(), duration);
    let who = on_host.holder.user.as_deref().map_or_else(|| "unattributed".to_owned(), safe);
    let ink = if on_host.holder.idle_seconds.is_some() { Ink::Notice } else { Ink::Plain };
    vec![
        Cell::new(idle, ink),
        Cell::plain(who),
        Cell::plain(safe(&on_host.host)),
        Cell::plain(gpu(on_host.gpu.as_deref())),
        Cell::plain(model_name(on_host.model.as_deref())),
        Cell::plain(memory_or_unknown(on_host.holder.memory_bytes)),
        Cell::plain(on_host.card_state.word()),
    ]
}

fn model_name(model: Option<&str>) -> String {
    model.map_or_else(|| "unknown".to_owned(), |model| safe(card_name(model)))
}

/// Writes a sentence in as many lines as it takes.
fn write_sentence(out: &mut impl Write, text: &str, view: View) -> io::Result<()> {
    hung(text, 0, view.width).iter().try_for_each(|line| writeln!(out, "{line}"))
}

fn put(out: &mut impl Write, aligns: &[Align], rows: &[Vec<Cell>], view: View) -> io::Result<()> {
    let most = view.width.unwrap_or(usize::MAX);
    let columns = fit(aligns, rows.iter().map(Vec::as_slice));
    for row in rows {
        let mut line = Line::default();
        put_row(&mut line, 0, row, &columns, most, view.paint);
        writeln!(out, "{}", line.text.trim_end())?;
    }
    Ok(())
}

/// Returns the number of a card.
fn gpu(gpu: Option<&str>) -> String {
    gpu.map_or_else(|| "?".to_owned(), safe)
}
