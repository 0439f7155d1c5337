//! Beginning and ending the use of the library, and the words for its codes.

use std::ffi::{c_char, c_uint};

use crate::abi::Code;
use crate::{gate, library, tally};

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit() -> Code {
    gate::init("nvmlInit")
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> Code {
    gate::init("nvmlInit_v2")
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> Code {
    gate::init("nvmlInitWithFlags")
}

system_calls! {
    fn nvmlShutdown(_) { library::end_use() }
}

/// Works before `nvmlInit` too, and no fault can strike it: it has no code to return.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlErrorString(code: Code) -> *const c_char {
    tally::count("nvmlErrorString");
    code.text().as_ptr()
}
