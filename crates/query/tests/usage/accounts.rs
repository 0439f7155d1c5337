//! Whose the time was, and what it cost.

use gua_core::identity::{Container, Job, Notebook, Pod, Runtime, Source, Told, Who};
use gua_core::{Reason, State};
use gua_query::usage::{By, Prices, SortBy, Suggestion, Unattributed, Usage, UsageRequest};
use serde_json::Value;

use crate::lab::*;

const LOST: State = State::Unknown(Reason::Lost);

fn told<T>(value: T, source: Source) -> Option<Told<T>> {
    Some(Told { value, source })
}

fn job(id: &str, source: Source) -> Who {
    let job = told(Job { id: id.into(), step: None }, source);
    Who { job, script: Some("fit.py".into()), ..Who::default() }
}

fn container(source: Source) -> Who {
    let id = "0123456789abcdef".repeat(4).into();
    let container = Container { runtime: Runtime::Docker, id, name: Some("quiet_fox".into()) };
    let pod = Pod { uid: "0-1".into(), name: Some("fit-0".into()), namespace: Some("lab".into()) };
    Who { container: told(container, source), pod: told(pod, source), ..Who::default() }
}

fn notebook(path: &str) -> Who {
    let client = gua_core::identity::Client::Jupyter;
    let notebook = Notebook { kernel: None, path: Some(path.into()), client };
    Who { notebook: told(notebook, Source::AncestorEnvironment), ..Who::default() }
}

/// A day on two cards. On the first, alice's job works for 10 hours beside bob's notebook, and both hold
/// it for 12 more; for 2 it is lost. On the second, mallory names alice's job, something sits in a
/// container, and memory belongs to nobody; then nobody is seen at all for 4 hours.
fn a_day() -> Lab {
    let lab = Lab::new();
    let alice = holder(100, "alice", 30_000).running_for(job("4711", Source::Cgroup));
    let bob = holder(200, "bob", 10_000).running_for(notebook("exp/sweep.ipynb"));
    let mallory = holder(300, "mallory", 6_000).running_for(job("4711", Source::Environment));
    let root = holder(400, "root", 500).running_for(container(Source::Cgroup));
    let second = scene(1, State::IdleHeld, &[mallory, root]).with_unlisted(1_500);
    let mut recording = lab.begin(0);
    let working = scene(0, State::Active, &[alice.clone().working(), bob.clone()]);
    recording.record(10 * HOUR, &[working, second.clone()]);
    recording
        .record(10 * HOUR, &[scene(0, State::IdleHeld, &[alice.clone(), bob.clone()]), second]);
    let unseen = scene(1, State::IdleHeld, &[]);
    recording.record(2 * HOUR, &[scene(0, LOST, &[]), unseen.clone()]);
    recording.record(2 * HOUR, &[scene(0, State::IdleHeld, &[alice, bob]), unseen]);
    recording.end("stopped");
    lab
}

fn all_kinds(from: i64, to: i64) -> UsageRequest {
    UsageRequest { by: By::ALL.to_vec(), ..request(from, to) }
}

/// Columns of one kind of accounts: active, idle-held, unknown.
fn columns(usage: &Usage, by: By) -> [f64; 3] {
    let accounts = usage.accounts.iter().filter(|account| account.by == by);
    accounts.fold([0.0; 3], |[active, idle, unknown], it| {
        assert!((it.unused_gpu_hours + it.low_use_gpu_hours - it.idle_held_gpu_hours).abs() < 1e-8);
        [
            active + it.active_gpu_hours,
            idle + it.idle_held_gpu_hours,
            unknown + it.unknown_gpu_hours,
        ]
    })
}

fn assert_adds_up(usage: &Usage) {
    let states = usage.states;
    let cards = [states.active, states.idle_held, states.unknown].map(|it| it.gpu_hours);
    for by in &usage.accounts_by {
        for (sum, card) in columns(usage, *by).iter().zip(cards) {
            assert!((sum - card).abs() < 1e-6, "{by:?}: {sum} and not {card}");
        }
        let shares = usage.accounts.iter().filter(|it| it.by == *by).map(|it| it.share_of_total);
        assert!((shares.flatten().sum::<f64>() - 1.0).abs() < 1e-4);
    }
}

/// A card that only somebody else's memory is on has no rows for nobody.
#[test]
fn rows_of_nobody_are_shown_with_time_only() {
    let lab = Lab::new();
    let free = scene(0, State::TrulyIdle, &[holder(100, "ann", 50)]).with_unlisted(20);
    lab.begin(0).record(HOUR, &[free]);
    let usage = lab.report(0, HOUR);
    let names: Vec<_> = usage.accounts.iter().map(|it| it.name.as_deref()).collect();
    assert_eq!(names, [Some("ann")]);
    assert_eq!(usage.accounts[0].total_gpu_hours, 0.0);
}

