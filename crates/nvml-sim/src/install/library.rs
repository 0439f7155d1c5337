//! Finding what cargo built, and putting it where a program looks for it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use scenario::model::Driver;

use crate::install::{At, InstallError, elf};

const BUILT_LIBRARY: &str = "libnvidia_ml.so";

/// Copies the library, without the functions that the scenario's driver lacks.
pub fn install(to: &Path, driver: &Driver) -> Result<(), InstallError> {
    let built =
        find(BUILT_LIBRARY)?.ok_or(InstallError::NotBuilt { name: BUILT_LIBRARY, exe: exe()? })?;
    let mut bytes = fs::read(&built).at(&built)?;
    elf::hide_symbols(&mut bytes, |name| !driver.has(name))
        .map_err(|reason| InstallError::NotALibrary { path: built, reason })?;
    if let Some(dir) = to.parent() {
        fs::create_dir_all(dir).at(dir)?;
    }
    // Never written over in place: a program may have the old one mapped.
    replace(to, |to| fs::write(to, &bytes))?;
    replace(&to.with_extension(""), |link| symlink("libnvidia-ml.so.1", link))
}

/// Links `nvidia-smi` into a directory, if it has been built.
pub fn install_nvidia_smi(bin: &Path) -> Result<(), InstallError> {
    match find("nvidia-smi")? {
        Some(built) => replace(&bin.join("nvidia-smi"), |link| symlink(&built, link)),
        None => Ok(()),
    }
}

fn replace(
    path: &Path,
    make: impl FnOnce(&Path) -> std::io::Result<()>,
) -> Result<(), InstallError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error).at(path),
        _ => make(path).at(path),
    }
}

/// The newest file of this name around the running program: cargo puts programs, tests
/// and libraries into a profile's directory and its `deps`.
fn find(name: &str) -> Result<Option<PathBuf>, InstallError> {
    let exe = exe()?;
    let here = exe.parent().unwrap_or(Path::new("."));
    let around = ["", "deps", "..", "../deps"].map(|dir| here.join(dir).join(name));
    let built = around.into_iter().filter_map(|path| Some((modified(&path)?, path)));
    Ok(built.max_by_key(|(modified, _)| *modified).map(|(_, path)| path))
}

fn modified(path: &Path) -> Option<SystemTime> {
    let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    file.modified().ok()
}

fn exe() -> Result<PathBuf, InstallError> {
    std::env::current_exe().at(Path::new("/proc/self/exe"))
}
