//! The calls that nvml-wrapper lacks or makes twice, and handles that outlive a borrow.
//!
//! All `unsafe` about the library is here. It rests on three things: a [`Gpu`] is used only
//! with the library that gave it; NVML may be called from any thread; and a call writes
//! at most as many entries as the count that goes in with the buffer, each of them at most
//! twice as large as the header declares (see [`ListBuffer`]).

use std::fmt;
use std::marker::PhantomData;
use std::os::raw::{c_int, c_uint};
use std::ptr;
use std::slice;
use std::sync::Arc;

use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper::gpm::gpm_metrics_get;
use nvml_wrapper::{Device, GpmSample, Nvml};
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlGpmSample_t, nvmlMemory_t, nvmlProcessInfo_t, nvmlProcessInfo_v1_t,
    nvmlProcessUtilizationSample_t, nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE,
    nvmlReturn_enum_NVML_SUCCESS, nvmlReturn_t, nvmlSample_t,
    nvmlSamplingType_enum_NVML_GPU_UTILIZATION_SAMPLES,
    nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT,
};

use super::error::reason;
use super::library::count_call;
use crate::card::Sample;
use crate::reading::{Reading, Why};
use crate::units::Bytes;

/// NVML_VALUE_NOT_AVAILABLE in an unsigned field.
const NOT_AVAILABLE: u64 = u64::MAX;

/// Greatest numbers of entries. More are an error of the driver, and no room is made for them.
pub(super) const MOST_SAMPLES: usize = 10_000;
const MOST_PROCESSES: usize = 1 << 20;

/// Room for entries in the first call.
const LEAST_ROOM: usize = 32;

/// Number of times that a list may grow while it is read.
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

impl Version {
    /// Returns the newest version that this driver is known to implement correctly.
    ///
    /// R535.43 to R535.86 write entries of 32 bytes into version 3 instead of 24; R535.98 reverted
    /// that. Any other driver that does so is detected by [`ListBuffer`].
    pub fn newest(driver: &Reading<String>) -> Self {
        let Reading::Known(driver) = driver else { return Self::V3 };
        let mut numbers = driver.split('.').map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(535)), Some(Ok(43..98))) => Self::V2,
            _ => Self::V3,
        }
    }

    /// Returns the next older version.
    pub const fn older(self) -> Option<Self> {
        match self {
            Self::V3 => Some(Self::V2),
            Self::V2 => Some(Self::V1),
            Self::V1 => None,
        }
    }
}

/// Error of reading a list.
#[derive(Debug)]
pub(super) enum ListError {
    Driver(NvmlError),
    /// The entries have another size than the header declares.
    EntrySize,
}

impl From<NvmlError> for ListError {
    fn from(error: NvmlError) -> Self {
        Self::Driver(error)
    }
}

impl From<ListError> for Why {
    fn from(error: ListError) -> Self {
        match error {
            ListError::Driver(error) => reason(error),
            ListError::EntrySize => Self::EntrySize,
        }
    }
}

/// Reads a process list, in one call if it fits. `room` is the number of entries to make room for,
/// and is updated for the next call.
pub(super) fn processes(
    nvml: &Nvml,
    gpu: Gpu,
    list: List,
    version: Version,
    room: &mut usize,
) -> Result<Vec<Listed>, ListError> {
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
    let mut buffer = ListBuffer::<nvmlProcessInfo_t>::with_room(*room);
    let infos = buffer.fill(Proof::Required, |count, infos| {
        // SAFETY: see the module; `infos` has room for `count` entries.
        unsafe { call(gpu.0, count, infos) }
    })?;
    let listed = infos.iter().map(|info| listed(info.pid, info.usedGpuMemory)).collect();
    *room = buffer.room;
    Ok(listed)
}

