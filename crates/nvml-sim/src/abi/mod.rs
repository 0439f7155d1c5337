//! NVML's binary interface, written from NVIDIA's header.

pub mod constants;
pub mod layout;
pub mod structs;

pub use scenario::NvmlCode as Code;

/// The outcome of a call: NVML's success, or another of its codes.
pub type Answer<T = ()> = Result<T, Code>;

/// A structure's version field: its size with the version in the top byte.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "NVML's structs are small")]
pub const fn version_of<T>(version: u32) -> u32 {
    size_of::<T>() as u32 | version << 24
}
