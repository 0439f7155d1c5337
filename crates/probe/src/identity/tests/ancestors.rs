//! Ancestors of a process.

use super::{CONTAINER, PID, SESSION, Tree, who};
use crate::identity::{GroupKind, Source};
use crate::process::Presence;
use crate::reading::{Reading, Why};

/// sshd ← bash ← torchrun ← python, all of ann's in one session, below root's sshd.
fn family() -> Tree {
    let mut tree = Tree::new().process(10, 1, "sshd").uid(10, 0);
    tree = tree.of(10, "cgroup", "0::/system.slice/ssh.service\n");
    for (pid, parent, program) in [(20, 10, "sshd"), (30, 20, "bash"), (40, 30, "torchrun")] {
        tree = tree.process(pid, parent, program).uid(pid, 1001).of(pid, "cgroup", SESSION);
    }
    tree.process(PID, 40, "python").of(PID, "cgroup", SESSION)
}

#[test]
fn the_launcher_is_at_the_top_of_the_tree() {
    let launcher = family().who().launcher.clone().unwrap();
    assert_eq!((launcher.value.pid, &*launcher.value.program), (30, "bash"));
    assert_eq!(launcher.source, Source::Ancestors);
    let elsewhere = family().of(30, "cgroup", "0::/user.slice/user-1001.slice/session-9.scope\n");
    assert_eq!(elsewhere.who().launcher.as_ref().unwrap().value.pid, 40);
    let another = family().uid(40, 1002);
    assert_eq!(another.who().launcher.as_ref().unwrap().value.pid, 30);
}

/// Trap: an orphan's parent is whoever collects orphans.
#[test]
fn an_orphan_has_no_launcher() {
    assert_eq!(Tree::new().who().launcher, None);
    let collector = "0::/user.slice/user-1001.slice/user@1001.service/init.scope\n";
    let tree = Tree::new().process(40, 1, "systemd").uid(40, 1001).of(40, "cgroup", collector);
    let tree = tree.process(PID, 40, "python").of(PID, "cgroup", SESSION);
    assert_eq!(tree.who().launcher, None);
}

#[test]
fn a_wiped_environment_is_that_of_the_parents() {
    for wiped in [&b""[..], b"\0\0\0\0", b"ne of many words\0\0"] {
        let tree = family().of(PID, "environ", wiped).environ(30, &["SLURM_JOB_ID=5"]);
        let job = tree.who().job.clone().unwrap();
        assert_eq!((&*job.value.id, job.source), ("5", Source::AncestorEnvironment));
    }
    let unreadable = family().environ(40, &["RAY_JOB_ID=7"]).environ(30, &["SLURM_JOB_ID=5"]);
    let who = unreadable.who();
    assert_eq!(who.group.as_ref().unwrap().source, Source::AncestorEnvironment);
    assert_eq!(who.job, None, "the nearest that has one has all of it");
}

#[test]
fn an_environment_that_can_be_read_is_all_there_is() {
    let tree = family().environ(PID, &[]).environ(40, &["SLURM_JOB_ID=5"]);
    assert_eq!(tree.who().job, None);
}

#[test]
fn another_users_environment_and_that_of_an_engine_are_not_inherited() {
    let tree = family().uid(40, 1002).environ(40, &["SLURM_JOB_ID=5"]);
    assert_eq!(tree.who().job, None);
    let tree = family().environ(40, &["SLURM_JOB_ID=5"]);
    let tree = tree.of(PID, "cgroup", format!("0::/docker/{CONTAINER}\n"));
    assert_eq!(tree.who().job, None);
}

#[test]
fn a_nameless_torchrun_is_known_by_its_agent() {
    let group = family().environ(PID, &["TORCHELASTIC_RUN_ID=none"]).who().group.clone().unwrap();
    assert_eq!((group.value.kind, &*group.value.id), (GroupKind::Torchrun, "pid 40"));
}

