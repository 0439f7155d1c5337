//! What a command used over time, as a picture: SVG, or HTML with the summary below.
//!
//! # Layout
//!
//! | module | what it holds |
//! |---|---|
//! | `scale` | where the ticks of an axis are, and what they say |
//! | `series` | one measure over time, with what is not known of it |
//! | `panel` | what stands in each panel |
//! | `sheet` | the panels below each other, on one time axis |
//! | `style` | colours and type, for light, dark and paper |
//! | `html` | the page |
//! | `markup` | text that stays text |

pub mod html;
mod markup;
mod panel;
mod scale;
mod series;
mod sheet;
mod style;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use crate::cli::MemoryUnit;
use crate::report::tracked::{Point, Tracked};

/// What there is to be drawn.
#[derive(Debug, Clone, Copy)]
pub struct Picture<'a> {
    pub tracked: &'a Tracked,
    /// In their order, each beginning where the one before ends.
    pub points: &'a [Point],
    pub unit: MemoryUnit,
}

/// Writes the picture by itself.
///
/// # Errors
/// When the writer fails.
pub fn svg(out: &mut impl Write, picture: &Picture<'_>) -> io::Result<()> {
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    out.write_all(sheet::svg(picture, sheet::Heading::Inside).as_bytes())
}
