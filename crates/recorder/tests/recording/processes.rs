//! Sessions, processes and what was last seen.

use std::sync::Arc;

use gua_core::identity::{Job, Source, Told, User, Who};
use gua_core::process::{Presence, ProcessFacts, ProcessId};
use gua_core::snapshot::{CardNow, HostNow, SeenProcess};
use gua_core::units::UnixMillis;
use gua_core::{Period, Reading, Reason, State};
use gua_store::StoredSession;

use crate::lab::{Lab, MINUTE, POLL, SECOND, WALL, process};

fn sessions(lab: &Lab) -> Vec<(i64, i64, bool)> {
    let all = Period::new(UnixMillis(0), UnixMillis(i64::MAX));
    let figures = |session: &StoredSession| {
        let second = |at: UnixMillis| (at.0 - WALL) / SECOND;
        (second(session.period.from), second(session.period.to), session.is_open)
    };
    lab.read().sessions(all).unwrap().iter().map(figures).collect()
}

/// Trap: sessions go on over a restart.
#[test]
fn session_goes_on_after_a_restart() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    lab.stop();
    lab.now += MINUTE;
    lab.start(vec![]);
    lab.record(10 * MINUTE);
    lab.stop();
    assert_eq!(sessions(&lab), [(0, 21 * 60, true)]);
    lab.now += 3 * MINUTE;
    lab.start(vec![]);
    lab.record(10 * MINUTE);
    lab.stop();
    assert_eq!(sessions(&lab), [(0, 21 * 60, false), (24 * 60, 34 * 60, true)]);
    lab.assert_sound();
}

#[test]
fn session_of_another_boot_has_ended() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    lab.stop();
    lab.now += MINUTE;
    lab.boot = "boot-2".into();
    lab.start(vec![]);
    lab.record(10 * MINUTE);
    lab.stop();
    assert_eq!(sessions(&lab), [(0, 600, false), (660, 1260, true)]);
}

/// Trap: the clock was set back between two runs: no session covers a time twice.
#[test]
fn session_is_not_resumed_before_its_end() {
    let mut lab = Lab::started();
    lab.record(60 * MINUTE);
    lab.stop();
    lab.step = -30 * MINUTE;
    lab.start(vec![]);
    lab.record(10 * MINUTE);
    lab.stop();
    assert_eq!(sessions(&lab), [(0, 30 * 60, false), (30 * 60, 40 * 60, true)]);
    lab.assert_sound();
}

fn seen(id: ProcessId, job: Option<&str>) -> SeenProcess {
    let user = Told { value: User { uid: 1000, name: Some("ann".into()) }, source: Source::Uid };
    let job =
        job.map(|id| Told { value: Job { id: id.into(), step: None }, source: Source::Cgroup });
    let who = Who { user: Some(user), job: job.clone(), ..Who::default() };
    let facts = ProcessFacts {
        pid: id.pid,
        parent: 1,
        start_ticks: id.start_ticks.unwrap(),
        started: Reading::Known(UnixMillis(WALL - SECOND)),
        program: "python".into(),
        uid: Reading::Known(1000),
        user: Reading::Known(Some("ann".into())),
        who: match job {
            Some(_) => Reading::Known(Arc::new(who)),
            None => Reading::Unknown(Reason::TimedOut),
        },
    };
    let command = ["python", "train.py", "--token", "hf_abcdefghij"].map(str::to_owned).to_vec();
    SeenProcess {
        pid: id.pid,
        presence: Presence::Here(Arc::new(facts)),
        command: Reading::Known(command),
    }
}

