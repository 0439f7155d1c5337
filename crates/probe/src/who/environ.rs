//! `/proc/PID/environ`: the few names in it that tell who is behind a process.

use std::sync::Arc;

use super::text::kept;

/// What may be read of an environment. It holds secrets, so nothing else is looked at twice.
pub const NAMES: [(&str, Name); 7] = [
    ("SLURM_JOB_ID", Name::SlurmJobId),
    ("JPY_SESSION_NAME", Name::JupyterSession),
    ("JUPYTERHUB_USER", Name::JupyterHubUser),
    ("CONDA_PREFIX", Name::CondaPrefix),
    ("VIRTUAL_ENV", Name::VirtualEnv),
    ("TORCHELASTIC_RUN_ID", Name::TorchelasticRun),
    ("RAY_JOB_ID", Name::RayJob),
];

/// A name on the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    SlurmJobId,
    JupyterSession,
    JupyterHubUser,
    CondaPrefix,
    VirtualEnv,
    TorchelasticRun,
    RayJob,
}

/// What an environment says, of the names on the list. Its owner can forge all of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environ {
    found: Vec<(Name, Arc<str>)>,
    is_whole: bool,
}

impl Environ {
    /// Of the whole file. Of a name that is there twice, the first counts, as for the C
    /// library.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let mut environ = Self { found: Vec::new(), is_whole: is_variable(entries(bytes).next()) };
        for entry in entries(bytes) {
            if let Some((name, value)) = listed(entry)
                && environ.get(name).is_none()
            {
                environ.found.push((name, value));
            }
        }
        environ
    }

    #[must_use]
    pub fn get(&self, name: Name) -> Option<&Arc<str>> {
        self.found.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Whether it begins as it should. A program that changes its title writes it over its
    /// environment.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.is_whole
    }
}

fn entries(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == 0)
}

fn is_variable(entry: Option<&[u8]>) -> bool {
    let name = entry.and_then(|entry| entry.split(|byte| *byte == b'=').next());
    let has_value = entry.is_some_and(|entry| entry.contains(&b'='));
    has_value && name.is_some_and(|name| !name.is_empty() && !name.contains(&b' '))
}

fn listed(entry: &[u8]) -> Option<(Name, Arc<str>)> {
    NAMES.iter().find_map(|(spelled, name)| {
        let value = entry.strip_prefix(spelled.as_bytes())?.strip_prefix(b"=")?;
        Some((*name, kept(&String::from_utf8_lossy(value))?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_on_the_list_are_kept() {
        let environ = Environ::parse(
            b"PATH=/bin\0AWS_SECRET_ACCESS_KEY=x\0SLURM_JOB_ID=5\0SLURM_JOB_ID=6\0\
              SLURM_JOB_ID_OLD=7\0VIRTUAL_ENV=\0JPY_SESSION_NAME=/a=b.ipynb\0",
        );
        assert_eq!(environ.get(Name::SlurmJobId).map(|id| &**id), Some("5"));
        assert_eq!(environ.get(Name::JupyterSession).map(|path| &**path), Some("/a=b.ipynb"));
        assert_eq!(environ.get(Name::VirtualEnv), None, "an empty value says nothing");
        assert!(environ.is_whole() && !format!("{environ:?}").contains("AWS"));
    }

    #[test]
    fn an_environment_that_was_written_over_is_not_whole() {
        assert!(!Environ::parse(b"").is_whole());
        assert!(!Environ::parse(b"\0\0\0\0").is_whole());
        let titled = Environ::parse(b"y::train model=7 step\0\0\0\0RAY_JOB_ID=01\0");
        assert!(!titled.is_whole());
        assert_eq!(titled.get(Name::RayJob).map(|id| &**id), Some("01"), "what is left counts");
    }
}
