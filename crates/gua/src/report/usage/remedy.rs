//! What to type to ask somebody, or to end what holds a card.
//!
//! Names come from outside, and a command is copied into a shell: only plain ones are part of
//! it. What its owner can forge, such as a job that only its environment claims or a container
//! below their own session, ends nothing that may be another's.

use probe::who::{Container, Pod, Runtime, Source, Told};

use crate::ledger::Identity;
use crate::store::HolderRow;

/// Who is going to type it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hand {
    /// The one whose it is.
    Theirs,
    /// Somebody of this uid.
    Uid(u32),
}

/// So much of an id tells a container from others.
const SHORT_ID: usize = 12;

/// Whom to ask; `None` where nobody knows whose it is, and where it is their own.
pub(super) fn ask(identity: &Identity, hand: Hand) -> Option<String> {
    if hand == Hand::Theirs {
        return None;
    }
    let name = identity.user.as_deref().filter(|name| is_plain(name)).map(str::to_owned);
    let name = name.or_else(|| identity.uid.map(|uid| uid.to_string()))?;
    Some(format!("gua who --user {name}"))
}

/// What ends it, by what it is: a job, a pod, a container or just a process. `None` where the
/// host did not show the process: the number may be another's.
pub(super) fn end(holder: &HolderRow, hand: Hand) -> Option<String> {
    let who = holder.workload.as_ref().map(|workload| &workload.who);
    let of_job = || {
        let job = who?.job.as_ref().filter(|job| job.source == Source::Cgroup)?;
        is_plain(&job.value.id).then(|| format!("scancel {}", job.value.id))
    };
    let of_pod = || delete_pod(who?.pod.as_ref()?);
    let of_container = || stop(who?.container.as_ref()?, hand.is_of(&holder.identity));
    let of_process = || holder.start_ticks.map(|_| kill(holder.pid, &holder.identity, hand));
    of_job().or_else(of_pod).or_else(of_container).or_else(of_process)
}

impl Hand {
    /// Whether it is the hand of who this is.
    fn is_of(self, identity: &Identity) -> bool {
        match self {
            Self::Theirs => true,
            Self::Uid(uid) => identity.uid == Some(uid),
        }
    }
}

fn kill(pid: u32, identity: &Identity, hand: Hand) -> String {
    // Root needs no leave either.
    let is_free_to = hand == Hand::Uid(0) || hand.is_of(identity);
    if is_free_to { format!("kill {pid}") } else { format!("sudo kill {pid}") }
}

fn delete_pod(told: &Told<Pod>) -> Option<String> {
    let pod = Some(&told.value).filter(|_| told.source != Source::DelegatedCgroup)?;
    let name = pod.name.as_deref().filter(|name| is_plain(name))?;
    let namespace = pod.namespace.as_deref().filter(|name| is_plain(name))?;
    Some(format!("kubectl delete pod {name} -n {namespace}"))
}

