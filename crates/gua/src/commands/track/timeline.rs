//! The time line as it comes in, and its file.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::mem;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use track::Sample;
use track::gpu_tracker::Units;
use track::gpu_tracker::tracking_file::{Existing, Facts, Plan, Recording};

use super::cards::Found;
use crate::cli::MemoryUnit;
use crate::config::{self, TimelineKind, Track};
use crate::context::Context;
use crate::render::picture::{self, Picture};
use crate::report::tracked::{Points, Tracked};
use crate::safe::safe;

/// A time line to be. Clones share it: one with the tracker, one for the end.
#[derive(Debug, Clone)]
pub(super) struct Timeline {
    file: config::Timeline,
    kept: Kept,
}

/// What is there of it so far.
#[derive(Debug, Clone)]
enum Kept {
    Points(Arc<Mutex<Points>>),
    Table(Recording),
}

impl Timeline {
    pub fn new(file: config::Timeline, meant: &Track, found: &Found) -> Self {
        let kept = match file.kind {
            TimelineKind::Table => Kept::Table(Recording::new(Plan {
                path: file.path.clone(),
                existing: if file.may_replace { Existing::Replace } else { Existing::Refuse },
                units: Units::PLAIN,
                facts: Facts::of_this_machine(meant.cores, found.counted),
            })),
            TimelineKind::Svg | TimelineKind::Html => Kept::Points(Arc::default()),
        };
        Self { file, kept }
    }

    pub fn add(&self, sample: &Sample) {
        match &self.kept {
            Kept::Points(points) => {
                points.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
            }
            Kept::Table(table) => table.add(sample),
        }
    }

    /// Writes what is left to be written; whether all of it is there.
    pub fn end(&self, tracked: &Tracked, unit: MemoryUnit, context: &mut Context<'_>) -> bool {
        let failed = match &self.kept {
            Kept::Points(points) => {
                let mut points = points.lock().unwrap_or_else(PoisonError::into_inner);
                let drawn = self.draw(tracked, mem::take(&mut points), unit);
                drawn.err().map(|error| error.to_string())
            }
            Kept::Table(table) => table.end().err().map(|error| error.to_string()),
        };
        if let Some(error) = &failed {
            say_not_whole(&self.file.path, error, context);
        }
        failed.is_none()
    }

    fn draw(&self, tracked: &Tracked, points: Points, unit: MemoryUnit) -> io::Result<()> {
        let points = points.finish();
        let picture = Picture { tracked, points: &points, unit };
        let mut options = OpenOptions::new();
        options.write(true);
        match self.file.may_replace {
            true => options.create(true).truncate(true),
            false => options.create_new(true),
        };
        let mut out = BufWriter::new(options.open(&self.file.path)?);
        match self.file.kind {
            TimelineKind::Html => picture::html::write(&mut out, &picture)?,
            TimelineKind::Svg | TimelineKind::Table => picture::svg(&mut out, &picture)?,
        }
        out.flush()
    }
}

fn say_not_whole(path: &Path, error: &str, context: &mut Context<'_>) {
    let path = safe(&path.display().to_string());
    context.say(format_args!("the time line {path} is not whole: {}", safe(error)));
}
