//! The Python environment that a process runs in.

use super::environ::Name;
use super::labels::Labels;
use super::text::kept;
use super::{Environment, EnvironmentKind, Source, Told};

/// A Python that was started by its path says more than what was activated: a server starts
/// the kernels of other environments in its own.
#[must_use]
pub(super) fn environment(arguments: &[String], labels: &Labels) -> Option<Told<Environment>> {
    let prefix = arguments.first().and_then(|program| prefix(program));
    let named = prefix.filter(|prefix| is_conda(prefix)).and_then(kept);
    let listed = listed(labels);
    match (named, listed.iter().find(|told| prefix == Some(&*told.value.path))) {
        (_, Some(told)) => Some(told.clone()),
        (Some(path), None) => {
            let value = Environment { kind: EnvironmentKind::Conda, path };
            Some(Told { value, source: Source::CommandLine })
        }
        (None, None) => listed.into_iter().next(),
    }
}

/// A venv is activated within conda, not the other way round.
fn listed(labels: &Labels) -> Vec<Told<Environment>> {
    let names =
        [(Name::VirtualEnv, EnvironmentKind::Venv), (Name::CondaPrefix, EnvironmentKind::Conda)];
    let told = |(name, kind)| {
        let Told { value: path, source } = labels.get(name)?;
        Some(Told { value: Environment { kind, path }, source })
    };
    names.into_iter().filter_map(told).collect()
}

/// `PREFIX` of `PREFIX/bin/python…`.
fn prefix(program: &str) -> Option<&str> {
    let (folder, name) = program.rsplit_once('/')?;
    folder
        .strip_suffix("/bin")
        .filter(|prefix| prefix.starts_with('/') && name.starts_with("python"))
}

/// Named environments lie in `envs`.
fn is_conda(prefix: &str) -> bool {
    prefix.rsplit('/').nth(1) == Some("envs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::who::environ::Environ;

    fn found(program: &str, environ: &str) -> Option<(EnvironmentKind, Arc<str>, Source)> {
        let labels =
            Labels { own: Environ::parse(environ.as_bytes()), inherited: Environ::default() };
        let told = environment(&[program.to_owned(), "train.py".to_owned()], &labels)?;
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
