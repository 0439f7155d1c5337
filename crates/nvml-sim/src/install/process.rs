//! One process's files in the pretend `/proc`, as the kernel writes them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use scenario::model::Owner;

use crate::install::{At, InstallError};

/// What the kernel knows of a process.
#[derive(Debug)]
pub struct Entry<'a> {
    pub pid: u32,
    pub owner: &'a Owner,
    /// Hundredths of a second since boot.
    pub start_ticks: i64,
}

/// Writes `/proc/PID` under a pretend `/proc`.
pub fn write(proc: &Path, entry: &Entry<'_>) -> Result<(), InstallError> {
    let dir = proc.join(entry.pid.to_string());
    fs::create_dir_all(&dir).at(&dir)?;
    let Owner { uid, identity, .. } = entry.owner;
    let uid = *uid;
    let files = [
        ("stat", stat(entry)),
        ("status", status(entry)),
        ("comm", format!("{}\n", comm(&entry.owner.program))),
        ("cmdline", cmdline(&entry.owner.command)),
        ("loginuid", identity.loginuid(uid).to_string()),
        ("cgroup", identity.cgroup(uid)),
        ("environ", identity.environ()),
        ("uid_map", identity.uid_map().to_owned()),
    ];
    for (name, text) in files {
        let path = dir.join(name);
        fs::write(&path, text).at(&path)?;
    }
    // It has one thread and has started nobody.
    let thread = dir.join("task").join(entry.pid.to_string());
    fs::create_dir_all(&thread).at(&thread)?;
    fs::write(thread.join("children"), "").at(&thread)?;
    let Some(folder) = &identity.folder else { return Ok(()) };
    let link = dir.join("cwd");
    symlink(folder, &link).at(&link)
}

/// The kernel keeps 15 bytes of a program's name.
fn comm(program: &str) -> &str {
    let name = program.rsplit('/').next().unwrap_or(program);
    let mut end = name.len().min(15);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or(name)
}

/// See `proc_pid_stat(5)`. What no reader of GPU holders asks for is 0.
fn stat(entry: &Entry<'_>) -> String {
    let Entry { pid, owner, start_ticks } = entry;
    format!(
        "{pid} ({}) S {} {pid} {pid} 0 -1 4194304 18230 0 12 0 5123 812 0 0 20 0 8 0 \
         {start_ticks} 21474836480 524288 18446744073709551615 1 1 0 0 0 0 0 16781312 16386 \
         0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
        comm(&owner.program),
        owner.parent,
    )
}

fn status(entry: &Entry<'_>) -> String {
    let Entry { pid, owner, .. } = entry;
    let Owner { uid, parent, .. } = owner;
    format!(
        "Name:\t{}\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t{pid}\nNgid:\t0\nPid:\t{pid}\n\
         PPid:\t{parent}\nTracerPid:\t0\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n\
         Gid:\t{uid}\t{uid}\t{uid}\t{uid}\nFDSize:\t256\nGroups:\t{uid} \nNStgid:\t{pid}\n\
         NSpid:\t{pid}\nNSpgid:\t{pid}\nNSsid:\t{pid}\nVmPeak:\t20971520 kB\n\
         VmSize:\t20971520 kB\nVmRSS:\t 2097152 kB\nVmData:\t 4194304 kB\nThreads:\t8\n\
         voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n",
        comm(&owner.program),
    )
}

/// Each argument with its terminator.
fn cmdline(command: &[String]) -> String {
    command.iter().flat_map(|argument| [argument, "\0"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::identity::Identity;

    #[test]
    fn a_name_is_cut_where_the_kernel_cuts_it() {
        assert_eq!(comm("/usr/bin/python3.11"), "python3.11");
        assert_eq!(comm("a-very-long-program-name"), "a-very-long-pro");
        assert_eq!(comm("fourteen_byte_é_x"), "fourteen_byte_");
    }

    #[test]
    fn stat_has_the_kernels_52_fields_with_the_start_in_the_22nd() {
        let owner = Owner {
            user: None,
            uid: 7,
            program: "a (b) c".into(),
            command: vec!["a (b) c".into(), "-x".into()],
            parent: 3,
            gone: false,
            identity: Identity::default(),
        };
        let entry = Entry { pid: 42, owner: &owner, start_ticks: 987 };
        let text = stat(&entry);
        let (before, after) = text.rsplit_once(") ").unwrap();
        assert_eq!(before, "42 (a (b) c");
        let fields: Vec<&str> = after.split_whitespace().collect();
        assert_eq!((fields.len() + 2, fields[1], fields[19]), (52, "3", "987"));
        assert_eq!(cmdline(&owner.command), "a (b) c\0-x\0");
    }
}
