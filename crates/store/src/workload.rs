//! Workload of a process as a row: job, container, pod, notebook and more.

use std::sync::Arc;

use gua_core::identity::{
    Client, Container, Environment, EnvironmentKind, Group, GroupKind, Job, Launcher, Notebook,
    Pod, Runtime, Source, Told, Who,
};
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use crate::error::Problem;

/// Workload of a process. The person is stored with the process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Workload {
    /// Without the user.
    pub who: Who,
    /// Command line with its secrets masked; only if asked for.
    pub command: Option<String>,
}

/// Writes a workload. Returns its id.
pub(crate) fn write(
    database: &Connection,
    who: &Who,
    command: Option<&str>,
) -> Result<i64, Problem> {
    let mut columns = place_columns(who);
    columns.extend(software_columns(who));
    columns.push(("command", command));
    let ancestors = who.ancestor_names.as_ref().map(|names| names_to_json(names).to_string());
    columns.push(("ancestors", ancestors.as_deref()));
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    let marks = vec!["?"; columns.len()].join(", ");
    let insert = format!("INSERT INTO workload ({}) VALUES ({marks})", names.join(", "));
    let values = columns.iter().map(|(_, value)| value);
    database.prepare_cached(&insert)?.execute(params_from_iter(values))?;
    Ok(database.last_insert_rowid())
}

fn names_to_json(names: &[Arc<str>]) -> serde_json::Value {
    names.iter().map(|name| &**name).collect()
}

/// Returns `None` for text that is not a list of names.
fn names_from_json(text: &str) -> Option<Arc<[Arc<str>]>> {
    let names: Vec<String> = serde_json::from_str(text).ok()?;
    Some(names.into_iter().map(Arc::from).collect())
}

/// Name and value of a column.
type Column<'a> = (&'static str, Option<&'a str>);

/// Columns of where it runs: job, container, pod.
fn place_columns(who: &Who) -> Vec<Column<'_>> {
    let Who { job, container, pod, .. } = who;
    vec![
        ("job", value(job, |job| Some(&job.id))),
        ("step", value(job, |job| job.step.as_ref())),
        ("job_source", source(job)),
        ("container", value(container, |container| Some(&container.id))),
        ("container_name", value(container, |container| container.name.as_ref())),
        ("runtime", container.as_ref().map(|told| runtime(told.value.runtime))),
        ("container_source", source(container)),
        ("pod", value(pod, |pod| Some(&pod.uid))),
        ("pod_name", value(pod, |pod| pod.name.as_ref())),
        ("pod_namespace", value(pod, |pod| pod.namespace.as_ref())),
        ("pod_source", source(pod)),
    ]
}

/// Columns of what it runs: notebook, environment, group.
fn software_columns(who: &Who) -> Vec<Column<'_>> {
    let Who { notebook, hub_user, environment, launcher, script, .. } = who;
    // A possible group is stored where there is no other, and shares its columns.
    let (group, group_source) = match (&who.group, &who.possible_group) {
        (Some(told), _) => (Some(&told.value), Some(told.source.slug())),
        (None, Some(possible)) => (Some(possible), Some(Source::Ancestors.slug())),
        (None, None) => (None, None),
    };
    vec![
        ("notebook", value(notebook, |notebook| notebook.path.as_ref())),
        ("kernel", value(notebook, |notebook| notebook.kernel.as_ref())),
        ("client", notebook.as_ref().map(|told| client(told.value.client))),
        ("notebook_source", source(notebook)),
        ("hub_user", value(hub_user, |user| Some(user))),
        ("hub_user_source", source(hub_user)),
        ("environment", value(environment, |environment| Some(&environment.path))),
        ("environment_kind", environment.as_ref().map(|it| environment_kind(it.value.kind))),
        ("environment_source", source(environment)),
        ("group_id", group.map(|group| &*group.id)),
        ("group_kind", group.map(|group| group.kind.slug())),
        ("group_source", group_source),
        ("launcher", value(launcher, |launcher| Some(&launcher.program))),
        ("launcher_source", source(launcher)),
        ("script", script.as_deref()),
    ]
}

