//! Identities of the processes of a scenario, as the host shows them.

use std::collections::BTreeMap;

use crate::identity::{Container, Identity, Pod, Records};
use crate::parse::table::{Table, Wrong};

pub fn identity(table: &mut Table<'_>) -> Identity {
    Identity {
        cgroup: table.text("cgroup", |text| Ok(cgroup(text))),
        loginuid: table.get("loginuid"),
        environ: table.get_as("environ", environ).unwrap_or_default(),
        folder: table.text("folder", |path| absolute("folder", path)),
        uid_map: table.get("uid_map"),
    }
}

/// Reads a path as that of version 2; anything else is the whole file.
fn cgroup(text: &str) -> String {
    if text.starts_with('/') { format!("0::{text}\n") } else { text.to_owned() }
}

fn environ(environ: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
    let is_bad = |(name, value): (&String, &String)| {
        name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
    };
    if environ.iter().any(is_bad) {
        return Err("`environ` has names without `=`, and no NUL in it".into());
    }
    Ok(environ)
}

fn absolute(key: &str, path: &str) -> Result<String, String> {
    if path.starts_with('/') && !path.contains('\0') {
        return Ok(path.to_owned());
    }
    Err(format!("`{key}` is a path from the root, such as \"/home/ann\""))
}

pub fn records(file: &mut Table<'_>) -> Result<Records, Wrong> {
    let containers = file.tables("container", |mut table, _| {
        let container = Container {
            id: file_name(&mut table, "id"),
            name: table.need_text("name", |name| plain("name", name, &['-', '.', '_'])),
        };
        table.finish(container)
    })?;
    let pods = file.tables("pod", |mut table, _| {
        let [uid, namespace, name] =
            ["uid", "namespace", "name"].map(|key| file_name(&mut table, key));
        table.finish(Pod { uid, namespace, name })
    })?;
    Ok(Records { containers, pods })
}

/// Reads a name that is part of a folder's name.
fn file_name(table: &mut Table<'_>, key: &'static str) -> String {
    table.need_text(key, |name| plain(key, name, &['-', '.']))
}

fn plain(key: &str, name: &str, others: &[char]) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || others.contains(&c);
    if !name.is_empty() && name.chars().all(is_plain) && !name.starts_with('.') {
        return Ok(name.to_owned());
    }
    let others: String = others.iter().collect();
    Err(format!("`{key}` has only letters, digits and any of {others}"))
}

#[cfg(test)]
mod tests {
    use crate::parse::from_str;

    fn process(keys: &str) -> String {
        format!("[[card]]\n[[process]]\npid = 5\ncard = 0\nmemory = \"1GiB\"\n{keys}\n")
    }

    #[test]
    fn what_is_left_out_is_as_usual() {
        let machine = from_str("x", &process("user = \"ann\"")).unwrap();
        let owner = &machine.processes[0].owner;
        let identity = &owner.identity;
        let session = "0::/user.slice/user-1000.slice/session-1.scope\n";
        assert_eq!(identity.cgroup(owner.uid), session);
        assert_eq!((identity.loginuid(1000), identity.loginuid(0)), (1000, u32::MAX));
        assert_eq!(identity.cgroup(0), "0::/init.scope\n");
        assert_eq!(identity.environ(), "LANG=C.UTF-8\0");
    }

    #[test]
    fn files_are_written_as_they_are_typed() {
        let keys = "cgroup = \"/docker/1\"\nloginuid = 7\nfolder = \"/home/ann\"\n\
                    environ = { SLURM_JOB_ID = \"5\", A = \"\\n\" }";
        let machine = from_str("x", &process(keys)).unwrap();
        let identity = &machine.processes[0].owner.identity;
        assert_eq!((identity.cgroup(0), identity.loginuid(0)), ("0::/docker/1\n".to_owned(), 7));
        assert_eq!(identity.environ(), "LANG=C.UTF-8\0A=\n\0SLURM_JOB_ID=5\0");
        let keys = "cgroup = \"4:freezer:/slurm/uid_1/job_5\\n0::/\\n\"";
        let machine = from_str("x", &process(keys)).unwrap();
        let text = machine.processes[0].owner.identity.cgroup(0);
        assert_eq!(text, "4:freezer:/slurm/uid_1/job_5\n0::/\n");
    }

    #[test]
    fn what_cannot_be_a_file_is_refused() {
        for (keys, reason) in [
            ("folder = \"work\"", "x:6: `folder` is a path from the root, such as \"/home/ann\""),
            (
                "environ = { \"A=B\" = \"\" }",
                "x:6: `environ` has names without `=`, and no NUL in it",
            ),
            (
                "[[container]]\nid = \"../x\"\nname = \"a\"",
                "x:7: `id` has only letters, digits and any of -.",
            ),
        ] {
            assert_eq!(from_str("x", &process(keys)).unwrap_err().to_string(), reason);
        }
    }
}
