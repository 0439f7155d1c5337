//! The files to be written, checked before the command starts and not touched.

use std::path::Path;

use crate::cli::Output;
use crate::config::Track;
use crate::destination;
use crate::failure::Failure;

pub(super) fn check(meant: &Track) -> Result<(), Failure> {
    let output = meant.output.as_ref().and_then(Output::file);
    if let Some(output) = output {
        writable(output, "Name a file in a folder of yours with -o FILE.")?;
    }
    let Some(timeline) = &meant.timeline else { return Ok(()) };
    if let Some(output) = output
        && destination::is_one_file(output, &timeline.path)
    {
        return Err(Failure::Usage {
            what: format!("-o and --timeline both name {}", output.display()),
            next: "Name a file for each of them.".to_owned(),
        });
    }
    if !timeline.may_replace && timeline.path.symlink_metadata().is_ok() {
        return Err(Failure::Usage {
            what: format!("the time line {} is there already", timeline.path.display()),
            next: "Name a file that is still to be made, or replace it with --overwrite."
                .to_owned(),
        });
    }
    writable(&timeline.path, "Name a file in a folder of yours with --timeline FILE.")
}

fn writable(path: &Path, next: &str) -> Result<(), Failure> {
    destination::check(path)
        .map_err(|error| Failure::Usage { what: error.to_string(), next: next.to_owned() })
}
