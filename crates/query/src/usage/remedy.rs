//! Commands that ask somebody about a session, or end what holds a card.
//!
//! Names come from outside, and a command is copied into a shell: only plain ones are part of it. What its
//! owner can forge, such as a job that only its environment names or a container below their own session,
//! ends nothing that may be another's.

use gua_core::identity::{Container, Pod, Runtime, Source, Told};
use gua_store::{Person, StoredProcess};

/// Who is going to type a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Viewer {
    /// The person whom the report is about.
    Owner,
    /// Somebody with this uid.
    Uid(u32),
}

/// Digits of an id that tell a container from others.
const SHORT_ID: usize = 12;

/// Returns the command that shows whom to ask; `None` if it is not known whose it is, and for the owner.
pub(super) fn ask(person: &Person, viewer: Viewer) -> Option<String> {
    if viewer == Viewer::Owner {
        return None;
    }
    let name = person.user.as_deref().filter(|name| is_plain(name)).map(str::to_owned);
    let name = name.or_else(|| person.uid.map(|uid| uid.to_string()))?;
    Some(format!("gua who --user {name}"))
}

/// Returns the command that ends a job, a pod, a container or just a process. `None` if the host did not
/// show the process: the pid may be another's.
pub(super) fn end(process: &StoredProcess, viewer: Viewer) -> Option<String> {
    let who = process.workload.as_ref().map(|workload| &workload.who);
    let end_job = || {
        let job = who?.job.as_ref().filter(|job| job.source == Source::Cgroup)?;
        is_plain(&job.value.id).then(|| format!("scancel {}", job.value.id))
    };
    let end_pod = || delete_pod(who?.pod.as_ref()?);
    let end_container = || stop(who?.container.as_ref()?, viewer.owns(&process.person));
    let end_process = || process.started.map(|_| kill(process, viewer));
    end_job().or_else(end_pod).or_else(end_container).or_else(end_process)
}

impl Viewer {
    fn owns(self, person: &Person) -> bool {
        match self {
            Self::Owner => true,
            Self::Uid(uid) => person.uid == Some(uid),
        }
    }
}

fn kill(process: &StoredProcess, viewer: Viewer) -> String {
    let is_allowed = viewer == Viewer::Uid(0) || viewer.owns(&process.person);
    if is_allowed { format!("kill {}", process.pid) } else { format!("sudo kill {}", process.pid) }
}

fn delete_pod(told: &Told<Pod>) -> Option<String> {
    let pod = Some(&told.value).filter(|_| told.source != Source::DelegatedCgroup)?;
    let name = pod.name.as_deref().filter(|name| is_plain(name))?;
    let namespace = pod.namespace.as_deref().filter(|name| is_plain(name))?;
    Some(format!("kubectl delete pod {name} -n {namespace}"))
}

/// A container below somebody's own session is one of their own engine's. Only they can stop it: for
/// others, its id may be that of another's container.
fn stop(container: &Told<Container>, is_owner: bool) -> Option<String> {
    let Container { runtime, id, name } = &container.value;
    let is_delegated = container.source == Source::DelegatedCgroup;
    let program = match runtime {
        _ if is_delegated && !is_owner => return None,
        Runtime::Containerd | Runtime::Crio if is_delegated => return None,
        Runtime::Docker => "docker",
        Runtime::Podman => "podman",
        Runtime::Containerd | Runtime::Crio => "crictl",
    };
    let short: String = id.chars().take(SHORT_ID).collect();
    let name = name.as_deref().filter(|name| is_plain(name) && program != "crictl");
    let name = name.map_or(short, str::to_owned);
    is_plain(&name).then(|| format!("{program} stop {name}"))
}

