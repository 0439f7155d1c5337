//! User behind a process: the sources that show it, in order of trust.

use super::cgroup::Cgroup;
use super::slurm;
use super::{Evidence, Records, Source, Told, User, container};

/// Lowest uid of a person, by the convention of all distributions.
const FIRST_PERSON: u32 = 1000;
/// `nobody`, and the invalid uid of 16 bits.
const NOBODIES: std::ops::RangeInclusive<u32> = 65_534..=65_535;
/// Program that serves several users at once if it does not run as one of them.
const MPS_SERVER: &str = "nvidia-cuda-mps-server";

/// Surroundings of a process, which decide what its uid means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On the host.
    Open,
    /// In a user namespace, or unknown. Only a person or root can map the person's uid there, so a uid
    /// with an account counts.
    Mapped,
    /// In a container or a pod. Its uids come from an image and mean nothing on the host.
    Image,
}

/// Returns the user behind a process; `None` if no trusted source shows one.
#[must_use]
pub(super) fn user(
    evidence: &Evidence,
    job: Option<&slurm::JobPlace>,
    records: &mut impl Records,
) -> Option<Told<User>> {
    let (uid, source) = decide(evidence, job, &mut |uid| records.account(uid).is_some())?;
    Some(Told { value: User { uid, name: records.account(uid) }, source })
}

/// Returns the first person that job, session, uid and login show, in this order. A process on the
/// host without a person belongs to the account that it runs as.
fn decide(
    evidence: &Evidence,
    job: Option<&slurm::JobPlace>,
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
    // It works for any user.
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

fn place(evidence: &Evidence, job: Option<&slurm::JobPlace>) -> Place {
    let Some(cgroup) = &evidence.cgroup else { return Place::Mapped };
    let is_contained = container::place(cgroup).is_some();
    let is_mapped = evidence.is_in_a_user_namespace;
    match (container::pod_place(cgroup).is_some(), is_contained) {
        (false, false) if is_mapped => Place::Mapped,
        (false, false) => Place::Open,
        // Below a job, its user can choose any name for a control group.
        _ if job.is_some() => Place::Mapped,
        (true, _) => Place::Image,
        (false, true) if is_mapped => Place::Mapped,
        (false, true) => Place::Image,
    }
}

fn is_person(uid: &u32) -> bool {
    *uid >= FIRST_PERSON && *uid != u32::MAX && !NOBODIES.contains(uid)
}

/// Returns the owner of the login session that a process is in: `/user.slice/user-UID.slice/…`. Only
/// groups at the top count, as users can choose any name further down.
#[must_use]
pub fn session(cgroup: &Cgroup) -> Option<u32> {
    cgroup.paths().find_map(|path| match path.as_slice() {
        ["user.slice", user, ..] => {
            user.strip_prefix("user-")?.strip_suffix(".slice")?.parse().ok()
        }
        _ => None,
    })
}

/// Returns the uid of the login, if an ancestor runs as that user. Alone it proves nothing: a service
/// can set its own once.
fn agreed_login(evidence: &Evidence) -> Option<u32> {
    let login = evidence.loginuid.filter(is_person)?;
    evidence.ancestors.iter().any(|ancestor| ancestor.uid == Some(login)).then_some(login)
}

/// Parses `/proc/PID/loginuid`; `None` if nobody logged in.
#[must_use]
pub fn loginuid(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|uid| *uid != u32::MAX)
}

/// Returns true if this `/proc/PID/uid_map` is that of another user namespace than ours.
#[must_use]
pub fn is_another_namespace(uid_map: &str, own: &str) -> bool {
    let all = ["0", "0", "4294967295"];
    let is_initial = uid_map.split_whitespace().eq(all);
    !is_initial && !uid_map.split_whitespace().eq(own.split_whitespace())
}
