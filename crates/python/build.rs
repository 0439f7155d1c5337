//! Has the linker put together what a block needs.

use std::env;

fn main() {
    let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    // The whole path, so that it is told anew where the project has moved.
    println!("cargo:rerun-if-changed={folder}/near.ld");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-T,{folder}/near.ld");
    }
}
