//! Containers and pods, by the control groups that engines and Kubernetes make for them, and their
//! names in the records of the host.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use super::cgroup::{Cgroup, Maker};
use super::command::kept;
use super::{Container, Pod, Records, Runtime, Source, Told};

/// Prefixes of the control groups of engines. The id follows, with or without `.scope` after it.
const PREFIXES: [(&str, Runtime); 5] = [
    ("docker-", Runtime::Docker),
    ("libpod-", Runtime::Podman),
    ("cri-containerd-", Runtime::Containerd),
    ("nerdctl-", Runtime::Containerd),
    ("crio-", Runtime::Crio),
];

/// Container that a control group names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerPlace {
    /// `None` for an id without prefix below a pod.
    pub runtime: Option<Runtime>,
    pub id: Arc<str>,
    pub maker: Maker,
}

/// Pod that a control group names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodPlace {
    pub uid: String,
    pub maker: Maker,
}

/// Returns the innermost container that a process is in, by the most trusted hierarchy. The monitor
/// of a container (`libpod-conmon-…`) is not in it.
#[must_use]
pub fn place(cgroup: &Cgroup) -> Option<ContainerPlace> {
    let place = |path: &[&str], at: usize| {
        let (runtime, id) = id_at(path, at)?;
        Some(ContainerPlace { runtime, id, maker: Maker::of(path.get(..at)?) })
    };
    innermost(cgroup, place).min_by_key(|place| place.maker)
}

/// Returns the innermost pod that a process is in, by the most trusted hierarchy.
#[must_use]
pub fn pod_place(cgroup: &Cgroup) -> Option<PodPlace> {
    let place = |path: &[&str], at: usize| {
        let uid = pod_uid(path.get(at)?)?;
        Some(PodPlace { uid, maker: Maker::of(path.get(..at)?) })
    };
    innermost(cgroup, place).min_by_key(|place| place.maker)
}

/// Returns what the innermost control group in each hierarchy names.
fn innermost<T>(
    cgroup: &Cgroup,
    place: impl Fn(&[&str], usize) -> Option<T>,
) -> impl Iterator<Item = T> {
    cgroup.paths().filter_map(move |path| (0..path.len()).rev().find_map(|at| place(&path, at)))
}

/// Returns the container of a process with its name, if that is on record.
///
/// An id below a place where users make control groups may be forged. The records are of the
/// container that really has it, so they are not used then.
pub(super) fn container(cgroup: &Cgroup, records: &mut impl Records) -> Option<Told<Container>> {
    let ContainerPlace { runtime, id, maker } = place(cgroup)?;
    let is_trusted = maker == Maker::System;
    let runtime = runtime.unwrap_or_else(|| match is_trusted && records.is_of_docker(&id) {
        true => Runtime::Docker,
        // CRI-O writes its name before the id.
        false => Runtime::Containerd,
    });
    let name = if is_trusted { records.container(runtime, &id) } else { None };
    let source = match maker {
        Maker::Anybody => Source::DelegatedCgroup,
        Maker::System if name.is_some() => Source::ContainerRecord,
        Maker::System => Source::Cgroup,
    };
    Some(Told { value: Container { runtime, id, name }, source })
}

/// Returns the pod of a process with its names, if the folders of logs show them. They are not used
/// if the uid may be forged, as with containers.
pub(super) fn pod(cgroup: &Cgroup, records: &mut impl Records) -> Option<Told<Pod>> {
    let PodPlace { uid, maker } = pod_place(cgroup)?;
    let named = |folder: &String| log_folder_names(folder, &uid);
    let (names, source) = match maker {
        Maker::Anybody => (None, Source::DelegatedCgroup),
        Maker::System => match records.pod_logs().iter().find_map(named) {
            Some(names) => (Some(names), Source::PodLogs),
            None => (None, Source::Cgroup),
        },
    };
    let (namespace, name) = names.unzip();
    Some(Told { value: Pod { uid: Arc::from(uid), name, namespace }, source })
}

/// Returns true if the part of a path at this index is a container's control group.
pub(super) fn is_container(path: &[&str], at: usize) -> bool {
    id_at(path, at).is_some()
}

fn id_at(path: &[&str], at: usize) -> Option<(Option<Runtime>, Arc<str>)> {
    let part = path.get(at)?;
    let above = at.checked_sub(1).and_then(|above| path.get(above));
    bare_id(above.copied().unwrap_or_default(), part).or_else(|| prefixed_id(part))
}

/// Reads an id without prefix: `docker/ID`, `pod<uid>/ID`.
fn bare_id(above: &str, part: &str) -> Option<(Option<Runtime>, Arc<str>)> {
    let runtime = (above == "docker").then_some(Runtime::Docker);
    let is_placed = runtime.is_some() || pod_uid(above).is_some();
    (is_placed && is_id(part)).then(|| (runtime, Arc::from(part)))
}

