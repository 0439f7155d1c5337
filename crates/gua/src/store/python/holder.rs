//! Who else has a file open, or is said to record into it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use probe::proc::cmdline;

/// The process that has a file open, or that a pid file beside it leads to while it is a
/// recorder. A daemon of somebody else shows what it has open to nobody, but leaves its
/// number.
pub(super) fn process_on(path: &Path) -> Option<u32> {
    by_pid_file(path).or_else(|| by_open_files(path))
}

fn by_pid_file(path: &Path) -> Option<u32> {
    let file = path.with_file_name("gua.pid");
    // A pipe would wait for a writer.
    fs::metadata(&file).ok().filter(fs::Metadata::is_file)?;
    let text = String::from_utf8_lossy(&fs::read(file).ok()?).into_owned();
    let pid: u32 = text.split_whitespace().next()?.parse().ok()?;
    let arguments = cmdline::parse(&fs::read(format!("/proc/{pid}/cmdline")).ok()?);
    (pid != std::process::id() && is_python_daemon(&arguments)).then_some(pid)
}

/// `gua daemon` or `gua start`, behind an interpreter: ours has none.
fn is_python_daemon(arguments: &[String]) -> bool {
    let base = |argument: &String| argument.rsplit('/').next().unwrap_or(argument).to_owned();
    let Some((interpreter, rest)) = arguments.split_first() else { return false };
    base(interpreter).starts_with("python")
        && rest.iter().any(|argument| {
            base(argument) == "gua" || base(argument).replace('_', "-").contains("gpu-usage-audit")
        })
        && rest.iter().any(|argument| matches!(&**argument, "daemon" | "start"))
}

fn by_open_files(path: &Path) -> Option<u32> {
    let wanted = fs::metadata(path).ok()?;
    let wanted = (wanted.dev(), wanted.ino());
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let pid = pids.find(|pid| *pid != std::process::id() && has_open(*pid, wanted))?;
    // A process that is just being started has all of ours open for a moment.
    thread::sleep(Duration::from_millis(20));
    has_open(pid, wanted).then_some(pid)
}

fn has_open(pid: u32, wanted: (u64, u64)) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let is_it = |entry: fs::DirEntry| {
        fs::metadata(entry.path()).is_ok_and(|found| (found.dev(), found.ino()) == wanted)
    };
    files.flatten().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_python_daemon_is_known_by_its_arguments() {
        let is =
            |line: &str| is_python_daemon(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert!(is("/venv/bin/python3.12 /venv/bin/gua daemon --foreground"));
        assert!(is("python3 -m gpu_usage_audit start"));
        assert!(!is("gua daemon"));
        assert!(!is("python3 /venv/bin/gua report"));
        assert!(!is(""));
    }

    #[test]
    fn who_has_a_file_open_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gua.db");
        fs::write(&path, "x").unwrap();
        assert_eq!(process_on(&path), None);
        let mut reader = Command::new("cat")
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(fs::OpenOptions::new().append(true).open(&path).unwrap())
            .spawn()
            .unwrap();
        assert_eq!(process_on(&path), Some(reader.id()));
        drop(reader.stdin.take());
        reader.wait().unwrap();
        assert_eq!(process_on(&path), None);
    }
}