/// Trap: memory that no listed process holds has a share of its own, or shares do not add up.
#[test]
fn shares_of_every_kind_add_up_with_unlisted_memory() {
    let lab = a_day();
    for (from, to) in [(0, DAY), (HOUR + 1, 23 * HOUR - 777), (21 * HOUR + 1, 22 * HOUR + 54_321)] {
        assert_adds_up(&lab.usage(&all_kinds(from, to)));
    }
    // Alice 3/4 of 12 hours, mallory 3/4 of 20.
    let usage = lab.report(0, DAY);
    let found: Vec<_> = usage
        .accounts
        .iter()
        .map(|it| (it.name.as_deref(), it.unattributed, it.active_gpu_hours, it.unused_gpu_hours))
        .collect();
    let unlisted = Some(Unattributed::Unlisted);
    let unknown = Some(Unattributed::HoldersUnknown);
    assert_eq!(
        found,
        [
            (Some("alice"), None, 10.0, 9.0),
            (Some("mallory"), None, 0.0, 15.0),
            (None, unknown, 0.0, 4.0),
            (None, unlisted, 0.0, 3.75),
            (Some("bob"), None, 0.0, 3.0),
            (Some("root"), None, 0.0, 1.25),
        ]
    );
    let nobody = &usage.accounts[2];
    assert_eq!(nobody.unknown_gpu_hours, 2.0, "the lost card");
    assert_eq!((nobody.present_process_hours, nobody.held_idle_gib_hours), (None, None));
}

#[test]
fn account_has_times_of_its_own() {
    let usage = a_day().report(0, DAY);
    let bob = account(&usage, "bob");
    assert_eq!([bob.present_process_hours, bob.idle_process_hours], [Some(22.0); 2]);
    assert_eq!([bob.idle_beside_process_hours, bob.working_process_hours], [Some(10.0), Some(0.0)]);
    assert_eq!(bob.peak_memory_bytes, Some(10_000 << 20));
    assert!((bob.held_idle_gib_hours.unwrap() - 22.0 * 10_000.0 / 1024.0).abs() < 1e-3);
    let alice = account(&usage, "alice");
    assert_eq!((alice.working_process_hours, alice.total_gpu_hours), (Some(10.0), 19.0));
    assert_eq!(alice.energy.active_energy_kwh, Some(1.0), "10 h at 100 W");
    assert_eq!(alice.energy.idle_held_energy_kwh, Some(0.9));
    assert_eq!(alice.idle_held_share, Some(0.25), "of 36 hours");
    let first = &usage.cards[0];
    assert_eq!(first.mean_utilization_percent, Some(33.333_333));
    assert_eq!(first.unknown_reasons["lost"], 2.0);
    assert_eq!(usage.energy.total.active_energy_kwh, Some(1.0));
}

#[test]
fn work_below_the_threshold_of_the_card_is_low_use() {
    let lab = Lab::new();
    let [bob, ann] = [holder(200, "bob", 30_000).working(), holder(100, "ann", 10_000)];
    lab.begin(0).record(HOUR, &[scene(0, State::IdleHeld, &[bob, ann])]);
    let usage = lab.report(0, HOUR);
    let bob = account(&usage, "bob");
    assert_eq!((bob.low_use_gpu_hours, bob.unused_gpu_hours), (0.75, 0.0));
    assert_eq!(account(&usage, "ann").unused_gpu_hours, 0.25);
}

#[test]
fn every_kind_has_its_names() {
    let usage = a_day().usage(&all_kinds(0, DAY));
    let names = |by: By| -> Vec<_> {
        let accounts = usage.accounts.iter().filter(|it| it.by == by);
        let names = accounts.map(|it| match (&it.name, it.unattributed) {
            (Some(name), _) => [Some(name.as_str()), it.user.as_deref(), it.id.as_deref()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" "),
            (None, why) => format!("{why:?}"),
        });
        names.collect()
    };
    let [unknown, unlisted, none] =
        ["Some(HoldersUnknown)", "Some(Unlisted)", "Some(None)"].map(str::to_owned);
    let id = "0123456789abcdef".repeat(4);
    assert_eq!(names(By::Job), ["4711 alice", "4711 mallory", &unknown, &none, &unlisted]);
    assert_eq!(names(By::Container)[3], format!("quiet_fox {id}"));
    assert!(names(By::Pod).contains(&"lab/fit-0 0-1".to_owned()));
    assert!(names(By::Notebook).contains(&"exp/sweep.ipynb bob".to_owned()));
    assert_eq!(names(By::Program)[0], "python fit.py");
    assert_eq!(names(By::Card), ["1 GPU-1", "0 GPU-0"]);
}

