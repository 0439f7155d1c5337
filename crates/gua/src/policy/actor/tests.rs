//! Real processes, and looks that say what a test wants: also what happens meanwhile.

use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use probe::identity::{Container, Job, Runtime, Source, Told, Who};
use probe::proc::status::Uids;
use probe::{Reading, Why};
use rustix::process::geteuid;

use super::{By, Look, Looked, NotEnded, Order, act};
use crate::config::policy::{Action, Notify, Rule, Template};
use crate::policy::notice::Fields;
use crate::policy::tests::{facts, rule, skipped, subject};
use crate::policy::{
    Activity, Brake, Evidence, Facts, Relief, Sign, Signs, Subject, Switch, Token, own,
};

/// Somebody's, as far as that can be had.
const PERSON: u32 = 41_000;

struct Says<F>(F);

impl<F: FnMut() -> Looked> Look for Says<F> {
    fn look(&mut self, _: &Order) -> Looked {
        (self.0)()
    }
}

fn idle() -> Says<impl FnMut() -> Looked> {
    Says(|| Looked::Holds(Activity::Idle))
}

/// A process of a person; `None` where we may not start one.
fn process(script: &str) -> Option<Child> {
    if !geteuid().is_root() && geteuid().as_raw() < 1000 {
        skipped("ending processes: neither root nor a person");
        return None;
    }
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::piped());
    if geteuid().is_root() {
        command.uid(PERSON);
    }
    let mut child = command.spawn().unwrap();
    // It is what it should be once it has spoken.
    std::io::Read::read(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    Some(child)
}

const SLEEPS: &str = "echo; exec sleep 600";
/// What is ignored stays ignored in the program that comes in its place.
const STAYS: &str = "trap '' TERM; echo; exec sleep 600";
/// Says so when it is asked to end, and stays.
const HEARS: &str = "trap echo TERM; echo; while :; do sleep 0.1; done";

fn order(child: &Child, rule: Rule) -> Order {
    let pid = child.id();
    let owner = if geteuid().is_root() { PERSON } else { geteuid().as_raw() };
    let facts = Arc::new(Facts {
        owner: Reading::Known(Uids::all(owner)),
        cgroup: cgroup(pid),
        ..facts(PERSON, "ann")
    });
    let evidence = evidence(Arc::clone(&facts));
    let fields = Fields::of(subject(pid), &evidence, &rule, 2, "lab", &Notify::default().message);
    Order {
        token: Token(1),
        subject: Subject { pid, start_ticks: own::start_ticks(pid) },
        facts,
        company: Vec::new(),
        rule: Arc::new(rule),
        fields,
        root: PathBuf::from("/"),
        timeout: Duration::from_secs(60),
        brake: Brake::of(Switch::of(Path::new("/nowhere/gua.db"))),
    }
}

fn evidence(facts: Arc<Facts>) -> Evidence {
    Evidence {
        facts,
        company: Vec::new(),
        memory: Reading::Unknown(Why::NotTold),
        signs: Signs::unknown(Why::NotAsked),
        idle_millis: 0,
        missed_millis: 0,
        notices: 2,
    }
}

fn cgroup(pid: u32) -> Reading<Arc<str>> {
    Reading::Known(fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap().into())
}

/// The same order, of which something was known differently.
fn where_(order: &Order, change: impl FnOnce(&mut Facts)) -> Order {
    let mut facts = Facts::clone(&order.facts);
    change(&mut facts);
    Order { facts: Arc::new(facts), ..order.clone() }
}

fn ends() -> Rule {
    rule(Action::End)
}

