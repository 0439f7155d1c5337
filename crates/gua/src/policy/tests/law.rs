//! What holds for every history: nobody is ended who was not told, and nothing but time that
//! was seen to be idle brings anything nearer.

use proptest::prelude::*;

use super::{IDLE, MINUTE, Ticks, UNKNOWN, WORKS, holding, policy, rule, subject};
use crate::config::policy::{Action, Policy};
use crate::policy::{Activity, Answer, Engine, Subject, What};

/// Something that happens to all holders, each of which does something.
#[derive(Debug, Clone)]
struct Moment {
    gap: i64,
    covered: i64,
    activities: Vec<Option<Activity>>,
    is_whole: bool,
    is_on: bool,
    restart: bool,
    is_heard: bool,
    ends: bool,
}

fn activity() -> impl Strategy<Value = Option<Activity>> {
    prop_oneof![
        12 => Just(Some(IDLE)),
        1 => Just(Some(WORKS)),
        1 => Just(Some(UNKNOWN)),
        1 => Just(None),
    ]
}

fn moment() -> impl Strategy<Value = Moment> {
    let gap = prop_oneof![8 => Just(0), 1 => -200_i64..200, 1 => 0_i64..10];
    let often = || prop::bool::weighted(0.9);
    (
        gap,
        0_i64..20,
        prop::collection::vec(activity(), 3),
        often(),
        often(),
        often(),
        often(),
        often(),
    )
        .prop_map(|(gap, covered, activities, is_whole, is_on, stays, is_heard, ends)| {
            Moment {
                gap: gap * MINUTE,
                covered: covered * MINUTE,
                activities,
                is_whole,
                is_on,
                restart: !stays,
                is_heard,
                ends,
            }
        })
}

/// What was seen of one holder, counted in a second way.
#[derive(Debug, Clone, Default)]
struct Seen {
    idle: i64,
    missed: i64,
    /// How long it had been idle at each notice that reached somebody.
    told: Vec<i64>,
}

struct Account {
    ticks: Ticks,
    policy: Policy,
    seen: [Option<Seen>; 3],
    ends: Vec<i64>,
    clock: i64,
}

impl Account {
    fn new() -> Self {
        let policy = Policy { max_ends_per_hour: 2, ..policy(vec![rule(Action::End)]) };
        Self { ticks: Ticks::new(), policy, seen: [const { None }; 3], ends: Vec::new(), clock: 0 }
    }

    fn take(&mut self, moment: &Moment) -> Result<(), TestCaseError> {
        if moment.restart {
            self.ticks.engine = Engine::restored(self.ticks.engine.saved());
        }
        let here = (1_u32..).zip(&moment.activities).filter_map(|(pid, it)| Some((pid, (*it)?)));
        let holdings = here.map(|(pid, activity)| holding(pid, activity)).collect();
        let mut step = self.ticks.step(moment.gap, moment.covered, holdings);
        (step.is_whole, step.is_on) = (moment.is_whole, moment.is_on);
        self.clock += moment.covered;
        self.count(moment);
        for decision in self.ticks.engine.step(&self.policy, &step) {
            self.hold_against(&decision.subject, decision.what, moment)?;
        }
        Ok(())
    }

    fn count(&mut self, moment: &Moment) {
        for (seen, activity) in self.seen.iter_mut().zip(&moment.activities) {
            if moment.covered == 0 {
                // It speaks for no time, so it says nothing but that somebody works.
                match (seen, activity) {
                    (Some(seen), Some(Activity::Works(_))) => *seen = Seen::default(),
                    (Some(seen), _) => seen.missed += moment.gap.abs(),
                    (None, _) => {}
                }
                continue;
            }
            match activity {
                None if moment.is_whole => *seen = None,
                None => {
                    if let Some(it) = seen {
                        it.missed += moment.gap.abs() + moment.covered;
                    }
                    // Nobody is waited for longer than an hour.
                    *seen = seen.take().filter(|it| it.missed <= 60 * MINUTE);
                }
                Some(activity) => {
                    let gap = if seen.is_some() { moment.gap.abs() } else { 0 };
                    let it = seen.get_or_insert_default();
                    match activity {
                        Activity::Idle => {
                            it.idle += moment.covered;
                            it.missed += gap;
                        }
                        Activity::Unknown(_) => it.missed += gap + moment.covered,
                        Activity::Works(_) | Activity::HoldsLittle => *it = Seen::default(),
                    }
                    if it.missed * 9 > 120 * MINUTE {
                        *it = Seen::default();
                    }
                }
            }
        }
    }

