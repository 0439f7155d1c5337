//! The summary, told where it was asked for.

use std::fs;
use std::io::{self, Write};

use crate::cli::{self, Format, Output};
use crate::commands::report::width;
use crate::config::Track;
use crate::context::{Context, Screen};
use crate::render::json;
use crate::render::paint::Paint;
use crate::render::tracked::{self as render, View};
use crate::report::tracked::Tracked;
use crate::safe::safe;

/// Writes the summary where it was asked for; returns true if it got there. It is never lost:
/// what cannot be written elsewhere goes to stderr.
pub(super) fn tell(
    tracked: &Tracked,
    meant: &Track,
    typed: &cli::Track,
    context: &mut Context<'_>,
) -> bool {
    let stderr = context.stderr_screen(&typed.color);
    let (place, written) = match &meant.output {
        None => return print(tracked, meant, typed, &stderr, &mut context.err).is_ok(),
        Some(Output::Stdout) => {
            let screen = context.screen(&typed.color);
            ("stdout".to_owned(), print(tracked, meant, typed, &screen, &mut context.out))
        }
        Some(Output::File(path)) => {
            let in_a_file = Screen { color: false, is_terminal: false, columns: None, rows: None };
            let text = rendered(tracked, meant, typed, &in_a_file);
            let written = text.and_then(|text| fs::write(path, text));
            (safe(&path.display().to_string()), written)
        }
    };
    if let Err(error) = &written {
        context.say(format_args!(
            "cannot write {place}: {error}\n     The summary is printed instead."
        ));
        // Nowhere is left to say that this failed, too.
        let _ = print(tracked, meant, typed, &stderr, &mut context.err);
    }
    written.is_ok()
}

/// Prints the summary. A reader that went away is no failure of the command.
fn print(
    tracked: &Tracked,
    meant: &Track,
    typed: &cli::Track,
    screen: &Screen,
    stream: &mut impl Write,
) -> io::Result<()> {
    let text = rendered(tracked, meant, typed, screen)?;
    match stream.write_all(&text).and_then(|()| stream.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
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