/// Reads a workload.
pub(crate) fn read(database: &Connection, id: i64) -> Result<Option<Workload>, Problem> {
    let mut query = database.prepare_cached("SELECT * FROM workload WHERE id = ?1")?;
    Ok(query.query_row([id], workload).optional()?)
}

fn value<T>(told: &Option<Told<T>>, part: impl FnOnce(&T) -> Option<&Arc<str>>) -> Option<&str> {
    told.as_ref().and_then(|told| part(&told.value)).map(|text| &**text)
}

fn source<T>(told: &Option<Told<T>>) -> Option<&'static str> {
    told.as_ref().map(|told| told.source.slug())
}

fn workload(row: &Row<'_>) -> rusqlite::Result<Workload> {
    let group = told(row, "group_source", text(row, "group_id")?, |id| {
        let kind: Option<String> = row.get("group_kind")?;
        let kind = kind.as_deref().and_then(GroupKind::of_slug);
        Ok(kind.map(|kind| Group { kind, id }))
    })?;
    let (possible_group, group) = match group {
        Some(told) if told.value.kind.is_only_possible() => (Some(told.value), None),
        group => (None, group),
    };
    let who = Who {
        user: None,
        job: told(row, "job_source", text(row, "job")?, |id| {
            Ok(Some(Job { id, step: text(row, "step")? }))
        })?,
        container: told(row, "container_source", text(row, "container")?, |id| {
            let runtime = word(row, "runtime", RUNTIMES)?;
            let name = text(row, "container_name")?;
            Ok(runtime.map(|runtime| Container { runtime, id, name }))
        })?,
        pod: told(row, "pod_source", text(row, "pod")?, |uid| {
            let (name, namespace) = (text(row, "pod_name")?, text(row, "pod_namespace")?);
            Ok(Some(Pod { uid, name, namespace }))
        })?,
        notebook: told(row, "notebook_source", word(row, "client", CLIENTS)?, |client| {
            let (kernel, path) = (text(row, "kernel")?, text(row, "notebook")?);
            Ok(Some(Notebook { kernel, path, client }))
        })?,
        hub_user: told(row, "hub_user_source", text(row, "hub_user")?, |user| Ok(Some(user)))?,
        environment: told(row, "environment_source", text(row, "environment")?, |path| {
            let kind = word(row, "environment_kind", ENVIRONMENTS)?;
            Ok(kind.map(|kind| Environment { kind, path }))
        })?,
        group,
        possible_group,
        // Its pid is not stored: it means nothing later.
        launcher: told(row, "launcher_source", text(row, "launcher")?, |program| {
            Ok(Some(Launcher { pid: 0, program }))
        })?,
        ancestor_names: text(row, "ancestors")?.as_deref().and_then(names_from_json),
        script: text(row, "script")?,
    };
    Ok(Workload { who, command: row.get("command")? })
}