/// Trap: a workload learned later is attached later: it moves past report time.
#[test]
fn workload_learned_later_moves_past_report_time() {
    let lab = Lab::new();
    let alice = holder(100, "alice", 8_000);
    let mut recording = lab.begin(0);
    let unread = Holder { who: None, ..alice.clone() };
    recording.record(HOUR, &[scene(0, State::IdleHeld, &[unread])]);
    let jobs = || {
        let usage = lab.usage(&UsageRequest { by: vec![By::Job], ..request(0, HOUR) });
        let jobs = usage.accounts.into_iter();
        jobs.map(|it| (it.name, it.unattributed, it.unused_gpu_hours)).collect::<Vec<_>>()
    };
    assert_eq!(jobs(), [(None, Some(Unattributed::NotKnown), 1.0)]);
    let known = alice.running_for(job("4711", Source::Cgroup));
    recording.record(MINUTE, &[scene(0, State::IdleHeld, &[known])]);
    assert_eq!(jobs(), [(Some("4711".to_owned()), None, 1.0)]);
}

/// Trap: a forged container name stays its user's.
#[test]
fn forged_container_or_pod_name_stays_its_users() {
    let lab = Lab::new();
    let victim = holder(400, "root", 8_000).running_for(container(Source::Cgroup)).working();
    let forged = container(Source::DelegatedCgroup);
    let mallory = holder(300, "mallory", 8_000).running_for(forged);
    let scenes = [scene(0, State::Active, &[victim]), scene(1, State::IdleHeld, &[mallory])];
    lab.begin(0).record(HOUR, &scenes);
    let by = vec![By::Container, By::Pod];
    let usage = lab.usage(&UsageRequest { by, ..request(0, HOUR) });
    for by in [By::Container, By::Pod] {
        let accounts = usage.accounts.iter().filter(|it| it.by == by);
        let mut found: Vec<_> =
            accounts.map(|it| (it.user.as_deref(), it.idle_held_gpu_hours)).collect();
        found.sort_by_key(|(user, _)| *user);
        assert_eq!(found, [(None, 0.0), (Some("mallory"), 1.0)], "{by:?}");
    }
    let session = &usage.sessions[0];
    assert_eq!((session.pid, session.end.as_deref()), (300, Some("kill 300")));
}

/// Trap: `--user` counts all uids of a name, and names one.
#[test]
fn report_on_one_person_counts_all_their_uids() {
    let lab = Lab::new();
    let first = holder(100, "ann", 8_000);
    let second = Holder { uid: 2000, ..holder(101, "ann", 8_000) };
    let unnamed = Holder { user: None, ..holder(102, "", 8_000) };
    let scenes = [
        scene(0, State::IdleHeld, &[first]),
        scene(1, State::IdleHeld, &[second]),
        scene(2, State::IdleHeld, &[unnamed, holder(900, "bob", 8_000)]),
    ];
    lab.begin(0).record(HOUR, &scenes);
    let page = |user: &str| {
        let user = Some(user.to_owned());
        lab.usage(&UsageRequest { user, by: vec![By::Card], ..request(0, HOUR) })
    };
    let person = |user| page(user).person.unwrap().account;
    let figures = |user| (person(user).name.unwrap(), person(user).idle_held_gpu_hours);
    assert_eq!(figures("ann"), ("ann".to_owned(), 2.0));
    // By the uid: both of its processes, under the name that has more time.
    assert_eq!(figures("1001"), ("ann".to_owned(), 1.5));
    assert_eq!(page("ann").cards.len(), 2);
    assert_eq!(
        page("1001").accounts.iter().map(|it| it.name.clone().unwrap()).collect::<Vec<_>>(),
        ["0", "2"]
    );
    assert!(page("nobody").person.is_none());
    let ann = person("ann");
    assert_eq!((ann.user.as_deref(), ann.uid), (Some("ann"), None), "there are two uids");
    let bob = lab.usage(&request(0, HOUR));
    assert_eq!(account(&bob, "bob").uid, Some(1009));
    assert_eq!(account(&bob, "uid 1001").uid, Some(1001));
}

