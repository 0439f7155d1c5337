//! The lists of processes: three versions, two layouts, and sizes that change.

use std::mem::zeroed;
use std::ptr::null_mut;

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;

use crate::stage::FROZEN;

const INSUFFICIENT_SIZE: u32 = 7;

fn holders() -> String {
    format!(
        "{FROZEN}
        [[card]]
        [[card]]
        [[process]]
        pid = 100
        card = 0
        memory = \"3GiB\"
        [[process]]
        pid = 101
        card = 0
        memory = \"unknown\"
        kind = \"compute+graphics\"
        [[process]]
        pid = 102
        card = 0
        memory = \"1GiB\"
        kind = \"mps\"
        [[process]]
        pid = 103
        card = 0
        memory = \"1GiB\"
        begin = \"1h\"
        "
    )
}

fn pids(list: &[ProcessInfo]) -> Vec<u32> {
    list.iter().map(|process| process.pid).collect()
}

#[test]
fn each_kind_is_listed_in_each_version() {
    play!(&holders(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        for compute in [card.running_compute_processes(), card.running_compute_processes_v2()] {
            let compute = compute.unwrap();
            assert_eq!(pids(&compute), [100, 101]);
            assert_eq!(compute[0].used_gpu_memory, UsedGpuMemory::Used(3 << 30));
            assert_eq!(compute[1].used_gpu_memory, UsedGpuMemory::Unavailable);
            assert_eq!(compute[0].gpu_instance_id, None);
        }
        for graphics in [card.running_graphics_processes(), card.running_graphics_processes_v2()] {
            assert_eq!(pids(&graphics.unwrap()), [101]);
        }
        assert_eq!(pids(&card.mps_running_compute_processes().unwrap()), [102]);
        let idle = nvml.device_by_index(1).unwrap();
        assert_eq!(idle.running_compute_processes_count().unwrap(), 0);
        assert_eq!(pids(&idle.running_compute_processes().unwrap()), []);
    });
}

#[test]
fn the_first_version_has_entries_of_16_bytes() {
    play!(&holders(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let mut count = 2;
        // SAFETY: as the header says: room for two entries, and a count that says so.
        let entries = unsafe {
            let mut entries = [zeroed::<nvml_wrapper_sys::bindings::nvmlProcessInfo_v1_t>(); 2];
            let list = entries.as_mut_ptr();
            let code = nvml.lib().nvmlDeviceGetComputeRunningProcesses(
                card.handle(),
                &raw mut count,
                list,
            );
            assert_eq!(code, 0);
            entries
        };
        assert_eq!(count, 2);
        assert_eq!(entries.map(|entry| entry.pid), [100, 101]);
        assert_eq!(entries.map(|entry| entry.usedGpuMemory), [3 << 30, u64::MAX]);
    });
}

/// Driver 535.54.03 appends eight bytes to each entry of the third version, and only of that.
#[test]
fn some_r535_drivers_have_entries_of_32_bytes() {
    let text = format!("[driver]\nversion = \"535.54.03\"\n{}", holders());
    play!(&text, |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let mut words = [7_u64; 9];
        let mut count = 2;
        // SAFETY: there is room for two entries of 32 bytes, which is what this driver writes.
        let code = unsafe {
            let list = words.as_mut_ptr().cast();
            nvml.lib().nvmlDeviceGetComputeRunningProcesses_v3(card.handle(), &raw mut count, list)
        };
        assert_eq!((code, count), (0, 2));
        // Eight bytes for the pid, eight for the memory, eight for the two instances, eight extra.
        assert_eq!([words[0] & 0xffff_ffff, words[1], words[3]], [100, 3 << 30, 0]);
        assert_eq!([words[4] & 0xffff_ffff, words[5], words[7]], [101, u64::MAX, 0]);
        assert_eq!(words[8], 7);
        assert_eq!(pids(&card.running_compute_processes_v2().unwrap()), [100, 101]);
    });
}

#[test]
fn too_little_room_is_told_with_the_size_that_is_needed() {
    play!(&holders(), |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        // SAFETY: as the header says; no more room is promised than there is.
        unsafe {
            let mut entry = zeroed();
            let ask = |count: &mut u32, list| {
                nvml.lib().nvmlDeviceGetComputeRunningProcesses_v3(card.handle(), count, list)
            };
            for (mut count, list) in
                [(0, null_mut()), (5, null_mut()), (0, &raw mut entry), (1, &raw mut entry)]
            {
                assert_eq!(ask(&mut count, list), INSUFFICIENT_SIZE);
                assert_eq!(count, 2);
            }
            let code = nvml.lib().nvmlDeviceGetComputeRunningProcesses_v3(
                card.handle(),
                null_mut(),
                null_mut(),
            );
            assert_eq!(code, 2);
        }
    });
}

#[test]
fn a_list_can_grow_between_the_size_query_and_the_read() {
    let many: String = (200..212)
        .map(|pid| format!("[[process]]\npid = {pid}\ncard = 0\nmemory = \"1GiB\"\n"))
        .collect();
    let text = format!(
        "{FROZEN}\n[[card]]\n{many}\n[[fault]]\ncall = \"*ComputeRunningProcesses_v3\"\ngrow = 10\ntimes = 2\n"
    );
    play!(&text, |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        // The wrapper reads with room for five more than it was told.
        let first = card.running_compute_processes();
        assert!(matches!(first, Err(NvmlError::InsufficientSize(_))), "{first:?}");
        // The read counted as the fault's second time, so all is well again.
        assert_eq!(card.running_compute_processes().unwrap().len(), 12);
    });
}
