//! The time line as it comes in, and its file.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use track::Sample;
use track::gpu_tracker::Units;
use track::gpu_tracker::file::FileError;
use track::gpu_tracker::tracking_file::{Existing, Facts, Writer};

use super::cards::Found;
use crate::cli::MemoryUnit;
use crate::config::{self, TimelineKind, Track};
use crate::render::picture::{self, Picture};
use crate::report::tracked::{Points, Tracked};
use crate::safe::safe;

/// A time line to be. Clones share it: one with the tracker, one for the end.
#[derive(Debug, Clone)]
pub(super) struct Timeline {
    file: config::Timeline,
    kept: Arc<Mutex<Kept>>,
}

/// What is there of it so far.
#[derive(Debug)]
enum Kept {
    Points(Points),
    /// A table is made with its first sample: a command that does not start leaves none
    /// behind, and replaces none.
    Facts(Facts),
    Table(Writer),
    Failed(FileError),
    Done,
}

impl Timeline {
    pub fn new(file: config::Timeline, meant: &Track, found: &Found) -> Self {
        let kept = match file.kind {
            TimelineKind::Table => Kept::Facts(Facts::of_this_machine(meant.cores, found.counted)),
            TimelineKind::Svg | TimelineKind::Html => Kept::Points(Points::default()),
        };
        Self { file, kept: Arc::new(Mutex::new(kept)) }
    }

    pub fn add(&self, sample: &Sample) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = match self.begun(mem::replace(&mut kept, Kept::Done)) {
            Kept::Points(mut points) => {
                points.push(sample);
                Kept::Points(points)
            }
            Kept::Table(mut table) => match table.write(sample) {
                Ok(()) => Kept::Table(table),
                Err(error) => Kept::Failed(error),
            },
            other => other,
        };
    }

    fn begun(&self, kept: Kept) -> Kept {
        let Kept::Facts(facts) = kept else { return kept };
        let existing = if self.file.may_replace { Existing::Replace } else { Existing::Refuse };
        Writer::create(&self.file.path, existing, Units::PLAIN, &facts)
            .map_or_else(Kept::Failed, Kept::Table)
    }

    /// Writes what is left to be written; whether all of it is there.
    pub fn end(&self, tracked: &Tracked, unit: MemoryUnit) -> bool {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = mem::replace(&mut *kept, Kept::Done);
        let failed = match self.begun(kept) {
            Kept::Points(points) => {
                let written = self.draw(tracked, points, unit);
                written.err().map(|error| error.to_string())
            }
            Kept::Failed(error) => Some(error.to_string()),
            Kept::Facts(_) | Kept::Table(_) | Kept::Done => None,
        };
        if let Some(error) = &failed {
            let path = safe(&self.file.path.display().to_string());
            eprintln!("gua: the time line {path} is not whole: {}", safe(error));
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
