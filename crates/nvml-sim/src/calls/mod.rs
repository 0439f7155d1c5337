//! NVML's functions.
//!
//! Each is written as what it answers on a card that is there, at a moment; the macros
//! below add the C interface, the name, and the way through the [gate](crate::gate).

#![allow(non_snake_case, reason = "the names are NVIDIA's")]

/// Functions whose first argument is a device.
macro_rules! device_calls {
    ($($(#[$meta:meta])* fn $name:ident($device:pat $(, $arg:ident: $type:ty)* $(,)?) $body:block)*) => {$(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(handle: crate::handle::Handle $(, $arg: $type)*) -> crate::abi::Code {
            crate::gate::device(stringify!($name), handle, |$device| $body)
        }
    )*};
}

/// Functions that return the same number for every card, and nothing for an instance.
macro_rules! fixed_calls {
    ($($(#[$meta:meta])* $name:ident = $value:expr;)*) => {
        device_calls! {
            $($(#[$meta])* fn $name(device, answer: crate::pointer::Out<std::ffi::c_uint>) {
                device.whole_card()?;
                answer.put($value)
            })*
        }
    };
}

/// Functions that concern no device.
macro_rules! system_calls {
    ($($(#[$meta:meta])* fn $name:ident($call:pat $(, $arg:ident: $type:ty)* $(,)?) $body:block)*) => {$(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $type),*) -> crate::abi::Code {
            crate::gate::system(stringify!($name), |$call| $body)
        }
    )*};
}

/// Functions that look for a device.
macro_rules! lookup_calls {
    ($($(#[$meta:meta])* fn $name:ident($scenario:ident, $arg:ident: $type:ty) $body:block)*) => {$(
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            $arg: $type,
            device: crate::pointer::Out<crate::handle::Handle>,
        ) -> crate::abi::Code {
            crate::gate::lookup(stringify!($name), device, |$scenario| $body)
        }
    )*};
}

mod accounting;
mod clocks;
mod events;
mod fields;
pub mod gpm;
mod identity;
mod init;
mod lookup;
mod memory;
mod mig;
mod modes;
mod pci;
mod power;
mod process_utilization;
mod processes;
mod samples;
mod system;
mod thermal;
mod unmodelled;
mod utilization;
