//! Whom a rule is for, and whom nothing is for.

use std::sync::Arc;

use jiff::civil::time;
use probe::identity::{Client, Container, Notebook, Runtime, Source, Told, Who};
use probe::proc::status::Uids;
use probe::units::{Bytes, UnixMillis};
use probe::{Kinds, Reading, Why};

use super::{IDLE, facts, holding, policy, rule};
use crate::config::policy::{Action, Exempt, Hours, Kind, Match, Pattern, Policy, Rule};
use crate::policy::{Facts, Guard, Holding, Judged, Missing, Nature, Person, Spared, nature};

fn with(change: impl FnOnce(&mut Facts)) -> Holding {
    let mut facts = facts(1001, "ann");
    change(&mut facts);
    Holding { facts: Arc::new(facts), ..holding(7, IDLE) }
}

fn judged(rule: Rule, holding: &Holding) -> &'static str {
    judged_by(&policy(vec![rule]), holding)
}

fn judged_by(policy: &Policy, holding: &Holding) -> &'static str {
    match Judged::of(policy, holding, time(12, 0, 0, 0)) {
        Judged::Under(_) => "under",
        Judged::NoRule => "none",
        Judged::Snoozed(..) => "snoozed",
        Judged::Spared(_, Spared::Listed) => "listed",
        Judged::Spared(_, Spared::Guarded(_)) => "guarded",
        Judged::Unknown(_) => "unknown",
    }
}

fn matching(matches: Match) -> Rule {
    Rule { matches, ..rule(Action::End) }
}

fn notebook(who: &mut Who) {
    let value = Notebook { kernel: None, path: Some("a.ipynb".into()), client: Client::Jupyter };
    who.notebook = Some(Told { value, source: Source::CommandLine });
}

fn container(who: &mut Who) {
    let (id, name) = ("0123456789abcdef".into(), Some("serving".into()));
    let value = Container { runtime: Runtime::Docker, id, name };
    who.container = Some(Told { value, source: Source::Cgroup });
}

fn who(change: impl FnOnce(&mut Who)) -> Reading<Arc<Who>> {
    let mut who = Who::default();
    change(&mut who);
    Reading::Known(Arc::new(who))
}

#[test]
fn every_part_of_a_match_counts() {
    let patterns = |names: &[&str]| names.iter().map(|name| Pattern::new(name)).collect();
    let yes = [
        Match::default(),
        Match { users: patterns(&["bob", "an*"]), ..Match::default() },
        Match { users: patterns(&["1001"]), ..Match::default() },
        Match { groups: vec!["lab".into()], ..Match::default() },
        Match { programs: patterns(&["pyth*"]), ..Match::default() },
        Match { kinds: vec![Kind::Plain, Kind::Job], ..Match::default() },
        Match { memory_over: Some(Bytes(7_999_999_999)), ..Match::default() },
        Match { cards: vec!["h100".into(), "a100".into()], ..Match::default() },
        Match { hours: Hours::parse("12:00-13:00"), ..Match::default() },
    ];
    let no = [
        Match { users: patterns(&["bob"]), ..Match::default() },
        Match { groups: vec!["la".into()], ..Match::default() },
        Match { programs: patterns(&["python3"]), ..Match::default() },
        Match { kinds: vec![Kind::Notebook], ..Match::default() },
        Match { memory_over: Some(Bytes(8_000_000_000)), ..Match::default() },
        Match { cards: vec!["h100".into()], ..Match::default() },
        Match { hours: Hours::parse("13:00-12:00"), ..Match::default() },
        Match { users: patterns(&["ann"]), cards: vec!["h100".into()], ..Match::default() },
    ];
    for matches in yes {
        assert_eq!(judged(matching(matches.clone()), &holding(7, IDLE)), "under", "{matches:?}");
    }
    for matches in no {
        assert_eq!(judged(matching(matches.clone()), &holding(7, IDLE)), "none", "{matches:?}");
    }
}

#[test]
fn what_is_not_known_decides_nothing() {
    let hidden = with(|facts| facts.who = Reading::Unknown(Why::NoPermission));
    let notebooks = matching(Match { kinds: vec![Kind::Notebook], ..Match::default() });
    assert_eq!(judged(notebooks.clone(), &hidden), "unknown");
    // A gentler rule that may be for it is not passed over.
    let both = policy(vec![notebooks, rule(Action::End)]);
    assert_eq!(judged_by(&both, &hidden), "unknown");
    let untold = Holding { memory: Reading::Unknown(Why::NotTold), ..holding(7, IDLE) };
    let large = Match { memory_over: Some(Bytes(1)), ..Match::default() };
    let found = Judged::of(&policy(vec![matching(large)]), &untold, time(12, 0, 0, 0));
    assert_eq!(found, Judged::Unknown(Missing::Memory));
}