#[test]
fn what_a_kernel_started_works_for_its_notebook() {
    let kernel = ["python", "-m", "ipykernel_launcher", "-f", "/x/kernel-abc.json"];
    let notebook = family().command(40, &kernel).who().notebook.clone().unwrap();
    assert_eq!(notebook.value.kernel.as_deref(), Some("abc"));
    assert_eq!((notebook.value.path, notebook.source), (None, Source::Ancestors));
    // As its kernel has it, so that both are of one notebook.
    let tree = family().command(40, &kernel).folder(40, "/a").environ(PID, &[]);
    let notebook =
        tree.environ(40, &["JPY_SESSION_NAME=fit.ipynb"]).who().notebook.clone().unwrap();
    assert_eq!(notebook.value.path.as_deref(), Some("/a/fit.ipynb"));
    assert_eq!(notebook.source, Source::WorkingFolder);
    let tree = family().command(40, &kernel).environ(PID, &["JPY_SESSION_NAME=/a/fit.ipynb"]);
    let notebook = tree.who().notebook.clone().unwrap();
    assert_eq!(notebook.value.path.as_deref(), Some("/a/fit.ipynb"));
    assert_eq!(family().command(40, &kernel).uid(40, 1002).who().notebook, None);
}

/// Trap: who began after its child has only the pid of the parent.
#[test]
fn a_parent_that_is_younger_than_its_child_is_none() {
    let tree = Tree::new().process(90, 1, "bash").uid(90, 1001).of(90, "cgroup", SESSION);
    let tree = tree.process(PID, 90, "python").of(PID, "cgroup", SESSION);
    assert_eq!(tree.who().launcher, None);
}

#[test]
fn a_circle_of_parents_ends() {
    let tree = Tree::new().process(30, 40, "a").process(40, 30, "b").process(PID, 40, "python");
    let _ = tree.who();
}

/// It is read once: what a process was is what it stays, until another has its pid.
#[test]
fn it_is_read_at_first_sight_only() {
    let tree = family().environ(PID, &["SLURM_JOB_ID=5"]);
    let mut host = tree.host();
    assert_eq!(&*who(&mut host).job.as_ref().unwrap().value.id, "5");
    let tree = tree.environ(PID, &["SLURM_JOB_ID=6"]);
    assert_eq!(&*who(&mut host).job.as_ref().unwrap().value.id, "5");
    let line = std::fs::read_to_string(tree.root().join("proc/70/stat")).unwrap();
    let _tree = tree.of(PID, "stat", line.replace(" 0 70 0 0", " 0 71 0 0"));
    assert_eq!(&*who(&mut host).job.as_ref().unwrap().value.id, "6");
}

/// What it costs follows those who come anew: a crowd reads its launcher once, and who was seen
/// before is not read again.
#[test]
fn a_crowd_costs_little_more_than_one() {
    let crowd = 1000..1200;
    let mut tree = family();
    for pid in crowd.clone() {
        tree = tree.process(pid, 40, "python").uid(pid, 1001).of(pid, "cgroup", SESSION);
    }
    let mut reader = crate::identity::Reader::new(tree.root().to_owned());
    let mut accounts = crate::proc::Accounts::new(tree.root().to_owned());
    for pid in crowd.clone() {
        let stat = std::fs::read(tree.root().join(format!("proc/{pid}/stat"))).unwrap();
        let stat = crate::proc::stat::parse(&stat).unwrap();
        let program = "python".into();
        let subject =
            crate::identity::Subject { pid, stat: &stat, program, uid: Some(1001), arguments: b"" };
        let who = reader.who(&subject, &mut accounts).known().unwrap();
        assert_eq!(who.launcher.as_ref().unwrap().value.pid, 30);
    }
    assert_eq!(reader.remembered(), 4);
    let mut host = tree.host();
    for pid in crowd.clone() {
        host.process(pid);
    }
    for pid in crowd.clone() {
        for file in ["status", "cgroup", "cmdline"] {
            std::fs::remove_file(tree.root().join(format!("proc/{pid}/{file}"))).unwrap();
        }
    }
    for pid in crowd {
        let Presence::Here(facts) = host.process(pid) else { panic!("not here") };
        assert!(facts.who.clone().known().unwrap().launcher.is_some());
    }
}

