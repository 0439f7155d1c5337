//! The names that the library has, and those that an older driver lacks.

use std::collections::BTreeSet;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_NOW};
use nvidia_ml::functions::NAMES;
use nvml_wrapper::error::NvmlError;

use crate::stage::{install_into, text};

fn has(library: &Library, name: &str) -> bool {
    // SAFETY: the symbol is only looked for, never called.
    unsafe { library.get::<*const ()>(name) }.is_ok()
}

fn open(path: &Path) -> Library {
    // SAFETY: the library is this crate's own, whose constructors do nothing.
    unsafe { Library::open(Some(path), RTLD_NOW) }.unwrap()
}

#[test]
fn every_function_of_the_header_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let library = open(&install_into(dir.path(), "").library);
    let missing: Vec<_> = NAMES.lines().filter(|name| !has(&library, name)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_function_that_is_there_is_in_the_list() {
    let dir = tempfile::tempdir().unwrap();
    let read = |scenario| std::fs::read(install_into(dir.path(), scenario).library).unwrap();
    let (all, none) = (read(""), read("[driver]\nlacks = [\"nvml*\"]\n"));
    // The two differ in the first letter of each symbol that was hidden.
    let hidden = (0..all.len()).filter(|at| all[*at] != none[*at]);
    let name_at = |at: usize| text(all[at..].split(|byte| *byte == 0).next().unwrap());
    let found: BTreeSet<String> = hidden.map(name_at).collect();
    let known: BTreeSet<String> = NAMES.lines().map(str::to_owned).collect();
    let unknown: Vec<_> = found.difference(&known).collect();
    assert!(found.len() > 300 && unknown.is_empty(), "{unknown:?}");
}

/// The list is checked against the header itself where there is one.
#[test]
fn the_list_of_names_is_the_headers() {
    let Some(dir) = std::env::var_os("NVML_HEADER_DIR") else {
        return nvidia_ml::skip::skipped("symbols", "NVML_HEADER_DIR is not set");
    };
    let header = std::fs::read(Path::new(&dir).join("nvml.h")).unwrap();
    let header = text(&header);
    let declared: BTreeSet<&str> = header
        .split("DECLDIR ")
        .skip(1)
        .filter_map(|rest| rest.trim_start_matches("char* ").split(['(', ' ']).next())
        .filter(|name| name.starts_with("nvml"))
        .collect();
    let known: BTreeSet<&str> = NAMES.lines().collect();
    assert!(declared.len() > 300, "{declared:?}");
    let missing: Vec<_> = declared.difference(&known).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn it_is_called_as_nvidias_library_is() {
    play!("", |stage| {
        // Under a file name that says nothing, the loader knows it by its soname.
        let renamed = stage.library.with_file_name("renamed.so");
        std::fs::copy(&stage.library, &renamed).unwrap();
        let is_known = || {
            // SAFETY: RTLD_NOLOAD loads nothing.
            unsafe { Library::open(Some("libnvidia-ml.so.1"), RTLD_NOW | libc::RTLD_NOLOAD) }
                .is_ok()
        };
        assert!(!is_known());
        let _library = open(&renamed);
        assert!(is_known());
    });
}

const OLD: &str = "[driver]\nlacks = [\"*_v3\", \"nvmlGpm*\", \"nvmlDeviceGetMemoryInfo_v2\"]\n[[card]]\n\
                   [[process]]\npid = 1\ncard = 0\nmemory = \"1GiB\"\n";

#[test]
fn what_the_driver_lacks_is_not_to_be_found() {
    let dir = tempfile::tempdir().unwrap();
    let library = open(&install_into(dir.path(), OLD).library);
    for name in NAMES.lines() {
        let is_lacking = name.ends_with("_v3")
            || name.starts_with("nvmlGpm")
            || name == "nvmlDeviceGetMemoryInfo_v2";
        assert_eq!(has(&library, name), !is_lacking, "{name}");
    }
}

#[test]
fn a_wrapper_of_an_old_driver_falls_back() {
    play!(OLD, |stage| {
        let nvml = stage.nvml();
        let card = nvml.device_by_index(0).unwrap();
        let newest = card.running_compute_processes();
        assert!(matches!(newest, Err(NvmlError::FailedToLoadSymbol(_))), "{newest:?}");
        assert_eq!(card.running_compute_processes_v2().unwrap().len(), 1);
    });
}
