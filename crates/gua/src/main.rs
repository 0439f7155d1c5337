//! The program: parse what was typed, run it, turn the outcome into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    gua::run()
}
