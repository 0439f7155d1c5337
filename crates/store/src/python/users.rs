//! The processes that use a file, or are said to record into it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Returns the process that has a file open, or that a pid file beside it names while it is a Python
/// daemon: what another account's process has open cannot be seen.
pub(super) fn find(path: &Path) -> Option<u32> {
    by_pid_file(path).or_else(|| by_open_files(path))
}

fn by_pid_file(path: &Path) -> Option<u32> {
    let file = path.with_file_name("gua.pid");
    // Reading a pipe would wait for a writer.
    fs::metadata(&file).ok().filter(fs::Metadata::is_file)?;
    let pid: u32 = fs::read_to_string(file).ok()?.split_whitespace().next()?.parse().ok()?;
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let arguments = String::from_utf8_lossy(&arguments);
    let is_daemon = is_python_daemon(arguments.split_terminator('\0'));
    (pid != std::process::id() && is_daemon).then_some(pid)
}

/// Returns true for `gua daemon` or `gua start` behind an interpreter, which ours does not have.
fn is_python_daemon<'a>(arguments: impl IntoIterator<Item = &'a str>) -> bool {
    let base = |argument: &'a str| argument.rsplit('/').next().unwrap_or(argument);
    let arguments: Vec<&str> = arguments.into_iter().map(base).collect();
    let is_program =
        |name: &&str| *name == "gua" || name.replace('_', "-").contains("gpu-usage-audit");
    arguments.first().is_some_and(|interpreter| interpreter.starts_with("python"))
        && arguments.iter().skip(1).any(is_program)
        && arguments.iter().any(|argument| matches!(*argument, "daemon" | "start"))
}

fn by_open_files(path: &Path) -> Option<u32> {
    let wanted = fs::metadata(path).ok()?;
    let has_open = |pid: u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files
            .filter_map(|entry| fs::metadata(entry.path()).ok())
            .any(|found| (found.dev(), found.ino()) == (wanted.dev(), wanted.ino()))
    };
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let pid = pids.find(|pid| *pid != std::process::id() && has_open(*pid))?;
    // A process that is just being started has all files of its parent open for a moment.
    thread::sleep(Duration::from_millis(20));
    has_open(pid).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_daemon_is_known_by_its_arguments() {
        let is_daemon = |line: &str| is_python_daemon(line.split(' '));
        assert!(is_daemon("/venv/bin/python3.12 /venv/bin/gua daemon --foreground"));
        assert!(is_daemon("python3 -m gpu_usage_audit start"));
        for line in ["gua daemon", "python3 /venv/bin/gua report", ""] {
            assert!(!is_daemon(line), "{line}");
        }
    }
}
