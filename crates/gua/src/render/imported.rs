//! What was imported, as text.

use std::io::{self, Write};

use jiff::Timestamp;

use super::words::{count, safe, shell_word};
use crate::cli::Zone;
use crate::report::imported::{Import, UnusableRows};
use crate::wrap::hung;

/// Columns of the text behind its label: of the files, and of the figures.
const PATH_AT: usize = 9;
const TEXT_AT: usize = 14;

/// A line, and the column in which it goes on if it does not fit.
type Hung = (String, usize);

/// Writes the figures and the next step, in at most `width` columns.
///
/// # Errors
/// When the writer fails.
pub fn write(
    out: &mut impl Write,
    import: &Import,
    zone: &Zone,
    width: Option<usize>,
) -> io::Result<()> {
    let lines = lines(import, zone);
    let mut fitted = lines.iter().flat_map(|(line, hang)| hung(line, *hang, width));
    fitted.try_for_each(|line| writeln!(out, "{line}"))
}

fn lines(import: &Import, zone: &Zone) -> Vec<Hung> {
    let mut lines = vec![
        (format!("Imported {}", safe(&import.file)), PATH_AT),
        (format!("    into {}", safe(&import.database)), PATH_AT),
        (String::new(), 0),
    ];
    let (Some(from), Some(to)) = (import.from, import.to) else {
        lines.push(("  The file has no samples: there was nothing to import.".to_owned(), 2));
        lines.extend(unusable(&import.unusable_rows));
        return lines;
    };
    lines.extend(figures(import, from, to, zone));
    lines.extend(unusable(&import.unusable_rows));
    if let Some(kept) = &import.kept {
        lines.extend(apart(format!("The old file is kept as {}", safe(kept))));
    }
    let database = shell_word(&safe(&import.database));
    let from = zone.format(from, "%Y-%m-%d");
    lines.extend(apart(format!("Next: `gua report --db {database} --from {from}`")));
    lines
}

fn figures(import: &Import, from: Timestamp, to: Timestamp, zone: &Zone) -> Vec<Hung> {
    let Import { card_rows, process_rows, ticks, cards, runs, .. } = import;
    let shown = |at: Timestamp| zone.format(at, "%Y-%m-%d %H:%M %Z");
    let mut figures = vec![
        format!("  time        {} to {}", shown(from), shown(to)),
        format!("  cards       {cards}"),
        format!(
            "  ticks       {} in {runs} run{}",
            count(*ticks),
            if *runs == 1 { "" } else { "s" }
        ),
        format!(
            "  rows        {} of cards, {} of processes",
            count(*card_rows),
            count(*process_rows)
        ),
    ];
    let total = import.total_gpu_hours();
    let states = [
        ("active", import.active_gpu_hours),
        ("idle-held", import.idle_held_gpu_hours),
        ("truly-idle", import.free_gpu_hours),
        ("unknown", import.unknown_gpu_hours),
    ];
    // Few files have unknown time.
    let shown = states.into_iter().filter(|(word, hours)| *word != "unknown" || *hours > 0.0);
    figures.extend(shown.map(|(word, hours)| {
        let share = if total > 0.0 { hours / total * 100.0 } else { 0.0 };
        format!("  {word:<11} {hours:.2} GPU-h, {share:.1} %")
    }));
    figures.into_iter().map(|line| (line, TEXT_AT)).collect()
}

/// A sentence below an empty line.
fn apart(sentence: String) -> [Hung; 2] {
    [(String::new(), 0), (sentence, 0)]
}

fn unusable(rows: &UnusableRows) -> Vec<Hung> {
    let UnusableRows { without_time, absurd, twice, without_card } = *rows;
    let reasons = [
        (without_time, "without a usable time"),
        (absurd, "with an absurd value"),
        (twice, "of a card that has a row at that tick already"),
        (without_card, "of a process on a card without a sample at that tick"),
    ];
    let some = reasons.into_iter().filter(|(rows, _)| *rows > 0);
    some.map(|(rows, reason)| (format!("  left out    {} rows {reason}", count(rows)), TEXT_AT))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import() -> Import {
        Import {
            schema: "gua.import/2",
            file: "/old/gua.db".into(),
            database: "/home/ann b/gua.db".into(),
            kept: None,
            card_rows: 12,
            process_rows: 16,
            ticks: 4,
            cards: 3,
            runs: 1,
            from: "2026-11-15T20:00:00Z".parse().ok(),
            to: "2026-11-15T20:02:00Z".parse().ok(),
            active_gpu_hours: 60.0 / 3600.0,
            idle_held_gpu_hours: 300.0 / 3600.0,
            free_gpu_hours: 0.0,
            unknown_gpu_hours: 0.0,
            unusable_rows: UnusableRows { without_time: 0, absurd: 2, twice: 0, without_card: 0 },
        }
    }

    fn text(import: &Import) -> String {
        let mut out = Vec::new();
        write(&mut out, import, &Zone::utc(), None).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn figures_then_the_next_step() {
        insta::assert_snapshot!(text(&import()), @"
        Imported /old/gua.db
            into /home/ann b/gua.db

          time        2026-11-15 20:00 UTC to 2026-11-15 20:02 UTC
          cards       3
          ticks       4 in 1 run
          rows        12 of cards, 16 of processes
          active      0.02 GPU-h, 16.7 %
          idle-held   0.08 GPU-h, 83.3 %
          truly-idle  0.00 GPU-h, 0.0 %
          left out    2 rows with an absurd value

        Next: `gua report --db '/home/ann b/gua.db' --from 2026-11-15`
        ");
    }

    #[test]
    fn file_without_samples_says_so() {
        let nothing = Import { from: None, to: None, ..import() };
        assert!(text(&nothing).contains("no samples"), "{}", text(&nothing));
    }
}
