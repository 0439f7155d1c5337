//! The files of `/proc` that a measurement reads: parsing only.

pub mod loadavg;
pub mod processors;
pub mod rollup;
pub mod stat;
pub mod status;

/// The figure of a line such as `VmHWM:     1234 kB`, in bytes.
fn kib_in_bytes(rest: &str) -> Option<u64> {
    let kib: u64 = rest.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kib.checked_mul(1024)
}
