//! Has the linker put together what a block needs.

use std::env;

fn main() {
    let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    // The whole path, so that it is told anew where the project has moved.
    println!("cargo:rerun-if-changed={folder}/near.ld");
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if is_linux && takes_scripts() {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-T,{folder}/near.ld");
    }
}

/// Some have chosen a linker that does not know such scripts.
fn takes_scripts() -> bool {
    let told = |name| env::var(name).unwrap_or_default();
    let chosen = told("CARGO_ENCODED_RUSTFLAGS") + &told("RUSTC_LINKER");
    !["mold", "wild", "gold"].iter().any(|linker| chosen.contains(linker))
}
