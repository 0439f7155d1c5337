//! The import edges: which crate and which module may know which other.

use std::collections::BTreeMap;
use std::fs;
use std::iter::once;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::machine::project;

/// What each crate may depend on, tests aside.
const CRATES: [(&str, &[&str]); 11] = [
    ("core", &[]),
    ("store", &["core"]),
    ("recorder", &["core", "probe", "store"]),
    ("query", &["core", "probe", "store"]),
    ("fleet", &["core", "query", "recorder", "store"]),
    ("scenario", &[]),
    ("nvml-sim", &["scenario"]),
    ("probe", &["core"]),
    ("track", &["probe"]),
    ("gua", &["core", "fleet", "probe", "query", "recorder", "scenario", "store", "track"]),
    ("python", &["gua", "probe", "track"]),
];

/// The modules of `gua` in the order of the data: each may import only those before it.
/// The ones on one row do not know each other.
const ORDER: [&[&str]; 12] = [
    &["calendar", "env", "near", "quantity", "safe", "wrap"],
    &["interval", "terminal"],
    &["cli", "shared_folder"],
    &["context"],
    &["failure"],
    &["config", "destination", "following", "line_file", "process_handle", "reservation"],
    &["simulated"],
    &["demo", "policy"],
    &["report"],
    &["render"],
    &["doctor", "tui", "web"],
    &["commands", "gpu_tracker"],
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
            // A package is called as its folder, or `gua-` and its folder.
            let folder = dependency.strip_prefix("gua-").unwrap_or(&dependency);
            let is_ours = members.contains(&folder);
            assert!(!is_ours || allowed.contains(&folder), "{name} → {dependency}");
        }
    }
}

/// What a crate depends on, for all targets or for one, tests aside.
fn dependencies(name: &str) -> Vec<String> {
    let manifest = project().join("crates").join(name).join("Cargo.toml");
    dependencies_of(&toml::from_str(&fs::read_to_string(manifest).unwrap()).unwrap())
}

fn dependencies_of(manifest: &Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let of_targets = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let sections = once(manifest)
        .chain(of_targets)
        .flat_map(|table| ["dependencies", "build-dependencies"].map(|section| table.get(section)));
    let tables = sections.flatten().filter_map(Value::as_table);
    tables.flatten().map(|(name, how)| package(name, how).to_owned()).collect()
}

/// A dependency may go by another name than its own.
fn package<'a>(name: &'a str, how: &'a Value) -> &'a str {
    how.get("package").and_then(Value::as_str).unwrap_or(name)
}

#[test]
fn every_way_to_write_a_dependency_is_seen() {
    let manifest = r#"
        [dependencies]
        plain = "1"
        dotted.workspace = true
        renamed = { package = "original", version = "1" }
        [dependencies.tabled]
        version = "1"
        [target.'cfg(unix)'.dependencies]
        targeted = "1"
        [build-dependencies]
        built-with = "1"
        [dev-dependencies]
        tested-with = "1"
    "#;
    let mut found = dependencies_of(&toml::from_str(manifest).unwrap());
    found.sort();
    assert_eq!(found, ["built-with", "dotted", "original", "plain", "tabled", "targeted"]);
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
                matches!(module.as_str(), "lib" | "main" | "bin"),
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

#[test]
fn the_layout_of_the_house_is_in_the_order_of_the_imports() {
    let rank = |name: &str| ORDER.iter().position(|row| row.contains(&name));
    let told = Layout::of(&fs::read_to_string(project().join("crates/gua/src/lib.rs")).unwrap());
    let place = |name: &String| rank(name).unwrap_or_else(|| panic!("`{name}` has no place"));
    assert!(told.rows.is_sorted_by_key(place), "{:?}", told.rows);
}

/// A table that leaves a module out, or names one that is gone, leads nowhere.
#[test]
fn every_layout_names_its_modules_and_no_others() {
    let mut tables = 0;
    for (name, _) in CRATES {
        for file in rust_files(&project().join("crates").join(name).join("src")) {
            let text = fs::read_to_string(&file).unwrap();
            let told = Layout::of(&text);
            if told.rows.is_empty() {
                continue;
            }
            tables += 1;
            let modules = modules(&text);
            for module in &modules {
                assert!(told.named.contains(module), "{}: `{module}` is missing", file.display());
            }
            for row in told.rows.iter().filter(|row| !row.contains('.')) {
                assert!(modules.contains(row), "{}: there is no `{row}`", file.display());
            }
        }
    }
    assert!(tables > 20, "{tables} tables were found");
}

/// The table of modules in the words at the beginning of a file.
struct Layout {
    /// In the first column.
    rows: Vec<String>,
    /// Anywhere.
    named: Vec<String>,
}

impl Layout {
    fn of(text: &str) -> Self {
        let words = text.lines().take_while(|line| line.starts_with("//!"));
        let table = words.clone().skip_while(|line| !line.starts_with("//! | module |")).skip(2);
        let cells = table.filter_map(|line| line.strip_prefix("//! | ")?.split(" | ").next());
        Self {
            rows: cells.flat_map(quoted_names).collect(),
            named: words.flat_map(quoted_names).collect(),
        }
    }
}

/// What stands between backticks, without what only a link needs.
fn quoted_names(text: &str) -> Vec<String> {
    let name = |quoted: &str| quoted.trim_start_matches("mod@").trim_end_matches(".rs").to_owned();
    text.split('`').skip(1).step_by(2).map(name).collect()
}

/// The modules that a text declares, those of tests aside.
fn modules(text: &str) -> Vec<String> {
    let before = once("").chain(text.lines());
    let ours = before.zip(text.lines()).filter(|(before, _)| *before != "#[cfg(test)]");
    let declared = ["mod ", "pub mod ", "pub(crate) mod ", "pub(super) mod "];
    let name = |line: &str| {
        let found = declared.iter().find_map(|words| line.strip_prefix(words)?.strip_suffix(';'));
        found.map(str::to_owned)
    };
    ours.filter_map(|(_, line)| name(line)).collect()
}

/// The only files with `unsafe`, by crate. The pretend driver is a C library and all of it.
const UNSAFE_ROOMS: [(&str, &[&str]); 10] = [
    ("core", &[]),
    ("store", &[]),
    ("recorder", &[]),
    ("query", &[]),
    ("fleet", &[]),
    ("scenario", &[]),
    ("probe", &["nvml/raw.rs", "proc/name_service.rs"]),
    ("track", &["src/kernel.rs"]),
    ("python", &[]),
    ("gua", &[]),
];

#[test]
fn what_is_unsafe_stays_in_its_rooms() {
    for (name, rooms) in UNSAFE_ROOMS {
        for file in rust_files(&project().join("crates").join(name).join("src")) {
            let is_a_room = rooms.iter().any(|room| file.ends_with(room));
            let is_unsafe = has_word(&code(&fs::read_to_string(&file).unwrap()), "unsafe");
            assert!(is_a_room || !is_unsafe, "{}", file.display());
        }
    }
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !is_of_a_name(c)).any(|found| found == word)
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[test]
fn unsafe_is_found_as_a_word_of_the_code_only() {
    for text in
        ["unsafe{}", "unsafe impl Send", "pub unsafe fn f", "unsafe extern", "x('\"');unsafe"]
    {
        assert!(has_word(&code(text), "unsafe"), "{text}");
    }
    let texts =
        ["// unsafe {", "/* unsafe */", "\"\\\" unsafe\"", "r#\"\" unsafe\"#", "deny(unsafe_code)"];
    for text in texts {
        assert!(!has_word(&code(text), "unsafe"), "{text}");
    }
}

/// A text without its comments and its strings.
fn code(text: &str) -> String {
    let (mut code, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let skipped = not_code(rest, code.chars().last());
        if skipped == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            code.push(' ');
            rest = &rest[skipped..];
        }
    }
    code
}

