//! `[metrics]`: which labels series have besides the user, and how many there are at most.

use super::origin::Setting;
use super::section::{self, Visit};
use super::value::Count;

/// Labels that multiply series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metrics {
    pub job: bool,
    pub container: bool,
    pub notebook: bool,
    /// Owners of time on cards, over all cards of the host; the rest is counted together.
    pub most_owners: usize,
}

impl Default for Metrics {
    fn default() -> Self {
        Self { job: false, container: false, notebook: false, most_owners: 1000 }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Section {
    job: Setting<bool>,
    container: Setting<bool>,
    notebook: Setting<bool>,
    most_owners: Setting<Count>,
}

impl Section {
    pub fn usual() -> Self {
        let Metrics { job, container, notebook, most_owners } = Metrics::default();
        Self {
            job: Setting::usual(job),
            container: Setting::usual(container),
            notebook: Setting::usual(notebook),
            most_owners: Setting::usual(Count(most_owners)),
        }
    }

    pub const fn settled(&self) -> Metrics {
        Metrics {
            job: self.job.value,
            container: self.container.value,
            notebook: self.notebook.value,
            most_owners: self.most_owners.value.0,
        }
    }
}

impl section::Section for Section {
    fn name(&self) -> &'static str {
        "metrics"
    }

    fn visit(&mut self, keys: &mut dyn Visit) {
        keys.key("job", &mut self.job);
        keys.key("container", &mut self.container);
        keys.key("notebook", &mut self.notebook);
        keys.key("most_owners", &mut self.most_owners);
    }
}
