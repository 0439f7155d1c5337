//! From state to state: what happens, and what is to come of it.

use std::time::Duration;

use probe::Reading;

use super::{IDLE, MINUTE, Ticks, UNKNOWN, WORKS, holding, policy, rule};
use crate::config::policy::{Action, Channel, Pattern, Policy, Rule};
use crate::policy::{Answer, Engine, Followed, Phase, Wait, What};

/// What happens to one holder.
#[derive(Debug, Clone, Copy)]
enum Happens {
    /// So many minutes, a tick each, idle.
    Idle(i64),
    Works(i64),
    Unknown(i64),
    /// So many minutes that no tick speaks for; then a tick that speaks for none.
    Gap(i64),
    /// The clock is set by so many minutes.
    Clock(i64),
    /// The clock is set by so many minutes between two ticks a minute apart, while the holder
    /// does this.
    Set(i64, super::Activity),
    Restart,
    Snooze(i64),
    Off(i64),
    /// From here on no notice reaches anybody.
    NobodyHears,
    /// From here on nothing can be ended.
    NothingEnds,
}

use Happens::{
    Clock, Gap, Idle, NobodyHears, NothingEnds, Off, Restart, Set, Snooze, Unknown, Works,
};

struct Play {
    ticks: Ticks,
    policy: Policy,
    is_heard: bool,
    ends: bool,
    told: Vec<String>,
    minutes: i64,
}

impl Play {
    fn new(action: Action) -> Self {
        Self {
            ticks: Ticks::new(),
            policy: policy(vec![rule(action)]),
            is_heard: true,
            ends: true,
            told: Vec::new(),
            minutes: 0,
        }
    }

    fn minute(&mut self, activity: super::Activity, snoozed: bool, is_on: bool) {
        let mut one = holding(7, activity);
        let mut step = self.ticks.step(0, MINUTE, Vec::new());
        one.snoozed = Reading::Known(snoozed.then_some(step.covers.to));
        step.holdings = vec![one];
        step.is_on = is_on;
        self.minutes += 1;
        self.take(&step);
    }

    fn take(&mut self, step: &crate::policy::Step) {
        for decision in self.ticks.engine.step(&self.policy, step) {
            let minutes = decision.evidence.idle_millis / MINUTE;
            let (word, answer) = match decision.what {
                What::Notice { number, token } => {
                    let answer = if self.is_heard { Answer::Told } else { Answer::NotTold };
                    (format!("notice {}", number + 1), Some((token, answer)))
                }
                What::End { token } => {
                    let answer = if self.ends { Answer::Ended } else { Answer::NotEnded };
                    ("end".to_owned(), Some((token, answer)))
                }
                What::WouldNotice { number } => (format!("would notice {}", number + 1), None),
                What::WouldEnd => ("would end".to_owned(), None),
                What::Relieved { .. } => ("relieved".to_owned(), None),
            };
            self.told.push(format!("{word}@{minutes}"));
            if let Some((token, answer)) = answer {
                assert!(self.ticks.engine.answer(token, answer));
            }
        }
    }

    fn happens(&mut self, what: Happens) {
        match what {
            Idle(minutes) => (0..minutes).for_each(|_| self.minute(IDLE, false, true)),
            Works(minutes) => (0..minutes).for_each(|_| self.minute(WORKS, false, true)),
            Unknown(minutes) => (0..minutes).for_each(|_| self.minute(UNKNOWN, false, true)),
            Snooze(minutes) => (0..minutes).for_each(|_| self.minute(IDLE, true, true)),
            Off(minutes) => (0..minutes).for_each(|_| self.minute(IDLE, false, false)),
            Gap(minutes) | Clock(minutes) => {
                let step = self.ticks.step(minutes * MINUTE, 0, vec![holding(7, IDLE)]);
                self.take(&step);
            }
            Set(minutes, activity) => {
                let mut step =
                    self.ticks.step((minutes + 1) * MINUTE, 0, vec![holding(7, activity)]);
                step.since_last = Some(Duration::from_secs(60));
                self.take(&step);
            }
            Restart => self.ticks.engine = Engine::restored(self.ticks.engine.saved()),
            NobodyHears => self.is_heard = false,
            NothingEnds => self.ends = false,
        }
    }
}