/// It lives, and is ended by the test.
fn lives(mut child: Child) {
    assert!(child.try_wait().unwrap().is_none(), "it was touched");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn it_is_asked_to_end() {
    let Some(mut child) = process(SLEEPS) else { return };
    assert_eq!(act(&order(&child, ends()), &mut idle()).unwrap(), By::Asked);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

#[test]
fn it_is_killed_only_where_the_rule_says_so() {
    let grace = Duration::from_millis(50);
    let Some(child) = process(STAYS) else { return };
    let asked = act(&order(&child, Rule { grace, ..ends() }), &mut idle());
    assert!(matches!(asked, Err(NotEnded::StillThere(_))), "{asked:?}");
    lives(child);
    let Some(mut child) = process(STAYS) else { return };
    let killed = act(&order(&child, Rule { grace, kill: true, ..ends() }), &mut idle());
    assert_eq!(killed.unwrap(), By::Killed);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn what_has_changed_meanwhile_is_not_touched() {
    let Some(child) = process(SLEEPS) else { return };
    let order = order(&child, ends());
    let said = |order: &Order, looked: Looked| {
        act(order, &mut Says(|| looked.clone())).unwrap_err().to_string()
    };
    let works = Looked::Holds(Activity::Works(Sign::Sm));
    assert_eq!(said(&order, works), "it works again (SM)");
    assert_eq!(said(&order, Looked::LetGo), "it has let go of its cards");
    let untold = Looked::Untold("no driver".into());
    assert_eq!(said(&order, untold), "its work could not be read: no driver");
    let idle = Looked::Holds(Activity::Idle);
    let other = where_(&order, |facts| facts.owner = Reading::Known(Uids::all(4242)));
    assert_eq!(said(&other, idle.clone()), "it is another user's process by now");
    let other = where_(&order, |facts| facts.cgroup = Reading::Known("0::/x\n".into()));
    assert_eq!(said(&other, idle.clone()), "it is in another control group by now");
    let start_ticks = order.subject.start_ticks.map(|start| start - 1);
    let other = Order { subject: Subject { start_ticks, ..order.subject }, ..order.clone() };
    assert_eq!(said(&other, idle.clone()), "its pid belongs to another process by now");
    let other = Order { root: "/host".into(), ..order };
    assert!(said(&other, idle).starts_with("the processes of this host are out of reach"));
    lives(child);
}

/// The process ends between the decision and the signal, and another gets its pid.
#[test]
fn a_pid_that_is_given_out_anew_meanwhile_is_not_touched() {
    let last_pid = Path::new("/proc/sys/kernel/ns_last_pid");
    let Some(mut child) = process(SLEEPS) else { return };
    let order = order(&child, ends());
    let pid = child.id();
    // Another that began in the same hundredth of a second would be the same one to anybody;
    // nobody is idle for so short a time.
    while Some(fresh_start_ticks()) <= order.subject.start_ticks {}
    let mut another = None;
    let mut look = Says(|| {
        child.kill().unwrap();
        child.wait().unwrap();
        // Others take numbers too; a few attempts are enough.
        for _ in 0..200 {
            if fs::write(last_pid, (pid - 1).to_string()).is_err() {
                break;
            }
            let mut next = process(SLEEPS).unwrap();
            if next.id() == pid {
                another = Some(next);
                break;
            }
            next.kill().unwrap();
            next.wait().unwrap();
        }
        Looked::Holds(Activity::Idle)
    });
    let outcome = act(&order, &mut look).unwrap_err().to_string();
    let Some(another) = another else {
        return skipped("a pid that is given out anew: it cannot be forced here");
    };
    assert_eq!(outcome, "its pid belongs to another process by now");
    lives(another);
}

/// When a process starts that is started now.
fn fresh_start_ticks() -> u64 {
    let mut fresh = process(SLEEPS).unwrap();
    let start = own::start_ticks(fresh.id()).unwrap();
    fresh.kill().unwrap();
    fresh.wait().unwrap();
    start
}

#[test]
fn a_scheduler_ends_its_own_jobs() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept");
    let Some(mut child) = process(SLEEPS) else { return };
    let script = format!("echo $0 > {}; kill {}", kept.display(), child.id());
    let words = ["sh", "-c", &script, "{pid}"].map(|word| Template::parse(word).unwrap());
    let rule = Rule { cancel: Some(words.to_vec()), ..ends() };
    let by = act(&order(&child, rule), &mut idle()).unwrap();
    assert!(matches!(by, By::Cancelled(_)), "{by:?}");
    assert_eq!(fs::read_to_string(kept).unwrap().trim(), child.id().to_string());
    child.wait().unwrap();
}

#[test]
fn a_scheduler_that_fails_is_told_and_who_has_no_job_gets_a_signal() {
    let words =
        |words: &[&str]| Some(words.iter().map(|it| Template::parse(it).unwrap()).collect());
    let Some(child) = process(SLEEPS) else { return };
    let failing = order(&child, Rule { cancel: words(&["false"]), ..ends() });
    let failed = act(&failing, &mut idle()).unwrap_err().to_string();
    assert_eq!(failed, "the command to end it failed: `false` ended with exit status: 1");
    let jobless = order(&child, Rule { cancel: words(&["scancel", "{job}"]), ..ends() });
    assert_eq!(act(&jobless, &mut idle()).unwrap(), By::Asked);
    let mut child = child;
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

#[test]
fn neither_we_nor_what_started_us_nor_root_is_ended() {
    let Some(child) = process(SLEEPS) else { return };
    let pid = std::os::unix::process::parent_id();
    let order = where_(&order(&child, ends()), |facts| {
        facts.owner = Reading::Known(Uids::all(geteuid().as_raw()));
        facts.cgroup = cgroup(pid);
    });
    let order = Order { subject: Subject { pid, start_ticks: own::start_ticks(pid) }, ..order };
    let refused = act(&order, &mut idle());
    assert!(matches!(refused, Err(NotEnded::Guarded(_))), "{refused:?}");
    lives(child);
}

#[test]
fn one_switch_stops_what_is_on_its_way() {
    let Some(child) = process(SLEEPS) else { return };
    let order = order(&child, ends());
    order.brake.hold(true);
    let stopped = act(&order, &mut idle()).unwrap_err().to_string();
    assert_eq!(stopped, "the rules were stopped meanwhile");
    lives(child);
}

/// Asked to end, and then somebody stops the rules: nobody is killed.
#[test]
fn one_switch_stops_a_kill_during_the_grace() {
    let dir = tempfile::tempdir().unwrap();
    let switch = Switch::of(&dir.path().join("gua.db"));
    let Some(mut child) = process(HEARS) else { return };
    let rule = Rule { grace: Duration::from_secs(5), kill: true, ..ends() };
    let order = Order { brake: Brake::of(switch.clone()), ..order(&child, rule) };
    let ended = std::thread::scope(|scope| {
        let acting = scope.spawn(|| act(&order, &mut idle()));
        std::io::Read::read(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        switch.turn_off().unwrap();
        acting.join().unwrap()
    });
    assert!(matches!(ended, Err(NotEnded::Stopped)), "{ended:?}");
    lives(child);
}

/// Trap: a grace is long enough to begin to work, to be snoozed, or to be exempted.
#[test]
fn who_is_to_be_left_alone_by_then_is_not_killed() {
    let grace = Duration::from_millis(50);
    for (looked, said) in [
        (Looked::Holds(Activity::Works(Sign::Sm)), "it works again (SM)"),
        (Looked::Relieved(Relief::Snoozed), "it is snoozed"),
        (Looked::Relieved(Relief::Exempt), "it is exempt"),
        (Looked::Relieved(Relief::RuleChanged), "that rule was changed"),
        (Looked::LetGo, "it has let go of its cards"),
    ] {
        let Some(child) = process(STAYS) else { return };
        let order = order(&child, Rule { grace, kill: true, ..ends() });
        let mut looks = vec![looked, Looked::Holds(Activity::Idle)];
        let outcome = act(&order, &mut Says(|| looks.pop().unwrap()));
        assert_eq!(outcome.unwrap_err().to_string(), said);
        lives(child);
    }
}

/// Trap: root that acts for a person is root.
#[test]
fn who_has_several_owners_is_not_ended() {
    let Some(child) = process(SLEEPS) else { return };
    let plain = order(&child, ends());
    let order = where_(&plain, |facts| {
        let owner = facts.owner.known().unwrap();
        facts.owner = Reading::Known(Uids { real: 0, saved: 0, ..owner });
    });
    let refused = act(&order, &mut idle()).unwrap_err().to_string();
    assert_eq!(refused, "it is another user's process by now");
    lives(child);
}

/// Trap: who says that they are somebody else's job, or in somebody else's container.
#[test]
fn only_what_the_system_has_placed_is_named_to_a_scheduler() {
    let Some(child) = process(SLEEPS) else { return };
    let words = |cgroup: &str, job: Source, template: &str| {
        let cancel = ["stop", template].map(|word| Template::parse(word).unwrap()).to_vec();
        let plain = order(&child, Rule { cancel: Some(cancel), ..ends() });
        let order = where_(&plain, |facts| {
            facts.cgroup = Reading::Known(cgroup.into());
            facts.who = Reading::Known(Arc::new(placed(job)));
        });
        let evidence = evidence(Arc::clone(&order.facts));
        let (rule, message) = (&order.rule, Notify::default().message);
        let fields = Fields::of(order.subject, &evidence, rule, 2, "lab", &message);
        super::words::words(&Order { fields, ..order }).map(|words| words.join(" "))
    };
    let slurm = "0::/system.slice/slurmstepd.scope/job_5/step_0\n";
    assert_eq!(words(slurm, Source::Cgroup, "{job}").as_deref(), Some("stop 5"));
    assert_eq!(words(slurm, Source::Environment, "{job}"), None);
    let other = "0::/system.slice/slurmstepd.scope/job_6/step_0\n";
    assert_eq!(words(other, Source::Cgroup, "{job}"), None);
    let own = "0::/user.slice/user-1001.slice/user@1001.service/slurmstepd.scope/job_5\n";
    assert_eq!(words(own, Source::Cgroup, "{job}"), None);
    let docker = format!("0::/system.slice/docker-{}.scope\n", "ab".repeat(32));
    assert_eq!(words(&docker, Source::Cgroup, "{container}").as_deref(), Some("stop db"));
    let forged = docker.replace("/system.slice", "/user.slice/user-1001.slice");
    assert_eq!(words(&forged, Source::Cgroup, "{container}"), None);
    lives(child);
}

fn placed(job: Source) -> Who {
    let container =
        Container { runtime: Runtime::Docker, id: "ab".repeat(32).into(), name: Some("db".into()) };
    Who {
        job: Some(Told { value: Job { id: "5".into(), step: None }, source: job }),
        container: Some(Told { value: container, source: Source::ContainerRecord }),
        ..Who::default()
    }
}
