//! Which series of an engine are read.

/// Series that are read: those of all hosts, or of some.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Matchers as typed, such as `cluster="a"`.
    pub matching: Option<String>,
    /// Regular expression for the names of hosts.
    pub host: Option<String>,
}

impl Selection {
    /// Returns a selector for series that fit matchers for their names, the selection and more matchers.
    pub(crate) fn selector(&self, names: &str, more: Option<&str>) -> String {
        let parts = [Some(names), self.matching.as_deref(), more];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        format!("{{{}}}", parts.join(","))
    }

    /// Returns the matcher for the names of hosts.
    pub(crate) fn host_matcher(&self) -> Option<String> {
        self.host.as_deref().map(|host| format!("hostname=~{}", quote(host)))
    }

    /// Returns what is selected, to be read after "series"; empty if it is everything.
    pub(crate) fn describe(&self) -> String {
        let matching = self.matching.as_ref().map(|matching| format!(" with {matching}"));
        let host = self.host.as_ref().map(|host| format!(" of hosts `{host}`"));
        [matching, host].into_iter().flatten().collect()
    }
}

/// Returns a matcher for one of several values of a label.
#[must_use]
pub(crate) fn one_of(label: &str, values: &[&str]) -> String {
    let values: Vec<_> = values.iter().map(|value| escape(value)).collect();
    format!("{label}=~{}", quote(&values.join("|")))
}

/// Returns a string literal of PromQL.
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Returns a regular expression for exactly a text.
fn escape(text: &str) -> String {
    text.chars().fold(String::new(), |mut escaped, c| {
        if "\\.+*?()|[]{}^$".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped() {
        assert_eq!(one_of("instance", &["a.b", "c\"d"]), r#"instance=~"a\\.b|c\"d""#);
        let selection = Selection { matching: Some("x=\"1\"".into()), host: Some("n.*".into()) };
        assert_eq!(selection.selector("a", Some("b")), "{a,x=\"1\",b}");
        assert_eq!(selection.describe(), " with x=\"1\" of hosts `n.*`");
    }
}
