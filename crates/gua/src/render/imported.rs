//! What was taken over, as text.

use std::io::{self, Write};

use jiff::Timestamp;

use super::words::{safe, shell_word};
use crate::report::imported::{Import, RefusedRows};
use crate::wrap::hung;

/// Where the text of a line begins, after its label: of the files, and of the figures.
const PATH_AT: usize = 9;
const TEXT_AT: usize = 14;

/// A line, and where what does not fit goes on.
type Hung = (String, usize);

/// Writes the figures, and what can be done next, in so many columns where there is an end to them.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, import: &Import, width: Option<usize>) -> io::Result<()> {
    let lines = lines(import);
    let mut fitted = lines.iter().flat_map(|(line, hang)| hung(line, *hang, width));
    fitted.try_for_each(|line| writeln!(out, "{line}"))
}

fn lines(import: &Import) -> Vec<Hung> {
    let mut lines = vec![
        (format!("Imported {}", safe(&import.file)), PATH_AT),
        (format!("    into {}", safe(&import.database)), PATH_AT),
        (String::new(), 0),
    ];
    let (Some(from), Some(to)) = (import.from, import.to) else {
        lines.push(("  It holds no samples: nothing was there to take over.".to_owned(), 2));
        lines.extend(refused(&import.refused_rows));
        lines.extend(older_kept(import));
        return lines;
    };
    lines.extend(figures(import, from, to));
    lines.extend(refused(&import.refused_rows));
    if let Some(kept) = &import.kept {
        lines.extend(apart(format!("The old file is kept as {}", safe(kept))));
    }
    lines.extend(older_kept(import));
    let database = shell_word(&safe(&import.database));
    let from = from.strftime("%Y-%m-%d");
    lines.extend(apart(format!("Next: `gua report --db {database} --from {from}`")));
    lines
}

fn figures(import: &Import, from: Timestamp, to: Timestamp) -> Vec<Hung> {
    let Import { gpu_rows, process_rows, ticks, cards, runs, seconds, .. } = import;
    let shown = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M UTC").to_string();
    let mut figures = vec![
        format!("  time        {} to {}", shown(from), shown(to)),
        format!("  cards       {cards}, in {ticks} ticks of {runs} runs"),
        format!("  rows        {gpu_rows} of cards, {process_rows} of processes"),
    ];
    let all = seconds.all();
    let states = [
        ("active", seconds.active),
        ("idle-held", seconds.idle_held),
        ("truly-idle", seconds.truly_idle),
        ("unknown", seconds.unknown),
    ];
    // Nearly no file has any of it.
    let told = states.into_iter().filter(|(word, part)| *word != "unknown" || *part > 0.0);
    figures.extend(told.map(|(word, part)| {
        let share = if all > 0.0 { part / all * 100.0 } else { 0.0 };
        format!("  {word:<11} {:.2} GPU-hours, {share:.1} %", part / 3600.0)
    }));
    figures.into_iter().map(|line| (line, TEXT_AT)).collect()
}

/// A sentence below an empty line.
fn apart(sentence: String) -> [Hung; 2] {
    [(String::new(), 0), (sentence, 0)]
}

fn older_kept(import: &Import) -> Vec<Hung> {
    let Some(kept) = &import.older_kept else { return Vec::new() };
    let kept = safe(kept);
    apart(format!("The database had an older layout; as it was before, it is kept as {kept}"))
        .into()
}

fn refused(refused: &RefusedRows) -> Vec<Hung> {
    let RefusedRows { without_time, senseless, twice, without_card } = *refused;
    let why = [
        (without_time, "without a time that makes sense"),
        (senseless, "with a value that makes no sense"),
        (twice, "of a card that was there already at that tick"),
        (without_card, "of a process on a card without a sample at that tick"),
    ];
    let some = why.into_iter().filter(|(rows, _)| *rows > 0);
    some.map(|(rows, why)| (format!("  left out    {rows} rows {why}"), TEXT_AT)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::imported::Seconds;

    fn import() -> Import {
        Import {
            schema: "gua.import/1",
            file: "/old/gua.db".into(),
            database: "/home/ann b/gua.db".into(),
            kept: None,
            older_kept: None,
            gpu_rows: 12,
            process_rows: 16,
            ticks: 4,
            cards: 3,
            runs: 1,
            from: "2026-11-15T20:00:00Z".parse().ok(),
            to: "2026-11-15T20:02:00Z".parse().ok(),
            seconds: Seconds { active: 60.0, idle_held: 300.0, truly_idle: 0.0, unknown: 0.0 },
            refused_rows: RefusedRows { without_time: 0, senseless: 2, twice: 0, without_card: 0 },
        }
    }

    fn text(import: &Import) -> String {
        let mut out = Vec::new();
        write(&mut out, import, None).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn figures_then_what_to_do_next() {
        insta::assert_snapshot!(text(&import()), @"
        Imported /old/gua.db
            into /home/ann b/gua.db

          time        2026-11-15 20:00 UTC to 2026-11-15 20:02 UTC
          cards       3, in 4 ticks of 1 runs
          rows        12 of cards, 16 of processes
          active      0.02 GPU-hours, 16.7 %
          idle-held   0.08 GPU-hours, 83.3 %
          truly-idle  0.00 GPU-hours, 0.0 %
          left out    2 rows with a value that makes no sense

        Next: `gua report --db '/home/ann b/gua.db' --from 2026-11-15`
        ");
    }

    #[test]
    fn nothing_recorded_is_said_so() {
        let nothing = Import { from: None, to: None, ..import() };
        assert!(text(&nothing).contains("no samples"), "{}", text(&nothing));
    }
}
