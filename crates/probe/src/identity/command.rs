//! Command lines: the script or module in them, and the whole line with its secrets masked.

use std::sync::Arc;

/// Longest name that is kept, in bytes. A process can choose a name of any length.
const LONGEST_NAME: usize = 512;

/// Returns a name that a process chose: `None` if it is empty, with `…` if it was cut. Characters that
/// cannot be shown are kept; they are replaced when it is shown.
pub(super) fn kept(text: &str) -> Option<Arc<str>> {
    if text.len() <= LONGEST_NAME {
        return (!text.is_empty()).then(|| Arc::from(text));
    }
    let mut end = LONGEST_NAME - '…'.len_utf8();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).map(|begin| Arc::from(format!("{begin}…")))
}

/// Endings of the names of scripts.
const ENDINGS: [&str; 12] =
    [".py", ".sh", ".bash", ".pl", ".rb", ".R", ".r", ".jl", ".js", ".lua", ".jar", ".ipynb"];

/// Returns the script's name without its folder, or the module's; `None` for code in the arguments.
#[must_use]
pub fn script(arguments: &[String]) -> Option<Arc<str>> {
    let (program, rest) = arguments.split_first()?;
    let program = last_part(program);
    if program.starts_with("python") || program.starts_with("pypy") {
        return python_script(rest);
    }
    let is_script = |word: &&String| {
        !word.starts_with('-')
            && !word.contains(char::is_whitespace)
            && ENDINGS.iter().any(|ending| word.ends_with(ending))
    };
    rest.iter().find(is_script).and_then(|word| kept(last_part(word)))
}

/// Reads the arguments of Python. Short options may be combined, and some take the rest of the word or
/// the next one as value.
fn python_script(words: &[String]) -> Option<Arc<str>> {
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            None => return kept(last_part(word)),
            // Code from standard input.
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

/// Parts of the names of options and variables with secret values.
const SECRETS: [&str; 15] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "token",
    "secret",
    "apikey",
    "api_key",
    "access_key",
    "private_key",
    "auth",
    "credential",
    "cookie",
    "signature",
    "bearer",
];

/// Beginnings of well-known tokens.
const TOKENS: [&str; 13] = [
    "hf_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "sk-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "eyJ",
    "ya29.",
];

/// Length from which a word of letters and digits is taken for a key.
const KEY_LENGTH: usize = 32;
/// Longest masked command, in bytes.
const LONGEST_COMMAND: usize = 4096;
const MASK: &str = "***";

/// Returns the words of a command in one line, with `***` for each secret. It rather hides too much
/// than too little.
#[must_use]
pub fn masked(arguments: &[String]) -> String {
    let mut line = String::new();
    let mut before = Before::Nothing;
    for word in arguments {
        let (shown, after) = masked_word(word, before);
        before = after;
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&quoted(&shown));
        if line.len() > LONGEST_COMMAND {
            return cut(line);
        }
    }
    line
}

/// Meaning of a word for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// The next word is a secret.
    Name,
    /// The next word may be `user:password`.
    User,
}

fn masked_word(word: &str, before: Before) -> (String, Before) {
    if before == Before::Name {
        // A header has two words after its name: `Authorization: Bearer …`. A word that looks like an
        // option may be one.
        let after = if is_secret(word) { Before::Name } else { next(word) };
        return (MASK.to_owned(), after);
    }
    let shown = match after_a_name(word) {
        _ if is_short_password(word) => format!("-p{MASK}"),
        Some(at) => format!("{}{MASK}", word.get(..at).unwrap_or_default()),
        None if before == Before::User && word.contains(':') => {
            format!("{}:{MASK}", word.split(':').next().unwrap_or_default())
        }
        None if is_token(word) => MASK.to_owned(),
        None => without_credentials(word),
    };
    (shown, next(word))
}

/// Returns the meaning of a word for the one after it.
fn next(word: &str) -> Before {
    let is_option = word.starts_with('-') && !word.contains('=');
    let is_header = word.ends_with([':', '=']);
    match word {
        "-u" | "--user" => Before::User,
        "-p" => Before::Name,
        _ if is_secret(word) && (is_option || is_header) => Before::Name,
        _ if word.eq_ignore_ascii_case("bearer") => Before::Name,
        _ => Before::Nothing,
    }
}

/// Returns true for `-pSECRET`, an option of database clients.
fn is_short_password(word: &str) -> bool {
    word.strip_prefix("-p").is_some_and(|rest| !rest.is_empty())
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    SECRETS.iter().any(|secret| name.contains(secret)) || name.ends_with("_key")
}

/// Returns the place in a word where a secret value begins: after the first `=` or `:` with such a
/// name anywhere before it, as in `--token=x`, `HF_TOKEN=x`, `{"password":"x"}` or `?token=x`.
fn after_a_name(word: &str) -> Option<usize> {
    // No value follows `://`.
    let is_scheme = |at: usize| word.get(at..).is_some_and(|rest| rest.starts_with("://"));
    let ends = word.match_indices(['=', ':']).map(|(at, _)| at);
    let at = ends.filter(|at| !is_scheme(*at)).find(|at| word.get(..*at).is_some_and(is_secret))?;
    (at + 1 < word.len()).then_some(at + 1)
}

/// Returns true for a word that begins like a token, or that is a long word of letters and digits.
fn is_token(word: &str) -> bool {
    let value = word.rsplit(['=', ':', ',']).next().unwrap_or(word);
    let is_known = TOKENS.iter().any(|token| value.starts_with(token)) && value.len() >= 16;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'=' | b'_');
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    is_known || (value.len() >= KEY_LENGTH && has_digit && value.bytes().all(is_plain))
}