fn processes_v1(
    nvml: &Nvml,
    gpu: Gpu,
    list: List,
    room: &mut usize,
) -> Result<Vec<Listed>, ListError> {
    let lib = nvml.lib();
    let call = nvml_sym(match list {
        List::Compute => lib.nvmlDeviceGetComputeRunningProcesses.as_ref(),
        List::Graphics => lib.nvmlDeviceGetGraphicsRunningProcesses.as_ref(),
        List::Mps => lib.nvmlDeviceGetMPSComputeRunningProcesses.as_ref(),
    })?;
    let mut buffer = ListBuffer::<nvmlProcessInfo_v1_t>::with_room(*room);
    let infos = buffer.fill(Proof::Required, |count, infos| {
        // SAFETY: see the module; `infos` has room for `count` entries of the old layout.
        unsafe { call(gpu.0, count, infos) }
    })?;
    let listed = infos.iter().map(|info| listed(info.pid, info.usedGpuMemory)).collect();
    *room = buffer.room;
    Ok(listed)
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
#[derive(Debug, Default)]
pub(super) struct ProcessSampleBuffer(ListBuffer<nvmlProcessUtilizationSample_t>);

impl ProcessSampleBuffer {
    /// The process samples that are newer than `since`, as the driver gives them.
    pub fn read(
        &mut self,
        nvml: &Nvml,
        gpu: Gpu,
        since: u64,
    ) -> Result<impl Iterator<Item = ProcessSample>, ListError> {
        let call = nvml_sym(nvml.lib().nvmlDeviceGetProcessUtilization.as_ref())?;
        let samples = self.0.fill(Proof::WherePossible, |count, samples| {
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
        Ok(samples.iter().map(sample))
    }
}

/// Returns the pids of the accounts that the driver keeps, of running and of ended processes.
pub(super) fn accounting_pids(nvml: &Nvml, gpu: Gpu) -> Result<Vec<u32>, ListError> {
    let call = nvml_sym(nvml.lib().nvmlDeviceGetAccountingPids.as_ref())?;
    let mut buffer = ListBuffer::<c_uint>::default();
    let pids = buffer.fill(Proof::Required, |count, pids| {
        // SAFETY: see the module; `pids` has room for `count` entries.
        unsafe { call(gpu.0, count, pids) }
    })?;
    Ok(pids.to_vec())
}

/// Room for all utilization samples that the driver keeps of a card, used at each reading.
#[derive(Debug)]
pub(super) struct SampleBuffer(ListBuffer<nvmlSample_t>);

impl SampleBuffer {
    /// Asks how many the driver keeps.
    pub fn of(nvml: &Nvml, gpu: Gpu) -> Result<Self, NvmlError> {
        let call = nvml_sym(nvml.lib().nvmlDeviceGetSamples.as_ref())?;
        let (mut kind, mut count) = (0, 0);
        count_call();
        let what = nvmlSamplingType_enum_NVML_GPU_UTILIZATION_SAMPLES;
        // SAFETY: see the module; without a buffer only the count is written.
        nvml_try(unsafe { call(gpu.0, what, 0, &raw mut kind, &raw mut count, ptr::null_mut()) })?;
        match count as usize {
            // Nothing yet: the card has been idle for a long time.
            0 => Err(NvmlError::NotFound),
            room => Ok(Self(ListBuffer::with_room(room.min(MOST_SAMPLES)))),
        }
    }

    /// Returns the number of samples that there is room for.
    pub const fn room(&self) -> usize {
        self.0.room
    }

    /// Returns all utilization samples that the driver has.
    pub fn read(
        &mut self,
        nvml: &Nvml,
        gpu: Gpu,
    ) -> Result<impl ExactSizeIterator<Item = Sample>, ListError> {
        let call = nvml_sym(nvml.lib().nvmlDeviceGetSamples.as_ref())?;
        let (mut kind, room) = (0, self.room());
        let what = nvmlSamplingType_enum_NVML_GPU_UTILIZATION_SAMPLES;
        let (code, count) = self.0.call(room, |count, samples| {
            // SAFETY: see the module; `samples` has room for `count` entries.
            unsafe { call(gpu.0, what, 0, &raw mut kind, count, samples) }
        });
        nvml_try(code)?;
        if !self.0.is_untouched_after(room) {
            return Err(ListError::EntrySize);
        }
        if kind != nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT {
            return Err(NvmlError::UnexpectedVariant(kind).into());
        }
        let sample = |raw: &nvmlSample_t| Sample {
            stamp: raw.timeStamp,
            // SAFETY: the driver just said that the union holds an unsigned int.
            percent: unsafe { raw.sampleValue.uiVal },
        };
        Ok(self.0.entries(count.min(room)).iter().map(sample))
    }
}

/// Returns total, free and used memory by the older call, in which the reserve counts as used.
pub(super) fn memory_v1(nvml: &Nvml, gpu: Gpu) -> Result<(u64, u64, u64), NvmlError> {
    count_call();
    let call = nvml_sym(nvml.lib().nvmlDeviceGetMemoryInfo.as_ref())?;
    let mut memory = nvmlMemory_t { total: 0, free: 0, used: 0 };
    // SAFETY: see the module; `memory` is the struct that this call fills.
    nvml_try(unsafe { call(gpu.0, &raw mut memory) })?;
    Ok((memory.total, memory.free, memory.used))
}

/// Returns the id that counters and process lists use for a MIG instance.
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
        count_call();
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

/// Buffer for a list that the driver writes. It detects entries of another size than declared.
///
/// Drivers have written larger entries than NVIDIA's header declares. So there is room for twice
/// the declared size, and all of it is filled with [`UNTOUCHED`] before each call. Everything that
/// the driver writes after the declared end is visible afterwards.
struct ListBuffer<T> {
    memory: Vec<u64>,
    /// Number of entries that the driver is told there is room for.
    room: usize,
    entry: PhantomData<T>,
}

/// Content of a buffer before the driver writes to it. No field of an entry has such a value, nor
/// has half of it: it is larger than any pid, timestamp or amount of memory, and is not one of the
/// values that stand for "none", which are 0 and all ones.
const UNTOUCHED: u64 = 0xa5c3_965a_e1d2_b487;

/// Condition for a list to be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// The entries have the declared size, and the last one was written.
    Required,
    /// The same, except where the driver wants room for more entries than it returns, and except
    /// that entries need not be written. This is for utilization samples: one that was not written
    /// is recognized by its values, which are above 100 %.
    WherePossible,
}

impl<T: Plain> ListBuffer<T> {
    const fn with_room(room: usize) -> Self {
        Self { memory: Vec::new(), room, entry: PhantomData }
    }

    /// Calls until the list fits, and returns its entries.
    fn fill(
        &mut self,
        proof: Proof,
        mut call: impl FnMut(*mut c_uint, *mut T) -> nvmlReturn_t,
    ) -> Result<&[T], ListError> {
        let mut room = self.room.max(LEAST_ROOM);
        // Room that was enough in a call that wrote something after the entries.
        let mut enough = None;
        for _ in 0..ATTEMPTS {
            let (code, count) = self.call(room, &mut call);
            let is_short = code == nvmlReturn_enum_NVML_SUCCESS && count > room;
            if is_short || code == nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE {
                if room >= MOST_PROCESSES {
                    break;
                }
                let doubled = room.max(count).saturating_mul(2).min(MOST_PROCESSES);
                room = enough.unwrap_or(0).max(doubled);
                continue;
            }
            nvml_try(code)?;
            if !self.is_untouched_after(room) {
                return Err(ListError::EntrySize);
            }
            if count > 0 && proof == Proof::Required && self.is_untouched_after(count - 1) {
                return Err(ListError::EntrySize);
            }
            let is_accepted = proof == Proof::WherePossible && enough.is_some();
            if count == 0 || is_accepted || self.is_untouched_after(count) {
                self.room = self.room.max(room);
                return Ok(self.entries(count));
            }
            // Something was written after the entries. A driver may do that within the room it
            // was given, so the next call gives it room for exactly these entries.
            enough = Some(room);
            room = count;
        }
        Err(NvmlError::InsufficientSize(None).into())
    }

    /// Calls once, with room for `room` entries. Returns the code and the driver's count.
    fn call(
        &mut self,
        room: usize,
        call: impl FnOnce(*mut c_uint, *mut T) -> nvmlReturn_t,
    ) -> (nvmlReturn_t, usize) {
        const { assert!(align_of::<T>() <= align_of::<u64>()) };
        self.memory.clear();
        self.memory.resize((2 * room * size_of::<T>()).div_ceil(size_of::<u64>()), UNTOUCHED);
        let mut count = c_uint::try_from(room).unwrap_or(c_uint::MAX);
        count_call();
        let code = call(&raw mut count, self.memory.as_mut_ptr().cast());
        (code, count as usize)
    }

    /// Returns true if nothing was written after the first `entries` entries.
    fn is_untouched_after(&self, entries: usize) -> bool {
        let used = entries.saturating_mul(size_of::<T>());
        let (words, bytes) = (used / size_of::<u64>(), used % size_of::<u64>());
        let Some([first, others @ ..]) = self.memory.get(words..) else { return true };
        let rest = |word: u64| word.to_ne_bytes().into_iter().skip(bytes);
        rest(*first).eq(rest(UNTOUCHED)) && others.iter().all(|word| *word == UNTOUCHED)
    }

    /// Returns the first `count` entries, or all that there is memory for.
    fn entries(&self, count: usize) -> &[T] {
        let most = self.memory.len() * size_of::<u64>() / size_of::<T>();
        // SAFETY: not longer than the memory, which is aligned for `T`, and `T` is valid whatever
        // its bits are.
        unsafe { slice::from_raw_parts(self.memory.as_ptr().cast(), count.min(most)) }
    }
}

impl<T: Plain> Default for ListBuffer<T> {
    fn default() -> Self {
        Self::with_room(0)
    }
}

impl<T> fmt::Debug for ListBuffer<T> {
    /// Leaves out the memory, which has a meaning only right after a call.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListBuffer").field("room", &self.room).finish_non_exhaustive()
    }
}

/// Ends the process without the loader's finalizers. They wait for a lock that a call that hangs in the
/// loader never releases.
pub fn exit_at_once(code: u8) -> ! {
    // SAFETY: takes a plain number and does not return.
    unsafe { libc::_exit(i32::from(code)) }
}

/// Lets a process that calls `exit`, as an interpreter does, end at once with the same code if a call
/// hangs in the loader.
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
            // SAFETY: takes a plain number and does not return.
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

/// Other C libraries do not pass the code.
#[cfg(not(target_env = "gnu"))]
pub fn end_in_spite_of_the_loader() {}

/// Types for which every bit pattern is valid.
///
/// # Safety
/// Only integers, and structs and unions of them, may implement it.
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

#[cfg(test)]
mod tests {
    use super::*;

    const SUCCESS: nvmlReturn_t = 0;

    /// A driver with processes 1, 2, … whose entries are followed by an extra field.
    struct FakeDriver {
        processes: u32,
        extra: Option<u64>,
        /// Sets all the room that it was given to zero first.
        clears: bool,
        /// Returns SUCCESS also where the room is too small, and writes what fits.
        hides_lack_of_room: bool,
        /// By how many entries the count is higher than what is written.
        overcounts_by: u32,
        /// Number of entries that it wants room for at least.
        wants_room: u32,
        calls: u32,
    }

    impl FakeDriver {
        const fn new(processes: u32, extra: Option<u64>) -> Self {
            Self {
                processes,
                extra,
                clears: false,
                hides_lack_of_room: false,
                overcounts_by: 0,
                wants_room: 0,
                calls: 0,
            }
        }

        fn entry_words(&self) -> usize {
            3 + usize::from(self.extra.is_some())
        }

        fn list(&mut self, count: *mut c_uint, to: *mut nvmlProcessInfo_t) -> nvmlReturn_t {
            self.calls += 1;
            // SAFETY: the buffer has room for twice the entries that it declares.
            unsafe {
                let room = *count;
                *count = self.processes + self.overcounts_by;
                let fitting = match room < self.processes.max(self.wants_room) {
                    true if self.hides_lack_of_room => self.processes.min(room),
                    true => return nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE,
                    false => self.processes,
                };
                let mut to: *mut u64 = to.cast();
                if self.clears {
                    to.write_bytes(0, room as usize * self.entry_words());
                }
                for pid in 1..=fitting {
                    let fields = [u64::from(pid), 4096, 0].into_iter().chain(self.extra);
                    for field in fields {
                        to.write(field);
                        to = to.add(1);
                    }
                }
            }
            SUCCESS
        }

        fn read(&mut self, proof: Proof) -> Result<Vec<u32>, ListError> {
            let mut buffer = ListBuffer::default();
            let infos = buffer.fill(proof, |count, to| self.list(count, to))?;
            Ok(infos.iter().map(|info| info.pid).collect())
        }

        /// Returns the pids, or `None` where the list was rejected for its entries' size.
        fn pids(&mut self) -> Option<Vec<u32>> {
            match self.read(Proof::Required) {
                Ok(pids) => Some(pids),
                Err(ListError::EntrySize) => None,
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    /// One process, and numbers around those where the list fills its room with either size.
    const COUNTS: [u32; 10] = [1, 2, 3, 23, 24, 25, 31, 32, 33, 100];

    #[test]
    fn lists_with_entries_of_the_declared_size_are_read() {
        for processes in [0].into_iter().chain(COUNTS) {
            for clears in [false, true] {
                let mut driver = FakeDriver { clears, ..FakeDriver::new(processes, None) };
                assert_eq!(driver.pids(), Some((1..=processes).collect()), "{processes} {clears}");
            }
            let mut driver = FakeDriver::new(processes, None);
            driver.pids();
            assert_eq!(driver.calls, if processes <= 32 { 1 } else { 2 }, "{processes}");
        }
    }

    /// The values of the extra field are those that drivers write: none, not available, an amount
    /// of memory, a pid.
    #[test]
    fn lists_with_larger_entries_are_rejected() {
        for extra in [0, u64::MAX, 1, 24 << 30, 4_194_304] {
            for processes in COUNTS {
                for clears in [false, true] {
                    let driver = FakeDriver::new(processes, Some(extra));
                    let mut driver = FakeDriver { clears, ..driver };
                    assert_eq!(driver.pids(), None, "{processes} {extra:x} {clears}");
                }
            }
        }
    }

    #[test]
    fn lists_are_read_again_where_the_count_exceeds_the_room() {
        for processes in [33, 64, 100] {
            let driver = FakeDriver::new(processes, None);
            let mut driver = FakeDriver { hides_lack_of_room: true, ..driver };
            assert_eq!(driver.pids(), Some((1..=processes).collect()), "{processes}");
            assert_eq!(driver.calls, 2);
        }
    }

    #[test]
    fn a_count_that_always_exceeds_the_room_is_an_error() {
        let mut driver = FakeDriver { overcounts_by: u32::MAX - 3, ..FakeDriver::new(3, None) };
        let read = driver.read(Proof::Required);
        assert!(matches!(read, Err(ListError::Driver(NvmlError::InsufficientSize(_)))), "{read:?}");
        assert!(driver.calls <= 6, "{}", driver.calls);
    }

    #[test]
    fn lists_with_entries_that_were_not_written_are_rejected() {
        for processes in COUNTS {
            for overcounts_by in [1, 2, 20] {
                let mut driver = FakeDriver { overcounts_by, ..FakeDriver::new(processes, None) };
                assert_eq!(driver.pids(), None, "{processes} {overcounts_by}");
            }
        }
    }

    #[test]
    fn samples_with_larger_entries_are_rejected() {
        for processes in COUNTS {
            let mut driver = FakeDriver::new(processes, Some(0));
            let read = driver.read(Proof::WherePossible);
            assert!(matches!(read, Err(ListError::EntrySize)), "{processes} {read:?}");
        }
    }

    /// The size of the entries cannot be proven then.
    #[test]
    fn samples_are_read_where_the_driver_wants_more_room_than_it_needs() {
        for clears in [false, true] {
            for wants_room in [0, 32, 100] {
                let driver = FakeDriver::new(3, None);
                let mut driver = FakeDriver { clears, wants_room, ..driver };
                assert_eq!(driver.read(Proof::WherePossible).unwrap(), [1, 2, 3]);
            }
        }
    }

    /// Samples that were not written are recognized by their values.
    #[test]
    fn samples_are_read_where_the_count_is_too_high() {
        let mut driver = FakeDriver { overcounts_by: 1, ..FakeDriver::new(3, None) };
        assert_eq!(driver.read(Proof::WherePossible).unwrap()[..3], [1, 2, 3]);
    }

    #[test]
    fn a_buffer_is_untouched_only_from_its_last_entry_on() {
        let mut buffer = ListBuffer::<c_uint>::default();
        let write = |count: *mut c_uint, to: *mut c_uint| {
            // SAFETY: there is room for four entries.
            unsafe {
                *count = 3;
                (0..3).for_each(|at| to.add(at).write(9));
            }
            SUCCESS
        };
        assert_eq!(buffer.call(4, write), (SUCCESS, 3));
        let untouched: Vec<_> = (0..9).map(|entries| buffer.is_untouched_after(entries)).collect();
        assert_eq!(untouched, [false, false, false, true, true, true, true, true, true]);
        assert_eq!(buffer.entries(3), [9; 3]);
    }

    #[test]
    fn drivers_known_for_larger_entries_are_asked_for_version_2() {
        let newest = |version: &str| Version::newest(&Reading::Known(version.to_owned()));
        for version in ["535.43", "535.43.02", "535.54.03", "535.86.10", "535.97"] {
            assert_eq!(newest(version), Version::V2, "{version}");
        }
        for version in ["530.30.02", "535.42", "535.98", "535.104.05", "545.54", "535", "", "x.y"] {
            assert_eq!(newest(version), Version::V3, "{version}");
        }
        assert_eq!(Version::newest(&Reading::Unknown(Why::NotTold)), Version::V3);
    }
}