/// A container below somebody's own session is one of their own engine's. Only they can stop it:
/// in other hands, its id may be that of another's container.
fn stop(container: &Told<Container>, is_theirs: bool) -> Option<String> {
    let Container { runtime, id, name } = &container.value;
    let is_delegated = container.source == Source::DelegatedCgroup;
    let program = match runtime {
        _ if is_delegated && !is_theirs => return None,
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

/// Whether a shell takes it for one word, and no program for an option.
fn is_plain(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
    let has_begun = word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    has_begun && word.len() <= 253 && word.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Workload;
    use probe::who::{Job, Who};

    fn identity(user: Option<&str>, uid: Option<u32>) -> Identity {
        Identity { user: user.map(Into::into), uid, source: None }
    }

    fn holder(identity: &Identity, who: Option<&Who>) -> HolderRow {
        HolderRow {
            id: 1,
            card: 1,
            pid: 5678,
            start_ticks: Some(7),
            started: None,
            boot: String::new(),
            program: None,
            identity: identity.clone(),
            workload: who.map(|who| Workload { who: who.clone(), command: None }),
        }
    }

    fn ended(identity: &Identity, who: Option<&Who>, hand: Hand) -> String {
        end(&holder(identity, who), hand).unwrap()
    }

    fn told<T>(value: T, source: Source) -> Option<Told<T>> {
        Some(Told { value, source })
    }

    fn container(name: Option<&str>) -> Container {
        let id = "0123456789abcdef".repeat(4).into();
        Container { runtime: Runtime::Docker, id, name: name.map(Into::into) }
    }

    #[test]
    fn a_process_is_killed_by_its_owner_or_with_leave() {
        let bob = identity(Some("bob"), Some(1001));
        assert_eq!(ended(&bob, None, Hand::Uid(1001)), "kill 5678");
        assert_eq!(ended(&bob, None, Hand::Theirs), "kill 5678");
        assert_eq!(ended(&bob, None, Hand::Uid(0)), "kill 5678");
        assert_eq!(ended(&bob, None, Hand::Uid(1000)), "sudo kill 5678");
        // Nobody has seen the process itself.
        let gone = HolderRow { start_ticks: None, ..holder(&identity(None, None), None) };
        assert_eq!(end(&gone, Hand::Uid(0)), None);
    }

    #[test]
    fn a_job_is_ended_as_one_only_where_the_kernel_says_so() {
        let bob = identity(Some("bob"), Some(1001));
        let job = |source| Who {
            job: told(Job { id: "4711".into(), step: None }, source),
            ..Who::default()
        };
        let end = |source| ended(&bob, Some(&job(source)), Hand::Theirs);
        assert_eq!(end(Source::Cgroup), "scancel 4711");
        assert_eq!(end(Source::Environment), "kill 5678");
    }

    #[test]
    fn a_container_is_stopped_and_a_pod_deleted() {
        let nobody = identity(None, None);
        let mut who =
            Who { container: told(container(Some("sweep_1")), Source::Cgroup), ..Who::default() };
        let end = |who: &Who| ended(&nobody, Some(who), Hand::Uid(0));
        assert_eq!(end(&who), "docker stop sweep_1");
        who.pod = told(
            Pod { uid: "0-1".into(), name: Some("fit-0".into()), namespace: Some("lab".into()) },
            Source::Cgroup,
        );
        assert_eq!(end(&who), "kubectl delete pod fit-0 -n lab");
        who.pod = told(Pod { uid: "0-1".into(), name: None, namespace: None }, Source::Cgroup);
        assert_eq!(end(&who), "docker stop sweep_1");
    }

    /// Trap: below their own session, people make control groups by any name.
    #[test]
    fn what_may_be_forged_is_ended_by_its_process() {
        let mallory = identity(Some("mallory"), Some(1002));
        let pod =
            Pod { uid: "0-1".into(), name: Some("fit-0".into()), namespace: Some("lab".into()) };
        let who = Who {
            container: told(container(None), Source::DelegatedCgroup),
            pod: told(pod, Source::DelegatedCgroup),
            ..Who::default()
        };
        assert_eq!(ended(&mallory, Some(&who), Hand::Uid(0)), "kill 5678");
        assert_eq!(ended(&mallory, Some(&who), Hand::Uid(1001)), "sudo kill 5678");
        // Her own engine knows nobody else's containers.
        assert_eq!(ended(&mallory, Some(&who), Hand::Uid(1002)), "docker stop 0123456789ab");
        assert_eq!(ended(&mallory, Some(&who), Hand::Theirs), "docker stop 0123456789ab");
    }

    #[test]
    fn no_name_becomes_a_command() {
        for name in ["x; rm -rf ~", "$(id)", "`id`", "-rf", "a b", "", "a\nb", "\x1b[2J"] {
            let user = identity(Some(name), Some(7));
            assert_eq!(ask(&user, Hand::Uid(0)).unwrap(), "gua who --user 7", "{name}");
            let who =
                Who { container: told(container(Some(name)), Source::Cgroup), ..Who::default() };
            assert_eq!(ended(&user, Some(&who), Hand::Theirs), "docker stop 0123456789ab");
        }
        assert_eq!(ask(&identity(None, None), Hand::Uid(0)), None);
        assert_eq!(ask(&identity(Some("bob"), Some(7)), Hand::Theirs), None);
    }
}
