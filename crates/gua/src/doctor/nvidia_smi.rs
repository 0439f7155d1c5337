//! `nvidia-smi`: not needed by gua, but what it says helps to find the cause of trouble.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::fs::{Access, access};
use serde::Serialize;

use super::finding::{Finding, counted};
use super::subprocess::{self, Ended};

const TIME_LIMIT: Duration = Duration::from_secs(3);

#[derive(Debug, Default, Serialize)]
pub(super) struct SmiFacts {
    path: Option<String>,
    gpu_count: Option<usize>,
}

/// Runs the first `nvidia-smi` in the search path.
pub(super) fn check(search_path: &OsStr) -> (Finding, SmiFacts) {
    let Some(path) = find(search_path) else {
        let finding = Finding::warning("not found in PATH; gua does not need it")
            .next("Nothing to do for gua; it comes with the driver's own tools.");
        return (finding, SmiFacts::default());
    };
    let mut command = Command::new(&path);
    command.arg("-L");
    let (finding, gpu_count) = judge(&path, subprocess::run(command, TIME_LIMIT));
    (finding, SmiFacts { path: Some(path.display().to_string()), gpu_count })
}

fn find(search_path: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    std::env::split_paths(search_path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("nvidia-smi"))
        .find(is_program)
}

/// Returns the number of GPUs too, if it could list them.
fn judge(path: &Path, ended: Ended) -> (Finding, Option<usize>) {
    let finding = match ended {
        Ended::ByItself { status, stdout, stderr } => {
            return judge_output(status, &stdout, &stderr);
        }
        Ended::NotStarted(error) => {
            Finding::warning(format!("{} did not start: {error}", path.display()))
                .next("Is it made for this machine? gua does not need it.")
        }
        Ended::Stopped { gone } => {
            let end =
                if gone { "was stopped" } else { "cannot be stopped: it hangs in the driver" };
            let seconds = TIME_LIMIT.as_secs();
            Finding::warning(format!("did not answer within {seconds} s and {end}"))
                .next("A card may be failing: see `dmesg | grep -i xid`.")
        }
    };
    (finding, None)
}

fn judge_output(status: ExitStatus, stdout: &str, stderr: &str) -> (Finding, Option<usize>) {
    // One line a GPU; the lines of MIG instances are indented.
    let is_gpu = |line: &&str| line.starts_with("GPU ") && line.contains("UUID");
    let gpus = stdout.lines().filter(is_gpu).count();
    let mut lines = stderr.lines().chain(stdout.lines()).map(str::trim);
    let said = lines.find(|line| !line.is_empty()).unwrap_or("no word");
    let detail = match (status.success(), gpus) {
        (true, 1..) => return (Finding::ok(format!("lists {}", counted(gpus, "GPU"))), Some(gpus)),
        (true, 0) => format!("lists no GPU: {said}"),
        (false, _) => format!("failed ({status}): {said}"),
    };
    let finding =
        Finding::warning(detail).next("gua does not need it: it asks the library itself.");
    (finding, status.success().then_some(gpus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::ExitStatusExt;

    const LISTED: &str = "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n  \
        MIG 3g.40gb     Device  0: (UUID: MIG-2)\nGPU 1: NVIDIA T4 (UUID: GPU-3)\n";

    fn judge_end(code: i32, stdout: &str, stderr: &str) -> (Finding, Option<usize>) {
        judge_output(ExitStatus::from_raw(code << 8), stdout, stderr)
    }

    #[test]
    fn gpus_are_counted_and_instances_are_not() {
        assert_eq!(judge_end(0, LISTED, ""), (Finding::ok("lists 2 GPUs"), Some(2)));
    }

    #[test]
    fn it_is_never_more_than_a_warning() {
        let stopped = judge(Path::new("/x"), Ended::Stopped { gone: true });
        let cases = [
            (
                judge_end(9, "NVIDIA-SMI has failed because it\n", "\n"),
                "failed (exit status: 9): NVIDIA-SMI has failed because it",
                None,
            ),
            (
                judge_end(0, "", "No devices were found\n"),
                "lists no GPU: No devices were found",
                Some(0),
            ),
            (stopped, "did not answer within 3 s and was stopped", None),
            ((check(OsStr::new("")).0, None), "not found in PATH; gua does not need it", None),
        ];
        for ((finding, gpus), detail, expected_gpus) in cases {
            assert_eq!((finding.verdict, finding.detail.as_str()), (Verdict::Warning, detail));
            assert!(finding.next_step.is_some());
            assert_eq!(gpus, expected_gpus);
        }
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
