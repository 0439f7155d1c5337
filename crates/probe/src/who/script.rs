//! What a program was given to run: a script or a module, and no other argument.

use std::sync::Arc;

use super::text::kept;

/// How the names of scripts end.
const ENDINGS: [&str; 12] =
    [".py", ".sh", ".bash", ".pl", ".rb", ".R", ".r", ".jl", ".js", ".lua", ".jar", ".ipynb"];

/// The script's name without its folder, or the module's. Code on the command line is neither.
#[must_use]
pub fn script(arguments: &[String]) -> Option<Arc<str>> {
    let (program, rest) = arguments.split_first()?;
    let program = last_part(program);
    if program.starts_with("python") || program.starts_with("pypy") {
        return of_python(rest);
    }
    let is_script = |word: &&String| {
        !word.starts_with('-')
            && !word.contains(char::is_whitespace)
            && ENDINGS.iter().any(|ending| word.ends_with(ending))
    };
    rest.iter().find(is_script).and_then(|word| kept(last_part(word)))
}

/// Its short options may stand together, and some take the rest of the word or the next one.
fn of_python(words: &[String]) -> Option<Arc<str>> {
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            None => return kept(last_part(word)),
            // Code that is typed in.
            Some("") => return None,
            Some("-check-hash-based-pycs") => drop(words.next()),
            Some(long) if long.starts_with('-') => {}
            Some(short) => match short.split_once(['c', 'm', 'W', 'X']) {
                None => {}
                Some((before, value)) => match short.as_bytes().get(before.len()) {
                    Some(b'c') => return None,
                    Some(b'm') => {
                        return module(if value.is_empty() { words.next()? } else { value });
                    }
                    _ if value.is_empty() => drop(words.next()),
                    _ => {}
                },
            },
        }
    }
    None
}

fn module(name: &str) -> Option<Arc<str>> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    name.chars().all(is_plain).then(|| kept(name)).flatten()
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Option<Arc<str>> {
        script(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_script_or_a_module_and_nothing_else() {
        for (line, expected) in [
            ("python train.py --token secret", Some("train.py")),
            ("/usr/bin/python3.11 -u -X dev src/run/train.py -x", Some("train.py")),
            ("python -m torch.distributed.run --nproc 8 train.py", Some("torch.distributed.run")),
            ("python -um pkg.train", Some("pkg.train")),
            ("python -Wignore -OO train", Some("train")),
            ("python -W ignore -mtool", Some("tool")),
            ("python --check-hash-based-pycs always a.py", Some("a.py")),
            ("python ./package/", Some("package")),
            ("python -c print(secret) a.py", None),
            ("python -uc secret.py", None),
            ("python -", None),
            ("python -m", None),
            ("python -m a;secret", None),
            ("python", None),
            ("torchrun --nproc 4 work/train.py", Some("train.py")),
            ("bash -c PASSWORD=x", None),
            ("bash ./run.sh --token x", Some("run.sh")),
            ("julia -t 8 fit.jl", Some("fit.jl")),
            ("vllm serve meta/llama", None),
            ("ray::train", None),
        ] {
            assert_eq!(found(line).as_deref(), expected, "{line}");
        }
        assert_eq!(script(&[]), None);
        assert_eq!(script(&["sh".into(), "-x".into(), "T=secret ./run.sh".into()]), None);
    }
}
