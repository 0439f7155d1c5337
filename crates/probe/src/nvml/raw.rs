//! The calls that nvml-wrapper lacks or makes twice, and handles that outlive a borrow.
//!
//! All `unsafe` about the library is here. It rests on three things: a [`Gpu`] is used only
//! with the library that gave it; NVML may be called from any thread; and a call writes
//! at most as many entries as the count that goes in with the buffer.

use std::fmt;
use std::mem;
use std::os::raw::{c_int, c_uint};
use std::ptr;
use std::sync::Arc;

use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper::gpm::gpm_metrics_get;
use nvml_wrapper::{Device, GpmSample, Nvml};
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpmSample_t, nvmlMemory_t, nvmlProcessInfo_t, nvmlProcessInfo_v1_t,
    nvmlProcessUtilizationSample_t, nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE, nvmlReturn_t,
    nvmlSample_t, nvmlSamplingType_enum_NVML_GPU_UTILIZATION_SAMPLES,
    nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT,
};

use crate::reading::{Reading, Why};
use crate::units::Bytes;

/// What the header calls NVML_VALUE_NOT_AVAILABLE, in an unsigned field.
const NOT_AVAILABLE: u64 = u64::MAX;

/// More entries than this are a mistake of the driver, not a list to make room for.
const MOST_SAMPLES: usize = 10_000;
const MOST_PROCESSES: usize = 1 << 20;

/// Room for entries that is tried first.
const LEAST_ROOM: usize = 32;

/// How often a list may grow under our hands before we give up for this look.
const ATTEMPTS: usize = 6;

/// A device handle without the borrow, so that it can be kept and sent to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gpu(nvmlDevice_t);

// SAFETY: the handle is an opaque token; NVML documents that calls may come from any thread.
unsafe impl Send for Gpu {}

impl Gpu {
    pub fn of(device: &Device<'_>) -> Self {
        // SAFETY: the handle is only copied; it is used with the same library again.
        Self(unsafe { device.handle() })
    }

    /// The wrapper's view of this handle.
    pub fn on(self, nvml: &Nvml) -> Device<'_> {
        // SAFETY: the handle came from this library, which lives as long as the borrow.
        unsafe { Device::new(self.0, nvml) }
    }
}

/// One entry of a process list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Listed {
    pub pid: u32,
    pub memory: Reading<Bytes>,
}

/// The three lists that a card keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Compute,
    Graphics,
    Mps,
}

/// The versions of those lists, newest first. Old drivers lack the newer ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V3,
    V2,
    V1,
}

/// A process list in one call where it fits, in a few where it grows meanwhile. `room` is what
/// it needed at last, and so the next time.
pub(super) fn processes(
    nvml: &Nvml,
    gpu: Gpu,
    list: List,
    version: Version,
    room: &mut usize,
) -> Result<Vec<Listed>, NvmlError> {
    let lib = nvml.lib();
    let current = match (version, list) {
        (Version::V3, List::Compute) => &lib.nvmlDeviceGetComputeRunningProcesses_v3,
        (Version::V3, List::Graphics) => &lib.nvmlDeviceGetGraphicsRunningProcesses_v3,
        (Version::V3, List::Mps) => &lib.nvmlDeviceGetMPSComputeRunningProcesses_v3,
        (Version::V2, List::Compute) => &lib.nvmlDeviceGetComputeRunningProcesses_v2,
        (Version::V2, List::Graphics) => &lib.nvmlDeviceGetGraphicsRunningProcesses_v2,
        (Version::V2, List::Mps) => &lib.nvmlDeviceGetMPSComputeRunningProcesses_v2,
        (Version::V1, _) => return processes_v1(nvml, gpu, list, room),
    };
    let call = nvml_sym(current.as_ref())?;
    let mut buffer: Vec<nvmlProcessInfo_t> = Vec::with_capacity(*room);
    fill(&mut buffer, |count, infos| {
        // SAFETY: see the module; `infos` has room for `count` entries.
        unsafe { call(gpu.0, count, infos) }
    })?;
    *room = buffer.capacity();
    Ok(buffer.iter().map(|info| listed(info.pid, info.usedGpuMemory)).collect())
}