/// Trap: the process may end, and another get its pid, while its files are read.
#[test]
fn what_ended_while_it_was_read_is_gone() {
    let tree = Tree::new();
    let stat = crate::proc::stat::parse(&std::fs::read(tree.root().join("proc/70/stat")).unwrap());
    let mut before = stat.unwrap();
    before.start_ticks = 5;
    let mut accounts = crate::proc::Accounts::new(tree.root().to_owned());
    let mut reader = crate::identity::Reader::new(tree.root().to_owned());
    let mut read = |pid| {
        let program = "python".into();
        let subject = crate::identity::Subject {
            pid,
            stat: &before,
            program,
            uid: Some(1001),
            arguments: b"",
        };
        reader.who(&subject, &mut accounts)
    };
    assert_eq!(read(PID), Reading::Unknown(Why::Gone));
    assert_eq!(read(71), Reading::Unknown(Why::Gone));
}

/// A process of this host, with the parents that it really has.
#[test]
fn a_real_process_has_us_among_its_ancestors() {
    let mut child = std::process::Command::new("sh")
        .args(["-c", "echo; read -r line", "x"])
        .env("SLURM_JOB_ID", "4711")
        .env("RAY_JOB_ID", "\x1b[2J\n")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Until it runs, its environment may not be in place.
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let mut host = crate::proc::Host::new(Some("/".into())).with_identities(true);
    let Presence::Here(facts) = host.process(child.id()) else { panic!("not here") };
    let who = facts.who.clone().known().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let job = who.job.as_ref().unwrap();
    // Where the tests themselves run in a job, its control group counts more.
    if job.source == Source::Environment {
        assert_eq!(&*job.value.id, "4711");
    }
    assert_eq!(who.group.as_ref().unwrap().value.id.as_ref(), "\x1b[2J\n");
    assert!(who.launcher.is_some(), "{who:?}");
}

/// The group that a process may be in, as kind and id.
fn possible(tree: &Tree) -> Option<(GroupKind, String)> {
    let who = tree.who();
    assert!(who.group.is_none(), "{who:?}");
    who.possible_group.as_ref().map(|group| (group.kind, group.id.to_string()))
}

#[test]
fn rank_with_unreadable_environment_is_grouped_by_its_launcher() {
    let launcher = |id: &str| Some((GroupKind::Launcher, id.to_owned()));
    assert_eq!(possible(&family()), launcher("torchrun pid 40"));
    for (command, id) in [
        (&["/usr/bin/python3", "/opt/bin/torchrun", "train.py"][..], "torchrun"),
        (&["python", "-m", "torch.distributed.run", "train.py"], "torch.distributed.run"),
        (&["python", "-m", "torch.distributed.launch", "train.py"], "torch.distributed.launch"),
        (&["/opt/bin/python", "/opt/bin/accelerate", "launch", "train.py"], "accelerate"),
        (&["python", "/opt/bin/deepspeed", "train.py"], "deepspeed"),
        (&["python", "-u", "-m", "deepspeed.launcher.launch"], "deepspeed.launcher.launch"),
        (&["/opt/ray/core/src/ray/raylet/raylet", "--store"], "raylet"),
        (&["ray::Trainer.fit extra words"], "ray::Trainer.fit"),
        (&["/usr/bin/mpirun", "-n", "2", "./solve"], "mpirun"),
        (&["/usr/lib/mpi/hydra_pmi_proxy", "--control-port"], "hydra_pmi_proxy"),
    ] {
        let tree = family().process(40, 30, "pt_main_thread").uid(40, 1001).command(40, command);
        assert_eq!(possible(&tree), launcher(&format!("{id} pid 40")), "{command:?}");
    }
    // One launcher may start another: the topmost has all of the job.
    let nested = family().command(30, &["mpirun", "-n", "2", "torchrun"]);
    assert_eq!(possible(&nested), launcher("mpirun pid 30"));
}

