//! Processes that work together are judged together: one rank of a job that waits for the others
//! is not idle, and ending it may end the job (pure).

use std::sync::Arc;

use probe::identity::{Group, GroupKind};

use super::subject::{Activity, Facts, Holding, Sign, Subject};

/// What several processes of one person are part of.
#[derive(Debug)]
struct Company<'a> {
    uid: u32,
    job: Option<&'a str>,
    /// The group that the environment names.
    named: Option<&'a Group>,
    possible: Option<&'a Group>,
}

/// Evidence for which processes are judged together with a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping<'a> {
    /// By this Slurm job.
    Job(&'a str),
    /// By this group, which the environment names.
    Environment(&'a Group),
    /// By the launcher, or by the siblings where the environment cannot be read.
    Possible(&'a Group),
    Alone,
}

impl<'a> Grouping<'a> {
    /// Returns how a holder is grouped, once [`together`] has found its company; `None` where it
    /// is not known who is behind the process.
    #[must_use]
    pub fn of(holding: &'a Holding) -> Option<Self> {
        let who = holding.facts.who.as_ref().known()?;
        let job = who.job.as_ref().map(|job| Self::Job(&job.value.id));
        let group = || who.group.as_ref().map(|group| Self::Environment(&group.value));
        // Siblings that hold no card do not count.
        let counts =
            |group: &&Group| group.kind != GroupKind::Siblings || !holding.company.is_empty();
        let possible = || who.possible_group.as_ref().filter(counts).map(Self::Possible);
        Some(job.or_else(group).or_else(possible).unwrap_or(Self::Alone))
    }

    /// A stable word for machine-readable output.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Job(_) => "job",
            Self::Environment(_) => "environment",
            Self::Possible(group) => group.kind.slug(),
            Self::Alone => "alone",
        }
    }

    /// The group as a person reads it.
    #[must_use]
    pub fn shown(self) -> Option<String> {
        match self {
            Self::Job(id) => Some(format!("job {id}")),
            Self::Environment(group) | Self::Possible(group) => {
                Some(format!("{} {}", group.kind.slug(), group.id))
            }
            Self::Alone => None,
        }
    }
}

/// Names everybody's company, and lets what others of it do count for each.
pub fn together(holdings: &mut [Holding]) {
    let facts: Vec<Arc<Facts>> = holdings.iter().map(|one| Arc::clone(&one.facts)).collect();
    let companies: Vec<_> = facts.iter().map(|facts| Company::of(facts)).collect();
    let before: Vec<_> = holdings.iter().map(|one| (one.subject, one.activity)).collect();
    for (place, holding) in holdings.iter_mut().enumerate() {
        let is_shared = |other: usize| other != place && meet(&companies, place, other);
        let others: Vec<_> = before
            .iter()
            .enumerate()
            .filter(|(other, _)| is_shared(*other))
            .map(|(_, one)| *one)
            .collect();
        holding.activity = beside(holding.activity, others.iter().map(|(_, activity)| *activity));
        holding.company = others.into_iter().map(|(subject, _)| subject).collect::<Vec<Subject>>();
    }
}

/// What a process did that may be idle only where all of its company are.
pub fn beside(own: Activity, mut others: impl Iterator<Item = Activity>) -> Activity {
    let louder = |one: Activity, other: Activity| match (one, other) {
        (Activity::Works(_), _) | (_, Activity::Idle | Activity::HoldsLittle) => one,
        (_, Activity::Works(_)) => Activity::Works(Sign::Company),
        (Activity::Unknown(_), Activity::Unknown(_)) => one,
        (Activity::Idle | Activity::HoldsLittle, Activity::Unknown(why)) => Activity::Unknown(why),
    };
    match own {
        Activity::Idle => others.by_ref().fold(own, louder),
        Activity::Works(_) | Activity::HoldsLittle | Activity::Unknown(_) => own,
    }
}