/// How many bytes of a comment, a string or a character stand at the beginning.
fn not_code(text: &str, before: Option<char>) -> usize {
    let until = |begin: &str, end: &str| {
        let body = text.strip_prefix(begin)?;
        Some(begin.len() + body.find(end).map_or(body.len(), |at| at + end.len()))
    };
    let raw = || {
        let hashes = text.strip_prefix('r').filter(|_| !before.is_some_and(is_of_a_name))?;
        let hashes = &hashes[..hashes.find('"')?];
        let is_raw = hashes.chars().all(|c| c == '#');
        is_raw.then(|| until(&format!("r{hashes}\""), &format!("\"{hashes}")))?
    };
    let found = until("//", "\n").or_else(|| until("/*", "*/")).or_else(raw);
    found.or_else(|| quoted(text, '"')).or_else(|| character(text)).unwrap_or(0)
}

/// The length of what stands between two of these quotes, in which `\` takes the next along.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.strip_prefix(quote)?.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            c if c == quote => return Some(at + 2),
            _ => {}
        }
    }
    Some(text.len())
}

/// A character, which is not to be taken for a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.strip_prefix('\'')?.chars();
    let is_one = chars.next()? == '\\' || chars.next()? == '\'';
    is_one.then(|| quoted(text, '\''))?
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
    let code = code(text);
    let named =
        code.match_indices("crate::").filter(|(at, _)| !code[..*at].ends_with(is_of_a_name));
    named.flat_map(|(at, found)| heads(&code[at + found.len()..])).collect()
}

/// The first names of a path, of which there are several when it begins with a list.
fn heads(path: &str) -> Vec<String> {
    let Some(list) = path.strip_prefix('{') else {
        return vec![head(path)];
    };
    let mut depth = 0;
    let mut heads = vec![head(list)];
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => heads.push(head(&list[at + 1..])),
            _ => {}
        }
    }
    // After the last comma of a list over several lines stands nothing.
    heads.into_iter().filter(|head| !head.is_empty()).collect()
}

fn head(path: &str) -> String {
    path.trim_start().chars().take_while(|c| is_of_a_name(*c) || *c == '*').collect()
}

#[test]
fn every_way_to_write_an_import_is_seen() {
    let text = "use crate::a::b;\nuse crate::{\n    c::{d, e::{f}},\n    g, // crate::x\n};\n\
                use crate::h::{i, j};\nfn k(l: crate::m::N) { subcrate::o() }\nuse crate::*;\n";
    assert_eq!(imports(text), ["a", "c", "g", "h", "m", "*"]);
}
