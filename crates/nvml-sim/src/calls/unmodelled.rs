//! Everything else in NVIDIA's header: there to be found, and not supported.
//!
//! A driver answers like this on a card without the feature; nvitop, for one, asks for
//! `nvmlDeviceGetTotalEccErrors`. The arguments are left alone, so they may be anything.

/// Functions whose first argument is a device.
macro_rules! unsupported_on_device {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(handle: crate::handle::Handle) -> crate::abi::Code {
            crate::gate::device(stringify!($name), handle, |_| {
                Err(crate::abi::Code::NOT_SUPPORTED)
            })
        }
    )*};
}

/// Functions that concern no device.
macro_rules! unsupported {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> crate::abi::Code {
            crate::gate::system(stringify!($name), |_| Err(crate::abi::Code::NOT_SUPPORTED))
        }
    )*};
}

// Invokes both macros with the functions that `functions.txt` marks.
include!(concat!(env!("OUT_DIR"), "/unsupported.rs"));
