//! Which of the signs is believed.

use super::{CONTAINER, PID, POD, SERVICE, SESSION, Tree, user};
use crate::identity::Source;

fn decided(cgroup: &str, uid: u32, login: Option<u32>) -> Option<(u32, Source)> {
    let login = login.unwrap_or(u32::MAX);
    let tree = Tree::new().of(PID, "cgroup", cgroup).uid(PID, uid);
    user(&tree.of(PID, "loginuid", login.to_string()).who())
}

fn docker() -> String {
    format!("0::/system.slice/docker-{CONTAINER}.scope\n")
}

#[test]
fn a_job_is_believed_before_a_session_and_that_before_a_uid() {
    let both = format!("4:freezer:/slurm/uid_1002/job_5/step_0\n{SESSION}");
    assert_eq!(decided(&both, 1001, None), Some((1002, Source::Cgroup)));
    assert_eq!(decided(SESSION, 1002, None), Some((1001, Source::UserSlice)));
    assert_eq!(decided(SESSION, 0, None), Some((1001, Source::UserSlice)), "under sudo");
    assert_eq!(decided(SERVICE, 1002, Some(1001)), Some((1002, Source::Uid)));
}

#[test]
fn roots_session_is_not_above_a_person() {
    let roots = "0::/user.slice/user-0.slice/session-1.scope\n";
    assert_eq!(decided(roots, 1001, None), Some((1001, Source::Uid)), "su to a person");
    assert_eq!(decided(roots, 0, None), Some((0, Source::Uid)));
}

#[test]
fn an_account_outside_of_any_container_is_itself() {
    assert_eq!(decided(SERVICE, 0, None), Some((0, Source::Uid)));
    assert_eq!(decided(SERVICE, 123, None), Some((123, Source::Uid)));
    assert_eq!(decided(SERVICE, 4242, None), Some((4242, Source::Uid)), "without a name");
}

/// Trap: in a container a uid is the image's, also where a person of this host has the same.
#[test]
fn in_a_container_no_uid_is_a_person() {
    for uid in [0, 123, 4242, 65_534, 1001] {
        assert_eq!(decided(&docker(), uid, None), None, "{uid}");
    }
}

/// Nobody but ann, or root for her, can have her uid in a user namespace.
#[test]
fn a_person_who_is_mapped_into_a_container_is_that_person() {
    let decided = |uid| {
        let tree = Tree::new().of(PID, "cgroup", docker()).uid(PID, uid);
        user(&tree.of(PID, "uid_map", "0 1001 1\n1 100000 65536\n").who())
    };
    assert_eq!(decided(1001), Some((1001, Source::Uid)));
    assert_eq!((decided(100_999), decided(0)), (None, None));
}

/// Trap: a pod's uids have nothing to do with the node's accounts.
#[test]
fn in_a_pod_no_uid_is_a_person() {
    let pod = format!("0::/kubepods/pod{POD}/{CONTAINER}\n");
    assert_eq!(decided(&pod, 1001, Some(1001)), None);
    assert_eq!(decided(&pod, 0, None), None);
}

#[test]
fn in_another_user_namespace_root_is_nobody() {
    let decided = |map: &str, uid| user(&Tree::new().of(PID, "uid_map", map).uid(PID, uid).who());
    let mapped = "         0     100000      65536\n";
    assert_eq!(decided(mapped, 100_000), None);
    assert_eq!(decided(mapped, 0), None);
    assert_eq!(decided("0 1001 1\n", 1001), Some((1001, Source::Uid)), "ann made it herself");
    let initial = "         0          0 4294967295\n";
    assert_eq!(decided(initial, 0), Some((0, Source::Uid)));
}

/// Trap: where it is unset, anybody may set their own.
#[test]
fn a_login_counts_only_where_an_ancestor_is_theirs() {
    assert_eq!(decided(SERVICE, 0, Some(1001)), Some((0, Source::Uid)));
    assert_eq!(decided(SERVICE, 123, Some(1001)), Some((123, Source::Uid)));
    let tree = || {
        let shell = Tree::new().process(50, 1, "bash").uid(50, 1001).of(50, "cgroup", SERVICE);
        let sudo = shell.process(60, 50, "sudo").uid(60, 0).of(60, "cgroup", SERVICE);
        sudo.process(PID, 60, "python").of(PID, "cgroup", SERVICE).uid(PID, 0)
    };
    let who = tree().of(PID, "loginuid", "1001").who();
    assert_eq!(user(&who), Some((1001, Source::Loginuid)));
    let who = tree().of(PID, "loginuid", "1002").who();
    assert_eq!(user(&who), Some((0, Source::Uid)), "bob has nothing to do with it");
    let who = tree().of(PID, "loginuid", "1001").of(PID, "cgroup", docker()).who();
    assert_eq!(user(&who), None);
}

#[test]
fn what_serves_everybody_is_nobodys() {
    let server = |uid| {
        let tree = Tree::new().process(PID, 1, "nvidia-cuda-mps").uid(PID, uid);
        let command = tree.command(PID, &["/usr/bin/nvidia-cuda-mps-server"]);
        user(&command.of(PID, "cgroup", SERVICE).who())
    };
    assert_eq!(server(0), None);
    assert_eq!(server(1001), Some((1001, Source::Uid)), "one user's own serves only her");
}

/// Where it may be anywhere, a uid that is no person's says nothing.
#[test]
fn without_control_groups_a_service_is_not_known() {
    let tree = |uid| {
        let tree = Tree::new().uid(PID, uid);
        std::fs::remove_file(tree.root().join("proc/70/cgroup")).unwrap();
        user(&tree.who())
    };
    assert_eq!((tree(0), tree(1001)), (None, Some((1001, Source::Uid))));
}
