//! Jobs of Slurm, by the control groups that it puts processes in.

use std::sync::Arc;

use super::cgroup::Cgroup;
use super::environment::{Labels, Name};
use super::{Job, Source, Told};

/// Job that a control group names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobPlace {
    pub id: JobId,
    pub step: Option<Arc<str>>,
    /// Owner of the job. Only control groups of version 1 show it.
    pub uid: Option<u32>,
}

/// Identifier in the name of a job's control group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobId {
    /// The number that users know.
    Number(Arc<str>),
    /// `s…`, in newer versions. The number is in the environment only.
    Unique(Arc<str>),
}

/// Returns the job that a process was put into.
///
/// Only groups at the top count, where root alone can create them: users can choose any name below a
/// login session or in a container.
#[must_use]
pub fn place(cgroup: &Cgroup) -> Option<JobPlace> {
    cgroup.paths().find_map(|path| match path.as_slice() {
        [slurm, uid, job, rest @ ..] if is_version_1(slurm) => {
            let uid = uid.strip_prefix("uid_")?.parse().ok()?;
            Some(JobPlace { id: number(job)?, step: step(rest), uid: Some(uid) })
        }
        ["system.slice", scope, job, rest @ ..] | [scope, job, rest @ ..] if is_scope(scope) => {
            let id = number(job).or_else(|| unique(job))?;
            Some(JobPlace { id, step: step(rest), uid: None })
        }
        _ => None,
    })
}

/// Returns the job of a process: from its control groups, with the number from its environment if
/// they have none; from the environment alone if no control group names a job.
#[must_use]
pub fn job(place: Option<&JobPlace>, labels: &Labels) -> Option<Told<Job>> {
    let listed = labels.get(Name::SlurmJobId).filter(|id| is_number(&id.value));
    let told = |id, step, source| Told { value: Job { id, step }, source };
    match place {
        Some(JobPlace { id: JobId::Number(id), step, .. }) => {
            Some(told(Arc::clone(id), step.clone(), Source::Cgroup))
        }
        Some(JobPlace { id: JobId::Unique(id), step, .. }) => Some(match listed {
            Some(listed) => told(listed.value, step.clone(), listed.source),
            None => told(Arc::clone(id), step.clone(), Source::Cgroup),
        }),
        None => listed.map(|listed| told(listed.value, None, listed.source)),
    }
}

/// Returns true if a control group is made for a job.
pub(super) fn is_job(part: &str) -> bool {
    let is_user = part.strip_prefix("uid_").is_some_and(is_number);
    is_user || is_scope(part) || number(part).is_some()
}

/// Returns true for Slurm's top group of version 1. Hosts with several daemons append the node's name.
fn is_version_1(part: &str) -> bool {
    part == "slurm" || part.starts_with("slurm_")
}

/// Returns true for Slurm's scope of version 2. Hosts with several daemons prepend the node's name.
fn is_scope(part: &str) -> bool {
    part == "slurmstepd.scope" || part.ends_with("_slurmstepd.scope")
}

fn number(part: &str) -> Option<JobId> {
    let id = part.strip_prefix("job_").filter(|id| is_number(id))?;
    Some(JobId::Number(Arc::from(id)))
}

fn unique(part: &str) -> Option<JobId> {
    let rest = part.strip_prefix('s').filter(|rest| (8..=32).contains(&rest.len()))?;
    let is_unique = rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_unique.then(|| JobId::Unique(Arc::from(part)))
}

fn is_number(id: &str) -> bool {
    (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit())
}