fn processes_v1(
    nvml: &Nvml,
    gpu: Gpu,
    list: List,
    room: &mut usize,
) -> Result<Vec<Listed>, NvmlError> {
    let lib = nvml.lib();
    let call = nvml_sym(match list {
        List::Compute => lib.nvmlDeviceGetComputeRunningProcesses.as_ref(),
        List::Graphics => lib.nvmlDeviceGetGraphicsRunningProcesses.as_ref(),
        List::Mps => lib.nvmlDeviceGetMPSComputeRunningProcesses.as_ref(),
    })?;
    let mut buffer: Vec<nvmlProcessInfo_v1_t> = Vec::with_capacity(*room);
    fill(&mut buffer, |count, infos| {
        // SAFETY: see the module; `infos` has room for `count` entries of the old layout.
        unsafe { call(gpu.0, count, infos) }
    })?;
    *room = buffer.capacity();
    Ok(buffer.iter().map(|info| listed(info.pid, info.usedGpuMemory)).collect())
}

fn listed(pid: u32, memory: u64) -> Listed {
    let memory = match memory {
        NOT_AVAILABLE => Reading::Unknown(Why::NotTold),
        bytes => Reading::Known(Bytes(bytes)),
    };
    Listed { pid, memory }
}

/// One process's share of a card in one driver period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessSample {
    pub pid: u32,
    pub micros: u64,
    pub sm: u32,
    pub memory: u32,
    pub encoder: u32,
    pub decoder: u32,
}

/// Room for the process samples of a card, used at each reading: once it is large enough,
/// one call takes them all.
#[derive(Default)]
pub(super) struct ProcessSampleBuffer(Vec<nvmlProcessUtilizationSample_t>);

impl ProcessSampleBuffer {
    /// The process samples that are newer than `since`, as the driver gives them.
    pub fn read(
        &mut self,
        nvml: &Nvml,
        gpu: Gpu,
        since: u64,
    ) -> Result<impl Iterator<Item = ProcessSample>, NvmlError> {
        let call = nvml_sym(nvml.lib().nvmlDeviceGetProcessUtilization.as_ref())?;
        fill(&mut self.0, |count, samples| {
            // SAFETY: see the module; `samples` has room for `count` entries.
            unsafe { call(gpu.0, samples, count, since) }
        })?;
        let sample = |raw: &nvmlProcessUtilizationSample_t| ProcessSample {
            pid: raw.pid,
            micros: raw.timeStamp,
            sm: raw.smUtil,
            memory: raw.memUtil,
            encoder: raw.encUtil,
            decoder: raw.decUtil,
        };
        Ok(self.0.iter().map(sample))
    }
}

impl fmt::Debug for ProcessSampleBuffer {
    /// What an entry holds is known only right after a call.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProcessSampleBuffer({})", self.0.capacity())
    }
}

/// The processes that the driver keeps account of, running or ended.
pub(super) fn accounting_pids(nvml: &Nvml, gpu: Gpu) -> Result<Vec<u32>, NvmlError> {
    let call = nvml_sym(nvml.lib().nvmlDeviceGetAccountingPids.as_ref())?;
    let mut buffer: Vec<c_uint> = Vec::new();
    fill(&mut buffer, |count, pids| {
        // SAFETY: see the module; `pids` has room for `count` entries.
        unsafe { call(gpu.0, count, pids) }
    })?;
    Ok(buffer)
}

/// One entry of the driver's utilization buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub micros: u64,
    pub percent: u32,
}

/// Room for all utilization samples that the driver keeps of a card, used at each reading.
pub(super) struct SampleBuffer(Vec<nvmlSample_t>);

