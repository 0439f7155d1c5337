//! What was taken over, as text.

use std::io::{self, Write};

use super::words::{safe, shell_word};
use crate::report::imported::{Import, RefusedRows};

/// Writes the figures, and what can be done next.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, import: &Import) -> io::Result<()> {
    let Import { gpu_rows, process_rows, ticks, cards, runs, .. } = import;
    writeln!(out, "Imported {}", safe(&import.file))?;
    writeln!(out, "    into {}", safe(&import.database))?;
    let (Some(from), Some(to)) = (import.from, import.to) else {
        writeln!(out, "\n  It holds no samples: nothing was there to take over.")?;
        refused(out, &import.refused_rows)?;
        return older_kept(out, import);
    };
    writeln!(out)?;
    let shown = |at: jiff::Timestamp| at.strftime("%Y-%m-%d %H:%M UTC").to_string();
    writeln!(out, "  time        {} to {}", shown(from), shown(to))?;
    writeln!(out, "  cards       {cards}, in {ticks} ticks of {runs} runs")?;
    writeln!(out, "  rows        {gpu_rows} of cards, {process_rows} of processes")?;
    let seconds = &import.seconds;
    let all = seconds.all();
    let states = [
        ("active", seconds.active),
        ("idle-held", seconds.idle_held),
        ("truly-idle", seconds.truly_idle),
        ("unknown", seconds.unknown),
    ];
    // Nearly no file has any of it.
    for (word, part) in states.into_iter().filter(|(word, part)| *word != "unknown" || *part > 0.0)
    {
        let share = if all > 0.0 { part / all * 100.0 } else { 0.0 };
        writeln!(out, "  {word:<11} {:.2} GPU-hours, {share:.1} %", part / 3600.0)?;
    }
    refused(out, &import.refused_rows)?;
    if let Some(kept) = &import.kept {
        writeln!(out, "\nThe old file is kept as {}", safe(kept))?;
    }
    older_kept(out, import)?;
    let database = shell_word(&safe(&import.database));
    let from = from.strftime("%Y-%m-%d");
    writeln!(out, "\nNext: `gua report --db {database} --from {from}`")
}

fn older_kept(out: &mut impl Write, import: &Import) -> io::Result<()> {
    let Some(kept) = &import.older_kept else { return Ok(()) };
    let kept = safe(kept);
    writeln!(out, "\nThe database had an older layout; as it was before, it is kept as {kept}")
}

fn refused(out: &mut impl Write, refused: &RefusedRows) -> io::Result<()> {
    let RefusedRows { without_time, senseless, twice, without_card } = *refused;
    let why = [
        (without_time, "without a time that makes sense"),
        (senseless, "with a value that makes no sense"),
        (twice, "of a card that was there already at that tick"),
        (without_card, "of a process on a card without a sample at that tick"),
    ];
    for (rows, why) in why.into_iter().filter(|(rows, _)| *rows > 0) {
        writeln!(out, "  left out    {rows} rows {why}")?;
    }
    Ok(())
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
        write(&mut out, import).unwrap();
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
