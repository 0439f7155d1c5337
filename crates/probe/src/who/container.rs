//! Containers, by the control groups that their engines make, and their names.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use super::cgroup::Cgroup;
use super::maker::Maker;
use super::text::kept;
use super::{Container, Records, Runtime, Source, Told};

/// How engines name a control group: before the id, with `.scope` behind it or without.
const PREFIXES: [(&str, Runtime); 5] = [
    ("docker-", Runtime::Docker),
    ("libpod-", Runtime::Podman),
    ("cri-containerd-", Runtime::Containerd),
    ("nerdctl-", Runtime::Containerd),
    ("crio-", Runtime::Crio),
];

/// A container that a control group names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// `None` where the id stands alone, below a pod.
    pub runtime: Option<Runtime>,
    pub id: Arc<str>,
    pub maker: Maker,
}

/// The innermost container that a process is in, by the hierarchy that is trusted most. What
/// watches over a container (`libpod-conmon-…`) is not in it.
#[must_use]
pub fn placed(cgroup: &Cgroup) -> Option<Placed> {
    let innermost = |path: Vec<&str>| (0..path.len()).rev().find_map(|at| at_part(&path, at));
    cgroup.paths().filter_map(innermost).min_by_key(|placed| placed.maker)
}

/// The container with its name, where that is on record.
pub(super) fn container(placed: &Placed, records: &mut impl Records) -> Told<Container> {
    match placed.maker {
        Maker::System => on_record(placed, records),
        Maker::Anybody => unrecorded(placed),
    }
}

fn on_record(placed: &Placed, records: &mut impl Records) -> Told<Container> {
    let runtime = placed.runtime.unwrap_or_else(|| of_a_bare_id(&placed.id, records));
    let name = records.container(runtime, &placed.id);
    let source = if name.is_some() { Source::ContainerRecord } else { Source::Cgroup };
    Told { value: Container { runtime, id: Arc::clone(&placed.id), name }, source }
}

/// An id that anybody may have written there. The system's records are of the container that
/// really has it, and may be another's.
fn unrecorded(placed: &Placed) -> Told<Container> {
    let runtime = placed.runtime.unwrap_or(Runtime::Containerd);
    let value = Container { runtime, id: Arc::clone(&placed.id), name: None };
    Told { value, source: Source::DelegatedCgroup }
}

/// Whether a control group is made for a container.
pub(super) fn is_one(path: &[&str], at: usize) -> bool {
    id_at(path, at).is_some()
}

/// CRI-O writes its name before the id, so an id alone is containerd's, or Docker's where it
/// has a record of it.
fn of_a_bare_id(id: &str, records: &mut impl Records) -> Runtime {
    if records.is_of_docker(id) { Runtime::Docker } else { Runtime::Containerd }
}

fn at_part(path: &[&str], at: usize) -> Option<Placed> {
    let (runtime, id) = id_at(path, at)?;
    Some(Placed { runtime, id, maker: Maker::of(path.get(..at)?) })
}

fn id_at(path: &[&str], at: usize) -> Option<(Option<Runtime>, Arc<str>)> {
    let part = path.get(at)?;
    let above = at.checked_sub(1).and_then(|above| path.get(above));
    bare(above.copied().unwrap_or_default(), part).or_else(|| prefixed(part))
}

/// An id alone: `docker/ID`, `pod<uid>/ID`.
fn bare(above: &str, part: &str) -> Option<(Option<Runtime>, Arc<str>)> {
    let runtime = (above == "docker").then_some(Runtime::Docker);
    let is_placed = runtime.is_some() || super::pod::uid(above).is_some();
    (is_placed && is_id(part)).then(|| (runtime, Arc::from(part)))
}

/// An id with its engine's name: `docker-ID.scope`, or `SLICE:cri-containerd:ID` where the
/// engine and the node disagree on who makes groups.
fn prefixed(part: &str) -> Option<(Option<Runtime>, Arc<str>)> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let part = part.split_once(':').map_or_else(
        || Cow::Borrowed(part),
        |(_slice, rest)| Cow::Owned(rest.replacen(':', "-", 1)),
    );
    PREFIXES.iter().find_map(|(prefix, runtime)| {
        let id = part.strip_prefix(prefix).filter(|id| is_id(id))?;
        Some((Some(*runtime), Arc::from(id)))
    })
}

