//! `nvidia-smi`: not needed by gua, but what it says helps to tell where the trouble is.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::fs::{Access, access};

use super::brief_run::{self, Ended};
use super::report::{Check, Finding, SmiFacts, Verdict};

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// What became of it.
#[derive(Debug)]
pub(super) enum Smi {
    NotFound,
    Ran { path: PathBuf, ended: Ended },
}

/// Runs the first one in the search path.
pub(super) fn gather(search_path: &OsStr) -> Smi {
    let Some(path) = find(search_path) else {
        return Smi::NotFound;
    };
    let mut command = Command::new(&path);
    command.arg("-L");
    Smi::Ran { ended: brief_run::run(command, PATIENCE), path }
}

fn find(search_path: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("nvidia-smi"))
        .find(is_program)
}

pub(super) fn facts(smi: &Smi) -> SmiFacts {
    let Smi::Ran { path, ended } = smi else {
        return SmiFacts { path: None, gpu_count: None };
    };
    let gpu_count = match ended {
        Ended::ByItself { status, stdout, .. } if status.success() => Some(count_gpus(stdout)),
        _ => None,
    };
    SmiFacts { path: Some(path.display().to_string()), gpu_count }
}

/// One line a GPU; the lines of MIG instances are set in.
fn count_gpus(stdout: &str) -> usize {
    stdout.lines().filter(|line| line.starts_with("GPU ") && line.contains("UUID")).count()
}

pub(super) fn judge(smi: &Smi) -> Finding {
    let Smi::Ran { path, ended } = smi else {
        return warning("not found in PATH; gua does not need it")
            .next("Nothing to do for gua; it comes with the driver's own tools.");
    };
    match ended {
        Ended::ByItself { status, stdout, stderr } => judge_end(*status, stdout, stderr),
        Ended::NotStarted(error) => warning(format!("{} did not start: {error}", path.display()))
            .next("Is it made for this machine? gua does not need it."),
        Ended::Stopped { gone } => {
            let seconds = PATIENCE.as_secs();
            let end =
                if *gone { "was stopped" } else { "cannot be stopped: it hangs in the driver" };
            warning(format!("did not answer within {seconds} s and {end}"))
                .next("A card may be failing: see `dmesg | grep -i xid`.")
        }
    }
}

fn judge_end(status: ExitStatus, stdout: &str, stderr: &str) -> Finding {
    let gpus = count_gpus(stdout);
    if status.success() && gpus > 0 {
        let plural = if gpus == 1 { "" } else { "s" };
        return Finding::new(Check::NvidiaSmi, Verdict::Ok, format!("lists {gpus} GPU{plural}"));
    }
    let said = first_line(stderr).or_else(|| first_line(stdout)).unwrap_or("no word");
    let detail = if status.success() {
        format!("lists no GPU: {said}")
    } else {
        format!("failed ({status}): {said}")
    };
    warning(detail).next("gua does not need it: it asks the library itself.")
}

fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

fn warning(detail: impl Into<String>) -> Finding {
    Finding::new(Check::NvidiaSmi, Verdict::Warning, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;

    const LISTED: &str = "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n  \
        MIG 3g.40gb     Device  0: (UUID: MIG-2)\nGPU 1: NVIDIA T4 (UUID: GPU-3)\n";

    fn ended(code: i32, stdout: &str, stderr: &str) -> Smi {
        let status = ExitStatus::from_raw(code << 8);
        let ended = Ended::ByItself { status, stdout: stdout.into(), stderr: stderr.into() };
        Smi::Ran { path: "/usr/bin/nvidia-smi".into(), ended }
    }

    #[test]
    fn gpus_are_counted_and_instances_are_not() {
        let smi = ended(0, LISTED, "");
        assert_eq!(judge(&smi).detail, "lists 2 GPUs");
        assert_eq!(judge(&smi).verdict, Verdict::Ok);
        assert_eq!(facts(&smi).gpu_count, Some(2));
    }

    #[test]
    fn it_is_never_more_than_a_warning() {
        let failed = ended(9, "NVIDIA-SMI has failed because it\n", "\n");
        let silent = ended(0, "", "No devices were found\n");
        let stopped = Smi::Ran { path: "/x".into(), ended: Ended::Stopped { gone: true } };
        for smi in [&failed, &silent, &stopped, &Smi::NotFound] {
            let finding = judge(smi);
            assert_eq!(finding.verdict, Verdict::Warning);
            assert!(finding.next_step.is_some());
        }
        assert_eq!(
            judge(&failed).detail,
            "failed (exit status: 9): NVIDIA-SMI has failed because it"
        );
        assert_eq!(judge(&silent).detail, "lists no GPU: No devices were found");
        assert_eq!(judge(&stopped).detail, "did not answer within 3 s and was stopped");
        assert_eq!(facts(&failed).gpu_count, None);
    }

    #[test]
    fn only_a_program_in_an_absolute_folder_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("a"), dir.path().join("b"));
        for folder in [&first, &second] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("nvidia-smi"), "").unwrap();
        }
        let program = second.join("nvidia-smi");
        let paths = std::env::join_paths([Path::new("."), &first, &second]).unwrap();
        assert_eq!(find(&paths), None);
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find(&paths), Some(program));
    }
}
