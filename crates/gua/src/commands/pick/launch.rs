//! The command that comes in our place.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::round::Attempt;
use crate::config::VISIBLE_DEVICES;
use crate::context::Context;
use crate::render::words::safe;
use crate::reservation::Folder;

/// Becomes the command: it has our number, our terminal and our place in the shell, and its
/// end is ours. Comes back only when it cannot be run, with the code that a shell has for it.
pub(super) fn become_command(
    program: &OsStr,
    arguments: &[OsString],
    attempt: &Attempt,
    folder: Option<&Folder>,
    context: &mut Context<'_>,
) -> u8 {
    for taken in &attempt.taken {
        if let Err(error) = taken.keep_open() {
            context
                .say(format_args!("the reservation may end early: {}", safe(&error.to_string())));
        }
    }
    let mut command = Command::new(program);
    command.args(arguments).env(VISIBLE_DEVICES, attempt.pick.uuids());
    let error = command.exec();
    for taken in &attempt.taken {
        if let Some(folder) = folder {
            folder.give_back(taken);
        }
    }
    let program = safe(&program.to_string_lossy());
    context.say(format_args!("cannot run `{program}`: {}", safe(&error.to_string())));
    if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
}
