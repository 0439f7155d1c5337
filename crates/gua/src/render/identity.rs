//! Who is behind a holder, in words: in a few for a table, in all for details.

use super::words::safe;
use crate::report::identity::{Container, Identity, Job, Launcher, Notebook, Pod, Sourced, User};

/// What is said in the place of a user whom nothing tells.
pub const UNATTRIBUTED: &str = "unattributed";

/// So much of an id tells it from others.
const SHORT_ID: usize = 12;

/// The user, by name or number.
#[must_use]
pub fn user(identity: &Identity) -> String {
    match identity.user.as_ref().map(|user| &user.value) {
        Some(User { name: Some(name), .. }) => safe(name),
        Some(User { uid, .. }) => format!("uid {uid}"),
        None => UNATTRIBUTED.to_owned(),
    }
}

/// Where it runs and what, as in `job 4711.0, fit.ipynb`; empty where neither is known.
#[must_use]
pub fn brief(identity: &Identity) -> String {
    let job = identity.job.as_ref().map(|job| known(job, brief_job));
    let pod = || identity.pod.as_ref().map(|pod| format!("pod {}", pod_name(&pod.value)));
    let container = || {
        let container = identity.container.as_ref()?;
        Some(format!("container {}", container_name(&container.value)))
    };
    let place = job.or_else(pod).or_else(container);
    let notebook = identity.notebook.as_ref().map(|notebook| brief_notebook(&notebook.value));
    let what = notebook.or_else(|| identity.script.as_deref().map(safe));
    [place, what].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Everything, with where it is known from: names and values.
#[must_use]
pub fn lines(identity: &Identity) -> Vec<(&'static str, String)> {
    let user = match &identity.user {
        Some(told) => known(told, |_| user(identity)),
        None => format!("{UNATTRIBUTED}: nothing that can be trusted tells"),
    };
    let others = [
        ("job", identity.job.as_ref().map(|told| known(told, full_job))),
        ("container", identity.container.as_ref().map(|told| known(told, full_container))),
        ("pod", identity.pod.as_ref().map(|told| known(told, full_pod))),
        ("notebook", identity.notebook.as_ref().map(|told| known(told, full_notebook))),
        ("hub user", identity.hub_user.as_ref().map(|told| known(told, |user| safe(&user.name)))),
        (
            "Python",
            identity.environment.as_ref().map(|told| {
                known(told, |environment| {
                    format!("{} {}", environment.kind, safe(&environment.path))
                })
            }),
        ),
        (
            "group",
            identity
                .group
                .as_ref()
                .map(|told| known(told, |group| format!("{} {}", group.kind, safe(&group.id)))),
        ),
        (
            "launched by",
            identity.launcher.as_ref().map(|told| {
                known(told, |Launcher { pid, program }| match pid {
                    Some(pid) => format!("{pid} {}", safe(program)),
                    None => safe(program),
                })
            }),
        ),
        ("script", identity.script.as_deref().map(safe)),
    ];
    let others = others.into_iter().filter_map(|(name, value)| Some((name, value?)));
    std::iter::once(("behind it", user)).chain(others).collect()
}

/// With a word on where it is known from, where that is not beyond its owner's reach.
fn known<T>(told: &Sourced<T>, show: impl FnOnce(&T) -> String) -> String {
    let shown = show(&told.value);
    match told.source {
        "delegated_cgroup" => format!("{shown} (by a control group of its user's)"),
        "environment" => format!("{shown} (by its environment)"),
        "ancestor_environment" => format!("{shown} (by a parent's environment)"),
        "loginuid" => format!("{shown} (by its login)"),
        "user_slice" => format!("{shown} (by the session)"),
        "working_folder" => format!("{shown} (by its folder)"),
        _ => shown,
    }
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
        _ => pod.uid.clone(),
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
    let client = if notebook.client == "vs_code" { "VS Code" } else { "Jupyter" };
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
