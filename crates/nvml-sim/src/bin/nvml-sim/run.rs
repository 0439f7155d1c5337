//! Running a program on the pretend machine, and ending as it ended.

use std::ffi::{OsString, c_int, c_void};
use std::io::ErrorKind;
use std::mem::zeroed;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};

use nvidia_ml::install::{self, InstallError};

/// The program that signals are passed on to; 0 while there is none.
static PROGRAM: AtomicI32 = AtomicI32::new(0);
/// A signal that came before there was a program to pass it on to.
static EARLY: AtomicI32 = AtomicI32::new(0);

/// Installs into a directory of its own, runs the program there, and removes it again.
pub fn run(scenario: &Path, command: &[OsString]) -> Result<ExitCode, InstallError> {
    let Some((program, arguments)) = command.split_first() else {
        return Ok(ExitCode::from(127));
    };
    // Before there is a directory to leave behind.
    pass_signals_on();
    let dir = tempfile::Builder::new()
        .prefix("nvml-sim-")
        .tempdir()
        .map_err(|source| InstallError::Io { path: std::env::temp_dir(), source })?;
    let installed = install::install(dir.path(), scenario)?;
    let started = Command::new(program).args(arguments).envs(installed.envs()).spawn();
    let ended = started.and_then(|mut child| wait(&mut child));
    Ok(match ended {
        Ok(status) => exit_code(status),
        Err(error) => {
            eprintln!("nvml-sim: {}: {error}", program.display());
            ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 })
        }
    })
}

fn wait(child: &mut Child) -> std::io::Result<ExitStatus> {
    let program = i32::try_from(child.id()).unwrap_or(0);
    PROGRAM.store(program, Ordering::Release);
    match EARLY.swap(0, Ordering::AcqRel) {
        0 => {}
        signal => {
            // SAFETY: `kill` takes plain numbers, and the child has not been waited for.
            unsafe { libc::kill(program, signal) };
        }
    }
    let status = child.wait();
    PROGRAM.store(0, Ordering::Release);
    status
}

/// As a shell would tell it.
fn exit_code(status: ExitStatus) -> ExitCode {
    let number = status.code().or(status.signal().map(|signal| 128 + signal));
    ExitCode::from(number.and_then(|number| u8::try_from(number).ok()).unwrap_or(1))
}

/// Has SIGTERM, SIGINT and SIGHUP reach the program instead of ending this one, which
/// still has to wait for it and to clean up.
fn pass_signals_on() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        // SAFETY: all-zero is a valid `sigaction`, the handler has the signature that
        // SA_SIGINFO asks for, and it does nothing but what is safe in a handler.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = pass_on as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &raw const action, null_mut());
        }
    }
}

extern "C" fn pass_on(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel passes a valid `siginfo_t` to a handler with SA_SIGINFO.
    let by_a_process = unsafe { (*info).si_code } <= 0;
    // What a terminal sends reaches the whole group by itself.
    if !by_a_process {
        return;
    }
    match PROGRAM.load(Ordering::Acquire) {
        0 => EARLY.store(signal, Ordering::Release),
        program => {
            // SAFETY: `kill` takes plain numbers and may be called in a handler.
            unsafe { libc::kill(program, signal) };
        }
    }
}
