//! From this shape to keys and values, in the order in which they are told (pure).

use super::{
    ComputeTime, CpuUtilization, GpuUtilization, MaxGpuRam, MaxRam, Percentages, ResourceUsage,
    RssValues, Spelling,
};
use crate::gpu_tracker::Tree;

impl ResourceUsage {
    /// The keys and values in the order in which they are told.
    #[must_use]
    pub fn tree(&self, spelling: Spelling) -> Tree {
        Tree::group([
            ("max_ram", self.max_ram.tree(spelling)),
            ("max_gpu_ram", self.max_gpu_ram.tree(spelling)),
            ("cpu_utilization", self.cpu_utilization.tree(spelling)),
            ("gpu_utilization", self.gpu_utilization.tree()),
            ("compute_time", self.compute_time.tree()),
        ])
    }
}

impl Percentages {
    fn tree(&self) -> Tree {
        Tree::group([
            ("max_sum_percent", self.max_sum.into()),
            ("max_hardware_percent", self.max_hardware.into()),
            ("mean_sum_percent", self.mean_sum.into()),
            ("mean_hardware_percent", self.mean_hardware.into()),
        ])
    }
}

impl RssValues {
    fn tree(&self) -> Tree {
        Tree::group([
            ("total_rss", self.total.into()),
            ("private_rss", self.private.into()),
            ("shared_rss", self.shared.into()),
        ])
    }
}

impl MaxRam {
    fn tree(&self, spelling: Spelling) -> Tree {
        Tree::group([
            ("unit", self.unit.name().into()),
            ("system_capacity", self.system_capacity.into()),
            ("system", self.system.into()),
            ("main", self.tree.main.tree()),
            (spelling.word(), self.tree.descendants.tree()),
            ("combined", self.tree.combined.tree()),
        ])
    }
}

impl MaxGpuRam {
    fn tree(&self, spelling: Spelling) -> Tree {
        Tree::group([
            ("unit", self.unit.name().into()),
            ("system_capacity", self.system_capacity.into()),
            ("system", self.system.into()),
            ("main", self.tree.main.into()),
            (spelling.word(), self.tree.descendants.into()),
            ("combined", self.tree.combined.into()),
        ])
    }
}

impl CpuUtilization {
    fn tree(&self, spelling: Spelling) -> Tree {
        let threads = |whose: &str| format!("{whose}_n_threads");
        Tree::group([
            ("system_core_count".to_owned(), self.system_core_count.into()),
            ("n_expected_cores".to_owned(), self.n_expected_cores.into()),
            ("system".to_owned(), self.system.tree()),
            ("main".to_owned(), self.tree.main.tree()),
            (spelling.word().to_owned(), self.tree.descendants.tree()),
            ("combined".to_owned(), self.tree.combined.tree()),
            (threads("main"), self.n_threads.main.into()),
            (threads(spelling.word()), self.n_threads.descendants.into()),
            (threads("combined"), self.n_threads.combined.into()),
        ])
    }
}

impl GpuUtilization {
    fn tree(&self) -> Tree {
        Tree::group([
            ("system_gpu_count", self.system_gpu_count.into()),
            ("n_expected_gpus", self.n_expected_gpus.into()),
            ("gpu_percentages", self.gpu_percentages.tree()),
        ])
    }
}

impl ComputeTime {
    fn tree(&self) -> Tree {
        Tree::group([("unit", self.unit.name().into()), ("time", self.time.into())])
    }
}
