//! Has the linker put together what the program runs through all day.

use std::env;

fn main() {
    let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    // The whole path, so that it is told anew where the project has moved.
    println!("cargo:rerun-if-changed={folder}/near.ld");
    let is = |name, value: &str| env::var(name).is_ok_and(|told| told == value);
    // Other builds are linked often, and nobody counts their pages.
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") && takes_scripts() {
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{folder}/near.ld");
    }
}

/// Some have chosen a linker that does not know such scripts.
fn takes_scripts() -> bool {
    let told = |name| env::var(name).unwrap_or_default();
    let chosen = told("CARGO_ENCODED_RUSTFLAGS") + &told("RUSTC_LINKER");
    !["mold", "wild", "gold"].iter().any(|linker| chosen.contains(linker))
}