impl SampleBuffer {
    /// Asks how many the driver keeps.
    pub fn of(nvml: &Nvml, gpu: Gpu) -> Result<Self, NvmlError> {
        let call = nvml_sym(nvml.lib().nvmlDeviceGetSamples.as_ref())?;
        let (mut kind, mut count) = (0, 0);
        let what = nvmlSamplingType_enum_NVML_GPU_UTILIZATION_SAMPLES;
        // SAFETY: see the module; without a buffer only the count is written.
        nvml_try(unsafe { call(gpu.0, what, 0, &raw mut kind, &raw mut count, ptr::null_mut()) })?;
        match count as usize {
            0 => Err(NvmlError::NotSupported),
            room => Ok(Self(zeroed(room.min(MOST_SAMPLES)))),
        }
    }

    /// How many samples there is room for.
    pub const fn room(&self) -> usize {
        self.0.len()
    }

    /// Returns all utilization samples that the driver has.
    pub fn read(
        &mut self,
        nvml: &Nvml,
        gpu: Gpu,
    ) -> Result<impl Iterator<Item = Sample>, NvmlError> {
        let call = nvml_sym(nvml.lib().nvmlDeviceGetSamples.as_ref())?;
        let (mut kind, mut count) = (0, entries(self.room()));
        let what = nvmlSamplingType_enum_NVML_GPU_UTILIZATION_SAMPLES;
        // SAFETY: see the module; the buffer has room for `count` entries.
        nvml_try(unsafe {
            call(gpu.0, what, 0, &raw mut kind, &raw mut count, self.0.as_mut_ptr())
        })?;
        if kind != nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT {
            return Err(NvmlError::UnexpectedVariant(kind));
        }
        let sample = |raw: &nvmlSample_t| Sample {
            micros: raw.timeStamp,
            // SAFETY: the driver just said that the union holds an unsigned int.
            percent: unsafe { raw.sampleValue.uiVal },
        };
        Ok(self.0.iter().take(count as usize).map(sample))
    }
}

impl fmt::Debug for SampleBuffer {
    /// What an entry holds is known only right after a call.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SampleBuffer({})", self.room())
    }
}

/// Memory as drivers told it before the reserve was counted apart: total, free, used.
pub(super) fn memory_v1(nvml: &Nvml, gpu: Gpu) -> Result<(u64, u64, u64), NvmlError> {
    let call = nvml_sym(nvml.lib().nvmlDeviceGetMemoryInfo.as_ref())?;
    let mut memory = nvmlMemory_t { total: 0, free: 0, used: 0 };
    // SAFETY: see the module; `memory` is the struct that this call fills.
    nvml_try(unsafe { call(gpu.0, &raw mut memory) })?;
    Ok((memory.total, memory.free, memory.used))
}

/// The id by which counters and process lists name a MIG instance.
pub(super) fn gpu_instance(nvml: &Nvml, gpu: Gpu) -> Result<u32, NvmlError> {
    let call = nvml_sym(nvml.lib().nvmlDeviceGetGpuInstanceId.as_ref())?;
    let mut id = 0;
    // SAFETY: see the module; `id` is a plain out-parameter.
    nvml_try(unsafe { call(gpu.0, &raw mut id) })?;
    Ok(id)
}

/// A reading of an instance's hardware counters, kept to compare a later one with.
#[derive(Debug)]
pub(super) struct CounterSample {
    nvml: Arc<Nvml>,
    handle: nvmlGpmSample_t,
}

// SAFETY: the handle is an opaque token that only its owner uses.
unsafe impl Send for CounterSample {}

impl CounterSample {
    pub fn take(nvml: &Arc<Nvml>, card: Gpu, instance: u32) -> Result<Self, NvmlError> {
        let handle = card.on(nvml).gpm_mig_sample(instance)?.into_handle();
        Ok(Self { nvml: Arc::clone(nvml), handle })
    }