#[test]
fn the_first_rule_that_matches_counts() {
    let watch = Rule { name: "first".into(), ..rule(Action::Observe) };
    let rules = policy(vec![watch, rule(Action::End)]);
    let found = Judged::of(&rules, &holding(7, IDLE), time(12, 0, 0, 0));
    assert_eq!(&*found.rule().unwrap().name, "first");
}

#[test]
fn exemptions_are_of_a_rule_or_of_all() {
    let exempt = |exempt: Exempt| Rule { exempt, ..rule(Action::End) };
    let ann = Exempt { users: vec![Pattern::new("ann")], ..Exempt::default() };
    assert_eq!(judged(exempt(ann.clone()), &holding(7, IDLE)), "listed");
    let all = Policy { exempt: ann.clone(), ..policy(vec![rule(Action::End)]) };
    assert_eq!(judged_by(&all, &holding(7, IDLE)), "listed");
    // The next rule is asked.
    let both = policy(vec![exempt(ann), rule(Action::End)]);
    assert_eq!(judged_by(&both, &holding(7, IDLE)), "under");
    let serving = Exempt { containers: vec![Pattern::new("serv*")], ..Exempt::default() };
    let contained = with(|facts| facts.who = who(container));
    assert_eq!(judged(exempt(serving), &contained), "listed");
    let by_id = Exempt { containers: vec![Pattern::new("0123456789ab")], ..Exempt::default() };
    assert_eq!(judged(exempt(by_id), &contained), "listed");
    let groups = Exempt { groups: vec!["lab".into()], ..Exempt::default() };
    assert_eq!(judged(exempt(groups.clone()), &holding(7, IDLE)), "listed");
    let unasked = with(|facts| facts.groups = Reading::Unknown(Why::TimedOut));
    assert_eq!(judged(exempt(groups), &unasked), "unknown");
}

/// A holder with this program, script and names of ancestors.
fn program(name: &str, script: Option<&str>, ancestors: Option<&[&str]>) -> Holding {
    let names = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
    with(|facts| {
        facts.program = Some(name.into());
        facts.who = who(|who| {
            who.script = script.map(Into::into);
            who.ancestor_names = ancestors.map(names);
        });
    })
}

fn exempt_program(pattern: &str) -> Rule {
    let programs = vec![Pattern::new(pattern).ignoring_case()];
    Rule { exempt: Exempt { programs, ..Exempt::default() }, ..rule(Action::End) }
}

/// With the names that vLLM really has: `python3 /usr/local/bin/vllm serve` starts an engine, that
/// starts workers, and each is titled.
#[test]
fn exemption_matches_vllm_and_all_that_it_starts() {
    let none = Some(&[][..]);
    let server = program("vllm", Some("vllm"), Some(&["bash"]));
    let engine = program("VLLM::EngineCore", None, Some(&["vllm", "python3", "bash"]));
    let orphan = program("VLLM::Worker_TP0", None, none);
    let child = program("python3", None, Some(&["VLLM::EngineCore", "VLLM::EngineCor", "vllm"]));
    let script = program("python3", Some("/opt/vllm/vllm_serve.py"), none);
    for holding in [&server, &engine, &orphan, &child, &script] {
        assert_eq!(judged(exempt_program("vllm*"), holding), "listed", "{:?}", holding.facts);
    }
    // As `top` shows it.
    assert_eq!(judged(exempt_program("vllm::worker_tp"), &orphan), "listed");
    let other = program("python3", Some("train.py"), Some(&["bash", "sshd"]));
    assert_eq!(judged(exempt_program("vllm*"), &other), "under");
}

#[test]
fn rule_does_not_match_a_child_of_a_matching_ancestor() {
    let matches = Match { programs: vec![Pattern::new("vllm*")], ..Match::default() };
    let child = program("python3", None, Some(&["vllm"]));
    assert_eq!(judged(matching(matches.clone()), &child), "none");
    let titled = program("VLLM::EngineCore", None, Some(&[]));
    assert_eq!(judged(matching(matches.clone()), &titled), "none", "its case counts");
    let server = program("vllm", None, Some(&[]));
    assert_eq!(judged(matching(matches), &server), "under");
}

#[test]
fn unknown_ancestors_prevent_a_verdict_only_where_they_matter() {
    let unknown = program("python3", None, None);
    assert_eq!(judged(exempt_program("vllm*"), &unknown), "unknown");
    assert_eq!(judged(exempt_program("python*"), &unknown), "listed");
    assert_eq!(judged(rule(Action::End), &unknown), "under");
}