fn play(action: Action, what: &[Happens]) -> (String, Phase) {
    let mut play = Play::new(action);
    for what in what {
        play.happens(*what);
    }
    let phase = play.ticks.engine.standing(super::subject(7)).map(|standing| standing.phase);
    (play.told.join(" "), phase.unwrap())
}

#[test]
fn from_idle_to_ended() {
    let cases: [(&[Happens], &str); 15] = [
        (&[Idle(59)], ""),
        (&[Idle(60)], "notice 1@60"),
        (&[Idle(119)], "notice 1@60 notice 2@105"),
        (&[Idle(120)], "notice 1@60 notice 2@105 end@120"),
        (&[Idle(59), Works(1), Idle(59)], ""),
        (&[Idle(110), Works(1), Idle(60)], "notice 1@60 notice 2@105 relieved@110 notice 1@60"),
        // What is not seen does not count, and what is seen goes on.
        (&[Idle(59), Gap(5), Idle(1)], "notice 1@60"),
        (&[Idle(59), Unknown(5), Idle(1)], "notice 1@60"),
        (&[Idle(59), Clock(-6), Idle(1)], "notice 1@60"),
        (&[Idle(59), Restart, Gap(5), Idle(1)], "notice 1@60"),
        (&[Idle(119), Restart, Gap(1), Idle(1)], "notice 1@60 notice 2@105 end@120"),
        // More than a tenth of the window is missing: all begins anew.
        (&[Idle(119), Gap(14), Idle(59)], "notice 1@60 notice 2@105 relieved@120"),
        (&[Idle(119), Clock(-600), Idle(59)], "notice 1@60 notice 2@105 relieved@120"),
        // A snooze takes the notices back, not what was seen.
        (
            &[Idle(110), Snooze(30), Idle(46)],
            "notice 1@60 notice 2@105 relieved@111 notice 1@141 notice 2@186",
        ),
        (&[Off(300), Idle(45)], "notice 1@301"),
    ];
    for (what, told) in cases {
        assert_eq!(play(Action::End, what).0, told, "{what:?}");
    }
}

/// The time in which the clock is set is no idle time, and it is missing.
#[test]
fn a_clock_that_is_set_stops_the_count() {
    let cases: [(&[Happens], &str); 5] = [
        (&[Idle(59), Set(-6, IDLE), Idle(1)], "notice 1@60"),
        (&[Idle(59), Set(5, IDLE), Idle(1)], "notice 1@60"),
        // Back by as much as the interval: by the wall clock nothing is missing.
        (&[Idle(59), Set(-1, IDLE), Idle(1)], "notice 1@60"),
        (&[Idle(6), Set(-1, IDLE), Set(-1, IDLE), Idle(54)], "notice 1@60"),
        // Who was at work then has not been idle since before.
        (&[Idle(119), Set(-10, WORKS), Idle(59)], "notice 1@60 notice 2@105 relieved@119"),
    ];
    for (what, told) in cases {
        assert_eq!(play(Action::End, what).0, told, "{what:?}");
    }
    // Set again and again: more than a tenth of the window is missing.
    let sets = [Idle(100)].into_iter().chain([Set(-1, IDLE); 14]).chain([Idle(59)]);
    let (told, _) = play(Action::End, &sets.collect::<Vec<_>>());
    assert_eq!(told, "notice 1@60 relieved@101");
}

#[test]
fn nothing_is_ended_that_nobody_was_told_of() {
    let (told, phase) = play(Action::End, &[NobodyHears, Idle(600)]);
    assert!(told.starts_with("notice 1@60 notice 1@61 notice 1@63 notice 1@67"), "{told}");
    assert!(!told.contains("end") && !told.contains("notice 2"), "{told}");
    assert_eq!(phase, Phase::Idle);
}

