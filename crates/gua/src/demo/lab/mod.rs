//! A lab: eight cards, a dozen people with their habits, and what goes wrong. A day is the
//! same whenever it is asked for.

mod habits;
mod sessions;
mod troubles;

use gua_core::Period;
use gua_core::units::UnixMillis;
use scenario::Scenario;
use scenario::parse::{self, Refused};

use self::sessions::{Day, Session};
use super::play::{Play, Scene, Shift};

/// Cards 0 to 6 are whole. Card 7 is divided into two instances, which leave a quarter of it.
const MACHINE: &str = r#"
    [host]
    name = "lab-a100"
    [[card]]
    [[card]]
    [[card]]
    [[card]]
    [[card]]
    name = "NVIDIA H100 80GB HBM3"
    power = { idle = 70, full = 700 }
    [[card]]
    name = "NVIDIA H100 80GB HBM3"
    power = { idle = 70, full = 700 }
    [[card]]
    name = "NVIDIA H100 80GB HBM3"
    power = { idle = 70, full = 700 }
    [[card]]
    name = "NVIDIA H100 80GB HBM3"
    power = { idle = 70, full = 700 }
    gpm = true
    [[card.mig]]
    slot = 0
    profile = "3g.40gb"
    memory = "40GiB"
    [[card.mig]]
    slot = 1
    profile = "2g.20gb"
    memory = "20GiB"
"#;

/// The longest session, in days.
const LONGEST: i64 = 8;

#[derive(Debug)]
pub(super) struct Lab {
    machine: Scenario,
}

impl Lab {
    pub fn new() -> Result<Self, Refused> {
        Ok(Self { machine: parse::from_str("the demo's lab", MACHINE)? })
    }
}

impl Play for Lab {
    fn scene(&self, at: UnixMillis) -> Scene {
        let day = Day::of(at);
        let begun = (day.number - LONGEST..=day.number).map(Day::new);
        let sessions = begun.flat_map(habits::sessions);
        // The first tick of a day speaks for up to an hour of the one before.
        let today = sessions.filter(|session| session.end > day.start() - sessions::HOUR);
        let mut scenario = self.machine.clone();
        let today: Vec<_> = today.collect();
        scenario.records.containers = today.iter().filter_map(Session::container).collect();
        scenario.processes = today.into_iter().map(|session| session.process(day)).collect();
        scenario.faults = troubles::faults(day, &self.machine.cards);
        troubles::add_unlisted_memory(day, &mut scenario.cards);
        let origin = UnixMillis(day.start() * 1000);
        Scene { scenario, origin, until: UnixMillis(day.next().start() * 1000 - 1) }
    }

    fn shifts(&self, period: Period) -> Vec<Shift> {
        troubles::shifts(period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated::SimulatedHost;
    use gua_core::Thresholds;
    use scenario::Moment;
    use scenario::state::Place;

    /// 2026-10-01 and the ten weeks after it.
    const DAYS: std::ops::Range<i64> = 20_727..20_797;

    #[test]
    fn nobody_takes_more_memory_than_there_is() {
        let lab = Lab::new().unwrap();
        for day in DAYS {
            let scenario = lab.scene(UnixMillis(Day::new(day).start() * 1000)).scenario;
            for (card, minute) in scenario.cards.iter().flat_map(|c| (0..144).map(move |m| (c, m)))
            {
                let at = Moment::from_secs(minute * 600);
                let held = scenario.processes_at(Place::card(card), at).filter_map(|p| p.memory);
                let held: u64 = held.sum();
                assert!(held <= card.memory.total, "day {day}, card {}: {held}", card.index);
            }
        }
    }

    #[test]
    fn sessions_begin_on_their_day_and_are_not_too_long() {
        for day in DAYS.map(Day::new) {
            for session in habits::sessions(day) {
                assert!(session.begin >= day.start(), "{session:?}");
                assert!(session.begin < session.end, "{session:?}");
                assert!(session.end <= day.start() + LONGEST * sessions::DAY, "{session:?}");
            }
        }
    }

    #[test]
    fn runs_follow_each_other() {
        let at = |day: i64| UnixMillis(Day::new(day).start() * 1000);
        let period = Period::new(at(DAYS.start), at(DAYS.end));
        let shifts = troubles::shifts(period);
        assert!(shifts.len() > 5);
        assert!(shifts.windows(2).all(|pair| pair[0].period.to < pair[1].period.from));
        assert!(shifts.iter().any(|shift| !shift.asleep.is_empty()));
        assert_eq!(shifts.first().map(|shift| shift.period.from), Some(period.from));
        assert_eq!(shifts.last().map(|shift| shift.period.to), Some(period.to));
    }

    /// Everybody is still who they are, whatever they work with.
    #[test]
    fn people_work_in_notebooks_jobs_and_containers() {
        let lab = Lab::new().unwrap();
        let mut found = std::collections::BTreeSet::new();
        for day in DAYS {
            let Scene { scenario, origin, .. } =
                lab.scene(UnixMillis(Day::new(day).start() * 1000));
            let mut host = SimulatedHost::new(scenario, origin, Thresholds::default());
            let noon = UnixMillis(origin.0 + 12 * sessions::HOUR * 1000);
            let snapshot = host.snapshot(noon, std::time::Duration::from_secs(30));
            for holder in snapshot.cards.iter().flat_map(|card| &card.holders) {
                let Some(who) = &holder.identity else { continue };
                let user = &who.user.as_ref().unwrap().value;
                assert_eq!(
                    (Some(user.uid), user.name.as_deref()),
                    (holder.uid, holder.user.as_deref())
                );
                found.extend(who.job.as_ref().map(|_| "job"));
                found.extend(who.notebook.as_ref().map(|_| "notebook"));
                let named = who.container.as_ref().and_then(|told| told.value.name.as_ref());
                found.extend(named.map(|_| "container"));
            }
        }
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["container", "job", "notebook"]);
    }
}