    /// SM utilization in percent between an earlier reading and this one.
    pub fn sm_percent_since(&self, earlier: &Self) -> Result<f64, NvmlError> {
        let metrics = [GpmMetricId::SmUtil];
        let before = earlier.borrowed();
        let after = self.borrowed();
        let results = gpm_metrics_get(&self.nvml, &before, &after, &metrics);
        // Both are owned by `self` and `earlier`, which free them.
        let _ = (before.into_handle(), after.into_handle());
        match results?.into_iter().next() {
            Some(metric) => metric.map(|metric| metric.value),
            None => Err(NvmlError::NoData),
        }
    }

    fn borrowed(&self) -> GpmSample<'_> {
        // SAFETY: the handle is alive; the caller takes it out again before it is freed.
        unsafe { GpmSample::from_handle(&self.nvml, self.handle) }
    }
}

impl Drop for CounterSample {
    fn drop(&mut self) {
        drop(self.borrowed());
    }
}

/// Calls until the buffer is large enough, then leaves what was written in it. One that was
/// used before is as large as it was then.
fn fill<T: Plain>(
    buffer: &mut Vec<T>,
    mut call: impl FnMut(*mut c_uint, *mut T) -> nvmlReturn_t,
) -> Result<(), NvmlError> {
    let mut room = buffer.capacity().max(LEAST_ROOM);
    for _ in 0..ATTEMPTS {
        buffer.clear();
        buffer.resize(room, zero());
        let mut count = entries(room);
        let code = call(&raw mut count, buffer.as_mut_ptr());
        if code == nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE {
            room = room.max(count as usize).saturating_mul(2).min(MOST_PROCESSES);
            continue;
        }
        nvml_try(code)?;
        buffer.truncate(count as usize);
        return Ok(());
    }
    Err(NvmlError::InsufficientSize(None))
}

/// Ends the process without the loader's last rites. They wait for a lock that a call left
/// behind in the loader never gives back.
pub fn exit_at_once(code: u8) -> ! {
    // SAFETY: takes a plain number and does not come back.
    unsafe { libc::_exit(i32::from(code)) }
}

/// Lets a process end that calls `exit` itself, as an interpreter does, also when a call was left
/// behind in the loader: it ends at once then, with the code that it was going to end with.
#[cfg(target_env = "gnu")]
pub fn end_in_spite_of_the_loader() {
    unsafe extern "C" {
        fn on_exit(
            call: extern "C" fn(c_int, *mut libc::c_void),
            argument: *mut libc::c_void,
        ) -> c_int;
    }
    extern "C" fn leave(code: c_int, _: *mut libc::c_void) {
        if super::is_left_in_the_loader() {
            // SAFETY: takes a plain number and does not come back.
            unsafe { libc::_exit(code) }
        }
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function is called with what it is declared with, and stays where it is.
        // It fails only for want of memory.
        let _ = unsafe { on_exit(leave, ptr::null_mut()) };
    });
}

/// Other C libraries do not tell the code.
#[cfg(not(target_env = "gnu"))]
pub fn end_in_spite_of_the_loader() {}

fn zeroed<T: Plain>(room: usize) -> Vec<T> {
    vec![zero(); room]
}

/// What all zeros are a value of.
///
/// # Safety
/// To be promised for integers only, and for structs and unions of them.
unsafe trait Plain: Copy {}

// SAFETY: an integer.
unsafe impl Plain for c_uint {}
// SAFETY: these are the library's plain structs of integers, one with a union of numbers.
unsafe impl Plain for nvmlProcessInfo_t {}
// SAFETY: as above.
unsafe impl Plain for nvmlProcessInfo_v1_t {}
// SAFETY: as above.
unsafe impl Plain for nvmlProcessUtilizationSample_t {}
// SAFETY: as above.
unsafe impl Plain for nvmlSample_t {}

const fn zero<T: Plain>() -> T {
    // SAFETY: what is plain may be all zeros.
    unsafe { mem::zeroed() }
}

fn entries(room: usize) -> c_uint {
    c_uint::try_from(room).unwrap_or(c_uint::MAX)
}