#[test]
fn siblings_with_unreadable_environment_share_parent_and_script() {
    let siblings = |id: &str| Some((GroupKind::Siblings, id.to_owned()));
    let shell = || family().process(40, 30, "bash").uid(40, 1001);
    let run = |words: &[&str]| possible(&shell().command(PID, words));
    assert_eq!(run(&["python", "work/train.py", "--rank", "1"]), siblings("train.py of pid 40"));
    // As `torch.multiprocessing.spawn` starts them.
    assert_eq!(run(&["python", "-c", "from multiprocessing"]), siblings("python of pid 40"));
    // Kernels of one server are not one job.
    let kernel = ["python", "-m", "ipykernel_launcher", "-f", "/x/kernel-abc.json"];
    assert_eq!(run(&kernel), siblings("abc of pid 40"));
    assert_eq!(possible(&Tree::new()), siblings("python of pid 1"));
    let titled = shell().process(PID, 40, "VLLM::Worker_TP").command(PID, &["VLLM::Worker_TP1"]);
    assert_eq!(possible(&titled), siblings("VLLM::Worker_TP of pid 40"));
}

/// As Lightning starts them, and a kernel that forks.
#[test]
fn rank_that_starts_the_others_is_in_their_group() {
    for (command, runs) in [
        (&["python", "train.py"][..], "train.py"),
        (&["python", "-m", "ipykernel_launcher", "-f", "/x/kernel-abc.json"], "abc"),
    ] {
        let below = |parent: u32, uid: u32| {
            let tree = family().process(40, 30, "python").uid(40, uid).command(40, command);
            possible(&tree.process(PID, parent, "python").command(PID, command)).unwrap().1
        };
        assert_eq!(below(40, 1001), format!("{runs} of pid 30"));
        assert_eq!(below(30, 1001), format!("{runs} of pid 30"));
        assert_eq!(below(40, 1002), format!("{runs} of pid 40"), "another user's is another job");
    }
}

/// An environment that was overwritten does not say that there is no group.
#[test]
fn overwritten_environment_leaves_a_possible_group() {
    let tree = family().of(PID, "environ", b"\0\0\0").environ(40, &[]);
    assert_eq!(possible(&tree), Some((GroupKind::Launcher, "torchrun pid 40".to_owned())));
    let named = family().of(PID, "environ", b"\0\0\0").environ(40, &["TORCHELASTIC_RUN_ID=a"]);
    assert_eq!(named.who().group.as_ref().map(|told| &*told.value.id), Some("a"));
    let beside_unread = named.who().possible_group.clone();
    assert_eq!(beside_unread.map(|group| group.kind), Some(GroupKind::Launcher));
    let of_shell = family().process(40, 30, "bash").uid(40, 1001).of(PID, "environ", b"\0\0\0");
    let of_shell = of_shell.environ(40, &["TORCHELASTIC_RUN_ID=a"]);
    assert_eq!(of_shell.who().possible_group, None, "siblings only where nothing names the group");
}

/// As ranks of `mpirun` have it; other ranks of the same job may be unreadable.
#[test]
fn readable_environment_without_a_group_is_grouped_by_its_launcher_only() {
    let launched = family().environ(PID, &[]);
    assert_eq!(possible(&launched), Some((GroupKind::Launcher, "torchrun pid 40".to_owned())));
    let of_shell = family().process(40, 30, "bash").uid(40, 1001).environ(PID, &[]);
    assert_eq!(possible(&of_shell), None);
}

/// As vLLM runs: `vllm serve` is a Python script, and its engine has a title.
#[test]
fn ancestors_of_the_same_user_are_known_by_all_their_names() {
    let serve = ["/usr/bin/python3", "/usr/local/bin/vllm", "serve", "meta/llama"];
    let tree = family().process(30, 20, "pt_main_thread").uid(30, 1001).command(30, &serve);
    let tree = tree.process(40, 30, "VLLM::EngineCor").uid(40, 1001);
    let tree = tree.command(40, &["VLLM::EngineCore"]);
    let names = |tree: &Tree| {
        let names = tree.who().ancestor_names.clone().unwrap();
        names.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let engine = ["VLLM::EngineCore", "VLLM::EngineCor"];
    let server = ["pt_main_thread", "python3", "vllm"];
    assert_eq!(names(&tree), [&engine[..], &server, &["sshd"]].concat());
    assert_eq!(names(&tree.uid(40, 1002)), [&server[..], &["sshd"]].concat());
    assert_eq!(names(&Tree::new()), [""; 0]);
}
