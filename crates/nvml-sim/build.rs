//! Names the library as NVIDIA does, keeps it loaded once it is, and lists its functions.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnvidia-ml.so.1");
    // A program may close the library and open it again to recover from a fault. The
    // count of faults that struck must survive that, so the library is never unmapped.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    println!("cargo:rerun-if-changed=src/functions.txt");
    list_functions(Path::new(&env::var("OUT_DIR").map_err(io::Error::other)?))
}

/// Writes the names of all functions, and those that are not supported as macro calls.
///
/// A line of `functions.txt` is a name, followed by `device` or `system` if the function
/// is not supported: by whether its first argument is a device.
fn list_functions(out: &Path) -> io::Result<()> {
    let lines = fs::read_to_string("src/functions.txt")?;
    let functions = || lines.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
    let names = |kind: Option<&str>| -> String {
        let listed = functions().filter(|(_, of)| kind.is_none_or(|kind| kind == *of));
        listed.flat_map(|(name, _)| [name, "\n"]).collect()
    };
    let (on_device, on_system) = (names(Some("device")), names(Some("system")));
    let calls =
        format!("unsupported_on_device! {{\n{on_device}}}\nunsupported! {{\n{on_system}}}\n");
    fs::write(out.join("functions.txt"), names(None))?;
    fs::write(out.join("unsupported.rs"), calls)
}
