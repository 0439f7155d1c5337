//! The summary as Markdown, for an issue or a wiki.

use std::io::{self, Write};

use super::rows::{HEAD, rows};
use super::words;
use crate::cli::MemoryUnit;
use crate::render::markdown::{row, table, text};
use crate::report::tracked::Tracked;

/// Writes the summary.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, tracked: &Tracked, unit: MemoryUnit) -> io::Result<()> {
    writeln!(out, "# {}\n", text(&words::headline(tracked)))?;
    table(out, &HEAD, &[false, true, true, true, false])?;
    for one in rows(tracked, unit) {
        row(out, &one.cells())?;
    }
    writeln!(out)?;
    for remark in &tracked.remarks {
        writeln!(out, "- {}", text(&remark.sentence))?;
    }
    if !tracked.remarks.is_empty() {
        writeln!(out)?;
    }
    if !tracked.suggestion.slurm.is_empty() {
        let options = tracked.suggestion.slurm.join(" ");
        writeln!(
            out,
            "For `sbatch`, with {} % head room:\n",
            tracked.suggestion.head_room_percent
        )?;
        writeln!(out, "```sh\n{options}\n```\n")?;
    }
    writeln!(out, "{}", text(&words::basis(tracked)))
}
