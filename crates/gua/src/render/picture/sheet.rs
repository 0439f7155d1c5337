//! The panels below each other, on one time axis.

use std::fmt::Write;

use super::Picture;
use super::markup::text;
use super::panel::{Content, Curve, Hue, Level, Panel, panels};
use super::scale::{Scale, Tick};
use super::series::{Gap, Kind, Piece, Series};
use super::style;
use crate::render::tracked::words;
use crate::render::words::cut;
use crate::report::tracked::thinned;

/// In the units of the picture.
const WIDTH: f64 = 960.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 24.0;
const PLOT: f64 = WIDTH - LEFT - RIGHT;
/// A panel: its head, its plot, the room below.
const HEAD: f64 = 26.0;
const PLOT_HEIGHT: f64 = 116.0;
const BELOW: f64 = 22.0;
const NOTHING_HEIGHT: f64 = 14.0;
/// The name and how it ended.
const TITLE: f64 = 74.0;
const TOP: f64 = 12.0;
const TIME_AXIS: f64 = 36.0;
/// How many ticks the time axis has, about.
const TIME_TICKS: f64 = 9.0;
/// A text below this width would not be read.
const ROOM_FOR_WORDS: f64 = 150.0;
/// A label beside its mark takes this much.
const ROOM_FOR_LABEL: f64 = 80.0;
/// The letters of the name that fit.
const NAME: usize = 84;

/// More points than this are finer than the picture.
const POINTS: usize = 430;
/// What the shade is.
const BAND: &str =
    "Loads: the line is the mean of each moment, the shade above it the most within.";

/// Where the name and the ending are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heading {
    Inside,
    /// On the page around.
    Outside,
}

/// The picture as one element.
pub(super) fn svg(picture: &Picture<'_>, heading: Heading) -> String {
    let points = thinned(picture.points, POINTS);
    let panels = panels(&Picture { points: &points, ..*picture });
    let time = Scale::time(end(picture), TIME_TICKS);
    let y = match heading {
        Heading::Inside => TITLE,
        Heading::Outside => TOP,
    };
    let mut sheet = Sheet { text: String::new(), time, y };
    sheet.open(picture, y + panels.iter().map(height).sum::<f64>() + TIME_AXIS, &panels);
    if heading == Heading::Inside {
        sheet.heading(picture);
    }
    // The time axis stands right below what has a time.
    let (curves, rest): (Vec<_>, Vec<_>) =
        panels.iter().partition(|panel| matches!(panel.content, Content::Curve(_)));
    curves.iter().for_each(|panel| sheet.panel(panel));
    sheet.time_axis(&curves);
    rest.iter().for_each(|panel| sheet.panel(panel));
    sheet.text.push_str("</svg>\n");
    sheet.text
}

fn end(picture: &Picture<'_>) -> f64 {
    let last = picture.points.last().map_or(0.0, |point| point.until.as_secs_f64());
    picture.tracked.wall_seconds.max(last)
}

fn height(panel: &Panel) -> f64 {
    HEAD + match panel.content {
        Content::Curve(_) => PLOT_HEIGHT + BELOW,
        Content::Nothing(_) => NOTHING_HEIGHT,
    }
}

/// The picture as far as it is written, and how far down that is.
#[derive(Debug)]
struct Sheet {
    text: String,
    time: Scale,
    y: f64,
}