    fn hold_against(
        &mut self,
        who: &Subject,
        what: What,
        moment: &Moment,
    ) -> Result<(), TestCaseError> {
        let place = (1_u32..4).position(|pid| subject(pid) == *who).unwrap();
        let seen = self.seen[place].as_mut().unwrap();
        let engine = &mut self.ticks.engine;
        match what {
            What::Notice { number, token } => {
                prop_assert!(moment.is_on && moment.activities[place] == Some(IDLE));
                prop_assert_eq!(number, seen.told.len(), "in their order");
                prop_assert!(seen.idle >= [60, 105][number] * MINUTE);
                prop_assert!(seen.missed * 9 <= seen.idle, "nine tenths were seen");
                engine.answer(token, if moment.is_heard { Answer::Told } else { Answer::NotTold });
                if moment.is_heard {
                    seen.told.push(seen.idle);
                }
            }
            What::End { token } => {
                prop_assert!(moment.is_on && moment.activities[place] == Some(IDLE));
                prop_assert_eq!(seen.told.len(), 2, "told twice");
                prop_assert!(seen.idle >= 120 * MINUTE);
                prop_assert!(seen.idle - seen.told[1] >= 15 * MINUTE, "with time to act");
                prop_assert!(seen.missed * 9 <= seen.idle);
                self.ends.retain(|at| *at > self.clock - 60 * MINUTE);
                self.ends.push(self.clock);
                prop_assert!(self.ends.len() <= 2, "no more than the limit in an hour");
                engine.answer(token, if moment.ends { Answer::Ended } else { Answer::NotEnded });
                *seen = Seen::default();
            }
            What::Relieved { .. } => seen.told.clear(),
            What::WouldNotice { .. } | What::WouldEnd => prop_assert!(false, "it does not watch"),
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn nobody_is_ended_who_was_not_told(moments in prop::collection::vec(moment(), 1..120)) {
        let mut account = Account::new();
        for moment in &moments {
            account.take(moment)?;
        }
    }

    /// Whatever happens in between, so long as nothing is seen, nothing is decided.
    #[test]
    fn what_is_not_seen_brings_nothing_nearer(
        gaps in prop::collection::vec((-10_000_i64..10_000, any::<bool>(), any::<bool>()), 1..60),
        before in 0_i64..119,
    ) {
        let mut ticks = Ticks::new();
        let rules = policy(vec![rule(Action::End)]);
        let idle = |ticks: &mut Ticks| {
            let step = ticks.step(0, MINUTE, vec![holding(1, IDLE)]);
            for decision in ticks.engine.step(&rules, &step) {
                if let What::Notice { token, .. } = decision.what {
                    ticks.engine.answer(token, Answer::Told);
                }
            }
        };
        (0..before).for_each(|_| idle(&mut ticks));
        let seen = ticks.engine.standing(subject(1)).map_or(0, |standing| standing.idle_millis);
        for (gap, is_listed, restart) in gaps {
            if restart {
                ticks.engine = Engine::restored(ticks.engine.saved());
            }
            let listed = if is_listed { vec![holding(1, UNKNOWN)] } else { Vec::new() };
            let mut step = ticks.step(gap * 1000, 0, listed);
            step.is_whole = false;
            for decision in ticks.engine.step(&rules, &step) {
                let is_relief = matches!(decision.what, What::Relieved { .. });
                prop_assert!(is_relief);
            }
            let now = ticks.engine.standing(subject(1)).map_or(0, |standing| standing.idle_millis);
            prop_assert!(now <= seen);
        }
    }
}
