//! What was followed.

use std::ffi::OsString;
use std::path::Path;

use serde::Serialize;

/// How the names of scripts end.
const SCRIPTS: [&str; 12] =
    ["py", "sh", "bash", "pl", "rb", "R", "r", "jl", "js", "lua", "jar", "ipynb"];

/// What was followed, by a name that gives no secrets away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Subject {
    pub name: Option<String>,
    pub pid: u32,
    /// Whether it was running already when the measurement began.
    pub is_attached: bool,
}

/// The program and the script that it was given. Other arguments may hold secrets, and the
/// summary may be passed on.
#[must_use]
pub fn command_name(command: &[OsString]) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let program = last_part(program);
    let script = arguments.iter().find(|argument| is_script(argument)).map(last_part);
    Some(script.map_or_else(|| program.clone(), |script| format!("{program} {script}")))
}

fn is_script(argument: &OsString) -> bool {
    let extension = Path::new(argument).extension();
    let is_option = argument.as_encoded_bytes().starts_with(b"-");
    // A piece of code may end like a file.
    let has_spaces = argument.as_encoded_bytes().iter().any(u8::is_ascii_whitespace);
    !is_option
        && !has_spaces
        && extension.is_some_and(|ending| SCRIPTS.iter().any(|s| ending == *s))
}

fn last_part(path: &OsString) -> String {
    let name = Path::new(path).file_name().unwrap_or(path);
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(words: &[&str]) -> Option<String> {
        command_name(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_name_is_the_program_and_its_script_and_no_secret() {
        let shown = |words: &[&str]| name(words).unwrap();
        assert_eq!(
            shown(&["/usr/bin/python3", "-u", "src/train.py", "--token", "x"]),
            "python3 train.py"
        );
        assert_eq!(shown(&["torchrun", "--nproc", "4", "train.py"]), "torchrun train.py");
        assert_eq!(shown(&["curl", "-u", "ann:secret"]), "curl");
        assert_eq!(shown(&["python", "-c", "open('secret.py')"]), "python");
        assert_eq!(shown(&["sh", "-c", "PASSWORD=x ./run.sh"]), "sh");
        assert_eq!(shown(&["/"]), "/");
        assert_eq!(name(&[]), None);
    }
}
