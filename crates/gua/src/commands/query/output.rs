//! Where answers go: to stdout and, when asked, to a file as well.

use std::io::{self, Write};

use super::asked::Asked;
use crate::context::Context;
use crate::failure::Failure;
use crate::line_file::LineFile;
use crate::render::query::Printer;
use crate::report::query::Answer;
use crate::safe::safe;

/// After so many lines people have forgotten the names of the columns.
const LINES_UNDER_A_HEAD: usize = 20;

/// Shows one answer after the other.
#[derive(Debug)]
pub(super) struct Output {
    printer: Printer,
    file: Option<LineFile>,
    /// Lines shown since the head was; `None` before it is.
    since_head: Option<usize>,
    /// What was said of the driver last.
    driver_error: Option<String>,
}

impl Output {
    pub fn open(asked: &Asked) -> Result<Self, Failure> {
        let open = |(path, terms)| LineFile::open(path, terms).map_err(|e| lost(path, &e));
        let file = asked.file.as_ref().map(|(path, terms)| open((path, terms))).transpose()?;
        Ok(Self { printer: asked.printer(), file, since_head: None, driver_error: None })
    }

    /// The file first: a reader of stdout that goes away ends everything.
    pub fn show(&mut self, answer: &Answer, context: &mut Context<'_>) -> Result<(), Failure> {
        let lines = self.printer.lines(answer);
        let head = self.printer.head();
        if let Some(file) = &mut self.file {
            keep(file, &head, &lines).map_err(|error| lost(file.path(), &error))?;
        }
        Ok(self.print(&head, &lines, &mut context.out)?)
    }

    fn print(&mut self, head: &[String], lines: &[String], out: &mut impl Write) -> io::Result<()> {
        let is_due = match self.since_head {
            None => true,
            Some(lines) => self.printer.repeats_its_head() && lines >= LINES_UNDER_A_HEAD,
        };
        if is_due {
            self.since_head = Some(0);
            head.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        for line in lines {
            writeln!(out, "{line}")?;
        }
        self.since_head = self.since_head.map(|before| before + lines.len());
        out.flush()
    }

    /// Says on stderr when the driver comes and goes: without it there may be no lines, which
    /// would look as if all was well.
    pub fn talk(&mut self, answer: &Answer, context: &mut Context<'_>) {
        if answer.driver_error == self.driver_error {
            return;
        }
        match &answer.driver_error {
            Some(error) => context.say(format_args!("cannot read the driver: {}", safe(error))),
            None => context.say("the driver answers again"),
        }
        self.driver_error.clone_from(&answer.driver_error);
    }
}

fn keep(file: &mut LineFile, head: &[String], lines: &[String]) -> io::Result<()> {
    file.begin(head)?;
    lines.iter().try_for_each(|line| file.add(head, line))
}

fn lost(path: &std::path::Path, error: &io::Error) -> Failure {
    Failure::Failed {
        what: format!("`{}` cannot be written: {error}", path.display()),
        next: "What was written before is whole.".to_owned(),
    }
}
