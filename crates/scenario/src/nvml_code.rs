//! NVML's return codes, under the names of NVIDIA's header.

use std::ffi::CStr;
use std::fmt;
use std::str::FromStr;

/// An NVML return code, as every NVML function returns it.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvmlCode(pub u32);

macro_rules! codes {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        /// The names without their `NVML_ERROR_` prefix.
        const NAMES: &[(&str, u32)] = &[$((stringify!($name), $number)),*];

        impl NvmlCode {
            $(pub const $name: Self = Self($number);)*

            /// Returns the text of `nvmlErrorString`.
            #[must_use]
            pub const fn text(self) -> &'static CStr {
                match self.0 {
                    $($number => $text,)*
                    _ => c"Unknown Error",
                }
            }
        }
    };
}

codes! {
    SUCCESS = 0, c"Success";
    UNINITIALIZED = 1, c"Uninitialized";
    INVALID_ARGUMENT = 2, c"Invalid Argument";
    NOT_SUPPORTED = 3, c"Not Supported";
    NO_PERMISSION = 4, c"Insufficient Permissions";
    ALREADY_INITIALIZED = 5, c"Already Initialized";
    NOT_FOUND = 6, c"Not Found";
    INSUFFICIENT_SIZE = 7, c"Insufficient Size";
    INSUFFICIENT_POWER = 8, c"Insufficient External Power";
    DRIVER_NOT_LOADED = 9, c"Driver Not Loaded";
    TIMEOUT = 10, c"Timeout";
    IRQ_ISSUE = 11, c"Interrupt Request Issue";
    LIBRARY_NOT_FOUND = 12, c"NVML Shared Library Not Found";
    FUNCTION_NOT_FOUND = 13, c"Function Not Found";
    CORRUPTED_INFOROM = 14, c"Corrupted infoROM";
    GPU_IS_LOST = 15, c"GPU is lost";
    RESET_REQUIRED = 16, c"GPU requires restart";
    OPERATING_SYSTEM = 17, c"The operating system has blocked the request.";
    LIB_RM_VERSION_MISMATCH = 18, c"RM has detected an NVML/RM version mismatch.";
    IN_USE = 19, c"In use by another client";
    MEMORY = 20, c"Insufficient Memory";
    NO_DATA = 21, c"No data";
    VGPU_ECC_NOT_SUPPORTED = 22, c"VGPU ECC not supported";
    INSUFFICIENT_RESOURCES = 23, c"Insufficient Resources";
    FREQ_NOT_SUPPORTED = 24, c"Frequency Not Supported";
    ARGUMENT_VERSION_MISMATCH = 25, c"The provided version is invalid/unsupported";
    DEPRECATED = 26, c"The requested functionality has been deprecated";
    NOT_READY = 27, c"The system is not ready for the request";
    GPU_NOT_FOUND = 28, c"No GPUs were found";
    INVALID_STATE = 29, c"Resource not in correct state to perform requested operation";
    RESET_TYPE_NOT_SUPPORTED = 30, c"Reset not supported for given device/parameters";
    UNKNOWN = 999, c"Unknown Error";
}

impl FromStr for NvmlCode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.strip_prefix("NVML_ERROR_").unwrap_or(text);
        let found = NAMES.iter().find(|(known, _)| *known == name).map(|(_, code)| Self(*code));
        found.ok_or_else(|| {
            format!("`{text}` is not an NVML code; expected a name like GPU_IS_LOST or a number")
        })
    }
}

impl fmt::Display for NvmlCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, code)| *code == self.0) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "code {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_by_name_with_or_without_prefix() {
        assert_eq!("GPU_IS_LOST".parse(), Ok(NvmlCode(15)));
        assert_eq!("NVML_ERROR_TIMEOUT".parse(), Ok(NvmlCode(10)));
        assert!("GPU_LOST".parse::<NvmlCode>().is_err());
        assert_eq!(NvmlCode(999).to_string(), "UNKNOWN");
    }
}
