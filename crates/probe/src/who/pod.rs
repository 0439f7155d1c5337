//! Pods of Kubernetes, by their control groups and the folders of their logs.

use std::sync::Arc;

use super::cgroup::Cgroup;
use super::maker::Maker;
use super::{Pod, Records, Source, Told};

/// A pod that a control group names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    pub uid: String,
    pub maker: Maker,
}

/// The innermost pod that a process is in, by the hierarchy that is trusted most.
#[must_use]
pub fn placed(cgroup: &Cgroup) -> Option<Placed> {
    cgroup.paths().filter_map(|path| innermost(&path)).min_by_key(|placed| placed.maker)
}

fn innermost(path: &[&str]) -> Option<Placed> {
    (0..path.len()).rev().find_map(|at| {
        let uid = uid(path.get(at)?)?;
        Some(Placed { uid, maker: Maker::of(path.get(..at)?) })
    })
}

/// The pod with its names, where its logs tell. Where anybody may have written the uid, the logs
/// are of the pod that really has it, and may be another's.
pub(super) fn pod(placed: Placed, records: &mut impl Records) -> Told<Pod> {
    let Placed { uid, maker } = placed;
    let (names, unnamed) = match maker {
        Maker::System => (named(&uid, records), Source::Cgroup),
        Maker::Anybody => (None, Source::DelegatedCgroup),
    };
    let source = if names.is_some() { Source::PodLogs } else { unnamed };
    let (namespace, name) = names.unzip();
    Told { value: Pod { uid: Arc::from(uid), name, namespace }, source }
}

fn named(uid: &str, records: &mut impl Records) -> Option<(Arc<str>, Arc<str>)> {
    records.pod_logs().iter().find_map(|folder| names(folder, uid))
}

/// The uid of the pod that a control group is made for: `pod<uid>`, or
/// `kubepods[-qos]-pod<uid>.slice` with underscores in place of hyphens. A pod whose
/// resources are guaranteed has no class in its name, and kind puts `kubelet-` before it.
#[must_use]
pub(super) fn uid(part: &str) -> Option<String> {
    let uid = match part.split_once(".slice") {
        Some((slice, _rest)) => of_slice(slice)?,
        None => part.strip_prefix("pod")?,
    };
    let uid = uid.replace('_', "-");
    is_uid(&uid).then_some(uid)
}

/// A UUID; a static pod has the same digits in one piece.
fn is_uid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    let is_hexadecimal = text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    is_hexadecimal && matches!(lengths.as_slice(), [8, 4, 4, 4, 12] | [32])
}

fn of_slice(slice: &str) -> Option<&str> {
    let rest = slice.strip_prefix("kubelet-").unwrap_or(slice).strip_prefix("kubepods-")?;
    let classes = ["besteffort-", "burstable-", "guaranteed-"];
    let rest = classes.iter().find_map(|class| rest.strip_prefix(class)).unwrap_or(rest);
    rest.strip_prefix("pod")
}

/// Namespace and name in a folder's `NAMESPACE_POD_UID`. Logs may outlive their pod, and
/// another one may have its name: the uid must be the same.
fn names(folder: &str, uid: &str) -> Option<(Arc<str>, Arc<str>)> {
    let mut parts = folder.split('_');
    let (namespace, name, of) = (parts.next()?, parts.next()?, parts.next()?);
    let is_it = parts.next().is_none() && of == uid && !namespace.is_empty() && !name.is_empty();
    is_it.then(|| (Arc::from(namespace), Arc::from(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "0b6b5c1e-3a43-4f0c-9a55-6d1f5a2f7c11";

    #[test]
    fn both_drivers_name_the_pod() {
        let slice = UID.replace('-', "_");
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
            format!("/kubepods/burstable/pod{UID}/{id}"),
            format!("/kubepods/pod{UID}/{id}"),
        ] {
            let cgroup = Cgroup::new(&format!("5:devices:{path}\n0::/\n"));
            assert_eq!(placed(&cgroup).unwrap().uid, UID, "{path}");
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
            assert_eq!(uid(part), None, "{part}");
        }
        assert_eq!(uid("pod0123456789abcdef0123456789abcdef").unwrap().len(), 32, "a static pod");
    }

    #[test]
    fn logs_of_another_pod_by_that_name_do_not_count() {
        let (namespace, name) = names(&format!("ml_train-0_{UID}"), UID).unwrap();
        assert_eq!((&*namespace, &*name), ("ml", "train-0"));
        assert_eq!(names("ml_train-0_1111", UID), None);
        assert_eq!(names(&format!("ml__{UID}"), UID), None);
        assert_eq!(names(UID, UID), None);
        assert_eq!(names(&format!("a_b_c_{UID}"), UID), None);
    }
}
