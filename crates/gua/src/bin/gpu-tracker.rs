//! The second program: gpu_tracker's command line, on our own measuring.

use std::process::ExitCode;

fn main() -> ExitCode {
    gua::gpu_tracker::run()
}
