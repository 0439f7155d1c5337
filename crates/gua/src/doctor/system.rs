//! The kernel, the distribution, and containers or WSL between gua and the host.

use std::fs;
use std::path::Path;

use probe::proc::Host;

use serde::Serialize;

use super::finding::Finding;

/// Files that container runtimes leave in the root that they make.
const CONTAINER_MARKS: [&str; 3] = ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"];

/// Architectures for which NVIDIA has a driver.
const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];

#[derive(Debug, Default, Serialize)]
pub(super) struct SystemFacts {
    pub kernel: String,
    pub architecture: String,
    pub os: Option<String>,
    pub is_wsl: bool,
    pub is_container: bool,
}

/// Asks the kernel, and the host below `root` for its distribution.
pub(super) fn check(root: &Path) -> (Finding, SystemFacts) {
    let uname = rustix::system::uname();
    let kernel = uname.release().to_string_lossy().into_owned();
    let os_release = fs::read(root.join("etc/os-release")).ok();
    let facts = SystemFacts {
        architecture: uname.machine().to_string_lossy().into_owned(),
        os: os_release.and_then(|bytes| pretty_name(&String::from_utf8_lossy(&bytes))),
        is_wsl: kernel.to_ascii_lowercase().contains("microsoft"),
        is_container: is_container(),
        kernel,
    };
    (judge(&facts), facts)
}

fn is_container() -> bool {
    let here = Host::new(None);
    let has_own_pids = !here.sees_all_processes() || here.root() != Path::new("/");
    has_own_pids || CONTAINER_MARKS.iter().any(|mark| Path::new(mark).exists())
}

/// Returns the name of the distribution that its `os-release` has for people.
fn pretty_name(os_release: &str) -> Option<String> {
    let value = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let quoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
    let name = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

fn judge(facts: &SystemFacts) -> Finding {
    let SystemFacts { kernel, architecture, os, .. } = facts;
    let os = os.as_deref().unwrap_or("an unknown distribution");
    let mut detail = format!("{os}, Linux {kernel}, {architecture}");
    if facts.is_container {
        detail.push_str(", in a container");
    }
    if facts.is_wsl {
        detail.push_str(", under WSL, where the driver does not tell the memory of processes");
    }
    if ARCHITECTURES.contains(&architecture.as_str()) {
        return Finding::ok(detail);
    }
    Finding::warning(detail)
        .next("NVIDIA has drivers for x86_64 and aarch64; on others nothing is certain.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;

    #[test]
    fn the_pretty_name_is_taken_out_of_its_quotes() {
        let name = |text| pretty_name(text);
        assert_eq!(name("ID=x\nPRETTY_NAME=\"Some Linux 12\"\n").as_deref(), Some("Some Linux 12"));
        assert_eq!(name("PRETTY_NAME='One'").as_deref(), Some("One"));
        assert_eq!(name("PRETTY_NAME=Plain\r\n").as_deref(), Some("Plain"));
        assert_eq!(name("PRETTY_NAME=\"").as_deref(), Some("\""));
        assert_eq!(name("PRETTY_NAME=\nNAME=y"), None);
        assert_eq!(name("NAME=y"), None);
    }

    fn facts() -> SystemFacts {
        SystemFacts {
            kernel: "6.8.0".into(),
            architecture: "x86_64".into(),
            os: None,
            is_wsl: false,
            is_container: false,
        }
    }

    #[test]
    fn what_stands_between_us_and_the_host_is_said() {
        let plain = judge(&facts());
        assert_eq!(plain.verdict, Verdict::Ok);
        assert_eq!(plain.detail, "an unknown distribution, Linux 6.8.0, x86_64");
        let boxed = judge(&SystemFacts { is_container: true, is_wsl: true, ..facts() });
        assert_eq!(boxed.verdict, Verdict::Ok);
        assert!(boxed.detail.contains("in a container, under WSL"), "{}", boxed.detail);
    }

    #[test]
    fn an_architecture_without_a_driver_is_a_warning() {
        let finding = judge(&SystemFacts { architecture: "riscv64".into(), ..facts() });
        assert_eq!(finding.verdict, Verdict::Warning);
        assert!(finding.next_step.is_some());
    }
}
