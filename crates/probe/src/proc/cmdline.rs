//! `/proc/PID/cmdline`: a process's arguments.

/// The arguments, or none for a kernel thread or a zombie.
#[must_use]
pub fn parse(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|byte| *byte == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect()
}

/// A process's name: the kernel's own, which is cut at 15 bytes, or the whole of it
/// where the first argument shows how it goes on.
#[must_use]
pub fn program(comm: &str, bytes: &[u8]) -> String {
    let first = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let base = first.rsplit('/').next().unwrap_or_default();
    if comm.len() >= 15 && base.starts_with(comm) { base.to_owned() } else { comm.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_at_nul() {
        assert_eq!(parse(b"python\0train.py\0--name\0\0"), ["python", "train.py", "--name", ""]);
        assert_eq!(parse(b"python\0"), ["python"]);
        assert_eq!(parse(b""), Vec::<String>::new());
    }

    #[test]
    fn a_name_cut_by_the_kernel_is_made_whole() {
        assert_eq!(
            program("text-generation", b"/opt/text-generation-server\0"),
            "text-generation-server"
        );
        assert_eq!(program("python", b"/usr/bin/python3.11\0x.py\0"), "python");
        assert_eq!(program("renamed-by-self", b"/usr/bin/python\0"), "renamed-by-self");
        assert_eq!(program("kworker", b""), "kworker");
    }
}