impl<'a> Company<'a> {
    fn of(facts: &'a Facts) -> Option<Self> {
        let (person, who) = (facts.person.as_ref()?, facts.who.as_ref().known()?);
        Some(Self {
            uid: person.uid,
            job: who.job.as_ref().map(|job| &*job.value.id),
            named: who.group.as_ref().map(|told| &told.value),
            possible: who.possible_group.as_ref(),
        })
    }

    /// Returns true if both are part of one thing. Names count only within one person's processes: an
    /// environment can claim the name of another's job. One rank's environment may be unreadable while
    /// another's names the group; then the evidence that both have decides.
    fn meets(&self, other: &Self) -> bool {
        let is_one = |one: Option<&Group>, other| one.is_some() && one == other;
        let in_one_group = match (self.named, other.named) {
            (Some(one), Some(other)) => one == other,
            _ => is_one(self.possible, other.possible),
        };
        let in_one_job = self.job.is_some() && self.job == other.job;
        self.uid == other.uid && (in_one_job || in_one_group)
    }
}

fn meet(companies: &[Option<Company<'_>>], one: usize, other: usize) -> bool {
    let of = |place: usize| companies.get(place).and_then(Option::as_ref);
    of(one).zip(of(other)).is_some_and(|(one, other)| one.meets(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::tests::{IDLE, UNKNOWN, WORKS, facts, holding, subject};
    use probe::Reading;
    use probe::identity::{Job, Source, Told, Who};

    fn of_job(pid: u32, uid: u32, job: &str, activity: Activity) -> Holding {
        let value = Job { id: job.into(), step: None };
        let job = Some(Told { value, source: Source::Environment });
        let who = Reading::Known(Arc::new(Who { job, ..Who::default() }));
        let facts = Arc::new(Facts { who, ..facts(uid, "ann") });
        Holding { facts, ..holding(pid, activity) }
    }

    fn judged(mut holdings: Vec<Holding>) -> Vec<Activity> {
        together(&mut holdings);
        holdings.iter().map(|one| one.activity).collect()
    }

    #[test]
    fn one_of_a_job_is_idle_when_all_of_it_are() {
        let one = |activity| of_job(1, 1001, "5", activity);
        let two = |activity| of_job(2, 1001, "5", activity);
        assert_eq!(judged(vec![one(IDLE), two(IDLE)]), [IDLE, IDLE]);
        let waits = Activity::Works(Sign::Company);
        assert_eq!(judged(vec![one(IDLE), two(WORKS)]), [waits, WORKS]);
        assert_eq!(judged(vec![one(IDLE), two(UNKNOWN)]), [UNKNOWN, UNKNOWN]);
        let third = of_job(3, 1001, "5", UNKNOWN);
        assert_eq!(judged(vec![one(IDLE), third, two(WORKS)]), [waits, UNKNOWN, WORKS]);
        let little = Activity::HoldsLittle;
        assert_eq!(judged(vec![one(little), two(WORKS)]), [little, WORKS]);
    }

    #[test]
    fn another_job_and_another_person_are_others() {
        let one = || of_job(1, 1001, "5", IDLE);
        assert_eq!(judged(vec![one(), of_job(2, 1001, "6", WORKS)])[0], IDLE);
        assert_eq!(judged(vec![one(), of_job(2, 1002, "5", WORKS)])[0], IDLE);
        assert_eq!(judged(vec![one(), holding(2, WORKS)])[0], IDLE);
        assert_eq!(judged(vec![holding(1, IDLE), holding(2, WORKS)])[0], IDLE, "no job is none");
    }

    fn possibly_of(pid: u32, uid: u32, kind: GroupKind, id: &str, activity: Activity) -> Holding {
        let possible_group = Some(Group { kind, id: id.into() });
        let who = Reading::Known(Arc::new(Who { possible_group, ..Who::default() }));
        let facts = Arc::new(Facts { who, ..facts(uid, "ann") });
        Holding { facts, ..holding(pid, activity) }
    }

    #[test]
    fn possible_rank_is_idle_when_all_of_its_group_are() {
        for kind in [GroupKind::Launcher, GroupKind::Siblings] {
            let one = |activity| possibly_of(1, 1001, kind, "a of pid 7", activity);
            let two = |activity| possibly_of(2, 1001, kind, "a of pid 7", activity);
            let waits = Activity::Works(Sign::Company);
            assert_eq!(judged(vec![one(IDLE), two(WORKS)]), [waits, WORKS]);
            assert_eq!(judged(vec![one(IDLE), two(UNKNOWN)]), [UNKNOWN, UNKNOWN]);
            assert_eq!(judged(vec![one(IDLE), two(IDLE)]), [IDLE, IDLE]);
            let others = [
                possibly_of(2, 1001, kind, "b of pid 7", WORKS),
                possibly_of(2, 1002, kind, "a of pid 7", WORKS),
                holding(2, WORKS),
            ];
            for other in others {
                assert_eq!(judged(vec![one(IDLE), other])[0], IDLE);
            }
        }
    }

    /// Regression: a rank whose environment was overwritten had no company in those whose was read.
    #[test]
    fn rank_without_environment_meets_ranks_that_name_their_group() {
        let rank = |pid, name: Option<&str>, launcher: &str, activity| {
            let group = |kind, id: &str| Group { kind, id: id.into() };
            let told = |id| Told { value: group(GroupKind::Ray, id), source: Source::Environment };
            let possible_group = Some(group(GroupKind::Launcher, launcher));
            let who = Who { group: name.map(told), possible_group, ..Who::default() };
            let who = Reading::Known(Arc::new(who));
            let facts = Arc::new(Facts { who, ..facts(1001, "ann") });
            Holding { facts, ..holding(pid, activity) }
        };
        let waits = Activity::Works(Sign::Company);
        let works = |name| rank(2, name, "raylet pid 7", WORKS);
        let of = |name| rank(1, name, "raylet pid 7", IDLE);
        assert_eq!(judged(vec![of(None), works(Some("a"))])[0], waits);
        assert_eq!(judged(vec![of(Some("a")), works(None)])[0], waits);
        assert_eq!(judged(vec![of(Some("a")), works(Some("b"))])[0], IDLE, "two jobs of one Ray");
        let other = rank(1, None, "torchrun pid 9", IDLE);
        assert_eq!(judged(vec![other, works(Some("a"))])[0], IDLE);
    }

    #[test]
    fn grouping_names_its_evidence() {
        let slugs = |mut holdings: Vec<Holding>| {
            together(&mut holdings);
            let slug = |one: &Holding| Grouping::of(one).map(Grouping::slug);
            holdings.iter().map(slug).collect::<Vec<_>>()
        };
        let launched = |pid| possibly_of(pid, 1001, GroupKind::Launcher, "mpirun pid 7", IDLE);
        let sibling = |pid| possibly_of(pid, 1001, GroupKind::Siblings, "a of pid 7", IDLE);
        assert_eq!(slugs(vec![launched(1)]), [Some("launcher")]);
        assert_eq!(slugs(vec![sibling(1), sibling(2)]), [Some("siblings"); 2]);
        assert_eq!(slugs(vec![sibling(1)]), [Some("alone")], "no other holds a card");
        assert_eq!(slugs(vec![holding(1, IDLE)]), [Some("alone")]);
        assert_eq!(slugs(vec![of_job(1, 1001, "5", IDLE)]), [Some("job")]);
    }

    #[test]
    fn everybody_knows_their_company() {
        let mut all =
            vec![of_job(1, 1001, "5", IDLE), of_job(2, 1001, "5", IDLE), holding(3, IDLE)];
        together(&mut all);
        let of = |place: usize| all[place].company.clone();
        assert_eq!((of(0), of(1), of(2)), (vec![subject(2)], vec![subject(1)], vec![]));
    }
}
