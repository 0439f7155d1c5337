//! The cards meanwhile. They are not read yet.

use probe::{Reading, Why};

use crate::members::Members;
use crate::options::Options;
use crate::sample::GpuSample;
use crate::usage::{GpuUsage, NoGpu};

/// Looks at the cards while a tree is measured.
#[derive(Debug)]
pub(crate) struct Gpu;

impl Gpu {
    pub(crate) fn begin(_options: &Options, _members: Members) -> Option<Self> {
        None
    }

    pub(crate) fn newest(&self) -> Reading<GpuSample> {
        Reading::Unknown(Why::NotAsked)
    }

    pub(crate) fn finish(self) -> Result<GpuUsage, NoGpu> {
        Err(NoGpu::NotAsked)
    }
}
