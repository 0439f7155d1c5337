//! Who is behind a holder as text: short for a table, or in full for details.

use gua_core::identity::{
    Client, Container, EnvironmentKind, Job, Launcher, Notebook, Pod, Runtime, Source, Told, User,
    Who,
};

use super::words::safe;

pub use gua_core::snapshot::UNATTRIBUTED;

/// Characters that tell an id from others.
const SHORT_ID: usize = 12;

/// Formats the user, by name or number.
#[must_use]
pub fn user(who: &Who) -> String {
    match who.user.as_ref().map(|user| &user.value) {
        Some(User { name: Some(name), .. }) => safe(name),
        Some(User { uid, .. }) => format!("uid {uid}"),
        None => UNATTRIBUTED.to_owned(),
    }
}

/// Formats where it runs and what, as in `job 4711.0, fit.ipynb`; empty if neither is known.
#[must_use]
pub fn brief(who: &Who) -> String {
    let job = who.job.as_ref().map(|job| known(job, brief_job));
    let pod = || who.pod.as_ref().map(|pod| format!("pod {}", pod_name(&pod.value)));
    let container = || {
        let container = who.container.as_ref()?;
        Some(format!("container {}", container_name(&container.value)))
    };
    let place = job.or_else(pod).or_else(container);
    let notebook = who.notebook.as_ref().map(|notebook| brief_notebook(&notebook.value));
    let what = notebook.or_else(|| who.script.as_deref().map(safe));
    [place, what].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Formats all that is known, with its source: names and values.
#[must_use]
pub fn lines(who: &Who) -> Vec<(&'static str, String)> {
    let user = match &who.user {
        Some(told) => known(told, |_| user(who)),
        None => format!("{UNATTRIBUTED}: nothing that can be trusted tells"),
    };
    let others = [
        ("job", who.job.as_ref().map(|told| known(told, full_job))),
        ("container", who.container.as_ref().map(|told| known(told, full_container))),
        ("pod", who.pod.as_ref().map(|told| known(told, full_pod))),
        ("notebook", who.notebook.as_ref().map(|told| known(told, full_notebook))),
        ("hub user", who.hub_user.as_ref().map(|told| known(told, |user| safe(user)))),
        (
            "Python",
            who.environment.as_ref().map(|told| {
                known(told, |environment| {
                    let kind = match environment.kind {
                        EnvironmentKind::Conda => "conda",
                        EnvironmentKind::Venv => "venv",
                    };
                    format!("{kind} {}", safe(&environment.path))
                })
            }),
        ),
        (
            "group",
            who.group.as_ref().map(|told| {
                known(told, |group| format!("{} {}", group.kind.slug(), safe(&group.id)))
            }),
        ),
        (
            "launched by",
            who.launcher.as_ref().map(|told| {
                known(told, |Launcher { pid, program }| match pid {
                    // It was long ago: another process may have the pid.
                    0 => safe(program),
                    pid => format!("{pid} {}", safe(program)),
                })
            }),
        ),
        ("script", who.script.as_deref().map(safe)),
    ];
    let others = others.into_iter().filter_map(|(name, value)| Some((name, value?)));
    std::iter::once(("behind it", user)).chain(others).collect()
}

/// Formats a part with its source, where its owner could have forged that.
fn known<T>(told: &Told<T>, show: impl FnOnce(&T) -> String) -> String {
    let shown = show(&told.value);
    let source = match told.source {
        Source::DelegatedCgroup => "a control group of its user's",
        Source::Environment => "its environment",
        Source::AncestorEnvironment => "a parent's environment",
        Source::Loginuid => "its login",
        Source::UserSlice => "the session",
        Source::WorkingFolder => "its folder",
        Source::Cgroup
        | Source::Uid
        | Source::ContainerRecord
        | Source::PodLogs
        | Source::CommandLine
        | Source::Ancestors => return shown,
    };
    format!("{shown} (by {source})")
}

fn brief_job(job: &Job) -> String {
    match &job.step {
        Some(step) => format!("job {}.{}", safe(&job.id), safe(step)),
        None => format!("job {}", safe(&job.id)),
    }
}

fn full_job(job: &Job) -> String {
    match &job.step {
        Some(step) => format!("{}, step {}", safe(&job.id), safe(step)),
        None => safe(&job.id),
    }
}

fn container_name(container: &Container) -> String {
    match &container.name {
        Some(name) => safe(name),
        None => container.id.chars().take(SHORT_ID).collect(),
    }
}

fn full_container(container: &Container) -> String {
    let Container { runtime, id, name } = container;
    let name = name.as_deref().map(|name| format!("{} ", safe(name))).unwrap_or_default();
    let runtime = match runtime {
        Runtime::Docker => "docker",
        Runtime::Podman => "podman",
        Runtime::Containerd => "containerd",
        Runtime::Crio => "crio",
    };
    format!("{name}{runtime} {id}")
}

fn pod_name(pod: &Pod) -> String {
    match (&pod.namespace, &pod.name) {
        (Some(namespace), Some(name)) => format!("{}/{}", safe(namespace), safe(name)),
        _ => pod.uid.chars().take(SHORT_ID).collect(),
    }
}

fn full_pod(pod: &Pod) -> String {
    match (&pod.namespace, &pod.name) {
        (Some(namespace), Some(name)) => {
            format!("{}/{}, {}", safe(namespace), safe(name), pod.uid)
        }
        _ => pod.uid.to_string(),
    }
}

fn brief_notebook(notebook: &Notebook) -> String {
    let Some(path) = &notebook.path else { return "a notebook".to_owned() };
    match path.strip_suffix('/') {
        Some(folder) => format!("a notebook in {}/", safe(last_part(folder))),
        None => safe(last_part(path)),
    }
}

fn full_notebook(notebook: &Notebook) -> String {
    let client = match notebook.client {
        Client::VsCode => "VS Code",
        Client::Jupyter => "Jupyter",
    };
    let path = match &notebook.path {
        Some(path) => safe(path),
        None => "path unknown".to_owned(),
    };
    let kernel = notebook.kernel.as_deref();
    let kernel = kernel.map(|kernel| format!(", kernel {}", safe(kernel))).unwrap_or_default();
    format!("{path}, {client}{kernel}")
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
