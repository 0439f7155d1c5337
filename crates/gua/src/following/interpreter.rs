//! The program that a script is given to, which may be what was not found.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The kernel looks no further either.
const LONGEST_LINE: u64 = 255;

/// What a command that is there names as its interpreter, when the kernel says that something
/// was not found.
#[must_use]
pub fn interpreter(program: &OsStr) -> Option<OsString> {
    let file = File::open(place(program, env::var_os("PATH")?.as_os_str())?).ok()?;
    let mut begin = Vec::new();
    file.take(LONGEST_LINE).read_to_end(&mut begin).ok()?;
    parse(&begin)
}

/// Whether a command is named by its place, and not looked for.
#[must_use]
pub fn is_a_path(program: &OsStr) -> bool {
    program.as_bytes().contains(&b'/')
}

fn place(program: &OsStr, path: &OsStr) -> Option<PathBuf> {
    if is_a_path(program) {
        return Some(PathBuf::from(program));
    }
    let places = env::split_paths(path).map(|folder: PathBuf| folder.join(program));
    places.into_iter().find(|place: &PathBuf| Path::is_file(place))
}

/// Ends at a space, as the kernel has it: what ends a line on Windows belongs to the name.
fn parse(begin: &[u8]) -> Option<OsString> {
    let line = begin.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let name = line.split(is_space).find(|word| !word.is_empty())?;
    Some(OsStr::from_bytes(name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_names_it() {
        let parsed = |text: &str| parse(text.as_bytes()).map(|name| name.into_string().unwrap());
        assert_eq!(parsed("#!/bin/sh\necho").as_deref(), Some("/bin/sh"));
        assert_eq!(parsed("#! /usr/bin/env python\n").as_deref(), Some("/usr/bin/env"));
        assert_eq!(parsed("#!/bin/sh\r\necho\r\n").as_deref(), Some("/bin/sh\r"));
        assert_eq!(parsed("#!/bin/sh").as_deref(), Some("/bin/sh"));
        for text in ["", "#!", "#!\n", "# /bin/sh\n", "\x7fELF"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_is_looked_for_and_a_path_is_not() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("script"), "").unwrap();
        let found = |program: &str| place(OsStr::new(program), folder.path().as_os_str());
        assert_eq!(found("script"), Some(folder.path().join("script")));
        assert_eq!(found("other"), None);
        assert_eq!(found("./script"), Some(PathBuf::from("./script")));
    }
}
