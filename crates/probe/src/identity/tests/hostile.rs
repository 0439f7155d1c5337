//! Files that no host would have, and files that a user has forged.

use proptest::prelude::*;

use super::{CONTAINER, PID, POD, SERVICE, SESSION, Tree, user};
use crate::identity::{
    Cgroup, Environ, Source, container, masked, notebook, script, slurm, user as user_of,
};

/// Trap: below their own session, people make control groups by any name.
#[test]
fn nobody_gets_out_of_their_own_session() {
    let own = "/user.slice/user-1001.slice/user@1001.service";
    for below in [
        "user.slice/user-1002.slice/session-1.scope".to_owned(),
        "slurm/uid_1002/job_5/step_0".to_owned(),
        "slurmstepd.scope/job_5/step_0".to_owned(),
        format!("kubepods/pod{POD}/{CONTAINER}"),
        format!("docker/{CONTAINER}"),
    ] {
        let who = Tree::new().of(PID, "cgroup", format!("0::{own}/{below}\n")).uid(PID, 1001).who();
        assert_eq!(user(&who), Some((1001, Source::UserSlice)), "{below}");
        assert_eq!(who.job, None, "{below}");
    }
}

/// Trap: the records of the container or pod whose name was forged are another's.
#[test]
fn a_forged_container_or_pod_has_no_name_of_the_systems() {
    let slice = POD.replace('-', "_");
    for above in [
        "/user.slice/user-1001.slice/user@1001.service/app.slice".to_owned(),
        "/../user-1001.slice/user@1001.service".to_owned(),
        "/system.slice/slurmstepd.scope/job_5/step_0/user".to_owned(),
        format!("/docker/{}", "ab".repeat(32)),
        "/lxc.payload.box/system.slice".to_owned(),
    ] {
        for below in [
            format!("docker-{CONTAINER}.scope"),
            format!("docker/{CONTAINER}"),
            format!("libpod-{CONTAINER}.scope"),
            format!("kubepods-pod{slice}.slice/cri-containerd-{CONTAINER}.scope"),
            format!("kubepods/pod{POD}/{CONTAINER}"),
        ] {
            let tree = Tree::new().of(PID, "cgroup", format!("0::{above}/{below}\n"));
            with_victims(&tree);
            let who = tree.who();
            let container = who.container.clone().unwrap();
            assert_eq!(container.source, Source::DelegatedCgroup, "{above}/{below}");
            assert_eq!(container.value.name, None, "{above}/{below}");
            if let Some(pod) = &who.pod {
                assert_eq!(pod.source, Source::DelegatedCgroup, "{above}/{below}");
                assert_eq!((&pod.value.name, &pod.value.namespace), (&None, &None));
            }
        }
    }
}