fn text(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Arc<str>>> {
    row.get(column)
}

/// Reads a part with its source. A word of a newer version makes the part unknown.
fn told<P, T>(
    row: &Row<'_>,
    source: &str,
    part: Option<P>,
    make: impl FnOnce(P) -> rusqlite::Result<Option<T>>,
) -> rusqlite::Result<Option<Told<T>>> {
    let source: Option<String> = row.get(source)?;
    let Some(source) = source.as_deref().and_then(Source::of_slug) else { return Ok(None) };
    let Some(value) = part.map(make).transpose()?.flatten() else { return Ok(None) };
    Ok(Some(Told { value, source }))
}

fn word<T: Copy>(
    row: &Row<'_>,
    column: &str,
    words: &[(T, &'static str)],
) -> rusqlite::Result<Option<T>> {
    let found: Option<String> = row.get(column)?;
    Ok(words.iter().find(|(_, word)| found.as_deref() == Some(word)).map(|(value, _)| *value))
}

const RUNTIMES: &[(Runtime, &str)] = &[
    (Runtime::Docker, "docker"),
    (Runtime::Podman, "podman"),
    (Runtime::Containerd, "containerd"),
    (Runtime::Crio, "crio"),
];
const CLIENTS: &[(Client, &str)] = &[(Client::Jupyter, "jupyter"), (Client::VsCode, "vscode")];
const ENVIRONMENTS: &[(EnvironmentKind, &str)] =
    &[(EnvironmentKind::Conda, "conda"), (EnvironmentKind::Venv, "venv")];

const fn runtime(runtime: Runtime) -> &'static str {
    match runtime {
        Runtime::Docker => "docker",
        Runtime::Podman => "podman",
        Runtime::Containerd => "containerd",
        Runtime::Crio => "crio",
    }
}

const fn client(client: Client) -> &'static str {
    match client {
        Client::Jupyter => "jupyter",
        Client::VsCode => "vscode",
    }
}

const fn environment_kind(kind: EnvironmentKind) -> &'static str {
    match kind {
        EnvironmentKind::Conda => "conda",
        EnvironmentKind::Venv => "venv",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    fn told<T>(value: T, source: Source) -> Option<Told<T>> {
        Some(Told { value, source })
    }

    fn full() -> Who {
        Who {
            user: None,
            job: told(Job { id: "42".into(), step: Some("batch".into()) }, Source::Cgroup),
            container: told(
                Container {
                    runtime: Runtime::Crio,
                    id: "ab".repeat(32).into(),
                    name: Some("train".into()),
                },
                Source::ContainerRecord,
            ),
            pod: told(
                Pod { uid: "0a-1".into(), name: Some("web".into()), namespace: Some("lab".into()) },
                Source::PodLogs,
            ),
            notebook: told(
                Notebook {
                    kernel: Some("k-1".into()),
                    path: Some("a b.ipynb".into()),
                    client: Client::VsCode,
                },
                Source::CommandLine,
            ),
            hub_user: told("ann".into(), Source::Environment),
            environment: told(
                Environment { kind: EnvironmentKind::Venv, path: "/home/ann/v".into() },
                Source::Environment,
            ),
            group: told(
                Group { kind: GroupKind::Ray, id: "j7".into() },
                Source::AncestorEnvironment,
            ),
            possible_group: None,
            launcher: told(Launcher { pid: 0, program: "bash".into() }, Source::Ancestors),
            ancestor_names: Some(["bash".into(), "tmux: \"new\"\n".into()].into()),
            script: Some("train.py".into()),
        }
    }

    #[test]
    fn workload_comes_back() {
        let database = Database::in_memory().unwrap().connection;
        let siblings = Group { kind: GroupKind::Siblings, id: "train.py of pid 7".into() };
        let possible = Who { group: None, possible_group: Some(siblings), ..full() };
        for who in [full(), possible, Who::default()] {
            for command in [None, Some("python train.py".to_owned())] {
                let id = write(&database, &who, command.as_deref()).unwrap();
                let expected = Workload { who: who.clone(), command };
                assert_eq!(read(&database, id).unwrap(), Some(expected));
            }
        }
        assert_eq!(read(&database, 77).unwrap(), None);
    }

    /// The words are part of the schema.
    #[test]
    fn every_word_comes_back() {
        assert!(RUNTIMES.iter().all(|(value, word)| runtime(*value) == *word));
        assert!(CLIENTS.iter().all(|(value, word)| client(*value) == *word));
        assert!(ENVIRONMENTS.iter().all(|(value, word)| environment_kind(*value) == *word));
        assert!(GroupKind::ALL.iter().all(|it| GroupKind::of_slug(it.slug()) == Some(*it)));
        assert!(Source::ALL.iter().all(|it| Source::of_slug(it.slug()) == Some(*it)));
    }

    /// A word of a later version makes only that part unknown.
    #[test]
    fn words_of_a_newer_version_are_left_out() {
        let database = Database::in_memory().unwrap().connection;
        let id = write(&database, &full(), None).unwrap();
        let change = "UPDATE workload SET runtime = 'kata', pod_source = 'rumor'";
        database.execute_batch(change).unwrap();
        let expected = Who { container: None, pod: None, ..full() };
        assert_eq!(read(&database, id).unwrap().unwrap().who, expected);
    }
}