/// Returns `scheme://***@host` for `scheme://user:password@host`.
fn without_credentials(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((_credentials, host)) => {
            format!("{scheme}://{MASK}@{host}{}", without_credentials(path))
        }
        None => format!("{scheme}://{authority}{}", without_credentials(path)),
    }
}

/// Quotes a word with blanks or quotes in it.
fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '\'');
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn cut(mut line: String) -> String {
    let mut end = LONGEST_COMMAND;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.truncate(end);
    line.push('…');
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        assert_eq!(kept(""), None);
        assert_eq!(kept("ann").as_deref(), Some("ann"));
        let long = kept(&"雪".repeat(4096)).unwrap();
        assert!(long.len() <= LONGEST_NAME && long.ends_with("雪…"), "{long}");
    }

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

    fn words(line: &[&str]) -> String {
        masked(&line.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    fn line(line: &str) -> String {
        words(&line.split(' ').collect::<Vec<_>>())
    }

    #[test]
    fn secrets_are_masked_and_the_rest_stays() {
        for (typed, expected) in [
            ("python train.py --epochs 9 --lr=1e-3", "python train.py --epochs 9 --lr=1e-3"),
            ("x --password hunter2 -v", "x --password *** -v"),
            ("x --token=abc y", "x --token=*** y"),
            ("x --token=//abc y", "x --token=*** y"),
            ("x -token abc", "x -token ***"),
            ("x --hf-token abc --seed 1", "x --hf-token *** --seed 1"),
            ("x --use-auth-token --seed 1", "x --use-auth-token *** 1"),
            ("x --password --hunter2 -v", "x --password *** -v"),
            ("x --use-auth-token --password hunter2", "x --use-auth-token *** ***"),
            ("x --use-auth-token -u ann:abc", "x --use-auth-token *** ann:***"),
            ("mysql -phunter2 db", "mysql -p*** db"),
            ("sshpass -p hunter2 ssh x", "sshpass -p *** ssh x"),
            ("sshpass -p -hunter2 ssh x", "sshpass -p *** ssh x"),
            ("x --port 80 --path a", "x --port 80 --path a"),
            ("x --api-key -abc", "x --api-key ***"),
            ("env WANDB_API_KEY=abc python a.py", "env WANDB_API_KEY=*** python a.py"),
            ("x trainer.db.password=abc", "x trainer.db.password=***"),
            ("x {\"password\":\"abc\",\"a\":1}", "x {\"password\":***"),
            ("git clone https://ann:abc@host:8080/r", "git clone https://***@host:8080/r"),
            ("git clone https://abc@host/r?x=1", "git clone https://***@host/r?x=1"),
            ("curl https://host/r?a=1&token=abc", "curl https://host/r?a=1&token=***"),
            ("curl -u ann:abc https://host", "curl -u ann:*** https://host"),
            ("curl -H Authorization: Bearer abc -v", "curl -H Authorization: *** *** -v"),
            ("x hf_AbCdEfGhIjKlMnOp", "x ***"),
            ("x --key AKIAABCDEFGHIJKLMNOP", "x --key ***"),
            ("x 0123456789abcdef0123456789abcdef01234567", "x ***"),
            (
                "x /data/0123456789abcdef0123456789abcdef/a",
                "x /data/0123456789abcdef0123456789abcdef/a",
            ),
            ("x --s3-secret-access-key abc", "x --s3-secret-access-key ***"),
            ("x --port=80 --monkey=1 host:80", "x --port=80 --monkey=1 host:80"),
        ] {
            assert_eq!(line(typed), expected, "{typed}");
        }
        assert_eq!(words(&["sh", "-c", "export TOKEN=abc; run"]), "sh -c 'export TOKEN=***'");
        assert_eq!(words(&["x", "", "it's"]), "x '' 'it'\\''s'");
        assert_eq!(words(&[]), "");
        assert!(words(&["雪".repeat(9000).as_str()]).len() <= LONGEST_COMMAND + 3);
    }

    proptest! {
        /// The value after such a name is never shown, however it is written.
        #[test]
        fn a_secret_is_never_shown(
            name in "(--?)?[a-z_.]{0,8}(password|token|secret|api[-_]key)[a-z_]{0,5}",
            value in "[0-9A-Z%/+=]{6,40}",
        ) {
            let shown = words(&["run", &format!("{name}={value}"), "x"]);
            prop_assert!(!shown.contains(&value), "{shown}");
            for dashes in ["", "-", "--"] {
                let shown = words(&["run", &format!("--{name}"), &format!("{dashes}{value}"), "x"]);
                prop_assert!(!shown.contains(&value), "{shown}");
            }
            let shown = words(&["run", &format!("-p{value}"), "-p", &value]);
            prop_assert!(!shown.contains(&value), "{shown}");
            let shown = words(&["run", &format!("https://h/p?q=1&{name}={value}")]);
            prop_assert!(!shown.contains(&value), "{shown}");
            let shown = words(&["run", &format!("ftp://ann:{}@h/p", value.replace('/', ""))]);
            prop_assert!(!shown.contains(&value.replace('/', "")), "{shown}");
        }

        #[test]
        fn anything_can_be_masked(arguments in prop::collection::vec("\\PC{0,40}", 0..12)) {
            prop_assert!(masked(&arguments).len() <= LONGEST_COMMAND + 3);
        }
    }
}
