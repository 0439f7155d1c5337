//! Each sign, in each way in which it is written.

use super::{CONTAINER, PID, POD, SERVICE, SESSION, Tree, user};
use crate::identity::{Client, EnvironmentKind, GroupKind, Runtime, Source, Who};
use crate::reading::{Reading, Why};

fn of_cgroup(text: &str) -> std::sync::Arc<Who> {
    Tree::new().of(PID, "cgroup", text).who()
}

#[test]
fn it_is_not_asked_unless_it_is_wanted() {
    let tree = Tree::new();
    let mut host = crate::proc::Host::new(Some(tree.root().to_owned()));
    let crate::process::Presence::Here(facts) = host.process(PID) else { panic!("not here") };
    assert_eq!(facts.who, Reading::Unknown(Why::NotAsked));
}

#[test]
fn login_sessions_in_each_layout() {
    let v1 = "9:name=systemd:/user.slice/user-1001.slice/session-3.scope\n\
              4:memory:/user.slice\n3:cpu,cpuacct:/\n";
    let hybrid = "5:pids:/user.slice/user-1001.slice/session-3.scope\n1:name=systemd:\
                  /user.slice/user-1001.slice/session-3.scope\n\
                  0::/user.slice/user-1001.slice/session-3.scope\n";
    let service = "0::/user.slice/user-1001.slice/user@1001.service/app.slice/run-7.scope\n";
    let seen_from_a_container = "0::/../../user.slice/user-1001.slice/session-3.scope\n";
    for text in [SESSION, v1, hybrid, service, seen_from_a_container] {
        let who = of_cgroup(text);
        assert_eq!(user(&who), Some((1001, Source::UserSlice)), "{text}");
        assert_eq!(who.user.as_ref().unwrap().value.name.as_deref(), Some("ann"));
        assert_eq!((&who.container, &who.pod, &who.job), (&None, &None, &None));
    }
}

#[test]
fn docker_with_its_name_where_that_may_be_read() {
    for text in [
        format!("0::/system.slice/docker-{CONTAINER}.scope\n"),
        format!("9:name=systemd:/docker/{CONTAINER}\n4:memory:/docker/{CONTAINER}\n"),
        format!("4:memory:/docker/{CONTAINER}\n0::/system.slice/docker.service\n"),
    ] {
        let tree = Tree::new().of(PID, "cgroup", &text);
        let container = tree.who().container.clone().unwrap();
        assert_eq!(container.value.runtime, Runtime::Docker);
        assert_eq!((&*container.value.id, container.value.name), (CONTAINER, None));
        assert_eq!(container.source, Source::Cgroup);
        let record = format!("var/lib/docker/containers/{CONTAINER}/config.v2.json");
        tree.file(&record, r#"{"ID":"x","Name":"/quiet_fox","Args":["Name"]}"#);
        let container = tree.who().container.clone().unwrap();
        assert_eq!(container.value.name.as_deref(), Some("quiet_fox"));
        assert_eq!(container.source, Source::ContainerRecord);
    }
}

/// Trap: what is not a file may keep its reader waiting.
#[test]
fn a_record_that_is_a_pipe_is_not_waited_for() {
    let text = format!("0::/docker/{CONTAINER}\n");
    let tree = Tree::new().of(PID, "cgroup", text);
    let folder = tree.root().join(format!("var/lib/docker/containers/{CONTAINER}"));
    std::fs::create_dir_all(&folder).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, folder.join("config.v2.json"), kind, mode, 0).unwrap();
    assert_eq!(tree.who().container.clone().unwrap().value.name, None);
}