fn is_id(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The name in Docker's record of a container, `config.v2.json`.
#[must_use]
pub fn docker_name(json: &[u8]) -> Option<Arc<str>> {
    #[derive(Deserialize)]
    struct Record {
        #[serde(rename = "Name")]
        name: String,
    }
    let record: Record = serde_json::from_slice(json).ok()?;
    kept(record.name.strip_prefix('/').unwrap_or(&record.name))
}

/// The name of a container in Podman's list of them, `containers.json`.
#[must_use]
pub fn podman_name(json: &[u8], id: &str) -> Option<Arc<str>> {
    #[derive(Deserialize)]
    struct Record {
        id: String,
        #[serde(default)]
        names: Vec<String>,
    }
    let records: Vec<Record> = serde_json::from_slice(json).ok()?;
    kept(records.iter().find(|record| record.id == id)?.names.first()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = "0b6b5c1e-3a43-4f0c-9a55-6d1f5a2f7c11";
    const ID: &str = "4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e4f1b0c7a9d2e0042";

    fn found(path: &str) -> Option<Option<Runtime>> {
        let placed = placed(&Cgroup::new(&format!("3:cpu:/\n0::{path}\n")))?;
        assert_eq!(&*placed.id, ID);
        Some(placed.runtime)
    }

    #[test]
    fn each_engine_has_its_names() {
        let docker = Some(Some(Runtime::Docker));
        assert_eq!(found(&format!("/system.slice/docker-{ID}.scope")), docker);
        assert_eq!(found(&format!("/docker/{ID}")), docker);
        assert_eq!(found(&format!("/docker/{ID}/init.scope")), docker, "systemd in it");
        let podman = Some(Some(Runtime::Podman));
        assert_eq!(found(&format!("/machine.slice/libpod-{ID}.scope/container")), podman);
        let rootless = "/user.slice/user-1000.slice/user@1000.service/user.slice";
        assert_eq!(found(&format!("{rootless}/libpod-{ID}.scope")), podman);
        let slice = format!("/kubepods.slice/kubepods-pod{}.slice", POD.replace('-', "_"));
        let containerd = Some(Some(Runtime::Containerd));
        assert_eq!(found(&format!("{slice}/cri-containerd-{ID}.scope")), containerd);
        assert_eq!(found(&format!("{slice}/crio-{ID}.scope")), Some(Some(Runtime::Crio)));
        assert_eq!(found(&format!("{slice}/docker-{ID}.scope")), docker);
        let split = format!("/system.slice/containerd.service{slice}:cri-containerd:{ID}");
        assert_eq!(found(&split), containerd);
    }

    #[test]
    fn an_id_alone_is_one_below_a_pod_only() {
        assert_eq!(found(&format!("/kubepods/burstable/pod{POD}/{ID}")), Some(None));
        assert_eq!(found(&format!("/kubepods/pod{POD}/{ID}")), Some(None));
        assert_eq!(found(&format!("/somebody/{ID}")), None);
    }

    #[test]
    fn what_watches_over_a_container_is_not_in_it() {
        assert_eq!(found(&format!("/machine.slice/libpod-conmon-{ID}.scope")), None);
        assert_eq!(found(&format!("/docker-{}.scope", &ID[1..])), None);
        assert_eq!(found(&format!("/docker-{}.scope", ID.to_uppercase())), None);
    }

    #[test]
    fn the_innermost_counts() {
        let outer = "0".repeat(64);
        let kind = format!("/docker/{outer}/kubelet/kubepods/pod{POD}/{ID}");
        assert_eq!(found(&kind), Some(None));
    }

    #[test]
    fn records_tell_names() {
        let json = br#"{"Config":{"Name":"no"},"Name":"/quiet_fox","State":{"Pid":5}}"#;
        assert_eq!(docker_name(json).as_deref(), Some("quiet_fox"));
        assert_eq!(docker_name(b"{\"Name\":5}"), None);
        assert_eq!(docker_name(b"half a reco"), None);
        let json = br#"[{"id":"1","names":["a"]},{"id":"2","names":["loud_cat","b"]},{"id":"3"}]"#;
        assert_eq!(podman_name(json, "2").as_deref(), Some("loud_cat"));
        assert_eq!((podman_name(json, "3"), podman_name(json, "4")), (None, None));
    }
}