#[test]
fn report_on_one_person_names_nobody_else() {
    let lab = a_day();
    for user in ["alice", "bob", "mallory", "root"] {
        let request = UsageRequest { user: Some(user.into()), ..all_kinds(0, DAY) };
        let json = serde_json::to_string(&lab.usage(&request)).unwrap();
        for other in ["alice", "bob", "mallory", "root"] {
            assert_eq!(json.contains(&format!("\"{other}\"")), other == user, "{other} for {user}");
        }
        assert!(!json.contains("unlisted") && !json.contains("holders_unknown"));
        assert_eq!(json.contains("sweep.ipynb"), user == "bob");
    }
}

/// Regression: a report on one person had the states, cards, money and hours of the whole server.
#[test]
fn report_on_one_person_has_their_figures_alone() {
    let lab = a_day();
    let all = lab.report(0, DAY);
    for user in ["alice", "bob", "mallory", "root"] {
        let request = UsageRequest {
            user: Some(user.into()),
            prices: prices(Some(2.0), &[]),
            ..all_kinds(0, DAY)
        };
        let usage = lab.usage(&request);
        let of_all = account(&all, user);
        let person = usage.person.as_ref().unwrap();
        assert_eq!(person.account.share_of_total, of_all.share_of_total);
        assert_eq!(person.account.idle_held_share, of_all.idle_held_share);
        let states = &usage.states;
        assert_eq!(states.active.gpu_hours, of_all.active_gpu_hours);
        assert_eq!(states.idle_held.gpu_hours, of_all.idle_held_gpu_hours);
        assert_eq!((states.truly_idle.gpu_hours, states.unknown.gpu_hours), (0.0, 0.0));
        assert_eq!(usage.energy.total, of_all.energy);
        let cost = usage.money.as_ref().unwrap().idle_held.cost;
        assert_eq!(cost, Some(2.0 * of_all.idle_held_gpu_hours));
        assert_eq!(
            usage.equivalent_gpus.idle_held,
            Some((of_all.idle_held_gpu_hours / 24.0 * 1e6).round() / 1e6)
        );
        let [card] = usage.cards.as_slice() else { panic!("{:?}", usage.cards) };
        assert_eq!(card.states, *states);
        assert_eq!((card.mean_utilization_percent, card.mean_memory_used_bytes), (None, None));
        assert!(card.unknown_reasons.is_empty());
        assert_eq!((&usage.verdict, &usage.heatmap), (&None, &None));
        for by in By::ALL {
            let [active, idle, unknown] = columns(&usage, by);
            let own = [states.active, states.idle_held, states.unknown].map(|it| it.gpu_hours);
            for (sum, own) in [active, idle, unknown].into_iter().zip(own) {
                assert!((sum - own).abs() < 1e-6, "{by:?} of {user}: {sum} and not {own}");
            }
        }
    }
}

#[test]
fn suggestion_is_what_would_help_most() {
    let suggest = |state, bob: Holder| {
        let lab = Lab::new();
        let mut recording = lab.begin(0);
        recording.record(HOUR, &[scene(0, state, &[bob])]);
        recording.end("stopped");
        let user = Some("bob".to_owned());
        lab.usage(&UsageRequest { user, ..request(0, HOUR) }).person.unwrap().suggestion
    };
    let bob = |mib| holder(200, "bob", mib);
    let idle = Suggestion::EndWhenDone { sessions: 1, idle_seconds: 3600.0 };
    assert_eq!(suggest(State::IdleHeld, bob(60_000)), idle);
    let low = Suggestion::WorkedLittle { gpu_hours: 1.0 };
    assert_eq!(suggest(State::IdleHeld, bob(60_000).working()), low);
    let [peak_memory_bytes, card_memory_bytes] = [8_000 << 20, 80_000 << 20];
    let smaller = Suggestion::SmallerCard { peak_memory_bytes, card_memory_bytes };
    assert_eq!(suggest(State::Active, bob(8_000).working()), smaller);
    let nothing = Suggestion::Nothing { active_share: Some(1.0) };
    assert_eq!(suggest(State::Active, bob(60_000).working()), nothing);
}

fn prices(gpu_hour: Option<f64>, models: &[(&str, f64)]) -> Prices {
    let models = models.iter().map(|(part, price)| ((*part).to_owned(), *price)).collect();
    Prices { currency: "CHF".into(), gpu_hour, models, kwh: None }
}

