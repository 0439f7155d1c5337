//! The page: the picture, and below it the summary.

use std::io::{self, Write};

use super::markup::text;
use super::sheet::{self, Heading};
use super::{Picture, style};
use crate::render::tracked::{rows, words};

/// Writes the page. It needs nothing else: no script, no network.
///
/// # Errors
/// When the writer fails.
pub fn write(out: &mut impl Write, picture: &Picture<'_>) -> io::Result<()> {
    let tracked = picture.tracked;
    let title = text(&words::headline(tracked));
    writeln!(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
    writeln!(out, r#"<meta name="viewport" content="width=device-width, initial-scale=1">"#)?;
    writeln!(out, "<title>{title}</title>\n<style>{}</style>\n</head>", style::HTML)?;
    let began = tracked.began.strftime("%-d %b %Y %H:%M:%S UTC");
    writeln!(out, "<body>\n<main>\n<h1>{}</h1>", text(&words::name(tracked)))?;
    let ended = text(&words::ended(tracked));
    writeln!(out, r#"<p class="quiet">{ended}; began {began}</p>"#)?;
    out.write_all(sheet::svg(picture, Heading::Outside).as_bytes())?;
    summary(out, picture)?;
    writeln!(out, "<footer class=\"quiet\"><p>{}</p></footer>", text(&words::basis(tracked)))?;
    writeln!(out, "</main>\n</body>\n</html>")
}

fn summary(out: &mut impl Write, picture: &Picture<'_>) -> io::Result<()> {
    let tracked = picture.tracked;
    writeln!(out, "<h2>What it used, and what to ask for next time</h2>")?;
    writeln!(out, r#"<div class="wide"><table><thead><tr>"#)?;
    for (place, title) in rows::HEAD.iter().enumerate() {
        writeln!(out, r#"<th scope="col"{}>{}</th>"#, figure(place), text(title))?;
    }
    writeln!(out, "</tr></thead><tbody>")?;
    for row in rows::rows(tracked, picture.unit) {
        write!(out, r#"<tr><th scope="row">{}</th>"#, text(row.label.trim()))?;
        for (place, cell) in row.cells().iter().enumerate().skip(1) {
            write!(out, "<td{}>{}</td>", figure(place), text(cell))?;
        }
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody></table></div>")?;
    remarks(out, picture)
}

/// The columns of figures stand at the right.
const fn figure(place: usize) -> &'static str {
    if matches!(place, 1 | 2) { r#" class="figure""# } else { "" }
}

fn remarks(out: &mut impl Write, picture: &Picture<'_>) -> io::Result<()> {
    let tracked = picture.tracked;
    if !tracked.remarks.is_empty() {
        writeln!(out, "<ul>")?;
        for remark in &tracked.remarks {
            writeln!(out, "<li>{}</li>", text(&remark.sentence))?;
        }
        writeln!(out, "</ul>")?;
    }
    if tracked.suggestion.slurm.is_empty() {
        return Ok(());
    }
    let options: Vec<_> =
        tracked.suggestion.slurm.iter().map(|option| format!("#SBATCH {option}")).collect();
    let head_room = tracked.suggestion.head_room_percent;
    writeln!(out, "<h2>For a Slurm script, with {head_room} % head room</h2>")?;
    writeln!(out, "<pre>{}</pre>", text_lines(&options))
}

fn text_lines(lines: &[String]) -> String {
    lines.iter().map(|line| text(line)).collect::<Vec<_>>().join("\n")
}