/// Trap: a workload learned later is attached later.
#[test]
fn workload_is_attached_once_it_is_known() {
    let mut lab = Lab::started();
    lab.poll();
    assert_eq!(lab.recording().unread_processes(), [process(1)]);
    lab.recording().set_process(process(1), seen(process(1), None));
    lab.recording().tick().unwrap();
    lab.now += POLL;
    lab.record(MINUTE);
    assert_eq!(lab.texts("SELECT program FROM process"), ["python"]);
    assert_eq!(lab.texts("SELECT user FROM person WHERE user IS NOT NULL"), ["ann"]);
    assert_eq!(lab.recording().unread_processes(), [process(1)], "its workload is not known");
    lab.recording().set_process(process(1), seen(process(1), Some("4711")));
    assert_eq!(lab.recording().unread_processes(), []);
    lab.record(MINUTE);
    lab.stop();
    assert_eq!(lab.number("SELECT count(*) FROM process WHERE workload IS NOT NULL"), 1);
    assert_eq!(lab.number("SELECT count(*) FROM process"), 1);
    let secret = "SELECT count(*) FROM workload WHERE command LIKE '%hf_abc%'";
    assert_eq!(lab.number(secret), 0);
    assert_eq!(lab.number("SELECT count(*) FROM workload WHERE command LIKE '%train.py%'"), 1);
    let secret = "SELECT count(*) FROM latest WHERE body LIKE '%hf_abc%'";
    assert_eq!(lab.number(secret), 0, "masked or not, it is not in what was last seen");
    lab.assert_sound();
}

/// Trap: a process whose owner changes is another one.
#[test]
fn process_after_setuid_is_another() {
    let mut lab = Lab::started();
    lab.record(10 * MINUTE);
    lab.holders[0].uid = Some(0);
    lab.record(10 * MINUTE);
    lab.stop();
    assert_eq!(lab.number("SELECT count(*) FROM process"), 2);
    assert_eq!(sessions(&lab).len(), 2);
    lab.assert_sound();
}

#[test]
fn last_seen_is_a_snapshot_of_the_newest_poll() {
    let mut lab = Lab::started();
    lab.record(2 * MINUTE);
    lab.poll();
    lab.recording().set_process(process(1), seen(process(1), Some("4711")));
    lab.recording().tick().unwrap();
    let seen = lab.read().last_seen().unwrap().unwrap();
    assert_eq!(seen.at.0, WALL + lab.now);
    let host: HostNow = serde_json::from_str(&seen.host.unwrap()).unwrap();
    assert_eq!(
        (host.host.as_deref(), host.driver_version.as_deref()),
        (Some("lab"), Some("550.54"))
    );
    assert_eq!(host.gpu_count, Some(1));
    let card: CardNow = serde_json::from_str(&seen.cards[0]).unwrap();
    assert_eq!(card.card.uuid.as_deref(), Some("GPU-1"));
    assert_eq!(card.state, State::IdleHeld);
    // 100 mJ per millisecond.
    assert_eq!((card.power_watts, card.temperature_celsius), (Some(100.0), Some(40)));
    let [holder] = &card.holders[..] else { panic!("{card:?}") };
    assert_eq!((holder.pid, holder.program.as_deref()), (1, Some("python")));
    assert_eq!(holder.command, None);
    lab.now += POLL;
    lab.stop();
    assert_eq!(lab.read().last_seen().unwrap().unwrap().cards.len(), 1, "also after the end");
}

#[test]
fn samples_are_means_since_the_last_tick() {
    let mut lab = Lab::started();
    lab.poll_and_tick().unwrap();
    lab.percent = 60;
    lab.record(3 * POLL);
    lab.percent = 0;
    lab.record(3 * POLL);
    let newest = "FROM sample ORDER BY at_ms DESC LIMIT 1";
    assert_eq!(lab.number(&format!("SELECT utilization {newest}")), 30);
    assert_eq!(lab.number(&format!("SELECT memory_mib {newest}")), 8000);
    assert_eq!(lab.number(&format!("SELECT power_w {newest}")), 100);
    assert_eq!(lab.number(&format!("SELECT temperature_c {newest}")), 40);
    lab.lost = Some(Reason::Lost);
    lab.record(6 * POLL);
    assert_eq!(lab.number(&format!("SELECT utilization {newest}")), -1, "unknown is not zero");
}