/// Trap: a limit that keeps a notice back was shown as a notice that is about to come.
#[test]
fn who_was_told_often_enough_waits_for_that() {
    let mut play = Play::new(Action::End);
    play.policy.max_notices_per_hour = 0;
    play.happens(Idle(61));
    assert_eq!(play.told, [""; 0]);
    let phase = play.ticks.engine.standing(super::subject(7)).unwrap().phase;
    assert_eq!(phase, Phase::Pending(Wait::NoticeLimit));
}

#[test]
fn a_late_notice_makes_a_late_end() {
    let (told, _) = play(Action::End, &[Off(110), Idle(61)]);
    assert_eq!(told, "notice 1@111 notice 2@156 end@171");
}

#[test]
fn what_could_not_be_ended_is_told_anew() {
    let (told, _) = play(Action::End, &[NothingEnds, Idle(181)]);
    assert_eq!(told, "notice 1@60 notice 2@105 end@120 notice 1@60");
}

#[test]
fn a_rule_that_watches_says_what_it_would_do_and_one_that_notices_stops_there() {
    let (told, phase) = play(Action::Observe, &[Idle(600)]);
    assert_eq!(told, "would notice 1@60 would notice 2@105 would end@120");
    assert_eq!(phase, Phase::Warned(2));
    let (told, phase) = play(Action::Notify, &[Idle(600)]);
    assert_eq!(told, "notice 1@60 notice 2@105");
    assert_eq!(phase, Phase::Warned(2));
}

/// Trap: a rule that is edited must keep what it promised before.
#[test]
fn a_rule_that_was_changed_tells_anew() {
    let mut play = Play::new(Action::End);
    play.happens(Idle(110));
    let shorter = Rule {
        idle_for: Duration::from_secs(60 * 60),
        notices: vec![Duration::from_secs(50 * 60)],
        ..rule(Action::End)
    };
    play.policy = policy(vec![shorter]);
    play.happens(Restart);
    play.happens(Idle(11));
    let told = play.told.join(" ");
    let expected = "notice 1@60 notice 2@105 relieved@111 notice 1@111 end@121";
    assert_eq!(told, expected);
    // Everything in it counts.
    let changes: [fn(&mut Rule); 4] = [
        |rule| rule.kill = true,
        |rule| rule.grace *= 2,
        |rule| rule.notify = vec![Channel::Mail],
        |rule| rule.matches.users = vec![Pattern::new("ann")],
    ];
    for change in changes {
        let mut changed = rule(Action::End);
        change(&mut changed);
        assert_ne!(Followed::of(&changed), Followed::of(&rule(Action::End)));
    }
}

/// What was only thought was not told: a rule that begins to act begins anew.
#[test]
fn who_was_told_in_thought_only_was_not_told() {
    let mut play = Play::new(Action::Observe);
    play.happens(Idle(200));
    play.policy = policy(vec![rule(Action::End)]);
    play.happens(Restart);
    play.happens(Idle(61));
    let told = play.told.join(" ");
    assert!(
        told.ends_with("would end@120 relieved@201 notice 1@201 notice 2@246 end@261"),
        "{told}"
    );
}

#[test]
fn the_phases_have_their_names() {
    let phase = |what: &[Happens]| play(Action::End, what).1;
    assert_eq!(phase(&[Works(3)]), Phase::Observing);
    assert_eq!(phase(&[Idle(3)]), Phase::Idle);
    assert_eq!(phase(&[Idle(61)]), Phase::Warned(1));
    assert_eq!(phase(&[Idle(106)]), Phase::Warned(2));
    assert!(matches!(phase(&[Idle(3), Unknown(1)]), Phase::Unknown(_)));
    assert!(matches!(phase(&[Snooze(3)]), Phase::Snoozed(_)));
}