fn step(rest: &[&str]) -> Option<Arc<str>> {
    let step = rest.first()?.strip_prefix("step_")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+');
    let is_step = (1..=32).contains(&step.len()) && step.bytes().all(is_plain);
    is_step.then(|| Arc::from(step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Environ;

    fn number(id: &str) -> JobId {
        JobId::Number(id.into())
    }

    fn found(text: &str) -> Option<(JobId, Option<String>, Option<u32>)> {
        let placed = place(&Cgroup::new(text))?;
        Some((placed.id, placed.step.map(|step| step.to_string()), placed.uid))
    }

    #[test]
    fn version_1_tells_user_job_and_step() {
        let text = "5:devices:/\n4:freezer:/slurm/uid_1004/job_7731/step_0\n1:name=systemd:\
                    /system.slice/slurmd.service\n0::/\n";
        let expected = (number("7731"), Some("0".to_owned()), Some(1004));
        assert_eq!(found(text), Some(expected), "only the freezer's line has it");
        let named = "4:memory:/slurm_node7/uid_1004/job_7731/step_batch/task_0\n";
        let expected = (number("7731"), Some("batch".to_owned()), Some(1004));
        assert_eq!(found(named), Some(expected));
        assert_eq!(found("4:cpu:/slurm/uid_7/job_5\n"), Some((number("5"), None, Some(7))));
    }

    #[test]
    fn version_2_tells_job_and_step() {
        let text = "0::/system.slice/slurmstepd.scope/job_88/step_interactive/user/task_0\n";
        assert_eq!(found(text), Some((number("88"), Some("interactive".to_owned()), None)));
        let named = "0::/node7_slurmstepd.scope/job_88/step_extern/user\n";
        assert_eq!(found(named), Some((number("88"), Some("extern".to_owned()), None)));
    }

    #[test]
    fn newer_versions_tell_the_step_and_the_environment_the_job() {
        let text = "0::/system.slice/slurmstepd.scope/s6GT5B2PVQ8G00/step_0/user/task_0\n";
        let placed = place(&Cgroup::new(text)).unwrap();
        assert_eq!(placed.id, JobId::Unique("s6GT5B2PVQ8G00".into()));
        let told = job(Some(&placed), &environ(b"SLURM_JOB_ID=91\0")).unwrap();
        assert_eq!((&*told.value.id, told.value.step.as_deref()), ("91", Some("0")));
        assert_eq!(told.source, Source::Environment);
        let told = job(Some(&placed), &environ(b"")).unwrap();
        assert_eq!((&*told.value.id, told.source), ("s6GT5B2PVQ8G00", Source::Cgroup));
    }

    fn environ(bytes: &[u8]) -> Labels {
        Labels { own: Environ::parse(bytes), inherited: Environ::default() }
    }

    /// Trap: an environment says what its owner likes.
    #[test]
    fn an_environment_is_never_above_a_control_group() {
        let own = place(&Cgroup::new("0::/slurmstepd.scope/job_5/step_0\n")).unwrap();
        let forged = environ(b"SLURM_JOB_ID=6\0");
        let told = job(Some(&own), &forged).unwrap();
        assert_eq!((&*told.value.id, told.source), ("5", Source::Cgroup));
        let told = job(None, &forged).unwrap();
        assert_eq!((&*told.value.id, told.source), ("6", Source::Environment));
        for nonsense in ["", "6\n7", "-6", "six", "123456789012345678901"] {
            let forged = environ(format!("SLURM_JOB_ID={nonsense}\0").as_bytes());
            assert_eq!(job(None, &forged), None, "{nonsense}");
        }
    }

    /// Trap: below their own session, people make groups by any name.
    #[test]
    fn a_job_below_a_session_or_in_a_container_is_none() {
        let own = "/user.slice/user-1001.slice/user@1001.service";
        assert_eq!(found(&format!("0::{own}/slurm/uid_1000/job_5/step_0\n")), None);
        assert_eq!(found(&format!("0::{own}/slurmstepd.scope/job_5\n")), None);
        let id = "ab".repeat(32);
        assert_eq!(found(&format!("0::/docker/{id}/slurm/uid_1000/job_5\n")), None);
        assert_eq!(found("0::/slurm/uid_x/job_5\n4:cpu:/slurm/uid_5/job_x\n"), None);
    }
}