#[test]
fn podman_and_not_what_watches_over_it() {
    let scope = format!("0::/machine.slice/libpod-{CONTAINER}.scope/container\n");
    let tree = Tree::new().of(PID, "cgroup", scope);
    tree.file(
        "var/lib/containers/storage/overlay-containers/containers.json",
        format!(r#"[{{"id":"{CONTAINER}","names":["loud_cat"]}}]"#),
    );
    let container = tree.who().container.clone().unwrap();
    assert_eq!(container.value.runtime, Runtime::Podman);
    assert_eq!(container.value.name.as_deref(), Some("loud_cat"));
    let conmon = of_cgroup(&format!("0::/machine.slice/libpod-conmon-{CONTAINER}.scope\n"));
    assert_eq!(conmon.container, None);
}

#[test]
fn a_rootless_containers_user_is_in_the_slice() {
    let scope = format!(
        "0::/user.slice/user-1002.slice/user@1002.service/user.slice/libpod-{CONTAINER}.scope\n"
    );
    let mapped = "0 1002 1\n1 100000 65536\n";
    let who =
        Tree::new().of(PID, "cgroup", scope).of(PID, "uid_map", mapped).uid(PID, 100_999).who();
    assert_eq!(user(&who), Some((1002, Source::UserSlice)));
    assert_eq!(who.container.as_ref().unwrap().value.runtime, Runtime::Podman);
}

#[test]
fn pods_of_both_drivers_with_their_names() {
    let slice = POD.replace('-', "_");
    for (path, runtime) in [
        (
            format!(
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{slice}.slice/\
                     cri-containerd-{CONTAINER}.scope"
            ),
            Runtime::Containerd,
        ),
        (
            format!("/kubepods.slice/kubepods-pod{slice}.slice/crio-{CONTAINER}.scope"),
            Runtime::Crio,
        ),
        (
            format!(
                "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/\
                     kubelet-kubepods-besteffort-pod{slice}.slice/docker-{CONTAINER}.scope"
            ),
            Runtime::Docker,
        ),
        (format!("/kubepods/besteffort/pod{POD}/{CONTAINER}"), Runtime::Containerd),
        (format!("/kubepods/pod{POD}/{CONTAINER}"), Runtime::Containerd),
    ] {
        let v1 = format!("9:memory:{path}\n2:cpu,cpuacct:{path}\n1:name=systemd:{path}\n");
        for text in [format!("0::{path}\n"), v1] {
            let tree = Tree::new().of(PID, "cgroup", &text);
            let who = tree.who();
            let pod = who.pod.clone().unwrap();
            assert_eq!((&*pod.value.uid, pod.value.name, pod.source), (POD, None, Source::Cgroup));
            let container = &who.container.as_ref().unwrap().value;
            assert_eq!((container.runtime, &*container.id), (runtime, CONTAINER), "{path}");
            // Logs may outlive their pod: an older one by this name is another.
            tree.file("var/log/pods/ml_train-0_11111111-3a43-4f0c-9a55-6d1f5a2f7c11/a/0.log", "");
            tree.file(&format!("var/log/pods/ml_train-1_{POD}/main/0.log"), "");
            let pod = tree.who().pod.clone().unwrap();
            let (name, namespace) = (pod.value.name.unwrap(), pod.value.namespace.unwrap());
            assert_eq!((&*name, &*namespace, pod.source), ("train-1", "ml", Source::PodLogs));
        }
    }
}

#[test]
fn an_id_alone_is_dockers_where_docker_knows_it() {
    let tree = Tree::new().of(PID, "cgroup", format!("0::/kubepods/pod{POD}/{CONTAINER}\n"));
    let record = format!("var/lib/docker/containers/{CONTAINER}/config.v2.json");
    tree.file(&record, r#"{"Name":"/k8s_main_train-1_ml"}"#);
    let container = tree.who().container.clone().unwrap().value;
    assert_eq!(container.runtime, Runtime::Docker);
    assert_eq!(container.name.as_deref(), Some("k8s_main_train-1_ml"));
}

#[test]
fn slurm_in_each_version() {
    let job = |text: &str, variables: &[&str]| {
        let who = Tree::new().of(PID, "cgroup", text).environ(PID, variables).who();
        let job = who.job.clone().map(|job| {
            (job.value.id.to_string(), job.value.step.map(|step| step.to_string()), job.source)
        });
        (job, user(&who))
    };
    let some = |id: &str, step: Option<&str>, source| {
        Some((id.to_owned(), step.map(str::to_owned), source))
    };
    let freezer = "7:freezer:/slurm/uid_1002/job_77/step_0\n4:memory:/\n\
                   1:name=systemd:/system.slice/slurmd.service\n";
    let of_bob = Some((1002, Source::Cgroup));
    assert_eq!(job(freezer, &[]), (some("77", Some("0"), Source::Cgroup), of_bob));
    let v2 = "0::/system.slice/slurmstepd.scope/job_78/step_batch/user/task_0\n";
    let by_uid = Some((1001, Source::Uid));
    let told = some("78", Some("batch"), Source::Cgroup);
    assert_eq!(job(v2, &["SLURM_JOB_ID=5"]), (told, by_uid), "the group counts more");
    let newer = "0::/system.slice/slurmstepd.scope/s6GT5B2PVQ8G00/step_0/user/task_0\n";
    let told = some("79", Some("0"), Source::Environment);
    assert_eq!(job(newer, &["SLURM_JOB_ID=79"]), (told, by_uid));
    let told = some("s6GT5B2PVQ8G00", Some("0"), Source::Cgroup);
    assert_eq!(job(newer, &[]), (told, by_uid), "better than nothing, and no guess");
    let told = some("80", None, Source::Environment);
    assert_eq!(job(SERVICE, &["SLURM_JOB_ID=80"]), (told, by_uid));
    assert_eq!(job(SERVICE, &[]), (None, by_uid));
}

#[test]
fn notebooks_of_jupyter_and_vs_code() {
    let file = format!("/run/jupyter/kernel-{POD}.json");
    let kernel = ["/opt/conda/bin/python", "-m", "ipykernel_launcher", "-f", &file];
    let told = |tree: Tree| {
        let notebook = tree.who().notebook.clone().unwrap();
        assert_eq!(notebook.value.kernel.as_deref(), Some(POD));
        (notebook.value.client, notebook.value.path.map(|path| path.to_string()), notebook.source)
    };
    let jupyter = || Tree::new().command(PID, &kernel).folder(PID, "/home/ann/work");
    let path = Some("/home/ann/work/fit.ipynb".to_owned());
    let full = jupyter().environ(PID, &["JPY_SESSION_NAME=/home/ann/work/fit.ipynb"]);
    assert_eq!(told(full), (Client::Jupyter, path.clone(), Source::Environment));
    let bare = jupyter().environ(PID, &["JPY_SESSION_NAME=fit.ipynb"]);
    assert_eq!(told(bare), (Client::Jupyter, path, Source::WorkingFolder));
    let option = format!("--f={file}");
    let code = Tree::new().command(PID, &["python", "-m", "ipykernel_launcher", &option]);
    let folder = (Client::VsCode, Some("/home/ann/src/".to_owned()), Source::WorkingFolder);
    assert_eq!(told(code.folder(PID, "/home/ann/src")), folder);
    let unreadable = Tree::new().command(PID, &kernel);
    assert_eq!(told(unreadable), (Client::Jupyter, None, Source::CommandLine));
}

#[test]
fn labels_of_the_environment() {
    let who = Tree::new()
        .environ(
            PID,
            &[
                "JUPYTERHUB_USER=zoe",
                "CONDA_PREFIX=/opt/conda",
                "TORCHELASTIC_RUN_ID=run-5",
                "RAY_JOB_ID=01000000",
                "HF_TOKEN=hidden",
            ],
        )
        .command(PID, &["python", "-m", "pkg.train", "--token", "hidden"])
        .who();
    assert_eq!(who.hub_user.as_ref().map(|user| &*user.value), Some("zoe"));
    let environment = who.environment.as_ref().unwrap();
    assert_eq!(environment.value.kind, EnvironmentKind::Conda);
    let group = who.group.as_ref().unwrap();
    assert_eq!((group.value.kind, &*group.value.id), (GroupKind::Torchrun, "run-5"));
    assert_eq!((who.script.as_deref(), user(&who)), (Some("pkg.train"), Some((1001, Source::Uid))));
    assert!(!format!("{who:?}").contains("hidden"), "{who:?}");
    let ray = Tree::new().environ(PID, &["RAY_JOB_ID=01000000", "VIRTUAL_ENV=/home/ann/v"]).who();
    assert_eq!(ray.group.as_ref().unwrap().value.kind, GroupKind::Ray);
    assert_eq!(ray.environment.as_ref().unwrap().value.kind, EnvironmentKind::Venv);
}
