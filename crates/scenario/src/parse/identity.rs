//! Who is behind the processes of a scenario.

use toml::Spanned;

use crate::identity::{Container, Identity, Pod, Records};
use crate::parse::{Wrong, wrong};
use crate::typed;

pub fn identity(typed: &typed::Process) -> Result<Identity, Wrong> {
    let folder = typed.folder.as_ref().map(|folder| absolute("folder", folder)).transpose()?;
    if let Some(environ) = &typed.environ {
        let is_bad = |(name, value): (&String, &String)| {
            name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
        };
        if environ.get_ref().iter().any(is_bad) {
            return wrong(environ.span(), "`environ` has names without `=`, and no NUL in it");
        }
    }
    Ok(Identity {
        cgroup: typed.cgroup.as_deref().map(cgroup),
        loginuid: typed.loginuid,
        environ: typed.environ.clone().map(Spanned::into_inner).unwrap_or_default(),
        folder,
        uid_map: typed.uid_map.clone(),
    })
}

/// A path is that of version 2; anything else is the whole file.
fn cgroup(typed: &str) -> String {
    if typed.starts_with('/') { format!("0::{typed}\n") } else { typed.to_owned() }
}

fn absolute(key: &str, typed: &Spanned<String>) -> Result<String, Wrong> {
    let path = typed.get_ref();
    if path.starts_with('/') && !path.contains('\0') {
        return Ok(path.clone());
    }
    wrong(typed.span(), format!("`{key}` is a path from the root, such as \"/home/ann\""))
}

pub fn records(containers: Vec<typed::Container>, pods: Vec<typed::Pod>) -> Result<Records, Wrong> {
    let container = |typed: typed::Container| {
        let name = plain("name", &typed.name, &['-', '.', '_'])?;
        Ok(Container { id: file_name("id", &typed.id)?, name })
    };
    let pod = |typed: typed::Pod| {
        Ok(Pod {
            uid: file_name("uid", &typed.uid)?,
            namespace: file_name("namespace", &typed.namespace)?,
            name: file_name("name", &typed.name)?,
        })
    };
    Ok(Records {
        containers: containers.into_iter().map(container).collect::<Result<_, _>>()?,
        pods: pods.into_iter().map(pod).collect::<Result<_, _>>()?,
    })
}

/// A folder is called by it.
fn file_name(key: &str, typed: &Spanned<String>) -> Result<String, Wrong> {
    plain(key, typed, &['-', '.'])
}

fn plain(key: &str, typed: &Spanned<String>, others: &[char]) -> Result<String, Wrong> {
    let name = typed.get_ref();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || others.contains(&c);
    if !name.is_empty() && name.chars().all(is_plain) && !name.starts_with('.') {
        return Ok(name.clone());
    }
    let others: String = others.iter().collect();
    wrong(typed.span(), format!("`{key}` has only letters, digits and any of {others}"))
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
