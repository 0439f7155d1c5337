//! Names the library as NVIDIA does and keeps it loaded once it is.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnvidia-ml.so.1");
    // A program may close the library and open it again to recover from a fault. The
    // count of faults that struck must survive that, so the library is never unmapped.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