/// Reads an id with a prefix: `docker-ID.scope`, or `SLICE:cri-containerd:ID` if the engine and the
/// node use different drivers for control groups.
fn prefixed_id(part: &str) -> Option<(Option<Runtime>, Arc<str>)> {
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

/// Returns the uid of the pod that a control group is made for: `pod<uid>`, or
/// `kubepods[-qos]-pod<uid>.slice` with underscores instead of hyphens. Pods with guaranteed
/// resources have no class in the name, and kind adds the prefix `kubelet-`.
fn pod_uid(part: &str) -> Option<String> {
    let uid = match part.split_once(".slice") {
        Some((slice, _rest)) => uid_in_slice(slice)?,
        None => part.strip_prefix("pod")?,
    };
    let uid = uid.replace('_', "-");
    is_pod_uid(&uid).then_some(uid)
}

/// Returns true for a UUID, and for its digits without hyphens, which a static pod has.
fn is_pod_uid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    let is_hexadecimal = text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    is_hexadecimal && matches!(lengths.as_slice(), [8, 4, 4, 4, 12] | [32])
}

fn uid_in_slice(slice: &str) -> Option<&str> {
    let rest = slice.strip_prefix("kubelet-").unwrap_or(slice).strip_prefix("kubepods-")?;
    let classes = ["besteffort-", "burstable-", "guaranteed-"];
    let rest = classes.iter().find_map(|class| rest.strip_prefix(class)).unwrap_or(rest);
    rest.strip_prefix("pod")
}

/// Reads namespace and name from a folder `NAMESPACE_POD_UID`. Logs may outlive their pod, and
/// another pod may get its name, so the uid must be the same.
fn log_folder_names(folder: &str, uid: &str) -> Option<(Arc<str>, Arc<str>)> {
    let mut parts = folder.split('_');
    let (namespace, name, of) = (parts.next()?, parts.next()?, parts.next()?);
    let is_it = parts.next().is_none() && of == uid && !namespace.is_empty() && !name.is_empty();
    is_it.then(|| (Arc::from(namespace), Arc::from(name)))
}

/// Reads the name from Docker's record of a container, `config.v2.json`.
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

/// Reads the name of a container from Podman's list, `containers.json`.
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
        let found = place(&Cgroup::new(&format!("3:cpu:/\n0::{path}\n")))?;
        assert_eq!(&*found.id, ID);
        Some(found.runtime)
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

    #[test]
    fn both_drivers_name_the_pod() {
        let slice = POD.replace('-', "_");
        let id = "ab".repeat(32);
        for path in [
            format!(
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{slice}.slice/\
                     cri-containerd-{id}.scope"
            ),
            format!("/kubepods.slice/kubepods-pod{slice}.slice/crio-{id}.scope"),
            format!(
                "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/\
                     kubelet-kubepods-besteffort-pod{slice}.slice/cri-containerd-{id}.scope"
            ),
            format!("/docker/{id}/kubelet-kubepods-pod{slice}.slice/docker-{id}.scope"),
            format!(
                "/system.slice/containerd.service/kubepods-besteffort-pod{slice}.slice:\
                     cri-containerd:{id}"
            ),
            format!("/kubepods/burstable/pod{POD}/{id}"),
            format!("/kubepods/pod{POD}/{id}"),
        ] {
            let cgroup = Cgroup::new(&format!("5:devices:{path}\n0::/\n"));
            assert_eq!(pod_place(&cgroup).unwrap().uid, POD, "{path}");
        }
    }

    #[test]
    fn other_groups_are_no_pods() {
        for part in [
            "podman",
            "pod",
            "pods-12.slice",
            "kubepods.slice",
            "kubepods-burstable.slice",
            "user-pod1.slice",
            "podx-1",
            "podbad",
            "libpod-12.scope",
        ] {
            assert_eq!(pod_uid(part), None, "{part}");
        }
        assert_eq!(
            pod_uid("pod0123456789abcdef0123456789abcdef").unwrap().len(),
            32,
            "a static pod"
        );
    }

    #[test]
    fn logs_of_another_pod_by_that_name_do_not_count() {
        let (namespace, name) = log_folder_names(&format!("ml_train-0_{POD}"), POD).unwrap();
        assert_eq!((&*namespace, &*name), ("ml", "train-0"));
        assert_eq!(log_folder_names("ml_train-0_1111", POD), None);
        assert_eq!(log_folder_names(&format!("ml__{POD}"), POD), None);
        assert_eq!(log_folder_names(POD, POD), None);
        assert_eq!(log_folder_names(&format!("a_b_c_{POD}"), POD), None);
    }
}