#[test]
fn some_are_never_ended() {
    let guard = |change: &dyn Fn(&mut Facts)| {
        let holding = with(change);
        Guard::of(holding.subject, &holding.facts)
    };
    let person = |uid, source| {
        move |facts: &mut Facts| {
            facts.person = Some(Person { uid, name: None, source });
            facts.owner = Reading::Known(Uids::all(uid));
        }
    };
    assert_eq!(guard(&|_| ()), None);
    assert_eq!(guard(&person(1001, Source::Uid)), None);
    assert_eq!(guard(&person(999, Source::UserSlice)), Some(Guard::SystemAccount));
    assert_eq!(guard(&person(65_534, Source::Uid)), Some(Guard::Uncertain));
    assert_eq!(guard(&person(1001, Source::Environment)), Some(Guard::Uncertain));
    let owner = |uids: Uids| move |facts: &mut Facts| facts.owner = Reading::Known(uids);
    assert_eq!(guard(&owner(Uids::all(0))), Some(Guard::SystemAccount));
    assert_eq!(guard(&owner(Uids::all(1002))), Some(Guard::Uncertain));
    // Root that acts for a person, and a person who may become another.
    let acting = Uids { real: 0, saved: 0, ..Uids::all(1001) };
    assert_eq!(guard(&owner(acting)), Some(Guard::SystemAccount));
    assert_eq!(guard(&owner(Uids { saved: 1002, ..Uids::all(1001) })), Some(Guard::Uncertain));
    assert_eq!(guard(&|facts| facts.person = None), Some(Guard::Unattributed));
    let hidden = |facts: &mut Facts| facts.owner = Reading::Unknown(Why::Gone);
    assert_eq!(guard(&hidden), Some(Guard::NotShown));
    assert_eq!(guard(&|facts| facts.nature = Nature::Mps), Some(Guard::Mps));
    assert_eq!(guard(&|facts| facts.nature = Nature::Display), Some(Guard::Display));
    assert_eq!(guard(&|facts| facts.nature = Nature::Ourselves), Some(Guard::Ourselves));
    let in_image = |facts: &mut Facts| {
        person(1001, Source::Uid)(facts);
        facts.who = who(container);
    };
    assert_eq!(guard(&in_image), Some(Guard::Uncertain));
    let hidden = crate::policy::Subject { pid: 7, start_ticks: None };
    assert_eq!(Guard::of(hidden, &facts(1001, "ann")), Some(Guard::NotShown));
}

#[test]
fn a_rule_spares_whom_it_cannot_end_and_nobody_is_told_of_what_may_be_anothers() {
    let in_image = with(|facts| {
        facts.person = Some(Person { uid: 1001, name: None, source: Source::Uid });
        facts.who = who(container);
    });
    assert_eq!(judged(rule(Action::End), &in_image), "guarded");
    assert_eq!(judged(rule(Action::Observe), &in_image), "guarded");
    assert_eq!(judged(rule(Action::Notify), &in_image), "guarded");
    let mps = with(|facts| facts.nature = Nature::Mps);
    assert_eq!(judged(rule(Action::End), &mps), "guarded");
    assert_eq!(judged(rule(Action::Notify), &mps), "under");
    let nobodys = with(|facts| facts.person = None);
    assert_eq!(judged(rule(Action::Notify), &nobodys), "guarded");
}

#[test]
fn screens_and_mps_are_known_by_name_and_by_use() {
    assert_eq!(nature(Some("Xorg"), Kinds::COMPUTE), Nature::Display);
    assert_eq!(nature(Some("blender"), Kinds::GRAPHICS), Nature::Display);
    assert_eq!(nature(Some("blender"), Kinds::GRAPHICS.and(Kinds::COMPUTE)), Nature::Ordinary);
    assert_eq!(nature(Some("nvidia-cuda-mps-server"), Kinds::COMPUTE), Nature::Mps);
    assert_eq!(nature(Some("python"), Kinds::COMPUTE.and(Kinds::MPS)), Nature::Mps);
    assert_eq!(nature(Some("python"), Kinds::COMPUTE), Nature::Ordinary);
}

#[test]
fn a_snooze_stands_before_a_rule() {
    let snoozed = |snoozed| Holding { snoozed, ..holding(7, IDLE) };
    let until = Reading::Known(Some(UnixMillis(1)));
    assert_eq!(judged(rule(Action::End), &snoozed(until)), "snoozed");
    let untold = Reading::Unknown(Why::NotTold);
    assert_eq!(judged(rule(Action::End), &snoozed(untold)), "unknown");
}

#[test]
fn a_notebook_is_known() {
    let kernel = with(|facts| facts.who = who(notebook));
    let notebooks = matching(Match { kinds: vec![Kind::Notebook], ..Match::default() });
    assert_eq!(judged(notebooks, &kernel), "under");
}