/// Adds the records that a forged name would refer to.
fn with_victims(tree: &Tree) {
    let docker = format!("var/lib/docker/containers/{CONTAINER}/config.v2.json");
    tree.file(&docker, r#"{"Name":"/victims_db"}"#);
    let podman = format!(r#"[{{"id":"{CONTAINER}","names":["victims_db"]}}]"#);
    tree.file("var/lib/containers/storage/overlay-containers/containers.json", podman);
    tree.file(&format!("var/log/pods/prod_victims-db_{POD}/x/0.log"), "");
}

/// Version 1 has a line a hierarchy, and people may make groups in some of them only.
#[test]
fn a_line_that_the_system_wrote_is_above_one_that_anybody_wrote() {
    let forged = format!("9:name=systemd:/user.slice/user-1001.slice/docker/{}", "ab".repeat(32));
    let text = format!("{forged}\n4:memory:/docker/{CONTAINER}\n");
    let container = Tree::new().of(PID, "cgroup", text).who().container.clone().unwrap();
    assert_eq!((&*container.value.id, container.source), (CONTAINER, Source::Cgroup));
}

/// A forged environment is told as such, and never decides on a user.
#[test]
fn a_forged_environment_names_nobody_else() {
    let forged = [
        "SLURM_JOB_ID=99",
        "JPY_SESSION_NAME=/home/bob/\x1b[2J\nroot.ipynb",
        "JUPYTERHUB_USER=bob",
    ];
    for cgroup in [SERVICE, SESSION] {
        let who = Tree::new().of(PID, "cgroup", cgroup).environ(PID, &forged).who();
        assert_eq!(user(&who).map(|(uid, _)| uid), Some(1001));
        assert_eq!(who.job.as_ref().map(|job| job.source), Some(Source::Environment));
        assert_eq!(who.hub_user.as_ref().map(|user| user.source), Some(Source::Environment));
        let path = who.notebook.as_ref().unwrap().value.path.clone().unwrap();
        assert_eq!(&*path, "/home/bob/\x1b[2J\nroot.ipynb", "shown through `safe` only");
    }
}

#[test]
fn long_names_are_cut() {
    let long = "雪".repeat(4096);
    let variable = format!("JPY_SESSION_NAME=/{long}");
    let file = format!("{long}.py");
    let who = Tree::new().environ(PID, &[&variable]).command(PID, &["python", &file]).who();
    let path = who.notebook.as_ref().unwrap().value.path.clone().unwrap();
    assert!(path.len() <= 512 && who.script.as_ref().unwrap().len() <= 512);
}

/// Pieces of the real formats in an order of their own, and plain garbage.
fn almost() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<Vec<u8>> = [
        "0::/",
        "4:memory:",
        "user.slice/",
        "user-",
        ".slice",
        "/",
        "..",
        "slurm/",
        "uid_",
        "job_",
        "step_",
        "slurmstepd.scope/",
        "s6GT5B2PVQ8G00",
        "kubepods/",
        "kubepods-",
        "pod",
        "docker-",
        "docker/",
        "libpod-",
        "cri-containerd-",
        ":",
        ".scope",
        "4294967296",
        "1001",
        "SLURM_JOB_ID=",
        "JPY_SESSION_NAME=",
        "=",
        "\0",
        "\n",
        "-f",
        "--f=",
        "kernel-",
        ".json",
        "python\0",
        "-m\0",
        "-c\0",
        "https://",
        "@",
        "--token",
        "{\"Name\":",
        "\"",
        "[",
        "}",
        "雪",
        " (deleted)",
        CONTAINER,
        POD,
    ]
    .map(|piece| piece.as_bytes().to_vec())
    .into();
    let pieces = prop_oneof![
        prop::sample::select(pieces),
        Just(b"\xff\xfe".to_vec()),
        Just(b"\x1b[2J".to_vec()),
    ];
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat()),
    ]
}

proptest! {
    #[test]
    fn no_parser_falls_over(bytes in almost()) {
        let text = String::from_utf8_lossy(&bytes);
        let cgroup = Cgroup::new(&text);
        let _ = (slurm::place(&cgroup), container::place(&cgroup), container::pod_place(&cgroup));
        let _ = (user_of::session(&cgroup), user_of::loginuid(&text));
        let _ = user_of::is_another_namespace(&text, "");
        let _ = Environ::parse(&bytes);
        let _ = (container::docker_name(&bytes), container::podman_name(&bytes, CONTAINER));
        let arguments = crate::proc::cmdline::parse(&bytes);
        let _ = (script(&arguments), notebook::kernel(&arguments));
        let _ = masked(&arguments);
    }
}

proptest! {
    // Each is a tree of files.
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The law: whatever the files say, somebody in a session is nobody but who logged in, or
    /// whose job it is.
    #[test]
    fn no_file_of_ones_own_makes_one_another(
        cgroup in almost(), environ in almost(), command in almost(),
    ) {
        let below = String::from_utf8_lossy(&cgroup).replace(['\n', '\r'], "");
        let text = format!("0::/user.slice/user-1001.slice/{below}\n");
        let tree = Tree::new().of(PID, "cgroup", text).of(PID, "environ", environ);
        let who = tree.of(PID, "cmdline", command).who();
        prop_assert_eq!(user(&who), Some((1001, Source::UserSlice)));
        prop_assert!(who.job.as_ref().is_none_or(|job| job.source != Source::Cgroup));
        let own = Source::DelegatedCgroup;
        prop_assert!(who.container.as_ref().is_none_or(|it| it.source == own));
        prop_assert!(who.pod.as_ref().is_none_or(|it| it.source == own));
    }
}