#[test]
fn money_is_by_model_and_names_what_has_no_price() {
    let lab = a_day();
    let priced = |prices| lab.usage(&UsageRequest { prices, ..request(0, DAY) });
    assert_eq!(priced(prices(None, &[])).money, None);
    // The A100 is idle-held for 12 hours, the other card for 24.
    let all = priced(prices(Some(2.5), &[])).money.unwrap();
    assert_eq!((all.idle_held.cost, all.currency.as_str()), (Some(90.0), "CHF"));
    assert_eq!(all.idle_held.cost_per_month, Some(2700.0));
    let both = priced(prices(Some(1.0), &[("a100", 3.0)])).money.unwrap();
    assert_eq!(both.idle_held.cost, Some(12.0 * 3.0 + 24.0));
    let one = priced(prices(None, &[("a100", 3.0)]));
    let money = one.money.as_ref().unwrap();
    assert_eq!((money.idle_held.cost, money.idle_held.unpriced_gpu_hours), (Some(36.0), 24.0));
    let mallory = account(&one, "mallory");
    assert_eq!((mallory.idle_held_cost, mallory.unpriced_idle_held_gpu_hours), (None, 15.0));
    assert_eq!((mallory.active_cost, mallory.unpriced_active_gpu_hours), (Some(0.0), 0.0));
    let alice = account(&one, "alice");
    assert_eq!((alice.idle_held_cost, alice.active_cost), (Some(27.0), Some(30.0)));
    let kwh = Prices { kwh: Some(0.5), ..prices(None, &[]) };
    let with_energy = priced(kwh);
    let energy = with_energy.energy_money.unwrap();
    assert_eq!((energy.active_energy_cost, energy.idle_held_energy_cost), (Some(0.5), Some(1.8)));
    assert_eq!(with_energy.money, None);
    let short = UsageRequest { prices: prices(Some(1.0), &[]), ..request(0, HOUR / 2) };
    assert_eq!(lab.usage(&short).money.unwrap().idle_held.cost_per_month, None);
}

#[test]
fn accounts_are_sorted_by_a_figure() {
    let lab = a_day();
    let first = |sort, prices| {
        let usage = lab.usage(&UsageRequest { sort, prices, ..request(0, DAY) });
        usage.accounts[0].name.clone().unwrap()
    };
    assert_eq!(first(SortBy::Total, prices(None, &[])), "alice");
    assert_eq!(first(SortBy::Idle, prices(None, &[])), "mallory");
    assert_eq!(first(SortBy::Active, prices(None, &[])), "alice");
    assert_eq!(first(SortBy::Cost, prices(None, &[("a100", 1.0)])), "alice");
}

/// Trap: an unknown figure is null in JSON, and keys are those of the report.
#[test]
fn json_has_flat_keys_with_units() {
    let json: Value = serde_json::to_value(a_day().report(0, DAY)).unwrap();
    assert_eq!(json["schema"], "gua.report/2");
    assert_eq!(json["window"]["from"], "2024-10-04T00:00:00Z");
    assert_eq!(json["data"]["to"], "2024-10-05T00:00:00Z");
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(&json["accounts"][0]),
        [
            "active_cost",
            "active_energy_kwh",
            "active_gpu_hours",
            "by",
            "energy_cost",
            "energy_kwh",
            "energy_unknown_gpu_hours",
            "held_idle_gib_hours",
            "id",
            "idle_beside_process_hours",
            "idle_held_cost",
            "idle_held_energy_kwh",
            "idle_held_gpu_hours",
            "idle_held_share",
            "idle_process_hours",
            "low_use_gpu_hours",
            "memory_unknown_process_hours",
            "name",
            "peak_memory_bytes",
            "present_process_hours",
            "share_of_total",
            "total_gpu_hours",
            "uid",
            "unattributed",
            "unknown_gpu_hours",
            "unpriced_active_gpu_hours",
            "unpriced_idle_held_gpu_hours",
            "unused_gpu_hours",
            "user",
            "working_process_hours",
        ]
    );
    assert_eq!(
        keys(&json),
        [
            "accounts",
            "accounts_by",
            "active_energy_kwh",
            "basis",
            "cards",
            "compared",
            "data",
            "energy_divided",
            "energy_estimated_gpu_hours",
            "energy_kwh",
            "energy_money",
            "energy_unknown_gpu_hours",
            "equivalent_gpus",
            "gaps",
            "gpu_count",
            "heatmap",
            "host",
            "idle_held_energy_kwh",
            "money",
            "person",
            "schema",
            "sessions",
            "states",
            "thresholds",
            "truly_idle_energy_kwh",
            "unknown_state_energy_kwh",
            "verdict",
            "window",
        ]
    );
    let identity = &json["sessions"][0]["identity"];
    assert_eq!(identity["user"]["source"], "uid");
    assert!(identity.get("ancestor_names").is_none());
}