/// Returns true if a shell takes it for one word, and no program for an option.
fn is_plain(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    let has_begin = word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    has_begin && word.len() <= 253 && word.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gua_core::identity::{Job, Who};
    use gua_core::units::UnixMillis;
    use gua_store::Workload;

    const ROOT: Viewer = Viewer::Uid(0);

    fn process(user: Option<&str>, uid: Option<u32>, who: Option<Who>) -> StoredProcess {
        StoredProcess {
            pid: 5678,
            start_ticks: Some(7),
            started: Some(UnixMillis(7)),
            program: None,
            person: Person { user: user.map(Into::into), uid, source: None },
            workload: who.map(|who| Workload { who, command: None }),
        }
    }

    fn ended(process: &StoredProcess, viewer: Viewer) -> String {
        end(process, viewer).unwrap()
    }

    fn told<T>(value: T, source: Source) -> Option<Told<T>> {
        Some(Told { value, source })
    }

    fn container(name: Option<&str>) -> Container {
        let id = "0123456789abcdef".repeat(4).into();
        Container { runtime: Runtime::Docker, id, name: name.map(Into::into) }
    }

    fn pod(name: Option<&str>) -> Pod {
        Pod { uid: "0-1".into(), name: name.map(Into::into), namespace: Some("lab".into()) }
    }

    #[test]
    fn process_is_killed_by_its_owner_or_with_sudo() {
        let bob = process(Some("bob"), Some(1001), None);
        let viewers = [Viewer::Uid(1001), Viewer::Owner, ROOT, Viewer::Uid(1000)];
        let expected = ["kill 5678", "kill 5678", "kill 5678", "sudo kill 5678"];
        assert_eq!(viewers.map(|viewer| ended(&bob, viewer)), expected);
        // Nobody has seen the process itself.
        assert_eq!(end(&StoredProcess { started: None, ..bob }, ROOT), None);
    }

    #[test]
    fn job_is_ended_as_one_only_if_the_kernel_names_it() {
        let command = |source| {
            let job = told(Job { id: "4711".into(), step: None }, source);
            let who = Who { job, ..Who::default() };
            ended(&process(Some("bob"), Some(1001), Some(who)), Viewer::Owner)
        };
        assert_eq!(command(Source::Cgroup), "scancel 4711");
        assert_eq!(command(Source::Environment), "kill 5678");
    }

    #[test]
    fn container_is_stopped_and_pod_deleted() {
        let container = told(container(Some("sweep_1")), Source::Cgroup);
        let command = |pod| {
            let who = Who { container: container.clone(), pod, ..Who::default() };
            ended(&process(None, None, Some(who)), ROOT)
        };
        assert_eq!(command(None), "docker stop sweep_1");
        let named = told(pod(Some("fit-0")), Source::Cgroup);
        assert_eq!(command(named), "kubectl delete pod fit-0 -n lab");
        assert_eq!(command(told(pod(None), Source::Cgroup)), "docker stop sweep_1");
    }

    /// Trap: below their own session, people make control groups by any name.
    #[test]
    fn what_may_be_forged_is_ended_by_its_process() {
        let who = Who {
            container: told(container(None), Source::DelegatedCgroup),
            pod: told(pod(Some("fit-0")), Source::DelegatedCgroup),
            ..Who::default()
        };
        let mallory = process(Some("mallory"), Some(1002), Some(who));
        assert_eq!(ended(&mallory, ROOT), "kill 5678");
        assert_eq!(ended(&mallory, Viewer::Uid(1001)), "sudo kill 5678");
        // Her own engine knows nobody else's containers.
        for viewer in [Viewer::Uid(1002), Viewer::Owner] {
            assert_eq!(ended(&mallory, viewer), "docker stop 0123456789ab");
        }
    }

    #[test]
    fn no_name_becomes_a_command() {
        for name in ["x; rm -rf ~", "$(id)", "`id`", "-rf", "a b", "", "a\nb", "\x1b[2J"] {
            let container = told(container(Some(name)), Source::Cgroup);
            let who = Who { container, ..Who::default() };
            let user = process(Some(name), Some(7), Some(who));
            assert_eq!(ask(&user.person, ROOT).unwrap(), "gua who --user 7", "{name}");
            assert_eq!(ended(&user, Viewer::Owner), "docker stop 0123456789ab");
        }
        assert_eq!(ask(&Person::default(), ROOT), None);
        let bob = process(Some("bob"), Some(7), None);
        assert_eq!(ask(&bob.person, Viewer::Owner), None);
    }
}
