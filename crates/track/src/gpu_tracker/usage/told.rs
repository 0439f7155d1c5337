//! From this shape to keys and values, in the order in which they are told (pure).

use super::{
    ComputeTime, CpuUtilization, Gap, GpuUtilization, MaxGpuRam, MaxRam, Percentages,
    ResourceUsage, RssValues, Spelling,
};
use crate::gpu_tracker::Tree;

impl ResourceUsage {
    /// The keys and values in the order in which they are told.
    #[must_use]
    pub fn tree(&self, spelling: Spelling, gap: Gap) -> Tree {
        Tree::group([
            ("max_ram", self.max_ram.tree(spelling, gap)),
            ("max_gpu_ram", self.max_gpu_ram.tree(spelling, gap)),
            ("cpu_utilization", self.cpu_utilization.tree(spelling, gap)),
            ("gpu_utilization", self.gpu_utilization.tree(gap)),
            ("compute_time", self.compute_time.tree()),
        ])
    }
}

impl Gap {
    /// A figure, or what stands for it.
    fn number(self, figure: Option<f64>) -> Tree {
        match self {
            Self::Zero => figure.unwrap_or_default().into(),
            Self::Missing => figure.into(),
        }
    }

    fn count(self, figure: Option<u32>) -> Tree {
        match self {
            Self::Zero => figure.unwrap_or_default().into(),
            Self::Missing => figure.into(),
        }
    }

    fn percentages(self, figures: Option<Percentages>) -> Tree {
        let each = |figure: fn(Percentages) -> f64| self.number(figures.map(figure));
        Tree::group([
            ("max_sum_percent", each(|figures| figures.max_sum)),
            ("max_hardware_percent", each(|figures| figures.max_hardware)),
            ("mean_sum_percent", each(|figures| figures.mean_sum)),
            ("mean_hardware_percent", each(|figures| figures.mean_hardware)),
        ])
    }
}

impl RssValues {
    fn tree(&self, gap: Gap) -> Tree {
        Tree::group([
            ("total_rss", self.total.into()),
            ("private_rss", gap.number(self.private)),
            ("shared_rss", gap.number(self.shared)),
        ])
    }
}

impl MaxRam {
    fn tree(&self, spelling: Spelling, gap: Gap) -> Tree {
        Tree::group([
            ("unit", self.unit.name().into()),
            ("system_capacity", gap.number(self.system_capacity)),
            ("system", gap.number(self.system)),
            ("main", self.tree.main.tree(gap)),
            (spelling.word(), self.tree.descendants.tree(gap)),
            ("combined", self.tree.combined.tree(gap)),
        ])
    }
}

impl MaxGpuRam {
    fn tree(&self, spelling: Spelling, gap: Gap) -> Tree {
        Tree::group([
            ("unit", self.unit.name().into()),
            ("system_capacity", gap.number(self.system_capacity)),
            ("system", gap.number(self.system)),
            ("main", gap.number(self.tree.main)),
            (spelling.word(), gap.number(self.tree.descendants)),
            ("combined", gap.number(self.tree.combined)),
        ])
    }
}

impl CpuUtilization {
    fn tree(&self, spelling: Spelling, gap: Gap) -> Tree {
        let threads = |whose: &str| format!("{whose}_n_threads");
        let part = |figures| gap.percentages(Some(figures));
        Tree::group([
            ("system_core_count".to_owned(), self.system_core_count.into()),
            ("n_expected_cores".to_owned(), self.n_expected_cores.into()),
            ("system".to_owned(), gap.percentages(self.system)),
            ("main".to_owned(), part(self.tree.main)),
            (spelling.word().to_owned(), part(self.tree.descendants)),
            ("combined".to_owned(), part(self.tree.combined)),
            (threads("main"), self.n_threads.main.into()),
            (threads(spelling.word()), self.n_threads.descendants.into()),
            (threads("combined"), self.n_threads.combined.into()),
        ])
    }
}

impl GpuUtilization {
    fn tree(&self, gap: Gap) -> Tree {
        Tree::group([
            ("system_gpu_count", gap.count(self.system_gpu_count)),
            ("n_expected_gpus", gap.count(self.n_expected_gpus)),
            ("gpu_percentages", gap.percentages(self.gpu_percentages)),
        ])
    }
}

impl ComputeTime {
    fn tree(&self) -> Tree {
        Tree::group([("unit", self.unit.name().into()), ("time", self.time.into())])
    }
}
