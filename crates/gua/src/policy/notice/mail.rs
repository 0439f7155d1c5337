//! A notice as mail, through the local sendmail.

use std::time::Duration;

use super::{Letter, NotDelivered, run};
use crate::config::policy::Mail;

/// How long an encoded word of a header may be, with what stands around it.
const ENCODED: usize = 60;

pub(super) fn deliver(mail: &Mail, letter: &Letter, timeout: Duration) -> Result<(), NotDelivered> {
    let to = address(mail, letter)?;
    let words = [mail.sendmail.display().to_string(), "-i".into(), "--".into(), to.clone()];
    run(&words, message(mail, letter, &to).as_bytes(), timeout)
}

/// Only plain names: anything else could be taken for something else on its way.
fn address(mail: &Mail, letter: &Letter) -> Result<String, NotDelivered> {
    let Some(name) = &letter.to.name else {
        return Err(NotDelivered::NoAddress(format!("uid {}", letter.to.uid)));
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
        return Err(NotDelivered::NoAddress(crate::safe::safe(name)));
    }
    Ok(match &mail.domain {
        Some(domain) => format!("{name}@{domain}"),
        None => name.to_string(),
    })
}

fn message(mail: &Mail, letter: &Letter, to: &str) -> String {
    let from = mail.from.as_ref().map(|from| format!("From: {from}\n")).unwrap_or_default();
    let subject = letter.fields.fill(&mail.subject).replace(['\r', '\n'], " ");
    let body = letter.fields.fill(&mail.body);
    format!(
        "{from}To: {to}\nSubject: {}\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n\
         Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{body}\n",
        header(&subject)
    )
}

/// A header holds plain characters only; others are written in their bytes.
fn header(text: &str) -> String {
    if text.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
        return text.to_owned();
    }
    let mut words = vec![String::new()];
    for character in text.chars() {
        let mut bytes = [0; 4];
        let encoded: String = character
            .encode_utf8(&mut bytes)
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
                byte => format!("={byte:02X}"),
            })
            .collect();
        match words.last_mut() {
            Some(word) if word.len() + encoded.len() <= ENCODED => word.push_str(&encoded),
            _ => words.push(encoded),
        }
    }
    words.iter().map(|word| format!("=?UTF-8?Q?{word}?=")).collect::<Vec<_>>().join("\n ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_holds_plain_characters() {
        assert_eq!(header("plain (pid 7)"), "plain (pid 7)");
        assert_eq!(header("学 x"), "=?UTF-8?Q?=E5=AD=A6=20x?=");
        let long = header(&"é".repeat(40));
        assert!(long.lines().all(|line| line.trim_start().len() <= 75), "{long}");
        assert!(!header("a\nBcc: b").contains("\nBcc"));
    }
}
