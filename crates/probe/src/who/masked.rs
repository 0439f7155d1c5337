//! A command line without what looks like a secret in it.

/// Parts of names whose values are secrets.
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

/// How well-known tokens begin.
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

/// A word of letters and digits is taken for a key from this length on.
const LONG: usize = 32;
/// In bytes: more is no command that anybody reads.
const LONGEST: usize = 4096;
const MASK: &str = "***";

/// The words of a command in one line, with `***` for each secret. Meant to hide too much
/// rather than too little.
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
        if line.len() > LONGEST {
            return cut(line);
        }
    }
    line
}

/// What the word before says of the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// It is a secret.
    Name,
    /// It may be `user:password`.
    User,
}

fn masked_word(word: &str, before: Before) -> (String, Before) {
    if before == Before::Name {
        // Two words after a header: `Authorization: Bearer …`. And what looks like an option may
        // be one.
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

/// What a word says of the one after it.
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

/// `-pSECRET`, as database clients have it.
fn is_short_password(word: &str) -> bool {
    word.strip_prefix("-p").is_some_and(|rest| !rest.is_empty())
}

fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    SECRETS.iter().any(|secret| name.contains(secret)) || name.ends_with("_key")
}

/// Where the value of a secret begins in a word: behind the first `=` or `:` with such a name
/// anywhere before it, as in `--token=x`, `HF_TOKEN=x`, `{"password":"x"}` or `?token=x`.
fn after_a_name(word: &str) -> Option<usize> {
    // What follows `://` is no value.
    let is_scheme = |at: usize| word.get(at..).is_some_and(|rest| rest.starts_with("://"));
    let ends = word.match_indices(['=', ':']).map(|(at, _)| at);
    let at = ends.filter(|at| !is_scheme(*at)).find(|at| word.get(..*at).is_some_and(is_secret))?;
    (at + 1 < word.len()).then_some(at + 1)
}

/// By its beginning, or as one long word of letters and digits.
fn is_token(word: &str) -> bool {
    let value = word.rsplit(['=', ':', ',']).next().unwrap_or(word);
    let is_known = TOKENS.iter().any(|token| value.starts_with(token)) && value.len() >= 16;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'=' | b'_');
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    is_known || (value.len() >= LONG && has_digit && value.bytes().all(is_plain))
}

/// `scheme://***@host` for `scheme://user:password@host`.
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

/// So that it is seen where a word ends.
fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '\'');
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn cut(mut line: String) -> String {
    let mut end = LONGEST;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.truncate(end);
    line.push('…');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
        assert!(words(&["雪".repeat(9000).as_str()]).len() <= LONGEST + 3);
    }

    proptest! {
        /// The law: behind such a name, a value is never seen, however it is written.
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
            prop_assert!(masked(&arguments).len() <= LONGEST + 3);
        }
    }
}
