//! Whose a process is: the trust order of what tells a user.

use super::cgroup::Cgroup;
use super::slurm;
use super::{Evidence, Records, Source, Told, User, container, pod};

/// From here on accounts are people's, by the habit of all distributions.
const FIRST_PERSON: u32 = 1000;
/// `nobody`, and what is no uid in 16 bits.
const NOBODIES: std::ops::RangeInclusive<u32> = 65_534..=65_535;
/// What serves several users at once when it is not one of theirs.
const MPS_SERVER: &str = "nvidia-cuda-mps-server";

/// Where a process is, which decides what its uid says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On the host, as everybody.
    Open,
    /// In a user namespace, or nobody knows. A person's own uid is given only to what they
    /// started; the others are nobody's.
    Mapped,
    /// In a container or a pod, where uids are those of images, whoever has the same one here.
    Image,
}

/// The user behind a process; `None` where nothing that can be trusted tells.
#[must_use]
pub(super) fn user(
    evidence: &Evidence,
    job: Option<&slurm::Placed>,
    records: &mut impl Records,
) -> Option<Told<User>> {
    let (uid, source) = decide(evidence, job, &mut |uid| records.account(uid).is_some())?;
    Some(Told { value: User { uid, name: records.account(uid) }, source })
}

/// Job, session, uid, login: the first that tells a person. Outside of any box, what is
/// nobody's is the account's that it runs as.
fn decide(
    evidence: &Evidence,
    job: Option<&slurm::Placed>,
    has_account: &mut impl FnMut(u32) -> bool,
) -> Option<(u32, Source)> {
    let place = place(evidence, job);
    if let Some(uid) = job.and_then(|job| job.uid) {
        return Some((uid, Source::Cgroup));
    }
    if let Some(uid) = evidence.cgroup.as_ref().and_then(session).filter(is_person) {
        return Some((uid, Source::UserSlice));
    }
    let owner = evidence.uid.filter(is_person);
    if let Some(uid) = owner.filter(|uid| place.believes(*uid, has_account)) {
        return Some((uid, Source::Uid));
    }
    if place != Place::Open || owner.is_some() {
        return None;
    }
    if let Some(uid) = agreed_login(evidence) {
        return Some((uid, Source::Loginuid));
    }
    // It works for whoever asks it to.
    let serves_others = *evidence.program == *MPS_SERVER;
    evidence.uid.filter(|_| !serves_others).map(|uid| (uid, Source::Uid))
}

impl Place {
    fn believes(self, uid: u32, has_account: &mut impl FnMut(u32) -> bool) -> bool {
        match self {
            Self::Open => true,
            Self::Mapped => has_account(uid),
            Self::Image => false,
        }
    }
}

fn place(evidence: &Evidence, job: Option<&slurm::Placed>) -> Place {
    let Some(cgroup) = &evidence.cgroup else { return Place::Mapped };
    let is_contained = container::placed(cgroup).is_some();
    let is_mapped = evidence.is_in_a_user_namespace;
    match (pod::placed(cgroup).is_some(), is_contained) {
        (false, false) if is_mapped => Place::Mapped,
        (false, false) => Place::Open,
        // Below a job, its user may call a control group anything.
        _ if job.is_some() => Place::Mapped,
        (true, _) => Place::Image,
        (false, true) if is_mapped => Place::Mapped,
        (false, true) => Place::Image,
    }
}

fn is_person(uid: &u32) -> bool {
    *uid >= FIRST_PERSON && *uid != u32::MAX && !NOBODIES.contains(uid)
}

/// Whose login session a process is in: `/user.slice/user-UID.slice/…`. At the top, where only
/// the system makes groups: further down people make them by any name.
#[must_use]
pub fn session(cgroup: &Cgroup) -> Option<u32> {
    cgroup.paths().find_map(|path| match path.as_slice() {
        ["user.slice", user, ..] => {
            user.strip_prefix("user-")?.strip_suffix(".slice")?.parse().ok()
        }
        _ => None,
    })
}

/// Who logged in, where a process of theirs is among the ancestors. Alone it says nothing: a
/// service can set its own, once.
fn agreed_login(evidence: &Evidence) -> Option<u32> {
    let login = evidence.loginuid.filter(is_person)?;
    evidence.ancestors.iter().any(|kin| kin.uid == Some(login)).then_some(login)
}

/// `/proc/PID/loginuid`; `None` where nobody logged in.
#[must_use]
pub fn loginuid(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|uid| *uid != u32::MAX)
}

/// Whether `/proc/PID/uid_map` is that of another user namespace than ours.
#[must_use]
pub fn is_another_namespace(uid_map: &str, own: &str) -> bool {
    let all = ["0", "0", "4294967295"];
    let is_initial = uid_map.split_whitespace().eq(all);
    !is_initial && !uid_map.split_whitespace().eq(own.split_whitespace())
}
