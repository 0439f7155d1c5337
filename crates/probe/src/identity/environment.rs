//! Environment variables of a process and its ancestors (`/proc/PID/environ`), and the Python
//! environment that it runs in. The owner of a process can forge its variables, so they never decide
//! whose process it is.

use std::sync::Arc;

use super::command::kept;
use super::{Ancestor, Environment, EnvironmentKind, Evidence, Source, Told};

/// Variables that are read. An environment holds secrets, so nothing else of it is kept.
pub const NAMES: [(&str, Name); 7] = [
    ("SLURM_JOB_ID", Name::SlurmJobId),
    ("JPY_SESSION_NAME", Name::JupyterSession),
    ("JUPYTERHUB_USER", Name::JupyterHubUser),
    ("CONDA_PREFIX", Name::CondaPrefix),
    ("VIRTUAL_ENV", Name::VirtualEnv),
    ("TORCHELASTIC_RUN_ID", Name::TorchelasticRun),
    ("RAY_JOB_ID", Name::RayJob),
];

/// Variable in [`NAMES`].
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

/// Variables of a process that are in [`NAMES`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environ {
    found: Vec<(Name, Arc<str>)>,
    is_whole: bool,
}

impl Environ {
    /// Parses the whole file. The first of several variables with one name counts, as for the C
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

    /// Returns true if it begins with a variable. A program that changes its title overwrites its
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

/// Variables of a process, and those that it probably had before they were overwritten.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    pub own: Environ,
    /// Variables of the nearest related ancestor, if the process's own are unreadable or overwritten.
    pub inherited: Environ,
}

impl Labels {
    #[must_use]
    pub fn of(evidence: &Evidence) -> Self {
        let own = evidence.environ.clone();
        if own.is_whole() {
            return Self { own, inherited: Environ::default() };
        }
        // Variables of another user, or from outside of the container, were never its own.
        let is_related = |ancestor: &&Arc<Ancestor>| {
            ancestor.uid == evidence.uid && ancestor.is_in_the_container_of(evidence)
        };
        let related = evidence.ancestors.iter().take_while(is_related);
        let whole = related.map(|it| &it.environ).find(|environ| environ.is_whole());
        Self { own, inherited: whole.cloned().unwrap_or_default() }
    }

    #[must_use]
    pub fn get(&self, name: Name) -> Option<Told<Arc<str>>> {
        let told = |environ: &Environ, source| {
            Some(Told { value: Arc::clone(environ.get(name)?), source })
        };
        told(&self.own, Source::Environment)
            .or_else(|| told(&self.inherited, Source::AncestorEnvironment))
    }
}

/// Returns the Python environment that a process runs in. The path of the interpreter counts more than
/// the variables: a server starts kernels of other environments with its own variables.
#[must_use]
pub(super) fn python_environment(
    arguments: &[String],
    labels: &Labels,
) -> Option<Told<Environment>> {
    let prefix = arguments.first().and_then(|program| prefix(program));
    let named = prefix.filter(|prefix| is_conda(prefix)).and_then(kept);
    let activated = activated(labels);
    match (named, activated.iter().find(|told| prefix == Some(&*told.value.path))) {
        (_, Some(told)) => Some(told.clone()),
        (Some(path), None) => {
            let value = Environment { kind: EnvironmentKind::Conda, path };
            Some(Told { value, source: Source::CommandLine })
        }
        (None, None) => activated.into_iter().next(),
    }
}

/// Returns the activated environments, a venv first: it is activated within conda, not vice versa.
fn activated(labels: &Labels) -> Vec<Told<Environment>> {
    let names =
        [(Name::VirtualEnv, EnvironmentKind::Venv), (Name::CondaPrefix, EnvironmentKind::Conda)];
    let told = |(name, kind)| {
        let Told { value: path, source } = labels.get(name)?;
        Some(Told { value: Environment { kind, path }, source })
    };
    names.into_iter().filter_map(told).collect()
}

/// Returns `PREFIX` of `PREFIX/bin/python…`.
fn prefix(program: &str) -> Option<&str> {
    let (folder, name) = program.rsplit_once('/')?;
    folder
        .strip_suffix("/bin")
        .filter(|prefix| prefix.starts_with('/') && name.starts_with("python"))
}

/// Returns true for the folder of a named conda environment: those are in `envs`.
fn is_conda(prefix: &str) -> bool {
    prefix.rsplit('/').nth(1) == Some("envs")
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

    fn found(program: &str, environ: &str) -> Option<(EnvironmentKind, Arc<str>, Source)> {
        let labels =
            Labels { own: Environ::parse(environ.as_bytes()), inherited: Environ::default() };
        let told = python_environment(&[program.to_owned(), "train.py".to_owned()], &labels)?;
        Some((told.value.kind, told.value.path, told.source))
    }

    #[test]
    fn what_runs_counts_more_than_what_was_activated() {
        use EnvironmentKind::{Conda, Venv};
        let both = "VIRTUAL_ENV=/home/ann/v\0CONDA_PREFIX=/opt/conda\0";
        let of = |kind, path: &str, source| Some((kind, path.into(), source));
        let (told, typed) = (Source::Environment, Source::CommandLine);
        assert_eq!(found("python", both), of(Venv, "/home/ann/v", told));
        assert_eq!(found("/opt/conda/bin/python", both), of(Conda, "/opt/conda", told));
        let torch = "/opt/conda/envs/torch";
        assert_eq!(found(&format!("{torch}/bin/python3.11"), both), of(Conda, torch, typed));
        assert_eq!(found("/usr/bin/python3", "CONDA_PREFIX=/c\0"), of(Conda, "/c", told));
        assert_eq!(found("/usr/bin/python3", ""), None);
        assert_eq!(found("envs/x/bin/python", ""), None);
    }
}
