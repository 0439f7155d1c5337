//! The import edges: which crate and which module may know which other.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::machine::project;

/// What each crate may depend on, tests aside.
const CRATES: [(&str, &[&str]); 4] = [
    ("scenario", &[]),
    ("nvml-sim", &["scenario"]),
    ("probe", &[]),
    ("gua", &["probe", "scenario"]),
];

/// The modules of `gua` in the order of the data: each may import only those before it.
/// The ones on one row do not know each other.
const ORDER: [&[&str]; 9] = [
    &["cli", "failure"],
    &["config"],
    &["sampler"],
    &["classify"],
    &["store"],
    &["report"],
    &["render"],
    &["checkup"],
    &["commands"],
];

#[test]
fn crates_depend_only_on_what_they_may() {
    let members: Vec<&str> = CRATES.iter().map(|(name, _)| *name).collect();
    let mut found: Vec<_> = fs::read_dir(project().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    let mut expected: Vec<_> = members.iter().map(ToString::to_string).collect();
    expected.sort();
    assert_eq!(found, expected, "a new crate needs its edges here");
    for (name, allowed) in CRATES {
        for dependency in dependencies(name) {
            let is_ours = members.contains(&dependency.as_str());
            assert!(!is_ours || allowed.contains(&dependency.as_str()), "{name} → {dependency}");
        }
    }
}

/// The names under `[dependencies]`.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = project().join("crates").join(name).join("Cargo.toml");
    let text = fs::read_to_string(manifest).unwrap();
    let section = text.split("[dependencies]\n").nth(1).unwrap_or("");
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    lines
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn modules_import_only_from_their_left() {
    let rank: BTreeMap<&str, usize> = ORDER
        .iter()
        .enumerate()
        .flat_map(|(rank, row)| row.iter().map(move |name| (*name, rank)))
        .collect();
    let source = project().join("crates/gua/src");
    for file in rust_files(&source) {
        let module = module_of(&source, &file);
        let Some(own) = rank.get(module.as_str()) else {
            assert!(
                matches!(module.as_str(), "lib" | "main"),
                "`{module}` has no place in the order"
            );
            continue;
        };
        for imported in imports(&fs::read_to_string(&file).unwrap()) {
            let other = rank.get(imported.as_str());
            let other = other.unwrap_or_else(|| panic!("`{imported}` has no place in the order"));
            let may = imported == module || other < own;
            assert!(may, "{}: `{module}` may not import `{imported}`", file.display());
        }
    }
}

/// Only the commands and the program itself may end a process or write to the screen.
#[test]
fn only_probe_and_the_simulator_are_unsafe() {
    for (name, _) in CRATES.iter().filter(|(name, _)| matches!(*name, "scenario" | "gua")) {
        for file in rust_files(&project().join("crates").join(name).join("src")) {
            let text = fs::read_to_string(&file).unwrap();
            assert!(!text.contains("unsafe {"), "{}", file.display());
        }
    }
    for file in rust_files(&project().join("crates/probe/src")) {
        let is_the_room = file.ends_with("nvml/raw.rs");
        let text = fs::read_to_string(&file).unwrap();
        assert!(is_the_room || !text.contains("unsafe {"), "{}", file.display());
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The top module that a file belongs to.
fn module_of(source: &Path, file: &Path) -> String {
    let first = file.strip_prefix(source).unwrap().components().next().unwrap();
    first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// The top modules that a text names through `crate::`, in `use` lines or in full.
fn imports(text: &str) -> Vec<String> {
    let named = text.split("crate::").skip(1).flat_map(|rest| {
        let end = if rest.starts_with('{') { '}' } else { ';' };
        let list = rest.trim_start_matches('{').split(end).next().unwrap_or("");
        let names: Vec<&str> =
            if rest.starts_with('{') { list.split(',').collect() } else { vec![list] };
        names.into_iter().map(|name| {
            name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
        })
    });
    named.filter(|name| !name.is_empty()).collect()
}
