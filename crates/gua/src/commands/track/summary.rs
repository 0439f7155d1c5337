//! The summary, told where it was asked for.

use std::fs;
use std::io::{self, Write};

use crate::cli::{self, Format};
use crate::commands::report::width;
use crate::config::{Screen, Track};
use crate::render::json;
use crate::render::paint::Paint;
use crate::render::tracked::{self as render, View};
use crate::report::tracked::Tracked;
use crate::safe::safe;
use crate::talk::say;

/// Tells it; whether it got where it was meant to. It is never lost: what cannot be written
/// to its file is printed.
pub(super) fn tell(tracked: &Tracked, meant: &Track, typed: &cli::Track) -> bool {
    let Some(path) = &meant.output else {
        return print(tracked, meant, typed);
    };
    let in_a_file = Screen { color: false, is_terminal: false, columns: None, rows: None };
    let text = rendered(tracked, meant, typed, &in_a_file);
    let written = text.and_then(|text| fs::write(path, text));
    if let Err(error) = &written {
        let path = safe(&path.display().to_string());
        say(format_args!("cannot write {path}: {error}\n     The summary is printed instead."));
        print(tracked, meant, typed);
    }
    written.is_ok()
}

/// A reader that went away is no trouble of the command's.
fn print(tracked: &Tracked, meant: &Track, typed: &cli::Track) -> bool {
    let text = rendered(tracked, meant, typed, &Screen::of_stderr(&typed.color));
    let printed = text.and_then(|text| io::stderr().write_all(&text));
    printed.is_ok() || printed.is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn rendered(
    tracked: &Tracked,
    meant: &Track,
    typed: &cli::Track,
    screen: &Screen,
) -> io::Result<Vec<u8>> {
    let view =
        View { paint: Paint(screen.color), width: width(typed.width, screen), unit: meant.unit };
    let mut out = Vec::new();
    match meant.format {
        Format::Text => render::write(&mut out, tracked, &view)?,
        Format::Json => json::pretty(&mut out, tracked)?,
        Format::Csv => render::csv::write(&mut out, tracked)?,
        Format::Markdown => render::markdown::write(&mut out, tracked, meant.unit)?,
    }
    Ok(out)
}