impl Sheet {
    /// Adds an element. Writing to a string does not fail.
    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = self.text.write_fmt(element);
        self.text.push('\n');
    }

    fn words(&mut self, class: &str, x: f64, y: f64, anchor: &str, words: &str) {
        let words = text(words);
        self.put(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{words}</text>"#
        ));
    }

    fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            r#"<line class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}"/>"#
        ));
    }

    fn open(&mut self, picture: &Picture<'_>, height: f64, panels: &[Panel]) {
        let title = text(&words::headline(picture.tracked));
        let told = panels.iter().map(|panel| match &panel.content {
            Content::Curve(_) => format!("{}: {}.", panel.title, panel.told),
            Content::Nothing(why) => format!("{}: {why}.", panel.title),
        });
        let told = text(&told.collect::<Vec<_>>().join(" "));
        self.put(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="gua" role="img" aria-labelledby="gua-title gua-told" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">"#
        ));
        self.put(format_args!(r#"<title id="gua-title">{title}</title>"#));
        self.put(format_args!(r#"<desc id="gua-told">Over time: {told}</desc>"#));
        self.put(format_args!("<style>{}</style>", style::SVG));
        self.put(format_args!(
            r#"<defs><pattern id="gua-unknown" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line class="hatch" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>"#
        ));
        self.put(format_args!(r#"<rect class="paper" width="{WIDTH}" height="{height}"/>"#));
    }

    fn heading(&mut self, picture: &Picture<'_>) {
        let tracked = picture.tracked;
        let began = tracked.began.strftime("%-d %b %Y %H:%M UTC");
        self.words("name", LEFT, 32.0, "start", &cut(&words::name(tracked), NAME));
        let ended = format!("{}; began {began}", words::ended(tracked));
        self.words("ended", LEFT, 52.0, "start", &ended);
    }

    fn panel(&mut self, panel: &Panel) {
        let hue = class(panel.hue);
        self.put(format_args!(r#"<g class="{hue}">"#));
        let head = self.y + 16.0;
        self.words("title", LEFT, head, "start", &panel.title);
        match &panel.content {
            Content::Curve(curve) => {
                self.words("told", LEFT + PLOT, head, "end", &panel.told);
                Plot { top: self.y + HEAD, scale: &curve.scale }.draw(self, curve);
            }
            Content::Nothing(why) => {
                let told = [panel.told.as_str(), why].into_iter().filter(|part| !part.is_empty());
                let told = told.collect::<Vec<_>>().join("; ");
                self.words("told", LEFT + PLOT, head, "end", &told);
            }
        }
        self.put(format_args!("</g>"));
        self.y += height(panel);
    }

    fn x(&self, seconds: f64) -> f64 {
        LEFT + (seconds / self.time.top).clamp(0.0, 1.0) * PLOT
    }

    fn time_axis(&mut self, curves: &[&Panel]) {
        if curves.is_empty() {
            return;
        }
        let y = self.y - 2.0;
        for Tick { at, label } in self.time.ticks.clone() {
            self.words("tick", self.x(at), y, "middle", &label);
        }
        if curves.iter().any(|panel| has_band(panel)) {
            self.words("tick", LEFT, y + 20.0, "start", BAND);
        }
        self.y += TIME_AXIS - 6.0;
    }
}

fn has_band(panel: &Panel) -> bool {
    matches!(&panel.content, Content::Curve(curve) if curve.series.has_band())
}

const fn class(hue: Hue) -> &'static str {
    match hue {
        Hue::Ram => "ram",
        Hue::GpuMemory => "gpu-memory",
        Hue::Cpu => "cpu",
        Hue::Gpu => "gpu",
    }
}

/// Where a curve is drawn.
#[derive(Debug, Clone, Copy)]
struct Plot<'a> {
    top: f64,
    scale: &'a Scale,
}

impl Plot<'_> {
    fn bottom(self) -> f64 {
        self.top + PLOT_HEIGHT
    }

    fn y(self, value: f64) -> f64 {
        self.bottom() - (value / self.scale.top).clamp(0.0, 1.0) * PLOT_HEIGHT
    }

    fn draw(self, sheet: &mut Sheet, curve: &Curve) {
        self.grid(sheet);
        for gap in &curve.series.gaps {
            self.gap(sheet, gap);
        }
        self.curve(sheet, &curve.series);
        sheet.line("axis", (LEFT, self.bottom()), (LEFT + PLOT, self.bottom()));
        if let Some(limit) = &curve.limit {
            self.level(sheet, "limit", limit, "end");
        }
        if let Some(spike) = &curve.spike {
            self.level(sheet, "spike", spike, "start");
        }
        if let (Some(label), Some(peak)) = (&curve.peak, curve.series.peak()) {
            self.mark(sheet, curve.series.kind, peak, label);
        }
    }

    fn grid(self, sheet: &mut Sheet) {
        for tick in &self.scale.ticks {
            let y = self.y(tick.at);
            sheet.line("grid", (LEFT, y), (LEFT + PLOT, y));
            sheet.words("tick", LEFT - 8.0, y + 4.0, "end", &tick.label);
        }
        for tick in sheet.time.ticks.clone() {
            let x = sheet.x(tick.at);
            sheet.line("grid", (x, self.top), (x, self.bottom()));
        }
    }

    /// What is not known is not zero.
    fn gap(self, sheet: &mut Sheet, gap: &Gap) {
        let (from, until) = (sheet.x(gap.from), sheet.x(gap.until));
        let (top, width) = (self.top, until - from);
        let why = gap.why;
        sheet.put(format_args!(
            r#"<rect class="unknown" x="{from:.1}" y="{top:.1}" width="{width:.1}" height="{PLOT_HEIGHT}"><title>unknown: {why}</title></rect>"#
        ));
        if width >= ROOM_FOR_WORDS {
            let middle = (from + width / 2.0, top + PLOT_HEIGHT / 2.0 + 4.0);
            sheet.words("note", middle.0, middle.1, "middle", &format!("unknown: {why}"));
        }
    }

    fn curve(self, sheet: &mut Sheet, series: &Series) {
        for run in &series.runs {
            if series.has_band() {
                let upper = self.path(sheet, series.kind, run, |piece| piece.most);
                let lower = self.path(sheet, series.kind, run, |piece| piece.value);
                let back: Vec<_> = lower.into_iter().rev().collect();
                let outline = path(&[upper, back].concat());
                sheet.put(format_args!(r#"<path class="band" d="{outline}Z"/>"#));
            }
            let line = self.path(sheet, series.kind, run, |piece| piece.value);
            let (first, last) = match (line.first(), line.last()) {
                (Some(first), Some(last)) => (first.0, last.0),
                _ => continue,
            };
            let (outline, bottom) = (path(&line), self.bottom());
            sheet.put(format_args!(
                r#"<path class="area" d="{outline}L{last:.1} {bottom:.1}L{first:.1} {bottom:.1}Z"/>"#
            ));
            sheet.put(format_args!(r#"<path class="line" d="{outline}"/>"#));
        }
    }

    /// A mean holds for its stretch; a level is known at its moment.
    fn path(
        self,
        sheet: &Sheet,
        kind: Kind,
        run: &[Piece],
        of: impl Fn(&Piece) -> f64,
    ) -> Vec<(f64, f64)> {
        let at = |seconds: f64, piece: &Piece| (sheet.x(seconds), self.y(of(piece)));
        match kind {
            Kind::Mean => run
                .iter()
                .flat_map(|piece| [at(piece.from, piece), at(piece.until, piece)])
                .collect(),
            Kind::Level => {
                let first = run.first().map(|piece| at(piece.from, piece));
                first.into_iter().chain(run.iter().map(|piece| at(piece.until, piece))).collect()
            }
        }
    }

    fn level(self, sheet: &mut Sheet, class: &str, level: &Level, anchor: &str) {
        let y = self.y(level.at);
        sheet.line(class, (LEFT, y), (LEFT + PLOT, y));
        let x = if anchor == "end" { LEFT + PLOT - 4.0 } else { LEFT + 6.0 };
        let words = if class == "spike" { "mark" } else { "note" };
        sheet.words(words, x, y - 5.0, anchor, &level.label);
    }

    fn mark(self, sheet: &mut Sheet, kind: Kind, peak: Piece, label: &str) {
        let seconds = match kind {
            Kind::Level => peak.until,
            Kind::Mean => f64::midpoint(peak.from, peak.until),
        };
        let (x, y) = (sheet.x(seconds), self.y(peak.most));
        sheet.put(format_args!(r#"<circle class="ring" cx="{x:.1}" cy="{y:.1}" r="3.2"/>"#));
        let is_at_the_edge = x > LEFT + PLOT - ROOM_FOR_LABEL;
        let (x, anchor) = if is_at_the_edge { (x - 7.0, "end") } else { (x + 7.0, "start") };
        sheet.words("mark", x, y - 5.0, anchor, label);
    }
}

fn path(points: &[(f64, f64)]) -> String {
    let mut text = String::new();
    for (place, (x, y)) in points.iter().enumerate() {
        let letter = if place == 0 { 'M' } else { 'L' };
        let _ = write!(text, "{letter}{x:.1} {y:.1}");
    }
    text
}
