//! From what was read of a process to who is behind it.

use super::environ::Name;
use super::labels::Labels;
use super::script::script;
use super::{
    Evidence, Records, Who, container, environment, group, jupyter, launcher, login, pod, slurm,
};

/// Who is behind a process. What is not known is not guessed.
pub fn who(evidence: &Evidence, records: &mut impl Records) -> Who {
    let labels = Labels::of(evidence);
    let cgroup = evidence.cgroup.as_ref();
    let job = cgroup.and_then(slurm::placed);
    let group = group::group(&labels, &evidence.ancestors);
    Who {
        user: login::user(evidence, job.as_ref(), records),
        job: slurm::job(job.as_ref(), &labels),
        container: cgroup
            .and_then(container::placed)
            .map(|placed| container::container(&placed, records)),
        pod: cgroup.and_then(pod::placed).map(|placed| pod::pod(placed, records)),
        notebook: jupyter::notebook(evidence, &labels),
        hub_user: labels.get(Name::JupyterHubUser),
        environment: environment::environment(&evidence.arguments, &labels),
        possible_group: group::possible_group(evidence, group.is_some()),
        group,
        launcher: launcher::launcher(evidence),
        ancestor_names: launcher::ancestor_names(evidence),
        script: script(&evidence.arguments),
    }
}
